//! What a policy is asked in a turn, and what it answers.

use palestra_protocol::action::Action;
use serde_json::{Value, json};

use super::talk::Talk;

/// What a policy is asked.
pub struct Asked<'a> {
    /// The conversation so far.
    pub talk: &'a Talk,
    /// The structured form of what is seen now.
    pub data: &'a Value,
    /// Randomness of the answer.
    pub seed: u64,
}

/// What a policy does.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The action.
    pub action: Action,
    /// What it took.
    pub tokens: Tokens,
    /// What is recorded beside the step, where there is something.
    pub meta: Option<Value>,
}

impl From<Action> for Answered {
    fn from(action: Action) -> Self {
        Self { action, tokens: Tokens::default(), meta: None }
    }
}

/// How much a policy read and wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens that were read.
    pub prompt: u64,
    /// Tokens that were written.
    pub completion: u64,
}

impl Tokens {
    /// Counts those of another turn.
    pub fn add(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.completion += other.completion;
    }

    /// What is recorded beside a step of a policy that tells nothing else of its tokens.
    pub fn meta(self) -> Value {
        json!({"prompt_tokens": self.prompt, "completion_tokens": self.completion})
    }

    /// Those of a recorded step, by what stands beside it.
    pub fn recorded(meta: &Value) -> Self {
        let count = |field: &str| meta[field].as_u64();
        let sampled = meta["token_ids"].as_array().map(|tokens| tokens.len() as u64);
        let completion = count("completion_tokens").or(sampled).or_else(|| count("omitted_tokens"));
        Self { prompt: count("prompt_tokens").unwrap_or(0), completion: completion.unwrap_or(0) }
    }
}
