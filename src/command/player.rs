//! The acting side of `palestra run`: a built-in policy in an episode on some server.

use std::path::Path;
use std::sync::Arc;

use palestra_client::Client;
use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment, Task as PublicTask};

use super::failure::Failure;
use crate::databases::Databases;
use crate::desk::without_sandboxes;
use crate::environment::app::{FAMILY, shipped};
use crate::environment::policy::{Builtin, Policy};
use crate::environment::published::{APP, Definition};
use crate::environment::registry::{BuiltinSettings, builtin};
use crate::environment::task::TaskId;
use crate::environment::{EnvironmentKind, Tasks, sql, work};
use crate::means::Means;

/// A policy that can play one environment.
///
/// Oracle and random policies look at what no server tells: they recreate each task from its id by the environment that is
/// built into this program, or made from the definition that the server has. So they play built-in environments, and only in the
/// version that this program has, and apps whose definition the credential may read.
pub(super) enum Player {
    /// Says nothing in every turn; plays everything.
    Null,
    /// Plays from the task's secret.
    Local {
        /// The environment in this program.
        kind: Arc<dyn EnvironmentKind>,
        /// Which policy.
        policy: Builtin,
        /// Its randomness.
        seed: u64,
    },
}

impl Player {
    /// The policy for `environment`.
    ///
    /// # Errors
    /// When this program does not have the environment, or has another version of it, or may not read its definition.
    pub(super) async fn new(
        policy: Builtin,
        client: &Client,
        environment: &Environment,
        seed: u64,
    ) -> Result<Self, Failure> {
        if policy == Builtin::Null {
            return Ok(Self::Null);
        }
        let name = &environment.name;
        let kind = find(client, environment)
            .await?
            .ok_or_else(|| Failure::Other(format!("{policy} plays built-in environments alone, and {name} is none")))?;
        if kind.spec().digest != environment.digest {
            return Err(Failure::Other(format!(
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
    pub(super) fn begin(&self, task: &PublicTask, number: u64) -> Result<Box<dyn Policy>, String> {
        let Self::Local { kind, policy, seed } = self else { return Ok(Box::new(Silence)) };
        let id: TaskId = task.id.parse().map_err(|error| format!("{error}"))?;
        let Tasks::Generated(generator) = kind.tasks() else {
            return Err(format!("tasks of {} are not made from their ids", kind.spec().name));
        };
        let whole = generator.generate(&id.split, id.number, id.difficulty()).map_err(|error| error.to_string())?;
        policy
            .begin(kind, &Arc::new(whole), seed.wrapping_add(number))
            .ok_or_else(|| format!("no solution of task {} is known", task.id))
    }
}

/// The same environment in this program.
async fn find(client: &Client, environment: &Environment) -> Result<Option<Arc<dyn EnvironmentKind>>, Failure> {
    let Environment { name, version, digest, .. } = environment;
    if let Some(app) = shipped::all().into_iter().find(|app| app.name() == *name) {
        return app.kind().map(Some).map_err(Failure::Other);
    }
    if let Some(work) = work::shipped::all().into_iter().find(|work| work.name() == name) {
        return work.kind(&without_sandboxes(Path::new("."))).map(Some).map_err(Failure::Other);
    }
    if let Some(sql) = sql::shipped::all().into_iter().find(|sql| sql.name() == name) {
        return sql.kind(&Databases::none()).map(Some).map_err(Failure::Other);
    }
    if environment.family == FAMILY {
        let files = client.definition(&format!("{name}@{version}")).await?.files;
        let definition = serde_json::json!({"kind": APP, "files": files});
        let splits = &environment.splits;
        let means = Means { desk: without_sandboxes(Path::new(".")), databases: Databases::none() };
        let definition = Definition { name, version: *version, digest, definition: &definition, splits };
        return definition.kind(&means).map(Some).map_err(Failure::Other);
    }
    Ok(builtin(&BuiltinSettings::default()).into_iter().find(|kind| kind.spec().name == *name))
}

/// Says nothing, in every turn.
struct Silence;

impl Policy for Silence {
    fn next_action(&mut self) -> Option<Action> {
        Some(Action::Text(String::new()))
    }
}
