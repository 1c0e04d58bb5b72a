//! Answers to the calls of a solution in another task, and whether its goal holds then.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::draw::accept;
use crate::task::call::Call;
use crate::task::draw_key::{DrawKey, begin};
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::outcome::{Flaw, Unfit};
use crate::task::verdict::strict;

/// Effect of changed columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    None,
    /// Something else is read, or there is no such task.
    Observable,
    /// The same is read, and another task is asked for.
    Hidden,
}

/// Compares the answers of another task to the calls that solve one.
pub(super) fn compared(
    draw_key: DrawKey<'_>,
    instance: &Arc<Instance>,
    seen: &(Vec<Json>, bool),
    other: Instance,
) -> Effect {
    if other.text != instance.text || other.app.role_text(&other.data) != instance.app.role_text(&instance.data) {
        return Effect::Observable;
    }
    let other = Arc::new(other);
    match replies(&other, instance.solution()) {
        Some((answers, _)) if answers != seen.0 => Effect::Observable,
        Some((_, reached)) if reached == seen.1 => Effect::None,
        Some(_) if is_task(draw_key, other) => Effect::Hidden,
        _ => Effect::Observable,
    }
}

/// True if something is asked for that can be done, whoever may know how.
fn is_task(draw_key: DrawKey<'_>, instance: Arc<Instance>) -> bool {
    let Ok((instance, held)) = begin(instance) else { return false };
    matches!(accept(instance, held, draw_key.rule), Ok(_) | Err(Unfit::Flawed(Flaw::Unknowable(_))))
}

/// Answers to some calls in a task, and whether its goal holds then.
pub(super) fn replies(instance: &Arc<Instance>, calls: &[Call]) -> Option<(Vec<Json>, bool)> {
    heard_in(Episode::begin(instance, 0).ok()?, calls)
}

/// The same in an episode that has begun.
pub(super) fn heard_in(mut episode: Episode, calls: &[Call]) -> Option<(Vec<Json>, bool)> {
    let answers = calls.iter().map(|call| Some(episode.call(&call.name, &call.arguments).ok()?.data));
    let answers = answers.collect::<Option<Vec<_>>>()?;
    Some((answers, strict(&episode.judge().ok()?)))
}
