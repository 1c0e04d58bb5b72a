//! Input and output of a policy in one turn.

use palestra_protocol::action::Action;
use serde_json::{Value, json};

use super::conversation::Conversation;

/// The input of a policy.
pub struct PolicyInput<'a> {
    /// The conversation so far.
    pub conversation: &'a Conversation,
    /// The structured form of what is seen now.
    pub data: &'a Value,
    /// Randomness of the answer.
    pub seed: u64,
}

/// The output of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyOutput {
    /// The action.
    pub action: Action,
    /// Tokens that it read and wrote.
    pub tokens: Tokens,
    /// The record beside the step, if any.
    pub meta: Option<Value>,
}

impl From<Action> for PolicyOutput {
    fn from(action: Action) -> Self {
        Self { action, tokens: Tokens::default(), meta: None }
    }
}

/// Numbers of tokens that a policy read and wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens that were read.
    pub prompt: u64,
    /// Tokens that were written.
    pub completion: u64,
    /// Answers that ended because their tokens were used up.
    pub cut: u64,
}

/// Reason of an answer that ended because its tokens were used up, in the words of OpenAI.
pub(super) const CUT: &str = "length";

impl Tokens {
    /// Counts those of another turn.
    pub fn add(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.completion += other.completion;
        self.cut += other.cut;
    }

    /// The record beside a step of a policy that reports nothing else of its tokens.
    pub fn meta(self) -> Value {
        json!({"prompt_tokens": self.prompt, "completion_tokens": self.completion})
    }

    /// Those of a recorded step, by what stands beside it.
    pub fn recorded(meta: &Value) -> Self {
        let count = |field: &str| meta[field].as_u64();
        let sampled = meta["token_ids"].as_array().map(|tokens| tokens.len() as u64);
        let completion = count("completion_tokens").or(sampled).or_else(|| count("omitted_tokens"));
        let cut = u64::from(meta["finish_reason"] == CUT);
        Self { prompt: count("prompt_tokens").unwrap_or(0), completion: completion.unwrap_or(0), cut }
    }
}
