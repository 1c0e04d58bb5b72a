//! One turn: from an action to inputs, through the environment, to the observation. Live steps and replays share this path, so
//! that a replay cannot differ from the first run.

use std::borrow::Cow;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use palestra_protocol::action::{Action, Call};
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::{Message, Observation};
use palestra_protocol::step::{Info, Stepped, StopReason};
use panic_message::panic_message;
use serde_json::{Map, Value};

use palestra_environment::blob::Blob;
use palestra_environment::state::State;
use palestra_environment::tool::Toolbox;
use palestra_environment::verifier::Turn;
use palestra_environment::{Context, InfraError, Input, Place, Reaction};

/// A tool and the arguments for it.
type Asked<'a> = (&'a str, Cow<'a, Map<String, Value>>);

/// A call that a turn consists of, or the words that say why it cannot be made.
struct Request<'a> {
    id: Option<&'a str>,
    call: Result<Asked<'a>, String>,
}

/// The inputs that an action stands for.
enum Requests<'a> {
    Text(Cow<'a, str>),
    Calls(Vec<Request<'a>>),
}

/// The number of tool calls in an action.
pub(super) fn calls_of(action: &Action) -> u64 {
    match read(action) {
        Requests::Text(_) => 0,
        Requests::Calls(requests) => u64::try_from(requests.len()).unwrap_or(u64::MAX),
    }
}

/// Runs one action and fills in `step`, which stays untouched where the environment fails. Returns how many tool calls were made.
/// `calls_left` bounds them; `seen` is the data that was observed at first, where this is a replay.
pub(super) async fn take(
    place: &mut Place,
    toolbox: &Toolbox,
    action: &Action,
    calls_left: u64,
    seen: Option<&Value>,
    context: &mut Context,
    step: &mut Stepped,
) -> Result<u64, InfraError> {
    let requests = match read(action) {
        Requests::Text(text) => {
            fill(step, act(place, Input::Text(&text), seen, context).await?);
            return Ok(0);
        }
        Requests::Calls(requests) => requests,
    };
    if requests.is_empty() {
        fill(step, Reaction::text("Error: the turn holds no call."));
        return Ok(0);
    }
    let mut results: Vec<(Option<&str>, Reaction)> = Vec::with_capacity(requests.len());
    let (mut calls, mut over, mut out_of_calls) = (0, false, false);
    let mut ids = HashSet::new();
    let alone = requests.len() == 1;
    for (at, request) in requests.into_iter().enumerate() {
        let seen = seen.map(|seen| if alone { seen } else { &seen[at] });
        let repeated = request.id.is_some_and(|id| !ids.insert(id));
        let reaction = if over {
            Reaction::text("Error: the episode is over, so this call was not made.")
        } else if calls >= calls_left {
            out_of_calls = true;
            Reaction::text("Error: the limit of calls is reached, so this call was not made.")
        } else {
            calls += 1;
            match &request.call {
                // Two results under one id could not be told apart.
                _ if repeated => Reaction::text("Error: the id of this call is taken by another call of the turn."),
                Err(complaint) => Reaction::text(complaint),
                Ok((tool, arguments)) => match toolbox.check(tool, arguments) {
                    Err(complaint) => Reaction::text(complaint),
                    Ok(()) => act(place, Input::Call { tool, arguments }, seen, context).await?,
                },
            }
        };
        over |= reaction.terminated;
        results.push((request.id, reaction));
    }
    merge(step, results);
    if !step.terminated && (out_of_calls || calls >= calls_left) {
        step.stop_reason = Some(StopReason::MaxCalls);
    }
    Ok(calls)
}

/// One input, with a panic of a pure environment turned into an infrastructure failure.
async fn act(
    place: &mut Place,
    input: Input<'_>,
    seen: Option<&Value>,
    context: &mut Context,
) -> Result<Reaction, InfraError> {
    match (place, seen) {
        (Place::Pure(environment), _) => guard("environment", || environment.act(input, context)),
        (Place::Live(environment), None) => environment.act(input, context).await,
        (Place::Live(environment), Some(seen)) => environment.act_again(input, seen, context).await,
    }
    .and_then(|reaction| reaction.failure.clone().map_or(Ok(reaction), Err))
}

/// Runs code of an environment or verifier; a panic becomes an error of its session alone.
pub(super) fn guard<T>(whose: &str, code: impl FnOnce() -> T) -> Result<T, InfraError> {
    catch_unwind(AssertUnwindSafe(code))
        .map_err(|panic| InfraError::new(format!("the {whose} panicked, report it: {}", panic_message(&panic))))
}

/// True if a replay led to the observation of the first run.
pub(super) fn agrees(place: &Place, seen: &Observation, again: &Observation) -> bool {
    match place {
        Place::Pure(_) => seen == again,
        Place::Live(environment) => environment.agrees(seen, again),
    }
}

/// The present observation.
pub(super) async fn observe(place: &mut Place) -> Result<Observation, InfraError> {
    match place {
        Place::Pure(environment) => guard("environment", || environment.observe()),
        Place::Live(environment) => environment.observe().await,
    }
}

/// Contents that observations since the last call named by their digest.
pub(super) fn take_blobs(place: &mut Place) -> Vec<Blob> {
    match place {
        Place::Live(environment) => environment.take_blobs(),
        Place::Pure(_) => Vec::new(),
    }
}

/// Privileged state.
pub(super) async fn state(place: &mut Place) -> Result<State, InfraError> {
    match place {
        Place::Pure(environment) => guard("environment", || environment.state()),
        Place::Live(environment) => environment.state().await,
    }
}

/// An independent copy; `None` where the environment cannot fork.
pub(super) async fn fork(place: &mut Place, episode: EpisodeId) -> Result<Option<Place>, InfraError> {
    match place {
        Place::Pure(environment) => guard("environment", || environment.fork()).map(|copy| Some(Place::Pure(copy))),
        Place::Live(environment) => environment.fork(episode).await.map(|copy| copy.map(Place::Live)),
    }
}

/// Frees what a place owns outside this process.
pub(super) async fn close(place: Place) {
    if let Place::Live(mut environment) = place {
        environment.close().await;
    }
}

/// Fills in the result of the only input of a turn.
fn fill(step: &mut Stepped, reaction: Reaction) {
    let Reaction { observation, reward, shaping, irreversible, terminated, .. } = reaction;
    step.messages = vec![Message::new("user", observation.text.clone())];
    step.observation = observation;
    step.reward = reward;
    step.info.shaping = shaping;
    step.info.irreversible = irreversible;
    step.terminated = terminated;
    step.stop_reason = terminated.then_some(StopReason::Done);
}

/// Fills in the joined results of a turn's calls; each keeps its own message by id.
fn merge(step: &mut Stepped, results: Vec<(Option<&str>, Reaction)>) {
    let alone = results.len() == 1;
    let mut data = Vec::new();
    for (id, reaction) in results {
        let Reaction { observation, reward, shaping, irreversible, terminated, .. } = reaction;
        let role = if id.is_some() { "tool" } else { "user" };
        let message = Message::new(role, observation.text.clone());
        step.messages.push(Message { tool_call_id: id.map(str::to_owned), ..message });
        if !step.observation.text.is_empty() {
            step.observation.text.push('\n');
        }
        step.observation.text.push_str(&observation.text);
        step.observation.content.extend(observation.content);
        data.push(observation.data);
        step.reward = add(step.reward, reward);
        step.info.shaping = add(step.info.shaping, shaping);
        step.info.irreversible.extend(irreversible);
        step.terminated |= terminated;
    }
    step.observation.data = match data.pop() {
        Some(only) if alone => only,
        Some(last) if !(last.is_null() && data.iter().all(Value::is_null)) => {
            data.push(last);
            Value::Array(data)
        }
        _ => Value::Null,
    };
    step.stop_reason = step.terminated.then_some(StopReason::Done);
}

fn add(sum: Option<f64>, more: Option<f64>) -> Option<f64> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(sum + more),
        (sum, more) => sum.or(more),
    }
}

