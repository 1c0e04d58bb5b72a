//! The graph of a rollout's model calls. A call whose prompt begins with all tokens of an earlier call, exactly, continues it; any
//! other call is a root: a sub-agent, a compacted history, or a history that was tokenised again.

mod join;
mod path;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use palestra_protocol::id::CallId;
use palestra_protocol::model_call::{CallOutcome, ModelCall};
use serde::{Deserialize, Serialize};

pub(crate) use join::in_order;
pub use path::{Path, Paths};

use crate::Rollout;

/// Why a call is not trained, or what a trainer should know of one that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Not in the graph: the upstream refused or broke off.
    Failed,
    /// Not in the graph: the caller went away before the end.
    Cancelled,
    /// Not in the graph: the upstream does not tell the tokens of the prompt and of the completion.
    NoTokenIds,
    /// Masked: no token was sampled.
    EmptyCompletion,
    /// Masked: there are more or fewer log-probabilities than sampled tokens.
    MisalignedLogprobs,
    /// Masked: a log-probability is positive or not finite.
    InvalidLogprobs,
    /// Masked: a filter or the engine took the completion away, so its end is not the model's.
    Withheld,
    /// Trained: a limit of tokens cut the completion, so its end is not the model's.
    Cut,
    /// Trained: the upstream does not tell log-probabilities, so importance ratios cannot be computed.
    NoLogprobs,
}

impl Reason {
    /// True if no token of such a call is trained.
    #[must_use]
    pub const fn masks(self) -> bool {
        !matches!(self, Self::Cut | Self::NoLogprobs)
    }

    /// The reason that keeps a call out of the graph, if any.
    const fn of_omission(call: &ModelCall) -> Option<Self> {
        match call.outcome {
            CallOutcome::Failed => Some(Self::Failed),
            CallOutcome::Cancelled => Some(Self::Cancelled),
            CallOutcome::Completed => {
                if call.tokens.prompt_token_ids.is_some() && call.tokens.completion_token_ids.is_some() {
                    None
                } else {
                    Some(Self::NoTokenIds)
                }
            }
        }
    }

    /// The reasons of a call that is in the graph.
    fn of_node(completion: &[u32], logprobs: Option<&[f32]>, finish_reason: Option<&str>) -> Vec<Self> {
        let mut reasons = Vec::new();
        if completion.is_empty() {
            reasons.push(Self::EmptyCompletion);
        }
        match logprobs {
            Some(logprobs) if logprobs.len() != completion.len() => reasons.push(Self::MisalignedLogprobs),
            Some(logprobs) if logprobs.iter().any(|logprob| !logprob.is_finite() || *logprob > 0.0) => {
                reasons.push(Self::InvalidLogprobs);
            }
            None if !completion.is_empty() => reasons.push(Self::NoLogprobs),
            _ => {}
        }
        reasons.extend(Finish::of(finish_reason).reason());
        reasons
    }
}

/// The end of a completion, in one word for all upstreams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The model ended its turn.
    Stop,
    /// The model called tools.
    ToolCalls,
    /// A limit of tokens was reached.
    Length,
    /// A filter or the engine took the completion away.
    Withheld,
    /// The upstream does not tell, or uses a word of its own.
    Unknown,
}

impl Finish {
    /// The end that an upstream's own word means.
    pub(crate) fn of(word: Option<&str>) -> Self {
        match word.map(str::to_ascii_lowercase).as_deref() {
            Some("stop" | "end_turn" | "stop_sequence" | "completed") => Self::Stop,
            Some("tool_calls" | "function_call" | "tool_use") => Self::ToolCalls,
            Some("length" | "max_tokens" | "max_output_tokens" | "incomplete" | "model_context_window_exceeded") => {
                Self::Length
            }
            Some(
                "content_filter"
                | "refusal"
                | "safety"
                | "recitation"
                | "blocklist"
                | "prohibited_content"
                | "spii"
                | "abort"
                | "error"
                | "failed"
                | "malformed_function_call",
            ) => Self::Withheld,
            _ => Self::Unknown,
        }
    }

    const fn reason(self) -> Option<Reason> {
        match self {
            Self::Length => Some(Reason::Cut),
            Self::Withheld => Some(Reason::Withheld),
            Self::Stop | Self::ToolCalls | Self::Unknown => None,
        }
    }
}

/// The reward of one step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StepReward {
    /// The step's number.
    pub seq: u64,
    /// Its reward; null where none is defined.
    pub reward: Option<f64>,
}

/// One call in the graph. The tokens of the nodes from a root to this one, context before completion, are what the engine saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Node {
    /// The call.
    pub call: CallId,
    /// The call that it continues; null for a root.
    pub parent: Option<CallId>,
    /// The last step of the episode when the call began.
    pub seq: u64,
    /// Tokens of its prompt after those of its parent. The model did not sample them: their loss mask is 0.
    pub context_token_ids: Vec<u32>,
    /// The tokens that the model sampled.
    pub completion_token_ids: Vec<u32>,
    /// Log-probability of each sampled token; null where none are known that belong to the tokens.
    pub logprobs: Option<Vec<f32>>,
    /// Rewards of the steps between this call and the next.
    pub rewards: Vec<StepReward>,
    /// The version of the weights, where the upstream tells it.
    pub policy_version: Option<String>,
    /// True if the loss mask of the completion is 1.
    pub trainable: bool,
    /// Why not, or what else is to be known.
    pub reasons: Vec<Reason>,
}

/// A call that is not in the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Omitted {
    /// The call.
    pub call: CallId,
    /// Why.
    pub reason: Reason,
    /// Rewards of the steps between this call and the next.
    pub rewards: Vec<StepReward>,
}

/// The size of a graph, and what it leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Counts {
    /// Calls of the rollout.
    pub calls: u64,
    /// Calls in the graph.
    pub nodes: u64,
    /// Nodes that continue another.
    pub joined: u64,
    /// Nodes that continue none.
    pub branches: u64,
    /// Nodes that no other continues: as many paths there are.
    pub paths: u64,
    /// Calls by each reason; one call may have several.
    pub reasons: BTreeMap<Reason, u64>,
    /// Sampled tokens with loss mask 1 in exactly one path.
    pub tokens_trained: u64,
    /// Sampled tokens with loss mask 0 in every path.
    pub tokens_masked: u64,
    /// Trained tokens that stand again, with loss mask 0, in a later path: once for each time.
    pub tokens_shared: u64,
    /// Steps that no call precedes.
    pub steps_before_calls: u64,
}

/// The calls of a rollout, joined by their tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Graph {
    /// Calls with known tokens, in the order in which they began: parents before children.
    pub nodes: Vec<Node>,
    /// All other calls.
    pub omitted: Vec<Omitted>,
    /// Its size.
    pub counts: Counts,
}

impl Graph {
    /// Joins the calls of a rollout. Time grows with the tokens of all prompts, not with pairs of calls.
    #[must_use]
    pub fn of(rollout: &Rollout) -> Self {
        join::join(rollout)
    }

    /// One path for each node that no other continues, in the order of these nodes.
    #[must_use]
    pub fn paths(&self) -> Paths<'_> {
        Paths::of(self)
    }
}
