//! Check that a task that is called impossible is. A refusal is proven by a call about the row that it names, which has to
//! raise the error of the answer: a call of the solution of the feasible twin, with the values of the task taken over, or any
//! other that the agent may make with them. It is disproven where what the twin asks for can be done with the same values.

mod calls;
mod twin;

use std::sync::Arc;

use serde_json::Value as Json;

use self::calls::{ClaimedRefusal, tried};
use self::twin::TwinOutcome;
use crate::run::Raised;
use crate::task::call::Call;
use crate::task::draw_key::DrawKey;
use crate::task::instance::Instance;

/// Number of times that values are drawn for parameters of a twin that the task does not have.
const TWINS_TRIED: u64 = 8;
/// Tasks of a template in which a way around the obstacle is searched for.
const TASKS_SEARCHED: u64 = 4;

/// Attempts to prove refusals.
#[derive(Default)]
pub(super) struct Refusals {
    /// Tasks whose refusal the solution of the twin meets with.
    pub(super) by_twin: u64,
    /// Tasks whose refusal another call meets with, whatever else it is given.
    pub(super) by_call: u64,
    /// Tasks whose refusal a call meets with, where the same call is not refused with some other arguments.
    pub(super) by_arguments: u64,
    /// Tasks in which a way to what the twin asks for was searched for.
    pub(super) searched: u64,
    /// Tasks without a twin of the same parameters, so that nothing tells what would have been the way.
    pub(super) without_twin: u64,
}

impl Refusals {
    /// Reason why a task that is called impossible is not proven to be.
    pub(super) fn unfounded(&mut self, draw_key: DrawKey<'_>, instance: &Arc<Instance>) -> Option<String> {
        let template = instance.template();
        let answer = template.goal.answer.as_ref().filter(|_| template.infeasible)?;
        let twin = template.twin_of.as_ref();
        let twin = twin.and_then(|name| draw_key.app.templates.iter().position(|template| template.name == *name));
        match twin.and_then(|twin| twin::same_request(draw_key, instance, twin)) {
            Some(request) => {
                let searches = self.searched < TASKS_SEARCHED;
                self.searched += u64::from(searches);
                if let Some(way) = twin::way(&request, searches) {
                    return Some(format!("what its twin asks for is done by {}", shown(&way)));
                }
            }
            None if answer.code.is_none() => {
                return Some("it has no `code`, and no twin that has its parameters alone".to_owned());
            }
            None => self.without_twin += 1,
        }
        let meant = |raised: &Raised| answer.code.as_ref().is_none_or(|code| *code == raised.code);
        let mut told = None;
        for attempt in 0..TWINS_TRIED {
            let Some(met) = twin.and_then(|twin| twin::played(draw_key, instance, twin, attempt)) else { continue };
            if matches!(&met, TwinOutcome::Refused(_, raised) if meant(raised)) {
                self.by_twin += 1;
                return None;
            }
            told.get_or_insert(met);
        }
        match tried(draw_key, instance, &meant)? {
            ClaimedRefusal::Always => self.by_call += 1,
            ClaimedRefusal::Sometimes => self.by_arguments += 1,
            ClaimedRefusal::Never => return Some(instead(told)),
        }
        None
    }
}

fn shown(calls: &[Call]) -> String {
    let shown = |call: &Call| format!("{} {}", call.name, Json::Object(call.arguments.clone()));
    calls.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Words for the outcome that came instead of the refusal.
fn instead(told: Option<TwinOutcome>) -> String {
    match told {
        Some(TwinOutcome::Refused(call, raised)) => {
            format!("{} {} raises {} instead", call.name, Json::Object(call.arguments), raised.code)
        }
        Some(TwinOutcome::Nothing) => "the solution of its twin meets with no error".to_owned(),
        None => "no call about it that was tried raises that error".to_owned(),
    }
}
