//! verifiers: a `Trace` for each rollout, a graph of messages with the tokens that each adds.
//!
//! Where one call adds several messages, the boundaries between them are not known: the last carries all tokens of the context, and
//! `is_content` stays empty, which means "not attributed". A rollout without a reward has the reward null, which means that scoring
//! did not run. A node that several branches share stands once; it is for the trainer to train it in one of them.

use palestra_protocol::id::CallId;
use palestra_protocol::model_call::ModelCall;
use serde::Serialize;
use serde_json::{Value, json};

use super::view::View;
use super::{Form, FormError, Tally, write_line};
use crate::conversation::{Message, Role, answer, request};
use crate::graph::{Finish, Node};

pub(super) struct Verifiers;

#[derive(Serialize)]
struct Trace {
    version: u8,
    id: String,
    task: Value,
    agent: Value,
    nodes: Vec<MessageNode>,
    calls: Vec<Value>,
    rewards: Value,
    info: Value,
    is_completed: bool,
    ok: bool,
    stop_condition: Option<&'static str>,
    errors: Vec<Value>,
    timing: Value,
}

#[derive(Serialize)]
struct MessageNode {
    parent: Option<usize>,
    message: Value,
    sampled: bool,
    /// Seconds since 1970.
    timestamp: f64,
    token_ids: Vec<u32>,
    mask: Vec<bool>,
    is_content: Vec<bool>,
    /// Of the tokens whose mask is true.
    logprobs: Vec<f32>,
}

fn seconds(milliseconds: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "2^53 milliseconds are 285,000 years")]
    let milliseconds = milliseconds as f64;
    milliseconds / 1e3
}

fn message(message: &Message) -> Value {
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| json!({"id": call.id, "name": call.name, "arguments": call.arguments}))
        .collect();
    match message.role {
        Role::System | Role::User => json!({"role": message.role.as_str(), "content": message.text}),
        Role::Tool => {
            json!({"role": "tool", "content": message.text, "tool_call_id": message.tool_call_id.as_deref().unwrap_or_default()})
        }
        Role::Assistant => json!({
            "role": "assistant",
            "content": message.text,
            "reasoning_content": Some(&message.reasoning).filter(|text| !text.is_empty()),
            "tool_calls": Some(calls).filter(|calls| !calls.is_empty()),
        }),
    }
}

/// Messages of a call's request after those of its parent and the parent's answer; all of them where they do not begin alike.
fn added(call: &ModelCall, parent: Option<&ModelCall>) -> Vec<Message> {
    let mut messages = request(call);
    let shared = parent.map(request).unwrap_or_default();
    if shared.is_empty() || !messages.starts_with(&shared) {
        return messages;
    }
    let mut added = messages.split_off(shared.len());
    if added.first().is_some_and(|message| message.role == Role::Assistant) {
        added.remove(0);
    }
    added
}

/// The graph of messages while it is made.
struct Nodes<'v, 'r> {
    view: &'v View<'r>,
    nodes: Vec<MessageNode>,
    /// The sampled node of each call.
    ends: Vec<(CallId, usize)>,
}

impl Nodes<'_, '_> {
    fn end_of(&self, call: CallId) -> Option<usize> {
        self.ends.iter().rev().find(|(id, _)| *id == call).map(|(_, place)| *place)
    }

    fn push(&mut self, node: &Node, call: &ModelCall) {
        let time = seconds(call.begun_at.milliseconds());
        let continued = node.parent.and_then(|parent| self.end_of(parent));
        let mut parent = continued;
        for added in added(call, node.parent.and_then(|parent| self.view.call(parent))) {
            self.nodes.push(MessageNode::new(parent, message(&added), time));
            parent = Some(self.nodes.len() - 1);
        }
        let answer = answer(call).as_ref().map_or_else(|| json!({"role": "assistant", "content": ""}), message);
        let mut sampled = MessageNode::new(parent, answer, time);
        sampled.sampled = true;
        match self.nodes.last_mut().filter(|_| parent != continued) {
            Some(last) => last.add(&node.context_token_ids, false),
            // No message was added: these tokens stand before the completion, as the generation prompt does.
            None => sampled.add(&node.context_token_ids, false),
        }
        let logprobs = node.logprobs.as_ref().filter(|_| node.trainable);
        sampled.add(&node.completion_token_ids, logprobs.is_some());
        sampled.logprobs = logprobs.cloned().unwrap_or_default();
        self.nodes.push(sampled);
        self.ends.push((node.call, self.nodes.len() - 1));
    }
}

