//! Exports: rollouts in the forms that trainers and viewers read, written as they come.
//!
//! A rollout that was not scored never has a reward. It is written where the form can say so, and left out where it cannot; both
//! are counted.

mod atif;
mod buffer;
mod inspect;
mod jsonl;
mod openenv;
mod parquet;
mod skyrl;
#[cfg(test)]
mod tests;
mod tinker;
mod trl;
mod verifiers;
mod verl;
mod view;

use palestra_protocol::id::EpisodeId;
use serde::{Deserialize, Serialize};

use crate::Rollout;
use view::View;

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// OpenEnv's `TrainingTurn`: a line for each call.
    Openenv,
    /// verl's `AgentLoopOutput`: a line for each path.
    Verl,
    /// SkyRL's `GeneratorOutput`: a line for each rollout, with a row for each path.
    Skyrl,
    /// The result of a rollout function of TRL: a line for each path.
    Trl,
    /// verifiers' `Trace`: a line for each rollout, a graph of messages with their tokens.
    Verifiers,
    /// Tinker's `Datum` without advantages: a line for each path.
    Tinker,
    /// ATIF 1.8, Harbor's `trajectory.json`: a line for each rollout.
    Atif,
    /// Inspect's `.eval` file: a sample for each rollout.
    Inspect,
    /// A Parquet file: a row for each path.
    Parquet,
    /// Everything: a line for each rollout, with its trajectory, calls and graph.
    Jsonl,
}

impl Format {
    /// Every form.
    pub const ALL: [Self; 10] = [
        Self::Openenv,
        Self::Verl,
        Self::Skyrl,
        Self::Trl,
        Self::Verifiers,
        Self::Tinker,
        Self::Atif,
        Self::Inspect,
        Self::Parquet,
        Self::Jsonl,
    ];

    /// As it is written in addresses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Openenv => "openenv",
            Self::Verl => "verl",
            Self::Skyrl => "skyrl",
            Self::Trl => "trl",
            Self::Verifiers => "verifiers",
            Self::Tinker => "tinker",
            Self::Atif => "atif",
            Self::Inspect => "inspect",
            Self::Parquet => "parquet",
            Self::Jsonl => "jsonl",
        }
    }

    /// The media type of a whole export.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Inspect => "application/zip",
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Openenv
            | Self::Verl
            | Self::Skyrl
            | Self::Trl
            | Self::Verifiers
            | Self::Tinker
            | Self::Atif
            | Self::Jsonl => "application/x-ndjson",
        }
    }

    /// The ending of the name of a file, without a dot.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Inspect => "eval",
            Self::Parquet => "parquet",
            _ => "jsonl",
        }
    }

    fn form(self) -> Box<dyn Form> {
        match self {
            Self::Openenv => Box::new(openenv::Openenv),
            Self::Verl => Box::new(verl::Verl),
            Self::Skyrl => Box::<skyrl::Skyrl>::default(),
            Self::Trl => Box::new(trl::Trl),
            Self::Verifiers => Box::new(verifiers::Verifiers),
            Self::Tinker => Box::new(tinker::Tinker),
            Self::Atif => Box::new(atif::Atif),
            Self::Inspect => Box::<inspect::Inspect>::default(),
            Self::Parquet => Box::<parquet::Parquet>::default(),
            Self::Jsonl => Box::new(jsonl::Jsonl),
        }
    }
}

/// Why an export cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A rollout does not fit the form.
    #[error("{episode} cannot be written as {}: {cause}; export it as jsonl, or leave it out", format.as_str())]
    Rollout {
        /// The episode.
        episode: EpisodeId,
        /// The form.
        format: Format,
        /// The fault.
        cause: FormError,
    },
    /// The end of the file cannot be written.
    #[error("the end of the {} export cannot be written: {cause}; export fewer episodes at once", format.as_str())]
    End {
        /// The form.
        format: Format,
        /// The fault.
        cause: FormError,
    },
}

/// Why bytes of a form cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FormError {
    /// A value is not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A file of a zip cannot be written.
    #[error(transparent)]
    Zip(#[from] zip::result::ZipError),
    /// A row cannot be written.
    #[error(transparent)]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// Compression failed.
    #[error(transparent)]
    Compression(#[from] std::io::Error),
}

/// The size of an export, and what it leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tally {
    /// Rollouts that were given.
    pub rollouts: u64,
    /// Of these, rollouts that were not scored: none of them has a reward.
    pub not_scored: u64,
    /// Of these, rollouts that were scored and that no trainer may learn from: none of them has a reward.
    pub not_trainable: u64,
    /// Of these, rollouts without any token that can be trained.
    pub without_tokens: u64,
    /// Rollouts that are not in the export: without a reward where the form cannot say so, or without a path where it is made of
    /// paths.
    pub rollouts_left_out: u64,
    /// Lines, rows or samples that were written.
    pub records: u64,
    /// Paths that are not in the export: no token of them is trained, or the form asks for log-probabilities that are unknown.
    pub paths_left_out: u64,
    /// Calls that are not in the export: the form asks for token ids or log-probabilities that are unknown.
    pub calls_left_out: u64,
    /// Tokens with loss mask 1 that were written.
    pub tokens_trained: u64,
}

/// Writer of one form of export.
trait Form: Send {
    /// Writes a rollout to the end of `out`.
    fn push(&mut self, view: &View<'_>, tally: &mut Tally, out: &mut Vec<u8>) -> Result<(), FormError>;

    /// Writes what comes after all rollouts.
    fn finish(self: Box<Self>, _out: &mut Vec<u8>) -> Result<(), FormError> {
        Ok(())
    }
}

/// Writes rollouts in one form. The bytes of all pushes and of the end, in order, are the export.
pub struct Exporter {
    format: Format,
    form: Box<dyn Form>,
    tally: Tally,
}

impl Exporter {
    /// An export without rollouts.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self { format, form: format.form(), tally: Tally::default() }
    }

    /// Adds a rollout and returns the bytes that are ready, which may be none.
    ///
    /// # Errors
    /// The rollout does not fit the form. What was returned before stays valid.
    pub fn push(&mut self, rollout: &Rollout) -> Result<Vec<u8>, ExportError> {
        let view = View::of(rollout);
        self.tally.rollouts += 1;
        self.tally.not_scored += u64::from(rollout.score().is_none());
        self.tally.not_trainable += u64::from(rollout.score().is_some() && rollout.reward().is_none());
        self.tally.without_tokens += u64::from(view.graph.counts.tokens_trained == 0);
        let mut out = Vec::new();
        self.form.push(&view, &mut self.tally, &mut out).map_err(|cause| ExportError::Rollout {
            episode: rollout.trajectory.episode.id,
            format: self.format,
            cause,
        })?;
        Ok(out)
    }

    /// The size so far.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// Ends the export and returns its last bytes, which may be none.
    ///
    /// # Errors
    /// The end cannot be written.
    pub fn finish(self) -> Result<Vec<u8>, ExportError> {
        let mut out = Vec::new();
        self.form.finish(&mut out).map_err(|cause| ExportError::End { format: self.format, cause })?;
        Ok(out)
    }
}

/// Writes a value as one line of JSON.
fn write_line(value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), FormError> {
    serde_json::to_writer(&mut *out, value)?;
    out.push(b'\n');
    Ok(())
}
