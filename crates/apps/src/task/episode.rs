//! An episode: an app that runs, and a task in it.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::answer::Submission;
use super::instance::Instance;
use super::judge::End;
use super::verdict::Check;
use crate::app::Role;
use crate::app::errors;
use crate::data::{Data, DataFault};
use crate::run::{CallError, Chance, Raised, Reply, World};
use crate::value::Value;

/// An episode. A copy shares all but what either changes later.
#[derive(Debug, Clone)]
pub struct Episode {
    instance: Arc<Instance>,
    world: World,
    submission: Option<Submission>,
}

/// Outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Reaction {
    /// Observation.
    pub data: Json,
    /// The typed error, if it is one.
    pub raised: Option<Raised>,
    /// The agent has ended the task.
    pub terminated: bool,
}

impl Episode {
    /// The beginning of a task.
    ///
    /// # Errors
    /// When an event's time cannot be worked out.
    pub fn begin(instance: &Arc<Instance>, seed: u64) -> Result<Self, CallError> {
        Self::begin_with(instance, seed, instance.data.clone())
    }

    /// The beginning of a task, from other data.
    ///
    /// # Errors
    /// As [`Episode::begin`].
    pub fn begin_with(instance: &Arc<Instance>, seed: u64, data: Data) -> Result<Self, CallError> {
        let world = World::begin(instance.beginning(seed, data))?;
        Ok(Self::at(instance, world))
    }

    /// The beginning of a task with events of chance that take place or not.
    pub(crate) fn begin_by(instance: &Arc<Instance>, seed: u64, chance: Chance) -> Result<Self, CallError> {
        let world = World::begin(instance.beginning_by(seed, chance, instance.data.clone()))?;
        Ok(Self::at(instance, world))
    }

    /// An episode that has come to a world of its task, with nothing submitted yet.
    pub(crate) fn at(instance: &Arc<Instance>, world: World) -> Self {
        Self { instance: Arc::clone(instance), world, submission: None }
    }

    /// The data that a task begins with once overrides are laid over it.
    ///
    /// # Errors
    /// Every fault of the overrides, and every invariant that they break.
    pub fn overridden(instance: &Instance, overrides: &Json) -> Result<Data, Vec<DataFault>> {
        let data = instance.data.overlaid(overrides)?;
        let broken = crate::run::broken_invariants(&instance.app, &data);
        if broken.is_empty() {
            return Ok(data);
        }
        let fault = |text: Arc<str>| DataFault {
            pointer: String::new(),
            message: format!("the state breaks the invariant `{text}`: change it so that this holds"),
        };
        Err(broken.into_iter().map(fault).collect())
    }

    /// The task.
    #[must_use]
    pub const fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// The app as it runs.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// The app as it runs, for surfaces that call it themselves.
    pub const fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Submission.
    #[must_use]
    pub const fn submission(&self) -> Option<&Submission> {
        self.submission.as_ref()
    }

    /// Calls a tool as the agent.
    ///
    /// # Errors
    /// As [`World::call`].
    pub fn perform(&mut self, name: &str, arguments: &Map<String, Json>) -> Result<Reply, CallError> {
        let app = Arc::clone(self.world.app());
        match name {
            "submit" => {
                let submission = Submission::read(arguments)
                    .map_err(|message| Raised::plain(&app, errors::INVALID_ARGUMENT, message))?;
                self.submission = Some(submission);
                Ok(Reply { json: json!({"submitted": true}), value: Value::Null, rows: Vec::new() })
            }
            "wait" => {
                let seconds = match (arguments.get("seconds"), arguments.len()) {
                    (Some(seconds), 1) => seconds.as_i64(),
                    _ => None,
                };
                let seconds = seconds.ok_or_else(|| {
                    Raised::plain(&app, errors::INVALID_ARGUMENT, "seconds must be a whole number.").about("seconds")
                })?;
                self.world.wait(seconds)?;
                let now = app.calendar.show_instant(self.world.now());
                Ok(Reply { json: json!({"now": now}), value: Value::Null, rows: Vec::new() })
            }
            _ => self.world.call(Role::AGENT, name, arguments),
        }
    }

    /// Calls a tool as the agent; typed errors are answers too.
    ///
    /// # Errors
    /// When the definition is at fault, which is never a failure of who acts.
    pub fn call(&mut self, name: &str, arguments: &Map<String, Json>) -> Result<Reaction, String> {
        match self.perform(name, arguments) {
            Ok(reply) => Ok(Reaction { data: reply.json, raised: None, terminated: self.submission.is_some() }),
            Err(CallError::Raised(raised)) => {
                Ok(Reaction { data: raised.to_json(), raised: Some(raised), terminated: false })
            }
            Err(crashed) => Err(crashed.to_string()),
        }
    }

    /// Every check on the episode as it stands.
    ///
    /// # Errors
    /// When an expression of the goal fails.
    pub fn judge(&self) -> Result<Vec<Check>, String> {
        self.judge_by(false)
    }

    /// The same, with rows read in the opposite order of their creation.
    pub(crate) fn judge_reversed(&self) -> Result<Vec<Check>, String> {
        self.judge_by(true)
    }

    fn judge_by(&self, reversed: bool) -> Result<Vec<Check>, String> {
        let (world, instance) = (&self.world, &self.instance);
        let end = End {
            app: &instance.app,
            template: instance.template(),
            task: &world.beginning().task,
            initial: &world.beginning().data,
            baseline: world.baseline(),
            data: world.data(),
            now: world.now(),
            counts: world.counts(),
            broken: world.broken(),
            reached: world.reached(),
            touched: world.touched(),
            submission: self.submission.as_ref(),
            reversed,
        };
        let held = (!instance.held.is_empty()).then_some(instance.held.as_slice());
        let checks = end.judge(held);
        checks.map_err(|error| format!("tasks.{}.goal fails, correct it: {error}", instance.template().name))
    }
}
