//! The one way of a command from a caller to the engine and of its answer back: permission, action, credentials, redaction.

use std::sync::{Arc, LazyLock};

use futures::future::join_all;
use metrics::Counter;
use palestra_protocol::episode::{Event, EventKind};
use palestra_protocol::id::SessionId;
use palestra_protocol::session::Opened;
use palestra_protocol::shared::Shared;
use palestra_protocol::step::Stepped;
use serde::Deserialize;
use serde_json::Value;

use super::permission;
use super::problem::Failure;
use crate::app::App;
use crate::telemetry::COMMANDS;
use palestra_auth::Principal;
use palestra_environment::tool::to_mcp;
use palestra_session::{Answer, Command, SessionError};

/// The form in which tools are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToolForm {
    /// OpenAI function tools.
    #[default]
    Openai,
    /// MCP tools, with `inputSchema`.
    Mcp,
}

impl ToolForm {
    pub(super) fn convert(self, tools: &mut Shared<Vec<Value>>) {
        if self == Self::Mcp {
            for tool in tools.make_mut() {
                *tool = to_mcp(tool);
            }
        }
    }

    fn convert_opened(self, opened: &mut Opened) {
        if self == Self::Mcp {
            self.convert(&mut opened.tools);
            self.convert(&mut opened.task.make_mut().tools);
        }
    }
}

/// A command that was begun for a caller.
pub(super) type Begun = palestra_session::Begun<Failure>;

/// Begins a command for a caller. This is the one place where permission is checked.
pub(super) fn begin(app: &App, principal: &Arc<Principal>, command: Command, tools: ToolForm) -> Begun {
    let command = confined(principal, command);
    let operation = operation(&command);
    let begun = match permission::require(principal, &command) {
        Ok(()) => app.sessions().begin(&principal.tenant, command),
        Err(error) => return Begun::Done(operation.counted(Err(error.into()))),
    };
    match begun {
        palestra_session::Begun::Done(outcome) => Begun::Done(dress(app, principal, operation, outcome, tools)),
        palestra_session::Begun::Recording(taken) if principal.is_acting_side() => match taken.changed(redact) {
            Ok(taken) => Begun::Recording(taken),
            Err(error) => Begun::Done(operation.counted(Err(error.into()))),
        },
        palestra_session::Begun::Recording(taken) => Begun::Recording(taken),
        palestra_session::Begun::Running(running) => {
            let (app, principal) = (app.clone(), Arc::clone(principal));
            Begun::Running(Box::pin(async move { dress(&app, &principal, operation, running.await, tools) }))
        }
    }
}

/// Waits for the answer of a command.
pub(super) async fn finish(begun: Begun) -> Result<Answer, Failure> {
    let recording = matches!(begun, Begun::Recording(_));
    let outcome = begun.finish().await;
    if recording { STEP.counted(outcome) } else { outcome }
}

/// Runs a command for a caller. Its place in the session's queue is taken at the first poll.
pub(super) async fn perform(
    app: &App,
    principal: &Arc<Principal>,
    command: Command,
    tools: ToolForm,
) -> Result<Answer, Failure> {
    finish(begin(app, principal, command, tools)).await
}

/// Begins commands side by side. Each takes its place before the next one is begun, so those of one session run in order.
pub(super) fn begin_all(commands: impl Iterator<Item = Begun>) -> Vec<Begun> {
    commands.map(Begun::in_place).collect()
}

/// Waits for the answers of commands, in their order.
pub(super) async fn finish_all(mut commands: Vec<Begun>) -> Vec<Result<Answer, Failure>> {
    let running = commands.iter_mut().filter(|command| matches!(command, Begun::Running(_)));
    join_all(running.map(Begun::wait)).await;
    // Records are committed in groups, in order: whoever waits for the first rarely waits for the next one.
    let mut answers = Vec::with_capacity(commands.len());
    for command in commands {
        answers.push(finish(command).await);
    }
    answers
}

/// A command without what the acting side is not shown: hashing the state of a place reads all its files.
fn confined(principal: &Principal, mut command: Command) -> Command {
    if let Command::Step { step, .. } = &mut command
        && let Some(observe) = &mut step.observe
        && principal.is_acting_side()
    {
        observe.state_hash = None;
    }
    command
}

/// Counts an outcome, adds credentials to opened sessions, converts tools, and takes away what the acting side must not see.
fn dress(
    app: &App,
    principal: &Principal,
    operation: Operation,
    outcome: Result<Answer, SessionError>,
    tools: ToolForm,
) -> Result<Answer, Failure> {
    let mut answer = operation.counted(outcome.map_err(Failure::from))?;
    for opened in answer.opened_mut() {
        opened.token = app.auth().session_token(principal, opened.id, opened.expires_at);
        if opened.screen {
            let token = app.auth().page_token(principal, opened.id, opened.expires_at);
            opened.page = token.map(|token| page_path(opened.id, &token));
        }
        tools.convert_opened(opened);
    }
    match answer {
        Answer::Stepped(step) if principal.is_acting_side() => Ok(Answer::Stepped(step.changed(redact)?)),
        answer => Ok(answer),
    }
}

/// The path of a session's page.
fn page_path(session: SessionId, token: &str) -> String {
    format!("/v1/sessions/{session}/page/{token}")
}

/// Takes reward, verdict and state hash away from the acting side. A small hidden state could be guessed from its hash.
fn redact(stepped: &mut Stepped) {
    stepped.reward = None;
    stepped.verdict = None;
    stepped.info.shaping = None;
    stepped.info.state_hash = None;
}

