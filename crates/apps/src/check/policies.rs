//! Policies without knowledge of a task: what they reach is the floor.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use serde_json::{Map, json};

use super::random::RandomCalls;
use crate::task::call::Call;
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::verdict::{score, strict};

/// Calls that the random policy makes.
const RANDOM_CALLS: usize = 15;

/// Does nothing.
pub(super) fn null(instance: &Arc<Instance>) -> f64 {
    play(instance, &[])
}

/// True if saying that it is done is all that a task asks for.
pub(super) fn solved_by_null(instance: &Arc<Instance>) -> bool {
    let done = Map::from_iter([("status".to_owned(), json!("ok"))]);
    replays(instance, &[Call { name: "submit".into(), arguments: done }])
}

/// Refuses at once, without a look: by the code that is right where one is, so that no other guess does better.
pub(super) fn refuse(instance: &Arc<Instance>) -> f64 {
    let answer = instance.template().goal.answer.as_ref().filter(|_| instance.template().infeasible);
    let status = answer.map_or("refused", |answer| answer.status.word());
    let mut arguments = Map::from_iter([("status".to_owned(), json!(status))]);
    if let Some(code) = answer.and_then(|answer| answer.code.as_ref()) {
        arguments.insert("code".to_owned(), json!(&**code));
    }
    play(instance, &[Call { name: "submit".into(), arguments }])
}

/// Makes random calls, then says that it is done.
pub(super) fn random(instance: &Arc<Instance>, random: &mut ChaCha8Rng) -> f64 {
    let Ok(mut episode) = Episode::begin(instance, 0) else { return 0.0 };
    let generator = RandomCalls::new(&instance.app);
    for _ in 0..RANDOM_CALLS {
        let Some(call) = generator.call(episode.world(), random) else { break };
        if episode.call(&call.name, &call.arguments).is_err() {
            return 0.0;
        }
    }
    let done = Map::from_iter([("status".to_owned(), json!("ok"))]);
    let submitted = episode.call("submit", &done);
    if submitted.is_err() { 0.0 } else { episode.judge().map_or(0.0, |checks| score(&checks)) }
}

/// True if the calls that solve another task solve this one.
pub(super) fn replays(instance: &Arc<Instance>, calls: &[Call]) -> bool {
    let Ok(mut episode) = Episode::begin(instance, 0) else { return false };
    let crashed = calls.iter().any(|call| episode.call(&call.name, &call.arguments).is_err());
    !crashed && episode.judge().is_ok_and(|checks| strict(&checks))
}

fn play(instance: &Arc<Instance>, calls: &[Call]) -> f64 {
    let Ok(mut episode) = Episode::begin(instance, 0) else { return 0.0 };
    let crashed = calls.iter().any(|call| episode.call(&call.name, &call.arguments).is_err());
    if crashed { 0.0 } else { episode.judge().map_or(0.0, |checks| score(&checks)) }
}
