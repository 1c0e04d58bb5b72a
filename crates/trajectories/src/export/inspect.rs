//! Inspect: an `.eval` file, which `inspect_ai.log.read_eval_log` and `inspect view` open. It is a zip with `header.json`,
//! `summaries.json`, `_journal/start.json` and a file in `samples/` for each rollout.
//!
//! The messages of a sample are those of its longest conversation. A rollout that was not scored has an error in place of scores.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;

use palestra_protocol::time::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::{SimpleFileOptions, StreamWriter};

use super::buffer::Buffer;
use super::view::View;
use super::{Form, FormError, Tally};
use crate::conversation::{self, Message, Role, Turn, turns};
use crate::graph::Finish;

/// The version of Inspect's schema of logs.
const LOG_VERSION: u8 = 2;

/// The name of the score and of its scorer.
const SCORER: &str = "verdict";

/// A file while it is written.
pub(super) struct Inspect {
    buffer: Buffer,
    zip: ZipWriter<StreamWriter<Buffer>>,
    summaries: Vec<Value>,
    environments: BTreeSet<String>,
    epochs: HashMap<String, u64>,
    usage: BTreeMap<String, Usage>,
    run: Option<String>,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
    scores: Vec<f64>,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
}

impl Usage {
    const fn add(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.total_tokens += other.total_tokens;
    }
}

impl Default for Inspect {
    fn default() -> Self {
        let buffer = Buffer::default();
        Self {
            zip: ZipWriter::new_stream(buffer.clone()),
            buffer,
            summaries: Vec::new(),
            environments: BTreeSet::new(),
            epochs: HashMap::new(),
            usage: BTreeMap::new(),
            run: None,
            started: None,
            ended: None,
            scores: Vec::new(),
        }
    }
}

fn message(message: &Message) -> Value {
    // A result that answers no call is what the user says.
    let role = if message.role == Role::Tool && message.tool_call_id.is_none() { Role::User } else { message.role };
    let mut value = json!({"role": role.as_str(), "content": message.text});
    if !message.reasoning.is_empty() {
        value["content"] =
            json!([{"type": "reasoning", "reasoning": message.reasoning}, {"type": "text", "text": message.text}]);
    }
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            let parse_error = call.object().is_none().then(|| format!("not an object: {}", call.arguments));
            json!({
                "id": call.id, "function": call.name, "type": "function",
                "arguments": call.object().unwrap_or_default(), "parse_error": parse_error,
            })
        });
        value["tool_calls"] = calls.collect();
    }
    if role == Role::Tool {
        value["tool_call_id"] = json!(message.tool_call_id);
    }
    value
}

/// The turns of the conversation with the most of them, of equal ones the last.
fn longest(turns: &[Turn<'_>]) -> Vec<usize> {
    let mut lengths: Vec<usize> = Vec::with_capacity(turns.len());
    for turn in turns {
        lengths.push(turn.parent.map_or(0, |parent| lengths[parent]) + 1);
    }
    let end = (0..turns.len()).max_by_key(|place| lengths[*place]);
    let mut places: Vec<usize> = std::iter::successors(end, |place| turns[*place].parent).collect();
    places.reverse();
    places
}

/// The messages of a sample, as the longest conversation or, without calls, the steps of the episode tell them.
fn messages(view: &View<'_>, turns: &[Turn<'_>]) -> Vec<Value> {
    if turns.is_empty() {
        let trajectory = &view.rollout.trajectory;
        let mut messages: Vec<Value> =
            trajectory.task.messages.iter().map(|told| message(&conversation::told(told))).collect();
        for step in &trajectory.steps {
            let (said, results) = conversation::step(step);
            messages.push(message(&said));
            messages.extend(results.iter().map(message));
        }
        return messages;
    }
    let places = longest(turns);
    places.into_iter().flat_map(|place| turns[place].added.iter().chain(&turns[place].answer).map(message)).collect()
}

