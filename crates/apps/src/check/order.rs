//! Values that depend on what nobody chose or told: the order in which rows were made, and what was true before the set-up.

use std::sync::Arc;

use super::policies;
use crate::app::task::Draw;
use crate::task::draw_key::DrawKey;
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::parameter::Drawing;
use crate::task::solve;
use crate::task::verdict::strict;
use crate::value::Value;

/// A check of the goal that the solution passes, and does not where rows are read in the opposite order: several rows tie, or a list has
/// no order.
pub(super) fn tied(instance: &Arc<Instance>) -> Option<String> {
    let start = Episode::begin(instance, 0).ok()?;
    let solved = solve::replay(start, instance.solution().to_vec()).ok()?;
    if !solved.episode.judge().is_ok_and(|checks| strict(&checks)) {
        return None;
    }
    match solved.episode.judge_reversed() {
        Ok(checks) => {
            let failed = checks.into_iter().find(|check| !check.passed)?;
            Some(format!("{}: {}", failed.name, failed.evidence))
        }
        Err(message) => Some(message),
    }
}

/// The place of a parameter that follows from the data, that the text does not tell, that is another one once the task is prepared, and
/// with which as it is then the solution would miss the goal.
pub(super) fn stale(draw_key: DrawKey<'_>, instance: &Arc<Instance>) -> Option<usize> {
    let template = instance.template();
    if template.setup.is_empty() && template.plant.is_empty() {
        return None;
    }
    let told = template.text[instance.wording].locals();
    let params = template.params.iter().enumerate();
    let mut follows = params.filter(|(place, param)| {
        let told = told.iter().any(|local| usize::from(*local) == *place);
        !told
            && match &param.draw {
                Draw::First { .. } => true,
                Draw::Let(value) => value.asks().is_empty(),
                _ => false,
            }
    });
    follows
        .find(|(place, param)| {
            let mut draws = draw_key.draws(&format!("param {}", param.name));
            let values = &instance.values[..*place];
            let drawing = Drawing { app: draw_key.app, data: &instance.data, values, draws: &mut draws };
            // Where it is none any more, whatever uses it breaks off.
            let now = drawing.value(param).unwrap_or(Value::Null);
            now != instance.values[*place] && !is_reached(instance, *place, now)
        })
        .map(|(place, _)| place)
}

/// True if the solution reaches the goal with another value of a parameter.
fn is_reached(instance: &Arc<Instance>, place: usize, value: Value) -> bool {
    let mut values = instance.values.clone();
    values[place] = value;
    let other = Arc::new(instance.taken_by(instance.template, values, instance.data.clone()));
    policies::replays(&other, instance.solution())
}
