//! Model calls: what a model was asked in a session and what it answered, token for token.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{CallId, EpisodeId, SessionId};
use crate::time::Timestamp;
use crate::upstream::Dialect;

/// The operation that was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// OpenAI's `chat/completions`.
    ChatCompletions,
    /// OpenAI's `responses`.
    Responses,
    /// Anthropic's `messages`.
    Messages,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    GenerateContent,
}

impl CallKind {
    /// Every operation.
    pub const ALL: [Self; 4] = [Self::ChatCompletions, Self::Responses, Self::Messages, Self::GenerateContent];

    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::GenerateContent => "generate_content",
        }
    }

    /// The protocol that it belongs to.
    #[must_use]
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::ChatCompletions | Self::Responses => Dialect::Openai,
            Self::Messages => Dialect::Anthropic,
            Self::GenerateContent => Dialect::Gemini,
        }
    }
}

/// The end of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The upstream answered, to its end.
    Completed,
    /// The upstream refused, broke off, or could not be reached.
    Failed,
    /// The caller went away before the end.
    Cancelled,
}

impl CallOutcome {
    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The tokens of a call, as the engine saw and produced them. Nothing here is tokenised again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CallTokens {
    /// All tokens that the model read; null where the upstream does not tell.
    pub prompt_token_ids: Option<Vec<u32>>,
    /// The tokens that it sampled, with the one that ended it; null where the upstream does not tell.
    pub completion_token_ids: Option<Vec<u32>>,
    /// Natural logarithm of the probability of each sampled token, as long as `completion_token_ids`; null where the upstream does not tell.
    pub logprobs: Option<Vec<f32>>,
}

/// One call of a model in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelCall {
    /// The call. Ids ascend in the order in which calls began.
    pub id: CallId,
    /// The session that it was made in.
    pub session: SessionId,
    /// The episode that went on when it began.
    pub episode: EpisodeId,
    /// The last step of the episode when it began: whatever it led to comes after.
    pub seq: u64,
    /// The operation.
    pub kind: CallKind,
    /// The upstream that answered, or the policy (`pol_..`).
    pub upstream: String,
    /// The model, as the caller named it.
    pub model: String,
    /// The version of the weights, where the upstream tells it.
    pub policy_version: Option<String>,
    /// Its end.
    pub outcome: CallOutcome,
    /// The HTTP status that the caller got.
    pub status: u16,
    /// Why it failed.
    pub error: Option<String>,
    /// Why sampling ended, in the upstream's own word.
    pub finish_reason: Option<String>,
    /// True if the answer was sent in parts.
    pub streamed: bool,
    /// When it began.
    pub begun_at: Timestamp,
    /// Microseconds to the first part of the answer.
    pub first_us: Option<u64>,
    /// Microseconds to its end.
    pub duration_us: u64,
    /// Tokens that the model read, as the upstream counts.
    pub input_tokens: u64,
    /// Tokens that it wrote, as the upstream counts.
    pub output_tokens: u64,
    /// By the price of the upstream.
    pub cost: f64,
    /// The body that was sent to the upstream, with messages and tools.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub request: Value,
    /// The body of the answer; of one that came in parts, the whole that they make; null where there is none.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub response: Value,
    /// Its tokens.
    #[serde(flatten)]
    pub tokens: CallTokens,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_written_as_they_are_stored() {
        for kind in CallKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        for outcome in [CallOutcome::Completed, CallOutcome::Failed, CallOutcome::Cancelled] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
    }
}
