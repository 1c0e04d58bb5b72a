//! The conversation of an episode as chat messages in the form of OpenAI: what a language model reads, and what is exported for training.

use palestra_protocol::action::{Action, Call};
use palestra_protocol::episode::Trajectory;
use palestra_protocol::observation::Message;
use palestra_protocol::session::Opened;
use serde_json::{Map, Value, json};

/// Bytes of text after which a conversation takes no further turn.
const CONVERSATION_BYTES_MAX: usize = 8 << 20;
/// Fields of an assistant's message that are part of a conversation; servers of models add more, which others refuse.
const ASSISTANT_FIELDS: [&str; 3] = ["role", "content", "tool_calls"];

/// The conversation of one episode.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    messages: Vec<Value>,
    tools: Vec<Value>,
    bytes: usize,
    /// The id that a call without one was given; its result comes back as a plain message.
    unnamed_call: Option<String>,
}

impl Conversation {
    /// The messages and tools with which an episode begins.
    pub fn new(opened: &Opened) -> Self {
        Self::of(&opened.messages, &opened.tools)
    }

    /// The conversation of a recorded episode in an environment with these tools. A turn whose action was not taken, because the time
    /// was over, has its answer alone.
    pub fn of_trajectory(trajectory: &Trajectory, tools: &[Value]) -> Self {
        let mut conversation = Self::of(&trajectory.task.messages, tools);
        for step in &trajectory.steps {
            if let Some(action) = &step.action {
                conversation.push_action(step.seq, action);
            }
            conversation.push_messages(&step.answer.messages);
        }
        conversation
    }

    fn of(messages: &[Message], tools: &[Value]) -> Self {
        let mut conversation = Self { messages: Vec::new(), tools: tools.to_vec(), bytes: 0, unnamed_call: None };
        conversation.push_messages(messages);
        conversation
    }

    /// Chat messages, in order.
    pub fn messages(&self) -> &[Value] {
        &self.messages
    }

    /// The tools of the episode, as function tools.
    pub fn tools(&self) -> &[Value] {
        &self.tools
    }

    /// True where it has grown so long that no further turn is taken.
    pub fn is_full(&self) -> bool {
        self.bytes > CONVERSATION_BYTES_MAX
    }

    /// Adds what the acting side did in turn `seq`.
    pub fn push_action(&mut self, seq: u64, action: &Action) {
        let message = match action {
            Action::Text(text) => json!({"role": "assistant", "content": text}),
            Action::Tool { tool, arguments } => {
                let id = format!("call_{seq}");
                self.unnamed_call = Some(id.clone());
                calling(&[tool_call(&id, tool, arguments)])
            }
            Action::Calls(calls) => {
                let calls: Vec<Value> =
                    calls.iter().map(|Call { id, tool, arguments }| tool_call(id, tool, arguments)).collect();
                calling(&calls)
            }
            Action::Message(message) => {
                let mut kept: Map<String, Value> = message
                    .iter()
                    .filter(|(field, value)| ASSISTANT_FIELDS.contains(&field.as_str()) && !value.is_null())
                    .map(|(field, value)| (field.clone(), value.clone()))
                    .collect();
                kept.insert("role".to_owned(), json!("assistant"));
                kept.entry("content").or_insert(Value::Null);
                Value::Object(kept)
            }
        };
        self.bytes += message.to_string().len();
        self.messages.push(message);
    }

    /// Adds what was answered.
    pub fn push_messages(&mut self, messages: &[Message]) {
        for message in messages {
            self.bytes += message.content.len();
            let unnamed = self.unnamed_call.take_if(|_| message.tool_call_id.is_none());
            self.messages.push(match unnamed.as_ref().or(message.tool_call_id.as_ref()) {
                Some(id) => json!({"role": "tool", "tool_call_id": id, "content": message.content}),
                None => json!({"role": message.role, "content": message.content}),
            });
        }
    }
}

fn calling(tool_calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": tool_calls})
}

fn tool_call(id: &str, tool: &str, arguments: &Map<String, Value>) -> Value {
    let arguments = Value::Object(arguments.clone()).to_string();
    json!({"id": id, "type": "function", "function": {"name": tool, "arguments": arguments}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation() -> Conversation {
        Conversation { messages: Vec::new(), tools: Vec::new(), bytes: 0, unnamed_call: None }
    }

    fn action(value: Value) -> Action {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_call_without_an_id_and_its_result_get_one() {
        let mut conversation = conversation();
        conversation.push_messages(&[Message::new("user", "Add.")]);
        conversation.push_action(1, &action(json!({"tool": "add", "arguments": {"amount": 2}})));
        conversation.push_messages(&[Message::new("user", "2")]);
        conversation.push_action(2, &action(json!({"text": "done"})));
        conversation.push_messages(&[Message::new("user", "Well.")]);
        let expected = json!([
            {"role": "user", "content": "Add."},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"amount\":2}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "2"},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "Well."},
        ]);
        assert_eq!(json!(conversation.messages()), expected);
    }

    #[test]
    fn results_of_named_calls_keep_their_names() {
        let mut conversation = conversation();
        conversation.push_action(1, &action(json!({"calls": [{"id": "a", "tool": "x"}, {"id": "b", "tool": "y"}]})));
        let result = |id: &str| Message { tool_call_id: Some(id.to_owned()), ..Message::new("tool", "ok") };
        conversation.push_messages(&[result("a"), result("b")]);
        let ids: Vec<&Value> = conversation.messages()[1..].iter().map(|message| &message["tool_call_id"]).collect();
        assert_eq!(ids, ["a", "b"]);
    }

    #[test]
    fn of_a_models_message_only_what_others_take_is_kept() {
        let mut conversation = conversation();
        conversation.push_action(
            1,
            &action(json!({"message": {"role": "assistant", "content": "hi", "reasoning": "..", "refusal": null}})),
        );
        assert_eq!(conversation.messages(), [json!({"role": "assistant", "content": "hi"})]);
    }

    #[test]
    fn a_long_conversation_is_full() {
        let mut conversation = conversation();
        conversation.push_messages(&[Message::new("user", "a".repeat(CONVERSATION_BYTES_MAX))]);
        assert!(!conversation.is_full());
        conversation.push_action(1, &Action::Text("b".to_owned()));
        assert!(conversation.is_full());
    }
}
