//! The work of a job, per kind: one file each, and one line in the list of [`JobKind`] and [`Spec`]. Unknown fields are refused, and so is
//! a spec that contradicts itself: nothing is silently ignored.

mod check;
mod collect;
mod evaluate;
pub mod play;
mod rescore;
mod serve;
#[cfg(test)]
mod tests;
mod tool_format;
pub mod train;

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{FileId, JobId, PolicyId};
use crate::problem::Fault;
pub use check::Check;
pub use collect::Collect;
pub use evaluate::{Baseline, Evaluate};
pub use rescore::Rescore;
pub use serve::Serve;
pub use tool_format::ToolFormat;
use train::Train;

/// The spec of one kind of job, and all that the server has to know of the kind.
pub trait JobSpec: DeserializeOwned {
    /// True where `palestra worker` does it, false where it takes a trainer.
    const LIGHT: bool = true;
    /// True where an attempt counts the scored episodes of earlier attempts: the lease then lists their runs, and the progress stays.
    const RESUMES: bool = false;

    /// Notes the faults that the types of the fields let pass.
    fn check(&self, faults: &mut Faults);

    /// The jobs, policies and files that it names.
    fn references(&self) -> References {
        References::default()
    }

    /// True where a lease of the job may learn this of an environment, `family/name` or `family/name@version`.
    fn may_learn(&self, _: Disclosure, _environment: &str) -> bool {
        false
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($spec:ty) = $name:literal;)+) => {
        /// The kind of work of a job.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum JobKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)+
        }

        impl JobKind {
            /// Every kind.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$kind),+];

            /// As it is written in JSON and in the store.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// As [`JobSpec::LIGHT`].
            #[must_use]
            pub const fn is_light(self) -> bool {
                match self { $(Self::$kind => <$spec>::LIGHT,)+ }
            }

            /// As [`JobSpec::RESUMES`].
            #[must_use]
            pub const fn resumes(self) -> bool {
                match self { $(Self::$kind => <$spec>::RESUMES,)+ }
            }
        }

        /// The work of a job, read from its `spec`.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Spec {
            $($(#[$doc])* $kind(Box<$spec>),)+
        }

        /// The work of a job, in the form of its kind.
        #[cfg(feature = "openapi")]
        #[derive(Serialize, utoipa::ToSchema)]
        #[serde(untagged)]
        #[expect(dead_code, reason = "it only describes")]
        pub(crate) enum AnySpec {
            $($kind(Box<$spec>),)+
        }

        impl Spec {
            /// Reads and checks the spec of a job.
            ///
            /// # Errors
            /// Every fault found, each with the field where it lies.
            pub fn read(kind: JobKind, spec: &Value) -> Result<Self, Vec<Fault>> {
                match kind { $(JobKind::$kind => read(spec).map(Self::$kind),)+ }
            }

            /// As [`JobSpec::references`].
            #[must_use]
            pub fn references(&self) -> References {
                match self { $(Self::$kind(spec) => spec.references(),)+ }
            }

            /// As [`JobSpec::may_learn`].
            #[must_use]
            pub fn may_learn(&self, disclosure: Disclosure, environment: &str) -> bool {
                match self { $(Self::$kind(spec) => spec.may_learn(disclosure, environment),)+ }
            }
        }
    };
}

kinds! {
    /// Changes a policy.
    Train(Train) = "train";
    /// Measures a policy.
    Evaluate(Evaluate) = "evaluate";
    /// Plays episodes and keeps their trajectories.
    Collect(Collect) = "collect";
    /// Judges stored episodes again.
    Rescore(Rescore) = "rescore";
    /// Runs the publication gate of an environment.
    Check(Check) = "check";
    /// Answers for a policy.
    Serve(Serve) = "serve";
}

// Written out because the derived form does not see names that a macro puts together.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for JobKind {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .description(Some("The kind of work of a job."))
            .enum_values(Some(Self::ALL.map(Self::as_str)))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for JobKind {}

fn read<T: JobSpec>(spec: &Value) -> Result<Box<T>, Vec<Fault>> {
    let read: T = serde_path_to_error::deserialize(spec).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "spec".to_owned() } else { format!("spec.{path}") };
        vec![Fault { field: Some(field), detail: error.into_inner().to_string(), ..Fault::default() }]
    })?;
    let mut faults = Faults::default();
    read.check(&mut faults);
    if faults.is_empty() { Ok(Box::new(read)) } else { Err(faults.0) }
}

/// The things that a job names: jobs have to succeed before it begins, policies and files have to be there when it is queued. The token of
/// its lease reaches them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Jobs.
    pub jobs: BTreeSet<JobId>,
    /// Registered policies.
    pub policies: BTreeSet<PolicyId>,
    /// Uploaded files, with the field that names each.
    pub files: BTreeMap<FileId, &'static str>,
}

impl References {
    /// Adds the policy, or the job whose policy is meant.
    pub fn add_policy(&mut self, from: &play::PolicyFrom) {
        match from {
            play::PolicyFrom::Job(job) => drop(self.jobs.insert(*job)),
            play::PolicyFrom::Registered(policy) => drop(self.policies.insert(*policy)),
            _ => {}
        }
    }
}

/// Knowledge of an environment that only keys that publish have, and leases whose job needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disclosure {
    /// The actions of built-in policies in its tasks.
    Actions,
    /// Its definition, and whether its tasks are sound.
    Definition,
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

    /// True where nothing was noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
