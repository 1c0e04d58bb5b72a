//! One row of a data set: a question, its answer, and how it is told to a policy.

use palestra_protocol::environment::ScoreRange;
use palestra_protocol::observation::Message;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use palestra_environment::verifier::choice::letter;

/// A row as it stands in a file and, without its split, in the store.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) messages: Option<Vec<RowMessage>>,
    pub(super) answer: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) choices: Option<Vec<Scalar>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) verifier: Option<Value>,
    /// Score of doing nothing, of chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) floor: Option<f64>,
    /// Score of a right answer, where it is not 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ceiling: Option<f64>,
    #[serde(default, skip_serializing)]
    pub(super) split: Option<String>,
}

/// One message of a conversation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowMessage {
    pub(super) role: Role,
    pub(super) content: String,
}

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    System,
    User,
    Assistant,
}

impl Role {
    const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A choice: text, or a number that is shown as JSON writes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged, expecting = "a choice is a string or a number")]
pub(super) enum Scalar {
    Text(String),
    Number(serde_json::Number),
}

impl Row {
    /// Where its scores are rescaled.
    pub(super) fn score_range(&self) -> Result<Option<ScoreRange>, String> {
        ScoreRange::declared(self.floor, self.ceiling)
    }

    /// The choices as texts.
    pub(super) fn choices(&self) -> Vec<String> {
        let text = |choice: &Scalar| match choice {
            Scalar::Text(text) => text.clone(),
            Scalar::Number(number) => number.to_string(),
        };
        self.choices.iter().flatten().map(text).collect()
    }

    /// The messages for a policy: system text (the row's before the file's, and neither where the conversation brings its own),
    /// the conversation, and the choices with their letters below its last message.
    pub(super) fn messages(&self, file_system: Option<&str>) -> Vec<Message> {
        let mut told: Vec<Message> = match (&self.prompt, &self.messages) {
            (Some(prompt), _) => vec![Message::new("user", prompt.clone())],
            (None, Some(messages)) => {
                messages.iter().map(|message| Message::new(message.role.as_str(), message.content.clone())).collect()
            }
            (None, None) => Vec::new(),
        };
        if let (Some(choices), Some(last)) = (&self.choices, told.last_mut())
            && !choices.is_empty()
        {
            last.content.push('\n');
            for (index, choice) in self.choices().iter().enumerate() {
                last.content.push_str(&format!("\n({}) {choice}", letter(index)));
            }
        }
        let own_system = told.first().is_some_and(|message| message.role == "system");
        if let Some(system) = self.system.as_deref().or(file_system)
            && !own_system
        {
            told.insert(0, Message::new("system", system));
        }
        told
    }

    /// The fault of the question, as the field and the reason.
    pub(super) fn fault(&self) -> Option<(&'static str, &'static str)> {
        if self.score_range().is_err() {
            return Some(("floor", "floor and ceiling must be from 0 to 1, and the floor below the ceiling"));
        }
        match (&self.prompt, &self.messages) {
            (Some(_), Some(_)) => Some(("messages", "a row has either a prompt or messages")),
            (None, None) => Some(("prompt", "a row needs a prompt or messages")),
            (Some(prompt), None) => prompt.trim().is_empty().then_some(("prompt", "the prompt is empty")),
            (None, Some(messages)) => conversation_fault(messages).map(|reason| ("messages", reason)),
        }
        .or_else(|| self.answer.is_null().then_some(("answer", "a row needs an answer")))
    }
}

fn conversation_fault(messages: &[RowMessage]) -> Option<&'static str> {
    let system_later = messages.iter().skip(1).any(|message| message.role == Role::System);
    match messages.last() {
        None => Some("there are no messages"),
        Some(last) if last.role != Role::User => Some("the last message must be the user's"),
        Some(last) if last.content.trim().is_empty() => Some("the last message is empty"),
        Some(_) => system_later.then_some("a system message can only be the first one"),
    }
}

/// The rule of rows for which neither they nor their file name one.
pub(super) fn default_verifier(has_choices: bool) -> Value {
    if has_choices { json!({"name": "final", "inner": "choice"}) } else { json!("final") }
}
