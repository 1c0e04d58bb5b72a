//! What the calls of a solution answer in another task, and whether its goal holds then.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::draw::accept;
use crate::task::call::Call;
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::outcome::{Flaw, Unfit};
use crate::task::ticket::{Ticket, begin};
use crate::task::verdict::strict;

/// What comes of changed columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    None,
    /// Something else is read, or there is no such task.
    Shown,
    /// The same is read, and another task is asked for.
    Hidden,
}

/// What another task shows to the calls that solve one.
pub(super) fn compared(
    ticket: Ticket<'_>,
    instance: &Arc<Instance>,
    seen: &(Vec<Json>, bool),
    other: Instance,
) -> Effect {
    if other.text != instance.text || other.app.role_text(&other.data) != instance.app.role_text(&instance.data) {
        return Effect::Shown;
    }
    let other = Arc::new(other);
    match heard(&other, instance.solution()) {
        Some((answers, _)) if answers != seen.0 => Effect::Shown,
        Some((_, reached)) if reached == seen.1 => Effect::None,
        Some(_) if is_task(ticket, other) => Effect::Hidden,
        _ => Effect::Shown,
    }
}

/// Whether something is asked for that can be done, whoever may know how.
fn is_task(ticket: Ticket<'_>, instance: Arc<Instance>) -> bool {
    let Ok((instance, held)) = begin(instance) else { return false };
    matches!(accept(instance, held, ticket.rule), Ok(_) | Err(Unfit::Flawed(Flaw::Unknowable(_))))
}

/// What some calls answer in a task, and whether its goal holds then.
pub(super) fn heard(instance: &Arc<Instance>, calls: &[Call]) -> Option<(Vec<Json>, bool)> {
    heard_in(Episode::begin(instance, 0).ok()?, calls)
}

/// The same in an episode that has begun.
pub(super) fn heard_in(mut episode: Episode, calls: &[Call]) -> Option<(Vec<Json>, bool)> {
    let answers = calls.iter().map(|call| Some(episode.call(&call.name, &call.arguments).ok()?.data));
    let answers = answers.collect::<Option<Vec<_>>>()?;
    Some((answers, strict(&episode.judge().ok()?)))
}
