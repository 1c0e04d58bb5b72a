//! Failures of actions: those that an agent is told of, and those of the browser.

use crate::cdp::CdpError;
use crate::error::BrowserError;

/// An action did not happen.
#[derive(Debug)]
pub enum ActionFailure {
    /// For a reason that the agent is told.
    Told(String),
    /// Because the browser failed.
    Broken(BrowserError),
}

impl ActionFailure {
    pub(super) const fn told(words: String) -> Self {
        Self::Told(words)
    }
}

impl From<BrowserError> for ActionFailure {
    fn from(error: BrowserError) -> Self {
        Self::Broken(error)
    }
}

impl From<CdpError> for ActionFailure {
    fn from(error: CdpError) -> Self {
        Self::Broken(error.into())
    }
}
