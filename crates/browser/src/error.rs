//! Errors of browsers.

use palestra_sandbox::SandboxError;

use crate::cdp::CdpError;

/// A browser cannot do what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// The sandbox of the browser failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// This machine has no browser.
    #[error("{0}")]
    Missing(String),
    /// All contexts are in use.
    #[error("all browsers are in use: try again in {retry_after_ms} ms")]
    Busy {
        /// Milliseconds after which one may be free.
        retry_after_ms: u64,
    },
    /// The browser did not start.
    #[error("Chromium did not start: {0}")]
    Start(String),
    /// The browser ended, or its connection did.
    #[error("Chromium is gone: {0}")]
    Gone(String),
    /// The browser refused a command, or did not answer it in time.
    #[error("Chromium failed: {0}")]
    Protocol(CdpError),
}

impl From<CdpError> for BrowserError {
    fn from(error: CdpError) -> Self {
        match error {
            CdpError::Gone(why) => Self::Gone(why),
            other => Self::Protocol(other),
        }
    }
}
