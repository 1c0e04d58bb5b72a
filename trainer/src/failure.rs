//! Why an attempt at a job ends without success, in the words that the queue and people get.

use std::io;

use palestra_client::ClientError;
use palestra_protocol::job::JobError;

/// Faults of a data set that are told; the rest is counted.
const FAULTS_TOLD_MAX: usize = 1_000;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum TrainerError {
    /// The job asks for something that cannot be.
    #[error("{0}")]
    BadSpec(String),
    /// Lines of a data set are broken: the number of each from 1, and why.
    #[error("{}", told(faults))]
    BadData {
        /// Line and reason.
        faults: Vec<(u64, String)>,
    },
    /// A checkpoint or model file is missing, truncated or altered.
    #[error("{0}")]
    BadCheckpoint(String),
    /// Tensors of a file do not fit the model: each by name, with both shapes.
    #[error("the tensors do not fit the model:\n{}", .0.join("\n"))]
    Tensors(Vec<String>),
    /// The device does not exist or cannot be used.
    #[error("{0}")]
    Device(String),
    /// The device has no memory left.
    #[error(
        "the device ran out of memory: {0}; use fewer sessions at once, a smaller optimizer.micro_batch_tokens or shorter answers"
    )]
    OutOfMemory(String),
    /// A number became infinite or none.
    #[error(
        "{tensor} is not finite any more: the last checkpoint is kept; a lower learning rate or grad_norm_max may help"
    )]
    NotFinite {
        /// Which tensor.
        tensor: String,
    },
    /// Too many episodes failed for reasons of the environment.
    #[error("{0}")]
    Environment(String),
    /// The lease is lost: another worker may hold the job.
    #[error("the lease of the job is lost")]
    LeaseLost,
    /// The job was asked to stop.
    #[error("the job was cancelled")]
    Cancelled,
    /// The server refused or could not be reached.
    #[error("the server: {0}")]
    Client(#[from] ClientError),
    /// A file could not be read or written.
    #[error("{what}: {source}")]
    Io {
        /// Which, and what was tried.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// A fault of the trainer itself.
    #[error("{0}")]
    Internal(String),
}

fn told(faults: &[(u64, String)]) -> String {
    let lines: Vec<String> =
        faults.iter().take(FAULTS_TOLD_MAX).map(|(line, reason)| format!("line {line}: {reason}")).collect();
    let rest = faults.len().saturating_sub(FAULTS_TOLD_MAX);
    let more = if rest > 0 { format!("\nand {rest} more") } else { String::new() };
    format!("{} broken lines:\n{}{more}", faults.len(), lines.join("\n"))
}

impl TrainerError {
    /// An error of a file.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// As the queue is told.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadSpec(_) => "bad_spec",
            Self::BadData { .. } => "bad_data",
            Self::BadCheckpoint(_) | Self::Tensors(_) => "bad_checkpoint",
            Self::Device(_) => "device",
            Self::OutOfMemory(_) => "out_of_memory",
            Self::NotFinite { .. } => "not_finite",
            Self::Environment(_) => "environment",
            Self::LeaseLost => "lease_lost",
            Self::Cancelled => "cancelled",
            Self::Client(_) | Self::Io { .. } | Self::Internal(_) => "internal",
        }
    }

    /// Whether another attempt could end otherwise.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Client(_) | Self::Io { .. } | Self::Environment(_) | Self::LeaseLost)
    }

    /// As the queue is told.
    #[must_use]
    pub fn to_job_error(&self) -> JobError {
        const DETAIL_BYTES_MAX: usize = 20_000;
        let mut detail = self.to_string();
        let mut end = DETAIL_BYTES_MAX.min(detail.len());
        while !detail.is_char_boundary(end) {
            end -= 1;
        }
        detail.truncate(end);
        JobError { code: self.code().to_owned(), detail }
    }
}
