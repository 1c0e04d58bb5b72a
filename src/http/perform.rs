//! The one way of a command from a caller to the engine and of its answer back: permission, act, credentials, redaction.

use std::sync::{Arc, LazyLock};

use futures::future::{BoxFuture, FutureExt, join_all};
use metrics::Counter;
use palestra_protocol::episode::{Event, EventKind};
use palestra_protocol::id::SessionId;
use palestra_protocol::list::List;
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
use palestra_session::{Answer, AtOnce, Command, Said, SessionError, Taken};

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

/// A command that was begun.
pub(super) enum Begun {
    /// It is answered.
    Done(Result<Answer, Failure>),
    /// Its step is taken, and answered once that is recorded.
    Recording { taken: Taken, acting_side: bool },
    /// It waits for its turn, or takes time. Its place in the session's queue is taken at the first poll.
    Running(BoxFuture<'static, Result<Answer, Failure>>),
}

impl Begun {
    /// Takes the command's place, if it has none yet.
    pub(super) fn in_place(self) -> Self {
        match self {
            Self::Running(mut running) => match (&mut running).now_or_never() {
                Some(outcome) => Self::Done(outcome),
                None => Self::Running(running),
            },
            begun => begun,
        }
    }

    /// Runs a command that waits until it is answered.
    async fn run(&mut self) {
        if let Self::Running(running) = self {
            *self = Self::Done(running.await);
        }
    }

    /// Waits for the answer.
    pub(super) async fn finish(self) -> Result<Answer, Failure> {
        match self {
            Self::Done(outcome) => outcome,
            Self::Recording { taken, acting_side } => stepped(taken.recorded().await, acting_side),
            Self::Running(running) => running.await,
        }
    }
}

/// Begins a command for a caller. A step that has to wait for nothing is taken at once.
pub(super) fn begin(app: &App, principal: &Arc<Principal>, command: Command) -> Begun {
    let command = confined(principal, command);
    let command = match (allow(principal, &command), command) {
        (Ok(()), Command::Step { session, step }) => {
            let acting_side = principal.is_acting_side();
            match app.sessions().step_at_once(&principal.tenant, session, step) {
                AtOnce::Taken(taken) => {
                    return match taken.at_once() {
                        Ok(said) => Begun::Done(stepped(Ok(said), acting_side)),
                        Err(taken) => Begun::Recording { taken, acting_side },
                    };
                }
                AtOnce::Refused(error) => return Begun::Done(stepped(Err(error), acting_side)),
                AtOnce::Waits(step) => Command::Step { session, step },
            }
        }
        // What is not allowed is refused on the way of all others.
        (_, command) => command,
    };
    let (app, principal) = (app.clone(), Arc::clone(principal));
    Begun::Running(Box::pin(async move { perform(&app, &principal, command, ToolForm::default()).await }))
}

/// Begins commands side by side. Each takes its place before the next one is begun, so those of one session run in order.
pub(super) fn begin_all(commands: impl Iterator<Item = Begun>) -> Vec<Begun> {
    commands.map(Begun::in_place).collect()
}

/// Waits for the answers to commands, in their order.
pub(super) async fn finish_all(mut commands: Vec<Begun>) -> Vec<Result<Answer, Failure>> {
    join_all(commands.iter_mut().filter(|command| matches!(command, Begun::Running(_))).map(Begun::run)).await;
    // Records are committed in groups, in order: whoever waits for the first rarely waits for the next one.
    let mut answers = Vec::with_capacity(commands.len());
    for command in commands {
        answers.push(command.finish().await);
    }
    answers
}

/// Runs a command for a caller. Its place in the session's queue is taken at the first poll.
pub(super) async fn perform(
    app: &App,
    principal: &Principal,
    command: Command,
    tools: ToolForm,
) -> Result<Answer, Failure> {
    let command = confined(principal, command);
    let operation = operation(&command);
    let outcome = match allow(principal, &command) {
        Err(failure) => Err(failure),
        Ok(()) => app.sessions().run(&principal.tenant, command).await.map_err(Failure::from),
    };
    operation.count(&outcome);
    dress(app, principal, outcome?, tools)
}

/// A command without what the acting side would not be shown: a hash of the state of a place with files takes all of them along.
fn confined(principal: &Principal, mut command: Command) -> Command {
    if let Command::Step { step, .. } = &mut command
        && let Some(observe) = &mut step.observe
        && principal.is_acting_side()
    {
        observe.state_hash = None;
    }
    command
}

/// Refuses commands that this caller may not give, or that do not fit.
fn allow(principal: &Principal, command: &Command) -> Result<(), Failure> {
    permission::require(principal, command)?;
    check(command)
}

/// The answer of a step that was taken or refused.
fn stepped(outcome: Result<Said, SessionError>, acting_side: bool) -> Result<Answer, Failure> {
    let outcome = outcome.map(Answer::Stepped).map_err(Failure::from);
    STEP.count(&outcome);
    if acting_side { outcome.and_then(hide) } else { outcome }
}

/// Checks of a step's form that its types do not make.
fn check(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Step { step, .. } if step.seq == Some(0) => {
            Err(Failure::invalid("seq", "steps are counted from 1: send 1 or more"))
        }
        _ => Ok(()),
    }
}

/// Adds credentials to what was opened, converts tools, and takes away what the acting side must not see.
fn dress(app: &App, principal: &Principal, mut answer: Answer, tools: ToolForm) -> Result<Answer, Failure> {
    for opened in answer.opened_mut() {
        opened.token = app.auth().session_token(principal, opened.id, opened.expires_at);
        if opened.screen {
            let token = app.auth().page_token(principal, opened.id, opened.expires_at);
            opened.page = token.map(|token| page_path(opened.id, &token));
        }
        tools.convert_opened(opened);
    }
    if principal.is_acting_side() { hide(answer) } else { Ok(answer) }
}

/// The path of a session's page.
fn page_path(session: SessionId, token: &str) -> String {
    format!("/v1/sessions/{session}/page/{token}")
}

/// An answer as the acting side may see it.
fn hide(answer: Answer) -> Result<Answer, Failure> {
    match answer {
        Answer::Stepped(said) => Ok(Answer::Stepped(said.changed(redact)?)),
        answer => Ok(answer),
    }
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

/// The name of a command in the metrics: a place in [`OPERATIONS`].
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

    fn count(self, outcome: &Result<Answer, Failure>) {
        match outcome {
            Ok(_) => SUCCEEDED[self.0].increment(1),
            Err(failure) => {
                let code = failure.code().as_str();
                metrics::counter!(COMMANDS, "operation" => self.name(), "code" => code).increment(1);
            }
        }
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
