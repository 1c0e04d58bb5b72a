//! Errors of browsers.

use palestra_sandbox::SandboxError;

use crate::cdp::CdpError;

/// A browser cannot do what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// The sandbox of the browser failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
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
