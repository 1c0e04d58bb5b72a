//! Why a command of the command line failed.

use palestra_client::ClientError;

/// Why a command failed; its text says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server refused or could not be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Writing the output, or reading a file, failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Something else, in words.
    #[error("{0}")]
    Other(String),
}
