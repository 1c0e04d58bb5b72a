//! Policies that are asked for each turn: served by a trainer, or by whoever answers OpenAI's chat completions.

use super::PlayError;
use super::endpoint::Endpoint;
use super::served::ServedPolicy;
use super::turn::{PolicyInput, PolicyOutput};

/// A policy that is asked for each turn.
pub enum Model {
    /// One of this server's, which a trainer serves.
    Served(ServedPolicy),
    /// Somebody who answers chat completions.
    Endpoint(Endpoint),
}

impl Model {
    /// The next turn.
    ///
    /// # Errors
    /// When the policy fails, or cannot be had.
    pub async fn answer(&self, asked: &PolicyInput<'_>) -> Result<PolicyOutput, PlayError> {
        match self {
            Self::Served(served) => served.answer(asked).await,
            Self::Endpoint(endpoint) => endpoint.answer(asked).await,
        }
    }
}
