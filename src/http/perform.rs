//! The one way of a command from a caller to the engine and of its answer back: permission, act, credentials, redaction.

use std::future::Future;
use std::pin::Pin;
use std::sync::LazyLock;

use futures::future::{BoxFuture, join_all, poll_immediate};
use metrics::Counter;
use palestra_protocol::episode::{Event, EventKind};
use palestra_protocol::list::List;
use palestra_protocol::session::Opened;
use palestra_protocol::shared::Shared;
use palestra_protocol::step::Stepped;
use serde::Deserialize;
use serde_json::Value;

use super::problem::Failure;
use crate::app::App;
use crate::auth::{Minter, Principal};
use crate::environment::tool::to_mcp;
use crate::session::{Answer, Command};
use crate::telemetry::COMMANDS;

/// In which form tools are wanted.
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
    pub(super) fn convert(self, tools: &mut Shared<List<Value>>) {
        if self == Self::Mcp {
            for tool in &mut tools.make_mut().data {
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

/// Runs a command for a caller. Its place in the session's queue is taken at the first poll.
pub(super) async fn perform(
    app: &App,
    principal: &Principal,
    command: Command,
    tools: ToolForm,
) -> Result<Answer, Failure> {
    let operation = operation(&command);
    let outcome = match principal.require_command(&command).map_err(Failure::from).and_then(|()| check(&command)) {
        Err(failure) => Err(failure),
        Ok(()) => app.sessions().run(&principal.tenant, command).await.map_err(Failure::from),
    };
    match &outcome {
        Ok(_) => operation.succeeded(),
        Err(failure) => {
            let code = failure.code().as_str();
            metrics::counter!(COMMANDS, "operation" => operation.name(), "code" => code).increment(1);
        }
    }
    dress(app, principal, outcome?, tools)
}

/// What the form of a step says and its types do not.
fn check(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Step { step, .. } if step.seq == Some(0) => Err(Failure::invalid("seq", "steps are counted from 1")),
        _ => Ok(()),
    }
}

/// Runs commands side by side. All take their places in order before the first one is waited for, so those of one session
/// run in order.
pub(super) async fn perform_all(commands: Vec<BoxFuture<'_, Result<Answer, Failure>>>) -> Vec<Result<Answer, Failure>> {
    let mut started = Vec::with_capacity(commands.len());
    for mut command in commands {
        started.push(match poll_immediate(command.as_mut()).await {
            Some(answer) => Started::Done(Some(answer)),
            None => Started::Running(command),
        });
    }
    join_all(started).await
}

/// A future that was polled once; it may have been ready.
enum Started<'a, T> {
    Done(Option<T>),
    Running(BoxFuture<'a, T>),
}

impl<T: Unpin> Future for Started<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<T> {
        match self.get_mut() {
            Self::Done(answer) => answer.take().map_or(std::task::Poll::Pending, std::task::Poll::Ready),
            Self::Running(future) => future.as_mut().poll(context),
        }
    }
}

/// Adds credentials to what was opened, converts tools, and takes away what the acting side must not see.
fn dress(app: &App, principal: &Principal, mut answer: Answer, tools: ToolForm) -> Result<Answer, Failure> {
    let mut minter: Option<Minter> = None;
    for opened in answer.opened_mut() {
        // Sessions that are opened together nearly always end together.
        if !minter.as_ref().is_some_and(|minter| minter.serves(opened.expires_at)) {
            minter = app.auth().minter(principal, opened.expires_at);
        }
        opened.token = minter.as_ref().map(|minter| minter.mint(opened.id));
        tools.convert_opened(opened);
    }
    if principal.is_acting_side()
        && let Answer::Stepped(stepped) = &mut answer
    {
        *stepped = stepped.changed(redact)?;
    }
    Ok(answer)
}

/// Takes away what would tell the acting side how it is judged. The hash of a small hidden state could be guessed from.
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

/// What a command is called in the metrics: a place in [`OPERATIONS`].
#[derive(Clone, Copy)]
struct Operation(usize);

const OPERATIONS: [&str; 9] = ["create", "reset", "step", "finish", "verify", "fork", "snapshot", "restore", "close"];

/// Commands that succeeded: looking a counter up by its labels costs as much as a small step.
static SUCCEEDED: LazyLock<[Counter; OPERATIONS.len()]> =
    LazyLock::new(|| OPERATIONS.map(|name| metrics::counter!(COMMANDS, "operation" => name, "code" => "ok")));

impl Operation {
    const fn name(self) -> &'static str {
        OPERATIONS[self.0]
    }

    fn succeeded(self) {
        SUCCEEDED[self.0].increment(1);
    }
}

const fn operation(command: &Command) -> Operation {
    Operation(match command {
        Command::Create { .. } => 0,
        Command::Reset { .. } => 1,
        Command::Step { .. } => 2,
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
    use palestra_protocol::session::CloseReason;
    use serde_json::json;

    use super::*;
    use crate::auth::Grant;

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
        let commands = (0..100_u64)
            .map(|number| {
                let (places, mut released) = (places.clone(), released.clone());
                let command: BoxFuture<'_, Result<Answer, Failure>> = Box::pin(async move {
                    places.send(number).unwrap();
                    if number % 2 == 0 {
                        released.wait_for(|released| *released).await.unwrap();
                    }
                    Err(Failure::not_found("session"))
                });
                command
            })
            .collect();
        let (answers, ()) = futures::join!(perform_all(commands), async {
            assert_eq!(seen.try_iter().collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
            release.send(true).unwrap();
        });
        assert_eq!(answers.len(), 100);
    }
}