/// The answer of the last call of the longest conversation.
fn output(turns: &[Turn<'_>]) -> Value {
    let Some(turn) = longest(turns).last().map(|place| &turns[*place]) else {
        return json!({"model": "none/none", "choices": [], "completion": ""});
    };
    let stop_reason = match Finish::of(turn.call.finish_reason.as_deref()) {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "max_tokens",
        Finish::Withheld => "content_filter",
        Finish::Unknown => "unknown",
    };
    let choices = turn.answer.iter().map(|answer| json!({"message": message(answer), "stop_reason": stop_reason}));
    json!({
        "model": turn.call.model,
        "choices": choices.collect::<Vec<Value>>(),
        "completion": turn.answer.as_ref().map_or("", |answer| &answer.text),
    })
}

fn usage(view: &View<'_>) -> BTreeMap<String, Usage> {
    let mut usage: BTreeMap<String, Usage> = BTreeMap::new();
    for call in &view.rollout.calls {
        usage.entry(call.model.clone()).or_default().add(Usage {
            input_tokens: call.input_tokens,
            output_tokens: call.output_tokens,
            total_tokens: call.input_tokens + call.output_tokens,
        });
    }
    usage
}

fn scores(view: &View<'_>) -> Option<Value> {
    let verdict = view.rollout.verdict()?;
    let checks: Vec<String> =
        verdict.checks.iter().map(|check| format!("{}: {}", check.name, check.evidence)).collect();
    Some(json!({SCORER: {
        "value": view.rollout.score()?,
        "answer": null,
        "explanation": checks.join("\n"),
        "metadata": {"passed": verdict.passed, "strict": verdict.strict, "trainable": verdict.trainable},
        "history": [],
    }}))
}

/// Why an episode has no score.
fn error(view: &View<'_>) -> Option<String> {
    if view.rollout.score().is_some() {
        return None;
    }
    Some(view.rollout.verdict().map_or_else(
        || "no verdict was reached".to_owned(),
        |verdict| match &verdict.detail {
            Some(detail) => format!("{}: {detail}", verdict.status.as_str()),
            None => verdict.status.as_str().to_owned(),
        },
    ))
}

impl Inspect {
    fn write(&mut self, name: &str, value: &impl Serialize) -> Result<(), FormError> {
        let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        self.zip.start_file(name, options)?;
        serde_json::to_writer(&mut self.zip, value)?;
        self.zip.flush()?;
        Ok(())
    }

    /// The mean of all scores; `None` where nothing was scored.
    fn mean(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "2^53 rollouts are more than there are")]
        let count = self.scores.len() as f64;
        (!self.scores.is_empty()).then(|| self.scores.iter().sum::<f64>() / count)
    }

    fn start(&self) -> Value {
        let created = self.started.unwrap_or(Timestamp::from_milliseconds(0));
        let task = match (self.environments.first(), self.environments.len()) {
            (Some(environment), 1) => environment.as_str(),
            _ => "several environments",
        };
        let run = self.run.as_deref().unwrap_or("none");
        json!({
            "version": LOG_VERSION,
            "eval": {
                "eval_id": run, "run_id": run, "created": created, "task": task, "task_id": task,
                "dataset": {"name": task, "samples": self.epochs.len(), "sample_ids": self.epochs.keys().collect::<BTreeSet<_>>()},
                "model": self.usage.keys().next().map_or("none/none", String::as_str),
                "config": {"epochs": self.epochs.values().max()},
                "metadata": {"environments": self.environments},
                "scorers": [{"name": SCORER}],
            },
            "plan": {"name": "plan", "steps": [], "config": {}},
        })
    }

    fn header(&self) -> Value {
        let mut header = self.start();
        let metrics = self.mean().map(|mean| json!({"mean": {"name": "mean", "value": mean, "params": {}}}));
        header["status"] = json!("success");
        header["results"] = json!({
            "total_samples": self.summaries.len(),
            "completed_samples": self.scores.len(),
            "scores": [{
                "name": SCORER, "scorer": SCORER, "params": {},
                "scored_samples": self.scores.len(),
                "unscored_samples": self.summaries.len() - self.scores.len(),
                "metrics": metrics.unwrap_or_else(|| json!({})),
            }],
        });
        header["stats"] = json!({
            "started_at": self.started.map(|time| time.to_string()).unwrap_or_default(),
            "completed_at": self.ended.map(|time| time.to_string()).unwrap_or_default(),
            "model_usage": self.usage,
        });
        header
    }
}

impl Form for Inspect {
    fn push(&mut self, view: &View<'_>, tally: &mut Tally, out: &mut Vec<u8>) -> Result<(), FormError> {
        let trajectory = &view.rollout.trajectory;
        let episode = &trajectory.episode;
        let epoch = self.epochs.entry(episode.task.clone()).or_default();
        *epoch += 1;
        let epoch = *epoch;
        let turns = turns(view.rollout);
        let usage = usage(view);
        let error = error(view);
        let messages = messages(view, &turns);
        let input: Vec<Value> =
            trajectory.task.messages.iter().map(|told| message(&conversation::told(told))).collect();
        let ended = episode.ended_at.unwrap_or(episode.started_at);
        #[expect(clippy::cast_precision_loss, reason = "2^53 milliseconds are 285,000 years")]
        let total_time = (ended.milliseconds() - episode.started_at.milliseconds()) as f64 / 1e3;
        let mut summary = json!({
            "id": episode.task, "epoch": epoch, "input": input, "target": "",
            "metadata": serde_json::to_value(view.labels())?,
            "scores": scores(view),
            "model_usage": usage,
            "started_at": episode.started_at, "completed_at": episode.ended_at, "total_time": total_time,
            "uuid": episode.id,
            "turn_count": turns.len(),
        });
        let mut sample = summary.clone();
        sample["messages"] = json!(messages);
        sample["output"] = output(&turns);
        sample["metadata"]["counts"] = serde_json::to_value(&view.graph.counts)?;
        sample["metadata"]["verdict"] = serde_json::to_value(&episode.verdict)?;
        sample["error"] =
            json!(error.as_ref().map(|error| json!({"message": error, "traceback": "", "traceback_ansi": ""})));
        for (field, empty) in [("store", json!({})), ("events", json!([])), ("attachments", json!({}))] {
            sample[field] = empty;
        }
        summary["error"] = json!(error);
        summary["completed"] = json!(true);
        summary["message_count"] = json!(messages.len());
        self.write(&format!("samples/{}_epoch_{epoch}.json", episode.task), &sample)?;
        self.summaries.push(summary);
        self.environments.insert(episode.environment.clone());
        self.scores.extend(view.rollout.score());
        for (model, used) in usage {
            self.usage.entry(model).or_default().add(used);
        }
        self.run.get_or_insert_with(|| episode.run.map_or_else(|| episode.id.to_string(), |run| run.to_string()));
        self.started = Some(self.started.map_or(episode.started_at, |earliest| earliest.min(episode.started_at)));
        self.ended = self.ended.max(Some(ended));
        tally.records += 1;
        self.buffer.drain_to(out);
        Ok(())
    }

    fn finish(mut self: Box<Self>, out: &mut Vec<u8>) -> Result<(), FormError> {
        let (start, header) = (self.start(), self.header());
        let summaries = std::mem::take(&mut self.summaries);
        self.write("_journal/start.json", &start)?;
        self.write("summaries.json", &summaries)?;
        self.write("header.json", &header)?;
        self.zip.finish()?;
        self.buffer.drain_to(out);
        Ok(())
    }
}
