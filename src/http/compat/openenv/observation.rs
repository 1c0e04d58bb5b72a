//! Observations: what a step or a reset came to, as clients of OpenEnv read it.
//!
//! Many of them hand `observation` to the policy as it is, so what belongs to the trainer (reward, verdict, ids) stands beside
//! it and never in it.

use palestra_protocol::observation::{Message, Observation};
use palestra_protocol::step::StopReason;
use palestra_protocol::verdict::Verdict;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::action::{Called, tool_form};

/// An observation on its way out.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub(super) struct Shown {
    /// The part for the policy.
    pub(super) observation: Map<String, Value>,
    /// The step's reward; on the last step the score. Null where none is defined.
    pub(super) reward: Option<f64>,
    /// The episode is over: `terminated` or `truncated`.
    pub(super) done: bool,
    /// It came to its end. Clients of 0.10 read `done` alone.
    pub(super) terminated: bool,
    /// It was cut off, by a limit or because the session was closed.
    pub(super) truncated: bool,
    /// The part for the trainer: ids, `terminated`, `truncated`, and the verdict of an episode that is over.
    pub(super) metadata: Map<String, Value>,
}

impl Shown {
    /// An observation of an episode that goes on, without a reward.
    pub(super) const fn going_on(observation: Map<String, Value>, metadata: Map<String, Value>) -> Self {
        Self { observation, reward: None, done: false, terminated: false, truncated: false, metadata }
    }

    /// Notes that the episode is over; the reward stays as it is.
    pub(super) fn end(&mut self, ending: &Ending) {
        (self.done, self.terminated, self.truncated) = (true, ending.terminated, ending.truncated);
        ending.describe(&mut self.metadata);
    }
}

/// The end of an episode.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ending {
    pub(super) terminated: bool,
    pub(super) truncated: bool,
    pub(super) stop_reason: Option<StopReason>,
    pub(super) verdict: Verdict,
}

impl Ending {
    /// For the trainer.
    fn describe(&self, metadata: &mut Map<String, Value>) {
        metadata.insert("terminated".to_owned(), json!(self.terminated));
        metadata.insert("truncated".to_owned(), json!(self.truncated));
        metadata.insert("stop_reason".to_owned(), json!(self.stop_reason));
        metadata.insert("score".to_owned(), json!(self.verdict.score));
        metadata.insert("strict".to_owned(), json!(self.verdict.strict));
        metadata.insert("trainable".to_owned(), json!(self.verdict.trainable));
    }
}

/// The observation, with the messages that say more than its text does.
pub(super) fn seen(observation: Observation, messages: &[Message]) -> Map<String, Value> {
    let repeats = |message: &Message| {
        message.role == "user" && message.tool_call_id.is_none() && observation.text.contains(&message.content)
    };
    let repeated = messages.iter().all(repeats);
    let Observation { text, content, data, omitted_bytes } = observation;
    let mut fields = Map::new();
    fields.insert("text".to_owned(), Value::String(text));
    if !content.is_empty() {
        fields.insert("content".to_owned(), Value::Array(content));
    }
    if !data.is_null() {
        fields.insert("data".to_owned(), data);
    }
    if !repeated {
        fields.insert("messages".to_owned(), json!(messages));
    }
    if omitted_bytes > 0 {
        fields.insert("omitted_bytes".to_owned(), json!(omitted_bytes));
    }
    fields.insert("metadata".to_owned(), json!({}));
    fields
}

/// The tools as an observation.
pub(super) fn tools_seen(tools: &[Value]) -> Map<String, Value> {
    let tools: Vec<Value> = tools.iter().map(tool_form).collect();
    Map::from_iter([("tools".to_owned(), json!(tools)), ("metadata".to_owned(), json!({}))])
}

/// Why a call did not fit, as far as that can be said before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Misfit {
    /// `tool_not_found` or `invalid_args`.
    pub(super) kind: &'static str,
    pub(super) words: String,
}

/// The outcome of a tool call, as an observation of a call.
pub(super) fn call_seen(
    mut fields: Map<String, Value>,
    called: &Called,
    misfit: Option<&Misfit>,
) -> Map<String, Value> {
    fields.insert("tool_name".to_owned(), json!(called.tool));
    fields.insert("result".to_owned(), call_result(&fields, misfit.is_some()));
    let error = misfit.map(|misfit| json!({"error_type": misfit.kind, "message": misfit.words}));
    fields.insert("error".to_owned(), json!(error));
    fields
}

/// The result of a tool call: its text, and its data where the environment has some.
pub(super) fn call_result(fields: &Map<String, Value>, is_error: bool) -> Value {
    let text = fields.get("text").cloned().unwrap_or_default();
    json!({
        "content": [{"type": "text", "text": text}],
        "structured_content": fields.get("data"),
        "data": text,
        "is_error": is_error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation() -> Observation {
        Observation { data: json!({"count": 1}), ..Observation::text("Count: 1.") }
    }

    #[test]
    fn messages_are_shown_where_they_say_more_than_the_text() {
        let same = vec![Message::new("user", "Count: 1.")];
        assert_eq!(json!(seen(Observation::text("Add. Count: 1."), &same)).get("messages"), None);
        assert_eq!(
            json!(seen(observation(), &same)),
            json!({"text": "Count: 1.", "data": {"count": 1}, "metadata": {}})
        );
        let more = vec![Message::new("system", "Be brief."), Message::new("user", "Count: 1.")];
        assert_eq!(json!(seen(observation(), &more))["messages"][0]["content"], "Be brief.");
    }

    #[test]
    fn a_call_shows_its_result_and_why_it_did_not_fit() {
        let called = Called { tool: "add".to_owned(), arguments: Map::new() };
        let good = call_seen(seen(observation(), &[]), &called, None);
        assert_eq!((&good["result"]["data"], &good["error"]), (&json!("Count: 1."), &Value::Null));
        let misfit = Misfit { kind: "invalid_args", words: "no amount".to_owned() };
        let bad = call_seen(seen(observation(), &[]), &called, Some(&misfit));
        assert_eq!(bad["error"], json!({"error_type": "invalid_args", "message": "no amount"}));
        assert_eq!(bad["result"]["is_error"], true);
    }
}
