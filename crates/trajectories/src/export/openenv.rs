//! OpenEnv's capture: a `TrainingTurn` for each call, as `openenv.core.harness.training` reads it.
//!
//! The form carries no reward, and its loss mask is authoritative: calls of a rollout without a reward are masked.

use palestra_protocol::id::CallId;
use palestra_protocol::model_call::CallKind;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::view::{Labels, View};
use super::{Form, FormError, Tally, write_line};

pub(super) struct Openenv;

#[derive(Serialize)]
struct TrainingTurn<'a> {
    node_id: CallId,
    prompt_token_ids: &'a [u32],
    completion_token_ids: &'a [u32],
    per_token_logps: &'a [f32],
    /// As long as the prompt and the completion together.
    loss_mask: Vec<u8>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    request: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    response: Map<String, Value>,
    metadata: Metadata<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(flatten)]
    labels: Labels<'a>,
    index: usize,
    parent: Option<CallId>,
    model: &'a str,
    policy_version: Option<&'a str>,
}

/// The named fields of an object that are there.
fn fields(value: &Value, names: &[&str]) -> Map<String, Value> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), value.get(name)?.clone()))).collect()
}

impl Form for Openenv {
    fn push(&mut self, view: &View<'_>, tally: &mut Tally, out: &mut Vec<u8>) -> Result<(), FormError> {
        let mut written = 0;
        for (index, node) in view.graph.nodes.iter().enumerate() {
            let Some((call, prompt, logprobs)) = view.call(node.call).and_then(|call| {
                let prompt = call.tokens.prompt_token_ids.as_deref().filter(|prompt| !prompt.is_empty())?;
                Some((call, prompt, node.logprobs.as_deref()?))
            }) else {
                tally.calls_left_out += 1;
                continue;
            };
            let trained = node.trainable && view.rollout.reward().is_some();
            let completion = &node.completion_token_ids;
            let mut loss_mask = vec![0; prompt.len()];
            loss_mask.resize(prompt.len() + completion.len(), u8::from(trained));
            let is_chat = call.kind == CallKind::ChatCompletions;
            write_line(
                &TrainingTurn {
                    node_id: node.call,
                    prompt_token_ids: prompt,
                    completion_token_ids: completion,
                    per_token_logps: logprobs,
                    loss_mask,
                    request: if is_chat { fields(&call.request, &["messages", "tools"]) } else { Map::new() },
                    response: match call.response.pointer("/choices/0/message") {
                        Some(message) if is_chat => {
                            let choice = json!({"message": message, "finish_reason": call.finish_reason});
                            Map::from_iter([("choices".to_owned(), json!([choice]))])
                        }
                        _ => Map::new(),
                    },
                    metadata: Metadata {
                        labels: view.labels(),
                        index,
                        parent: node.parent,
                        model: &call.model,
                        policy_version: call.policy_version.as_deref(),
                    },
                },
                out,
            )?;
            written += 1;
            tally.tokens_trained += if trained { completion.len() as u64 } else { 0 };
        }
        tally.records += written;
        tally.calls_left_out += view.graph.omitted.len() as u64;
        tally.rollouts_left_out += u64::from(written == 0);
        Ok(())
    }
}
