//! The messages of model calls, in one form for all protocols, and which of them each call adds.

mod read;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use palestra_protocol::model_call::{CallOutcome, ModelCall};
use serde_json::{Map, Value};

use crate::Rollout;
use crate::graph::in_order;

pub(crate) use read::{answer, request, step, told};

/// The side that a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Instructions.
    System,
    /// The one who asks.
    User,
    /// The model.
    Assistant,
    /// The result of a tool.
    Tool,
}

impl Role {
    /// As it is written in JSON.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// One message. What is not text stands as its type in brackets, such as `[image_url]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) tool_calls: Vec<ToolCall>,
    /// The call that a tool's result answers.
    pub(crate) tool_call_id: Option<String>,
}

/// A tool call, with its arguments as the model wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl ToolCall {
    /// The arguments as an object; `None` where they are none.
    pub(crate) fn object(&self) -> Option<Map<String, Value>> {
        if self.arguments.is_empty() { Some(Map::new()) } else { serde_json::from_str(&self.arguments).ok() }
    }
}

/// A completed call with the messages that it adds.
pub(crate) struct Turn<'a> {
    pub(crate) call: &'a ModelCall,
    /// The place of the turn whose messages this one begins with; `None` for a conversation of its own.
    pub(crate) parent: Option<usize>,
    /// True if an earlier call sent the same messages.
    pub(crate) is_retry: bool,
    /// The messages of the request after those of the parent and its answer.
    pub(crate) added: Vec<Message>,
    pub(crate) answer: Option<Message>,
}

/// The completed calls of a rollout as turns, in the order in which they began.
///
/// A turn's parent is the earlier one whose messages are the longest prefix of its own. It only says what to show: tokens are
/// joined by [`crate::graph`].
pub(crate) fn turns(rollout: &Rollout) -> Vec<Turn<'_>> {
    let mut ends: HashMap<(usize, u64), usize> = HashMap::new();
    let mut turns = Vec::new();
    for call in in_order(rollout).into_iter().filter(|call| call.outcome == CallOutcome::Completed) {
        let mut messages = request(call);
        let mut hasher = DefaultHasher::new();
        let mut parent = None;
        for (place, message) in messages.iter().enumerate() {
            parent = ends.get(&(place, hasher.finish())).map(|turn| (*turn, place)).or(parent);
            message.hash(&mut hasher);
        }
        let is_retry = ends.insert((messages.len(), hasher.finish()), turns.len()).is_some();
        let mut shared = parent.map_or(0, |(_, shared)| shared);
        if shared > 0 && messages[shared].role == Role::Assistant {
            shared += 1;
        }
        let added = messages.split_off(shared);
        turns.push(Turn { call, parent: parent.map(|(turn, _)| turn), is_retry, added, answer: answer(call) });
    }
    turns
}
