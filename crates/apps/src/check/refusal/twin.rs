//! The feasible twin of a refusal, with the values that the refusal is given.

use std::sync::Arc;

use crate::app::task::{Draw, Param};
use crate::explore::{self, Options};
use crate::run::Raised;
use crate::task::call::Call;
use crate::task::draw_key::DrawKey;
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::parameter::Drawing;
use crate::task::solve;
use crate::task::verdict::strict;
use crate::value::Value;

/// End of the solution of a twin.
pub(super) enum TwinOutcome {
    /// By an error.
    Refused(Call, Raised),
    /// As if nothing stood in the way.
    Nothing,
}

/// Request of the twin with the values of a task; none where the twin has drawn parameters that the task lacks, so that it
/// asks for something else.
pub(super) fn same_request(draw_key: DrawKey<'_>, instance: &Arc<Instance>, twin: usize) -> Option<Arc<Instance>> {
    let twin = DrawKey { template: twin, ..draw_key };
    let mut values: Vec<Value> = Vec::new();
    for param in &twin.template().params {
        let known = draw_key.template().params.iter().zip(&instance.values);
        let known = known.into_iter().find(|(known, _)| known.name == param.name && fits(known, param));
        let value = match (known, &param.draw) {
            (Some((_, value)), _) => value.clone(),
            (None, Draw::Let(value)) if value.asks().is_empty() => drawn(twin, instance, &values, param)?,
            _ => return None,
        };
        values.push(value);
    }
    let request = Arc::new(instance.taken_by(twin.template, values, instance.data.clone()));
    // A twin that only asks, or whose changes are made already, has nothing that an obstacle could keep from being done.
    let checks = Episode::begin(&request, 0).ok()?.judge().ok()?;
    checks.iter().any(|check| !check.passed && !check.name.starts_with("answer")).then_some(request)
}

/// Calls that do what a twin asks for: those of its solution, or others that a search finds and that do not wait.
pub(super) fn way(request: &Arc<Instance>, searches: bool) -> Option<Vec<Call>> {
    let start = Episode::begin(request, 0).ok()?;
    let steps = request.template().solution.as_ref();
    if let Some(Ok(solved)) = steps.map(|steps| solve::play(start, steps))
        && solved.episode.judge().is_ok_and(|checks| strict(&checks))
    {
        return Some(solved.calls.into_iter().map(|played| played.call).collect());
    }
    let found = searches.then(|| explore::solve(request, Options::DRAW)).flatten()?;
    found.iter().all(|call| &*call.name != "wait").then_some(found)
}

/// Plays the solution of another template with the values of a task; none where it cannot be.
pub(super) fn played(
    draw_key: DrawKey<'_>,
    instance: &Arc<Instance>,
    twin: usize,
    attempt: u64,
) -> Option<TwinOutcome> {
    let twin = DrawKey { template: twin, seed: attempt, ..draw_key };
    let steps = twin.template().solution.as_ref()?;
    let mut values: Vec<Value> = Vec::new();
    let mut left: Vec<_> = draw_key.template().params.iter().zip(&instance.values).collect();
    for param in &twin.template().params {
        // The obstacle is what the twin would not be drawn with, so that its conditions are not asked.
        let named = left.iter().position(|(known, _)| known.name == param.name && fits(known, param));
        let value = match named.or_else(|| left.iter().position(|(known, _)| fits(known, param))) {
            Some(place) => left.remove(place).1.clone(),
            None => drawn(twin, instance, &values, param)?,
        };
        values.push(value);
    }
    let taken = Arc::new(instance.taken_by(twin.template, values, instance.data.clone()));
    match solve::play(Episode::begin(&taken, 0).ok()?, steps) {
        Ok(_) => Some(TwinOutcome::Nothing),
        Err(halted) => halted.refused.map(|refused| TwinOutcome::Refused(refused.0, refused.1)),
    }
}

fn fits(known: &Param, param: &Param) -> bool {
    known.kind.present() == param.kind.present()
}

fn drawn(twin: DrawKey<'_>, instance: &Instance, values: &[Value], param: &Param) -> Option<Value> {
    let mut draws = twin.draws(&format!("param {}", param.name));
    let drawing = Drawing { app: twin.app, data: &instance.data, values, draws: &mut draws };
    drawing.value(param).ok()
}
