//! The work of a job, per kind. Unknown fields are refused, and so is what contradicts itself: nothing is silently ignored.

pub mod play;
pub mod train;

use serde::Deserialize;
use serde_json::Value;

use crate::job::JobKind;
use crate::problem::Fault;

/// The work of a job, read from its `spec`.
#[derive(Debug, Clone, PartialEq)]
pub enum Spec {
    /// Changes a policy.
    Train(Box<train::Train>),
    /// Measures a policy.
    Evaluate(play::Evaluate),
    /// Plays episodes and keeps their trajectories.
    Collect(play::Collect),
    /// Judges stored episodes again.
    Rescore(play::Rescore),
    /// Runs the publication gate of an environment.
    Check(play::Check),
    /// Answers for a policy.
    Serve(play::Serve),
}

impl Spec {
    /// Reads and checks the spec of a job.
    ///
    /// # Errors
    /// Every fault found, each with the field where it lies.
    pub fn read(kind: JobKind, spec: &Value) -> Result<Self, Vec<Fault>> {
        let read = match kind {
            JobKind::Train => Self::Train(Box::new(parse(spec)?)),
            JobKind::Evaluate => Self::Evaluate(parse(spec)?),
            JobKind::Collect => Self::Collect(parse(spec)?),
            JobKind::Rescore => Self::Rescore(parse(spec)?),
            JobKind::Check => Self::Check(parse(spec)?),
            JobKind::Serve => Self::Serve(parse(spec)?),
        };
        let mut faults = Faults::default();
        match &read {
            Self::Train(train) => train.check(&mut faults),
            Self::Evaluate(evaluate) => evaluate.check(&mut faults),
            Self::Collect(collect) => collect.check(&mut faults),
            Self::Rescore(rescore) => rescore.check(&mut faults),
            Self::Check(check) => check.check(&mut faults),
            Self::Serve(serve) => serve.check(&mut faults),
        }
        if faults.0.is_empty() { Ok(read) } else { Err(faults.0) }
    }
}

fn parse<T: for<'de> Deserialize<'de>>(spec: &Value) -> Result<T, Vec<Fault>> {
    serde_path_to_error::deserialize(spec).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "spec".to_owned() } else { format!("spec.{path}") };
        vec![Fault { field: Some(field), detail: error.into_inner().to_string(), ..Fault::default() }]
    })
}

/// Faults as they are found.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Notes a fault of `field`, which is named below the spec: `rollout.max_turns`.
    pub fn add(&mut self, field: &str, detail: impl Into<String>) {
        self.0.push(Fault { field: Some(format!("spec.{field}")), detail: detail.into(), ..Fault::default() });
    }

    /// Notes a fault unless `holds`.
    pub fn unless(&mut self, holds: bool, field: &str, detail: impl Into<String>) {
        if !holds {
            self.add(field, detail);
        }
    }

    /// True if nothing was noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
