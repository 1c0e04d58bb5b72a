//! The acting side of an episode on some server: a built-in policy, or a model that is asked for each turn.

use std::path::Path;
use std::sync::Arc;

use palestra_client::Client;
use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment, Task as PublicTask};
use serde_json::Value;

use super::PlayError;
use super::conversation::Conversation;
use super::model::Model;
use super::policy::ReadyPolicy;
use super::remote_builtin::RemoteBuiltinPolicy;
use super::turn::{PolicyInput, PolicyOutput};
use palestra_environment::policy::{Builtin, Policy};
use palestra_environment::task::{SEED_MAX, TaskId, seed_of};
use palestra_environment::{EnvironmentKind, Tasks};
use palestra_families::app::shipped;
use palestra_families::backends::Backends;
use palestra_families::registry::{BuiltinSettings, builtin};
use palestra_families::web;
use palestra_families::{sql, work};

/// A policy that can play one environment.
///
/// Oracle and random policies look at what the acting side is not told. What is shipped they recreate from each task's id by the
/// environment that is in this program, and only in the version that this program has. What was published is on the server alone,
/// which tells what they do, if the credential may know what solves tasks.
pub enum Player {
    /// Says nothing in every turn; plays everything.
    Null,
    /// Plays from the task's secret.
    Local {
        /// The environment in this program.
        kind: Arc<dyn EnvironmentKind>,
        /// The policy.
        policy: Builtin,
        /// Its randomness.
        seed: u64,
    },
    /// Plays the actions that the server gives.
    RemoteBuiltin {
        /// Asks the server.
        client: Client,
        /// The environment, with its version.
        environment: Arc<str>,
        /// The policy.
        policy: Builtin,
        /// Its randomness.
        seed: u64,
    },
    /// Is asked for each turn; plays everything.
    Model {
        /// The model.
        model: Arc<Model>,
        /// Its randomness.
        seed: u64,
    },
}

/// A policy in one episode.
pub enum Acting {
    /// Acts by itself.
    Alone(Box<dyn Policy>),
    /// Acts as the server says.
    RemoteBuiltin(Box<RemoteBuiltinPolicy>),
    /// Is asked for each turn.
    Model {
        /// The model.
        model: Arc<Model>,
        /// Randomness of the episode.
        seed: u64,
    },
}

impl Player {
    /// `policy` for `environment`.
    ///
    /// # Errors
    /// When this program has another form of an environment that is shipped.
    pub fn new(policy: &ReadyPolicy, client: &Client, environment: &Environment, seed: u64) -> Result<Self, PlayError> {
        let policy = match policy {
            ReadyPolicy::Builtin(Builtin::Null) => return Ok(Self::Null),
            ReadyPolicy::Builtin(policy) => *policy,
            ReadyPolicy::Model(model) => return Ok(Self::Model { model: Arc::clone(model), seed }),
        };
        let name = &environment.name;
        let Some(kind) = find(name)? else {
            let environment = format!("{name}@{}", environment.version).into();
            return Ok(Self::RemoteBuiltin { client: client.clone(), environment, policy, seed });
        };
        if kind.spec().digest != environment.digest {
            return Err(PlayError::Policy(format!(
                "the server has {name}@{}, and this program another form of it: use the program that the server runs",
                environment.version
            )));
        }
        Ok(Self::Local { kind, policy, seed })
    }

    /// The policy in one episode; `number` is the episode's.
    ///
    /// # Errors
    /// When the task cannot be recreated or has no known solution.
    pub fn begin(&self, task: &PublicTask, number: u64) -> Result<Acting, PlayError> {
        match self {
            Self::Null => Ok(Acting::Alone(Box::new(Silence))),
            Self::Local { kind, policy, seed } => {
                let begun = begin_local(kind, *policy, task, seed.wrapping_add(number));
                begun.map(Acting::Alone).map_err(PlayError::Turn)
            }
            Self::RemoteBuiltin { client, environment, policy, seed } => {
                let policy =
                    RemoteBuiltinPolicy::new(client, environment, *policy, &task.id, seed.wrapping_add(number));
                Ok(Acting::RemoteBuiltin(Box::new(policy)))
            }
            Self::Model { model, seed } => {
                let words = [&b"model"[..], task.id.as_bytes(), &seed.to_le_bytes(), &number.to_le_bytes()];
                Ok(Acting::Model { model: Arc::clone(model), seed: number_of(&words) })
            }
        }
    }
}

impl Acting {
    /// True where it reads the conversation.
    pub const fn reads(&self) -> bool {
        matches!(self, Self::Model { .. })
    }

    /// The turn `seq`; `None` when the policy gives up. `data` is the structured form of what is seen now.
    ///
    /// # Errors
    /// When the policy fails.
    pub async fn next_action(
        &mut self,
        seq: u64,
        conversation: Option<&Conversation>,
        data: &Value,
    ) -> Result<Option<PolicyOutput>, PlayError> {
        match self {
            Self::Alone(policy) => Ok(policy.next_action().map(PolicyOutput::from)),
            Self::RemoteBuiltin(policy) => Ok(policy.next_action().await?.map(PolicyOutput::from)),
            Self::Model { model, seed } => {
                let conversation =
                    conversation.ok_or_else(|| PlayError::Turn("nobody kept the conversation".to_owned()))?;
                let seed = number_of(&[b"turn", &seed.to_le_bytes(), &seq.to_le_bytes()]);
                model.answer(&PolicyInput { conversation, data, seed }).await.map(Some)
            }
        }
    }
}

/// A number below 2^53 that follows from `words`.
pub fn number_of(words: &[&[u8]]) -> u64 {
    let digest = seed_of(words);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(first) & SEED_MAX
}

/// A policy that knows the task's secret, or at least its actions.
fn begin_local(
    kind: &Arc<dyn EnvironmentKind>,
    policy: Builtin,
    task: &PublicTask,
    seed: u64,
) -> Result<Box<dyn Policy>, String> {
    let id: TaskId = task.id.parse().map_err(|error| format!("{error}"))?;
    let Tasks::Generated(generator) = kind.tasks() else {
        return Err(format!("tasks of {} are not made from their ids: choose another policy", kind.spec().name));
    };
    let whole = generator.generate(&id.split, id.number, id.difficulty()).map_err(|error| error.to_string())?;
    policy
        .begin(kind, &Arc::new(whole), seed)
        .ok_or_else(|| format!("no solution of task {} is known: choose another policy", task.id))
}

/// The environment of a name in this program, where it is shipped.
fn find(name: &str) -> Result<Option<Arc<dyn EnvironmentKind>>, PlayError> {
    if let Some(app) = shipped::all().into_iter().find(|app| app.name() == name) {
        return app.kind(None).map(Some).map_err(PlayError::Policy);
    }
    if let Some(work) = work::shipped::all().into_iter().find(|work| work.name() == name) {
        return work.kind(&Backends::none(Path::new(".")).desk).map(Some).map_err(PlayError::Policy);
    }
    if let Some(sql) = sql::shipped::all().into_iter().find(|sql| sql.name() == name) {
        return sql.kind(&Backends::none(Path::new(".")).databases).map(Some).map_err(PlayError::Policy);
    }
    let web = web::all(&Backends::none(Path::new(".")).browsers);
    Ok(builtin(&BuiltinSettings::default()).into_iter().chain(web).find(|kind| kind.spec().name == name))
}

/// Says nothing, in every turn.
struct Silence;

impl Policy for Silence {
    fn next_action(&mut self) -> Option<Action> {
        Some(Action::Text(String::new()))
    }
}