fn read(action: &Action) -> Requests<'_> {
    match action {
        Action::Text(text) => Requests::Text(Cow::Borrowed(text)),
        Action::Tool { tool, arguments } => {
            Requests::Calls(vec![Request { id: None, call: Ok((tool, Cow::Borrowed(arguments))) }])
        }
        Action::Calls(calls) => Requests::Calls(
            calls
                .iter()
                .map(|Call { id, tool, arguments }| Request {
                    id: Some(id),
                    call: Ok((tool, Cow::Borrowed(arguments))),
                })
                .collect(),
        ),
        Action::Message(message) => read_message(message),
    }
}

/// Reads an OpenAI assistant message: its tool calls, or else its text.
fn read_message(message: &Map<String, Value>) -> Requests<'_> {
    match message.get("tool_calls") {
        Some(Value::Array(calls)) if !calls.is_empty() => {
            Requests::Calls(calls.iter().map(read_message_call).collect())
        }
        _ => Requests::Text(match message.get("content") {
            Some(Value::String(text)) => Cow::Borrowed(text),
            Some(Value::Array(parts)) => {
                Cow::Owned(parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"))
            }
            _ => Cow::Borrowed(""),
        }),
    }
}

fn read_message_call(call: &Value) -> Request<'_> {
    let function = &call["function"];
    let name = function["name"].as_str();
    let call_read = match (name, &function["arguments"]) {
        (None, _) => Err("Error: the tool call names no function.".to_owned()),
        (Some(name), Value::Object(arguments)) => Ok((name, Cow::Borrowed(arguments))),
        (Some(name), Value::Null) => Ok((name, Cow::default())),
        (Some(name), Value::String(text)) if text.trim().is_empty() => Ok((name, Cow::default())),
        // Two arguments of one name would say two things.
        (Some(name), Value::String(text)) => match palestra_state::json::read(text) {
            Ok(Value::Object(arguments)) => Ok((name, Cow::Owned(arguments))),
            Ok(_) => Err(format!("Error: the arguments of {name} are no JSON object.")),
            Err(error) => Err(format!("Error: the arguments of {name} are no JSON object: {error}.")),
        },
        (Some(name), _) => Err(format!("Error: the arguments of {name} are no JSON object.")),
    };
    Request { id: Some(call["id"].as_str().unwrap_or_default()), call: call_read }
}

