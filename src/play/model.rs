//! Policies that are asked for each turn: served by a trainer, or by whoever answers OpenAI's chat completions.

use palestra_protocol::action::Action;
use serde_json::{Value, json};

use super::PlayError;
use super::endpoint::Endpoint;
use super::served::Served;
use super::talk::Talk;

/// A policy that is asked for each turn.
pub(crate) enum Model {
    /// One of this server's, which a trainer serves.
    Served(Served),
    /// Somebody who answers chat completions.
    Endpoint(Endpoint),
}

/// What a policy is asked.
pub(crate) struct Asked<'a> {
    /// The conversation so far.
    pub(crate) talk: &'a Talk,
    /// The structured form of what is seen now.
    pub(crate) data: &'a Value,
    /// Randomness of the answer.
    pub(crate) seed: u64,
}

/// What a policy does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answered {
    /// The action.
    pub(crate) action: Action,
    /// What it took.
    pub(crate) tokens: Tokens,
    /// What is recorded beside the step, where there is something.
    pub(crate) meta: Option<Value>,
}

impl From<Action> for Answered {
    fn from(action: Action) -> Self {
        Self { action, tokens: Tokens::default(), meta: None }
    }
}

/// How much a policy read and wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// Tokens that were read.
    pub(crate) prompt: u64,
    /// Tokens that were written.
    pub(crate) completion: u64,
}

impl Tokens {
    /// Counts those of another turn.
    pub(crate) fn add(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.completion += other.completion;
    }

    /// What is recorded beside a step of a policy that tells nothing else of its tokens.
    pub(crate) fn meta(self) -> Value {
        json!({"prompt_tokens": self.prompt, "completion_tokens": self.completion})
    }

    /// Those of a recorded step, by what stands beside it.
    pub(crate) fn recorded(meta: &Value) -> Self {
        let count = |field: &str| meta[field].as_u64();
        let sampled = meta["token_ids"].as_array().map(|tokens| tokens.len() as u64);
        let completion = count("completion_tokens").or(sampled).or_else(|| count("omitted_tokens"));
        Self { prompt: count("prompt_tokens").unwrap_or(0), completion: completion.unwrap_or(0) }
    }
}

impl Model {
    /// The next turn.
    ///
    /// # Errors
    /// When the policy fails, or cannot be had.
    pub(crate) async fn answer(&self, asked: &Asked<'_>) -> Result<Answered, PlayError> {
        match self {
            Self::Served(served) => served.answer(asked).await,
            Self::Endpoint(endpoint) => endpoint.answer(asked).await,
        }
    }
}
