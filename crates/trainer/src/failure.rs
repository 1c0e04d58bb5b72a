//! Why an attempt at a job ends without success, in the words that the queue and people get.

use std::io;

use palestra_client::{ClientError, LeaseError};
use palestra_protocol::job::JobError;

/// Faults of a data set that are listed; the rest is counted.
const FAULTS_TOLD_MAX: usize = 1_000;

/// Errors of the trainer.
#[derive(Debug, thiserror::Error)]
pub enum TrainerError {
    /// The job asks for something that cannot be.
    #[error("the job asks for what cannot be done, correct its spec: {0}")]
    BadSpec(String),
    /// Lines of a data set are broken: the number of each from 1, and why.
    #[error("{}", told(faults))]
    BadData {
        /// Line and reason.
        faults: Vec<(u64, String)>,
    },
    /// A checkpoint or model file is missing, truncated or altered.
    #[error("the model's files cannot be used, correct them or choose others: {0}")]
    BadCheckpoint(String),
    /// Tensors of a file do not fit the model: each by name, with both shapes.
    #[error("the tensors do not fit the model, choose files of this model:\n{}", .0.join("\n"))]
    Tensors(Vec<String>),
    /// The device does not exist or cannot be used.
    #[error("the device cannot be used, choose another: {0}")]
    Device(String),
    /// The device has no memory left.
    #[error(
        "the device ran out of memory: {0}; use fewer sessions at once, a smaller optimizer.micro_batch_tokens or shorter answers"
    )]
    OutOfMemory(String),
    /// The training would take more memory than there is.
    #[error(
        "the training does not fit the memory of the device: {0}; lower rollout.max_context_tokens, shorten the examples, train low-rank parts \
         (policy.lora) or use a device with more memory"
    )]
    DoesNotFit(String),
    /// A number became infinite or none.
    #[error("{tensor} is not finite any more: the last checkpoint is kept; lower the learning rate or grad_norm_max")]
    NotFinite {
        /// The tensor.
        tensor: String,
    },
    /// Too many episodes failed for reasons of the environment.
    #[error("the environment fails the training, look into its sessions: {0}")]
    Environment(String),
    /// The lease is lost: another worker may hold the job.
    #[error("the lease of the job is lost: lease again")]
    LeaseLost,
    /// The job was asked to stop.
    #[error("the job was cancelled: retry it to go on")]
    Cancelled,
    /// The server refused or could not be reached.
    #[error("the server: {0}")]
    Client(#[from] ClientError),
    /// A file could not be read or written.
    #[error("{what}: {source}; check the folder and its free space")]
    Io {
        /// Which, and what was tried.
        what: String,
        /// The reason.
        source: io::Error,
    },
    /// A fault of the trainer itself.
    #[error("the trainer failed, report it with its log: {0}")]
    Internal(String),
}

fn told(faults: &[(u64, String)]) -> String {
    let lines: Vec<String> =
        faults.iter().take(FAULTS_TOLD_MAX).map(|(line, reason)| format!("line {line}: {reason}")).collect();
    let rest = faults.len().saturating_sub(FAULTS_TOLD_MAX);
    let more = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    format!("{} broken lines, correct each: {}{more}", faults.len(), lines.join("; "))
}

/// True if the words of a device or its driver say that memory ran out.
#[must_use]
pub fn lacks_memory(text: &str) -> bool {
    const WORDS: [&str; 4] = ["out of memory", "outofmemory", "out of device memory", "allocate buffer of size"];
    // Drivers also write CUDA_ERROR_OUT_OF_MEMORY, and libraries out-of-memory.
    let text = text.to_lowercase().replace(['-', '_'], " ");
    WORDS.iter().any(|words| text.contains(words))
}

impl TrainerError {
    /// Error of a device that failed: a lack of memory, or that it cannot be used.
    #[must_use]
    pub fn device(text: String) -> Self {
        if lacks_memory(&text) { Self::OutOfMemory(text) } else { Self::Device(text) }
    }

    /// An error of a file.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// As the queue reads it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadSpec(_) => "bad_spec",
            Self::BadData { .. } => "bad_data",
            Self::BadCheckpoint(_) | Self::Tensors(_) => "bad_checkpoint",
            Self::Device(_) => "device",
            Self::OutOfMemory(_) | Self::DoesNotFit(_) => "out_of_memory",
            Self::NotFinite { .. } => "not_finite",
            Self::Environment(_) => "environment",
            Self::LeaseLost => "lease_lost",
            Self::Cancelled => "cancelled",
            Self::Client(error) if refuses(error) => "bad_spec",
            Self::Client(_) | Self::Io { .. } | Self::Internal(_) => "internal",
        }
    }

    /// True if another attempt could end otherwise.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Client(error) => !refuses(error),
            Self::Io { .. } | Self::Environment(_) | Self::LeaseLost | Self::OutOfMemory(_) => true,
            _ => false,
        }
    }

    /// As the queue reads it.
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

impl From<LeaseError> for TrainerError {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Lost => Self::LeaseLost,
            LeaseError::Client(error) => Self::Client(error),
        }
    }
}

/// True if the server refuses what the job asks for, now and later.
fn refuses(error: &ClientError) -> bool {
    matches!(error, ClientError::Problem(problem) if matches!(problem.status, 400 | 403 | 404 | 422))
}

#[cfg(test)]
mod tests {
    use palestra_protocol::problem::{Code, Problem};

    use super::*;

    #[test]
    fn a_device_without_memory_is_known_by_its_words_and_is_tried_again() {
        for text in [
            "out of device memory allocating 4096 bytes",
            "An out-of-memory error happened during launch",
            "can't allocate buffer of size: 4096",
            "CUDA_ERROR_OUT_OF_MEMORY",
            "ERROR_OUT_OF_DEVICE_MEMORY",
            "Io(OutOfMemory { size: 4096 })",
        ] {
            let error = TrainerError::device(format!("the logits could not be read: {text}"));
            assert_eq!((error.code(), error.may_pass()), ("out_of_memory", true), "{text}");
            assert!(error.to_string().contains(text), "{error}");
        }
        let error = TrainerError::device("a gradient could not be read: the device was lost".to_owned());
        assert_eq!((error.code(), error.may_pass()), ("device", false));
    }

    #[test]
    fn refusals_of_the_server_are_bad_specs_and_not_tried_again() {
        let seen = |code| {
            let error = TrainerError::from(ClientError::from(Problem::new(code, "no environment \"a/b\"")));
            assert!(error.to_string().contains("a/b"), "{error}");
            (error.code(), error.may_pass())
        };
        for code in [
            Code::Malformed,
            Code::Forbidden,
            Code::NotFound,
            Code::UnknownEnvironment,
            Code::UnknownTask,
            Code::Invalid,
        ] {
            assert_eq!(seen(code), ("bad_spec", false), "{code:?}");
        }
        for code in [Code::Unauthorized, Code::Capacity, Code::TooManyRequests, Code::Internal, Code::QuotaExceeded] {
            assert_eq!(seen(code), ("internal", true), "{code:?}");
        }
        let gone = TrainerError::from(ClientError::Unreachable("connection refused".to_owned()));
        assert_eq!((gone.code(), gone.may_pass()), ("internal", true));
    }
}