/// A turn as judges see it: without what judging itself added, so that judging again sees the same.
pub(super) fn judged_turn(action: Option<&Action>, answer: &Stepped, step_rewards: bool) -> Turn {
    let mut answer = answer.clone();
    answer.verdict = None;
    if !step_rewards {
        answer.reward = None;
    }
    let Info { shaping, irreversible, .. } = answer.info;
    answer.info = Info { shaping, irreversible, ..Info::default() };
    Turn { action: action.cloned(), answer }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(value: &Value) -> Requests<'_> {
        read_message(value.as_object().expect("an object"))
    }

    #[test]
    fn broken_arguments_become_words_for_the_policy() {
        let value = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "move", "arguments": "{\"to\": 1}"}},
            {"id": "b", "type": "function", "function": {"name": "move", "arguments": "{oops"}},
            {"id": "c", "type": "function", "function": {}},
        ]});
        let Requests::Calls(calls) = message(&value) else { panic!("calls") };
        assert!(calls[0].call.is_ok());
        assert!(calls[1].call.as_ref().is_err_and(|words| words.contains("no JSON object")));
        assert!(calls[2].call.is_err());
    }

    #[test]
    fn a_message_without_calls_is_text() {
        for (value, expected) in [
            (json!({"role": "assistant", "content": "hi"}), "hi"),
            (json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}), "a\nb"),
            (json!({"content": null, "tool_calls": []}), ""),
        ] {
            let Requests::Text(text) = message(&value) else { panic!("text") };
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        assert_eq!(
            guard("environment", || panic!("boom")).map(|()| 0),
            Err(InfraError::new("the environment panicked, report it: boom"))
        );
    }
}
