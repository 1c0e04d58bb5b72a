//! Examples to learn from.

use serde::{Deserialize, Serialize};

use crate::id::{FileId, JobId};
use crate::spec::{Faults, References};

/// Examples to learn from: JSON Lines of `{"messages":[..],"tools":[..]?}` in the form of OpenAI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Data {
    /// The export of a `collect` job, which has to succeed first.
    Job(JobId),
    /// A file that was uploaded: `file-..`.
    File(FileId),
    /// The lines themselves, at most 4 MiB.
    Lines(String),
}

/// Measures on examples that are not learnt from: the mean cross-entropy per token of their answers, as `validation_loss`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// The examples; never those that are learnt from.
    pub data: Data,
    /// After every so many updates, and after the last.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub every: u64,
}

/// Most bytes of examples that stand in a spec itself.
const LINES_BYTES_MAX: usize = 4 << 20;

impl Data {
    pub(super) fn check(&self, field: &str, faults: &mut Faults) {
        if let Self::Lines(lines) = self {
            let fits = lines.len() <= LINES_BYTES_MAX;
            faults.unless(fits, &format!("{field}.lines"), "at most 4 MiB: upload a file instead");
        }
    }

    /// Notes the job or file that the examples come from; `field` names it where it is a file.
    pub(super) fn refer(&self, field: &'static str, references: &mut References) {
        match self {
            Self::Job(job) => drop(references.jobs.insert(*job)),
            Self::File(file) => drop(references.files.insert(*file, field)),
            Self::Lines(_) => {}
        }
    }
}