impl MessageNode {
    const fn new(parent: Option<usize>, message: Value, timestamp: f64) -> Self {
        Self {
            parent,
            message,
            sampled: false,
            timestamp,
            token_ids: Vec::new(),
            mask: Vec::new(),
            is_content: Vec::new(),
            logprobs: Vec::new(),
        }
    }

    fn add(&mut self, tokens: &[u32], trained: bool) {
        self.token_ids.extend(tokens);
        self.mask.resize(self.token_ids.len(), trained);
    }
}

fn model_call(call: &ModelCall, node: Option<usize>) -> Value {
    let begun = seconds(call.begun_at.milliseconds());
    let finish_reason = match Finish::of(call.finish_reason.as_deref()) {
        Finish::Stop => Some("stop"),
        Finish::ToolCalls => Some("tool_calls"),
        Finish::Length => Some("length"),
        Finish::Withheld | Finish::Unknown => None,
    };
    #[expect(clippy::cast_precision_loss, reason = "2^53 microseconds are 285 years")]
    let end = begun + call.duration_us as f64 / 1e6;
    json!({
        "node": node,
        "model": call.model,
        "finish_reason": finish_reason,
        "usage": {"prompt_tokens": call.input_tokens, "completion_tokens": call.output_tokens},
        "time": {"start": begun, "end": end},
        "error": call.error.as_ref().map(|error| json!({"type": call.outcome.as_str(), "message": error, "status_code": call.status})),
    })
}

impl Form for Verifiers {
    fn push(&mut self, view: &View<'_>, tally: &mut Tally, out: &mut Vec<u8>) -> Result<(), FormError> {
        let mut graph = Nodes { view, nodes: Vec::new(), ends: Vec::new() };
        for node in &view.graph.nodes {
            if let Some(call) = view.call(node.call) {
                graph.push(node, call);
            }
        }
        tally.calls_left_out += view.graph.omitted.len() as u64;
        if graph.nodes.is_empty() {
            tally.rollouts_left_out += 1;
            return Ok(());
        }
        let trained = graph.nodes.iter().flat_map(|node| &node.mask).filter(|mask| **mask).count();
        let episode = &view.rollout.trajectory.episode;
        let reward = view.rollout.reward();
        let verdict = episode.verdict.as_ref();
        let failure = verdict.filter(|_| reward.is_none()).map(|verdict| {
            let detail = verdict.detail.as_deref().unwrap_or("no trainer may learn from this episode");
            json!({"type": verdict.status, "message": detail})
        });
        let calls = crate::graph::in_order(view.rollout);
        let started = seconds(episode.started_at.milliseconds());
        write_line(
            &Trace {
                version: 1,
                id: episode.id.to_string(),
                task: json!({
                    "type": episode.environment,
                    "data": {"idx": view.rollout.trajectory.task.index, "prompt": view.rollout.trajectory.task.messages},
                    "key": episode.task,
                }),
                agent: json!({"config": {"model": calls.first().map(|call| &call.model)}}),
                calls: calls.iter().map(|call| model_call(call, graph.end_of(call.id))).collect(),
                nodes: graph.nodes,
                rewards: json!({"score": reward.map(|score| json!({"score": score}))}),
                info: serde_json::to_value(view.labels())?,
                is_completed: episode.ended_at.is_some(),
                ok: reward.is_some(),
                stop_condition: episode.stop_reason.map(palestra_protocol::step::StopReason::as_str),
                errors: failure.into_iter().collect(),
                timing: json!({"start": started}),
            },
            out,
        )?;
        tally.records += 1;
        tally.tokens_trained += trained as u64;
        Ok(())
    }
}