/// An event as a caller may see it: the acting side sees its steps and the end.
pub(super) fn visible(principal: &Principal, mut event: Event) -> Option<Event> {
    if !principal.is_acting_side() {
        return Some(event);
    }
    match &mut event.kind {
        EventKind::Step { step } => redact(step),
        EventKind::Closed { .. } => {}
        EventKind::Episode { .. } | EventKind::Verdict { .. } => return None,
    }
    Some(event)
}

/// The name of a command in the metrics: an index of [`OPERATIONS`].
#[derive(Clone, Copy)]
struct Operation(usize);

const OPERATIONS: [&str; 9] = ["create", "reset", "step", "finish", "verify", "fork", "snapshot", "restore", "close"];

/// Commands that succeeded: looking a counter up by its labels costs as much as a small step.
static SUCCEEDED: LazyLock<[Counter; OPERATIONS.len()]> =
    LazyLock::new(|| OPERATIONS.map(|name| metrics::counter!(COMMANDS, "operation" => name, "code" => "ok")));

impl Operation {
    /// Counts an outcome.
    fn counted(self, outcome: Result<Answer, Failure>) -> Result<Answer, Failure> {
        match &outcome {
            Ok(_) => SUCCEEDED[self.0].increment(1),
            Err(failure) => {
                let code = failure.code().as_str();
                metrics::counter!(COMMANDS, "operation" => OPERATIONS[self.0], "code" => code).increment(1);
            }
        }
        outcome
    }
}

const STEP: Operation = Operation(2);

const fn operation(command: &Command) -> Operation {
    Operation(match command {
        Command::Create { .. } => 0,
        Command::Reset { .. } => 1,
        Command::Step { .. } => return STEP,
        Command::Finish { .. } => 3,
        Command::Verify { .. } => 4,
        Command::Fork { .. } => 5,
        Command::Snapshot { .. } => 6,
        Command::Restore { .. } => 7,
        Command::Close { .. } => 8,
    })
}

#[cfg(test)]
mod tests {
    use palestra_protocol::id::SessionId;
    use palestra_protocol::problem::Code;
    use palestra_protocol::session::CloseReason;
    use serde_json::json;

    use super::*;
    use palestra_auth::Grant;

    fn stepped() -> Stepped {
        serde_json::from_value(json!({
            "episode": "epi_0197a3c2f2a87c53b0a1d5e6f7089abc", "seq": 1, "durable_seq": 1,
            "observation": {"text": "seen"}, "messages": [], "reward": 0.5, "terminated": true, "truncated": false,
            "stop_reason": "done", "info": {"env_ms": 0.1, "queue_ms": 0.1, "state_hash": "sha256:00", "shaping": 0.1}
        }))
        .unwrap()
    }

    fn events(session: SessionId) -> Vec<Event> {
        let event = |kind| Event { id: "1".to_owned(), session, kind };
        vec![
            event(EventKind::Step { step: Box::new(stepped()) }),
            event(EventKind::Closed { reason: CloseReason::Deleted }),
        ]
    }

    #[test]
    fn the_acting_side_asks_for_no_hash_of_the_state() {
        let session = SessionId::new();
        let step =
            || serde_json::from_value(json!({"action": {"text": "x"}, "observe": {"state_hash": true}})).unwrap();
        let asked = |grant| {
            let caller = Principal { tenant: "default".into(), grant, expires_at: None, key: None };
            match confined(&caller, Command::Step { session, step: step() }) {
                Command::Step { step, .. } => step.observe.and_then(|observe| observe.state_hash),
                _ => None,
            }
        };
        assert_eq!(asked(Grant::Session(session)), None);
        assert_eq!(asked(Principal::admin("default".into()).grant), Some(true));
    }

    #[test]
    fn the_acting_side_sees_its_steps_without_what_judges_them() {
        let session = SessionId::new();
        let actor = Principal { tenant: "default".into(), grant: Grant::Session(session), expires_at: None, key: None };
        let seen: Vec<Event> = events(session).into_iter().filter_map(|event| visible(&actor, event)).collect();
        let text = serde_json::to_string(&seen).unwrap();
        assert!(text.contains("seen") && text.contains("closed"));
        for word in ["0.5", "shaping", "sha256", "verdict"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }

    #[test]
    fn a_runner_sees_everything() {
        let session = SessionId::new();
        let runner = Principal::admin("default".into());
        let seen: Vec<Event> = events(session).into_iter().filter_map(|event| visible(&runner, event)).collect();
        assert_eq!(seen, events(session));
    }

    #[tokio::test]
    async fn commands_take_their_places_in_order_before_one_is_waited_for() {
        let (places, seen) = std::sync::mpsc::channel();
        let (release, released) = tokio::sync::watch::channel(false);
        let commands = begin_all((0..100_u64).map(|number| {
            let (places, mut released) = (places.clone(), released.clone());
            Begun::Running(Box::pin(async move {
                places.send(number).unwrap();
                if number % 2 == 0 {
                    released.wait_for(|released| *released).await.unwrap();
                }
                Err(Failure::new(Code::NotFound, number.to_string()))
            }))
        }));
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
        assert_eq!(commands.iter().filter(|command| matches!(command, Begun::Running(_))).count(), 50);
        release.send(true).unwrap();
        let answers = finish_all(commands).await.into_iter().map(|answer| answer.unwrap_err().0.detail);
        assert_eq!(answers.collect::<Vec<_>>(), (0..100).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}
