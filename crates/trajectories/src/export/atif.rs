//! ATIF 1.8, the Agent Trajectory Interchange Format: a `trajectory.json` of Harbor for each rollout, as a line.
//!
//! Each completed call is a step of the agent with its tokens; what it adds to the conversation stands before it. An episode without
//! calls is told by its own steps.

use palestra_protocol::episode::StepRecord;
use palestra_protocol::time::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::view::View;
use super::{Form, FormError, Tally, write_line};
use crate::conversation::{self, Message, Role, ToolCall, Turn, turns};

pub(super) struct Atif;

#[derive(Serialize)]
struct Document {
    schema_version: &'static str,
    session_id: String,
    trajectory_id: String,
    agent: Value,
    steps: Vec<Step>,
    final_metrics: Value,
    extra: Value,
}

#[derive(Default, Serialize)]
struct Step {
    step_id: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
    source: &'static str,
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reasoning_content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observation: Option<Observation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Value>,
    /// True for a message of the model that no recorded call sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_copied_context: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    llm_call_count: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<Value>,
    /// Ids of `tool_calls`.
    #[serde(skip)]
    calls: Vec<String>,
}

#[derive(Default, Serialize)]
struct Observation {
    results: Vec<Value>,
}

fn tool_call(call: &ToolCall) -> Value {
    match call.object() {
        Some(arguments) => json!({"tool_call_id": call.id, "function_name": call.name, "arguments": arguments}),
        None => json!({
            "tool_call_id": call.id, "function_name": call.name, "arguments": {}, "extra": {"unparsed_arguments": call.arguments},
        }),
    }
}

/// The steps of a document while it is made.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Steps {
    fn push(&mut self, step: Step) {
        self.0.push(Step { step_id: self.0.len() + 1, ..step });
    }

    /// Adds a result to the last step with its call, else to the last step of the agent, else as a step of the user.
    fn result(&mut self, id: Option<&str>, text: &str) {
        let made = |step: &Step| id.is_some_and(|id| step.calls.iter().any(|call| call == id));
        let place = self.0.iter().rposition(made);
        match place.or_else(|| self.0.iter().rposition(|step| step.source == "agent")) {
            Some(agent) => {
                let result = match id.filter(|_| place.is_some()) {
                    Some(id) => json!({"source_call_id": id, "content": text}),
                    None => json!({"content": text}),
                };
                self.0[agent].observation.get_or_insert_default().results.push(result);
            }
            None => self.push(Step { source: "user", message: text.to_owned(), ..Step::default() }),
        }
    }

    /// Adds a message that no call sampled.
    fn message(&mut self, message: &Message) {
        match message.role {
            Role::Tool => self.result(message.tool_call_id.as_deref(), &message.text),
            Role::System => self.push(Step { source: "system", message: message.text.clone(), ..Step::default() }),
            Role::User => self.push(Step { source: "user", message: message.text.clone(), ..Step::default() }),
            Role::Assistant => self.push(Step { is_copied_context: Some(true), ..Step::said_by_agent(message) }),
        }
    }

    /// Adds a call, after the messages that it adds. A retry adds none.
    fn turn(&mut self, turn: &Turn<'_>, view: &View<'_>) {
        for message in turn.added.iter().filter(|_| !turn.is_retry) {
            self.message(message);
        }
        let call = turn.call;
        let node = view.graph.nodes.iter().find(|node| node.call == call.id);
        let mut metrics = json!({
            "prompt_tokens": call.input_tokens,
            "completion_tokens": call.output_tokens,
            "extra": {"cost": call.cost, "duration_us": call.duration_us},
        });
        if let Some(node) = node {
            metrics["prompt_token_ids"] = json!(call.tokens.prompt_token_ids);
            metrics["completion_token_ids"] = json!(node.completion_token_ids);
            if let Some(logprobs) = &node.logprobs {
                metrics["logprobs"] = json!(logprobs);
            }
        }
        let said = turn.answer.as_ref().map(Step::said_by_agent).unwrap_or_default();
        self.push(Step {
            source: "agent",
            timestamp: Some(call.begun_at),
            metrics: Some(metrics),
            llm_call_count: Some(1),
            extra: Some(json!({
                "call": call.id,
                "continues": node.and_then(|node| node.parent),
                "model": call.model,
                "policy_version": call.policy_version,
                "finish_reason": call.finish_reason,
                "trainable": node.is_some_and(|node| node.trainable),
                "rewards": node.map(|node| &node.rewards),
            })),
            ..said
        });
    }

    /// Adds a step of the episode, as the agent's.
    fn step(&mut self, step: &StepRecord) {
        let (said, results) = conversation::step(step);
        let extra = json!({"seq": step.seq, "reward": step.answer.reward});
        self.push(Step { timestamp: Some(step.at), extra: Some(extra), ..Step::said_by_agent(&said) });
        for result in results {
            self.result(result.tool_call_id.as_deref(), &result.text);
        }
    }
}

impl Step {
    fn said_by_agent(message: &Message) -> Self {
        Self {
            source: "agent",
            message: message.text.clone(),
            reasoning_content: message.reasoning.clone(),
            tool_calls: message.tool_calls.iter().map(tool_call).collect(),
            calls: message.tool_calls.iter().map(|call| call.id.clone()).collect(),
            ..Self::default()
        }
    }
}

impl Form for Atif {
    fn push(&mut self, view: &View<'_>, tally: &mut Tally, out: &mut Vec<u8>) -> Result<(), FormError> {
        let trajectory = &view.rollout.trajectory;
        let turns = turns(view.rollout);
        let mut steps = Steps::default();
        if turns.is_empty() {
            trajectory.task.messages.iter().for_each(|message| steps.message(&conversation::told(message)));
            trajectory.steps.iter().for_each(|step| steps.step(step));
        }
        for turn in &turns {
            steps.turn(turn, view);
        }
        if let Some(last) = turns.last() {
            // No later call carries what came of the last one.
            for step in trajectory.steps.iter().filter(|step| step.seq > last.call.seq) {
                steps.result(None, &step.answer.observation.text);
            }
        }
        if steps.0.is_empty() {
            tally.rollouts_left_out += 1;
            return Ok(());
        }
        tally.calls_left_out += (view.rollout.calls.len() - turns.len()) as u64;
        tally.tokens_trained += view.graph.counts.tokens_trained;
        tally.records += 1;
        let calls = &view.rollout.calls;
        write_line(
            &Document {
                schema_version: "ATIF-v1.8",
                session_id: trajectory.episode.session.to_string(),
                trajectory_id: trajectory.episode.id.to_string(),
                agent: json!({
                    "name": "unknown",
                    "version": "unknown",
                    "model_name": turns.first().map(|turn| &turn.call.model),
                    "tool_definitions": *trajectory.task.tools,
                }),
                final_metrics: json!({
                    "total_prompt_tokens": calls.iter().map(|call| call.input_tokens).sum::<u64>(),
                    "total_completion_tokens": calls.iter().map(|call| call.output_tokens).sum::<u64>(),
                    "total_steps": steps.0.len(),
                    "extra": {"cost": calls.iter().map(|call| call.cost).sum::<f64>()},
                }),
                steps: steps.0,
                extra: json!({"episode": view.labels(), "verdict": trajectory.episode.verdict, "counts": view.graph.counts}),
            },
            out,
        )
    }
}
