//! Conversations as tokens, and answers as actions.
//!
//! Sampled tokens are never tokenised again: its tokens stay as they were sampled, and only what stands between two
//! answers is rendered. What others have written never becomes a special token, whatever it contains.

mod action;
mod call_text;
mod date;
mod json_text;
mod message;
mod plain;
mod template;

use serde_json::Value;

pub use action::action;
use call_text::CallStyle;
pub(crate) use message::ChatMessage;
use message::Role;
use template::Template;

use crate::failure::TrainerError;
use crate::tokenizer::Tokenizer;

/// The date that templates see: 26 July 2024, the date that Llama 3's template falls back to. It is fixed, so that
/// a conversation always has the same tokens.
pub const TEMPLATE_TIME_UNIX_SECONDS: i64 = 1_721_952_000;

/// Stands for an answer while what comes after it is rendered. No character: texts have it replaced.
const ANSWER_MARK: char = '\u{FDD1}';
/// Parts the name of a special token in a text that others have written. No character: texts have it replaced.
const BREAK_MARK: char = '\u{FDD0}';

/// Conversation format of a model: its template, with the tokenizer.
#[derive(Debug)]
pub struct ChatFormat {
    tokenizer: Tokenizer,
    kind: Kind,
    style: CallStyle,
    /// Tokens that end an answer: added where a limit cut it.
    end: Vec<u32>,
    stops: Vec<u32>,
    /// True if the template itself lists tools; else [`ChatFormat::prompt`] lists them in the system message.
    knows_tools: bool,
}

#[derive(Debug)]
enum Kind {
    /// The built-in one, for bytes.
    Plain,
    Template(Box<Template>),
}

impl ChatFormat {
    /// The format that comes with a tokenizer: the built-in one for bytes, its template where it has one, else ChatML.
    ///
    /// # Errors
    /// `BadCheckpoint` where the template cannot be used.
    pub fn new(tokenizer: &Tokenizer) -> Result<Self, TrainerError> {
        Self::at(tokenizer, TEMPLATE_TIME_UNIX_SECONDS)
    }

    /// As [`ChatFormat::new`], for templates that show the date: in seconds since 1970, UTC.
    ///
    /// # Errors
    /// As there.
    pub fn at(tokenizer: &Tokenizer, now_unix_seconds: i64) -> Result<Self, TrainerError> {
        let mut format = Self {
            tokenizer: tokenizer.clone(),
            kind: Kind::Plain,
            style: CallStyle::Compact,
            end: tokenizer.eos().get(..1).unwrap_or_default().to_vec(),
            stops: tokenizer.eos().to_vec(),
            knows_tools: true,
        };
        if tokenizer.is_bytes() {
            return Ok(format);
        }
        let fallback = template::chat_ml(tokenizer);
        let source = tokenizer.chat_template().unwrap_or(&fallback);
        let template = Template::new(source, tokenizer, now_unix_seconds)?;
        format.knows_tools = template.lists_tools();
        format.style = if format.knows_tools { CallStyle::of_template(source) } else { CallStyle::Tagged };
        format.kind = Kind::Template(Box::new(template));
        // The answer ends with the first special token that the template puts behind it.
        let glue = format.glue(&[], false)?;
        if let Some(place) = glue.iter().position(|token| tokenizer.is_special(*token)) {
            format.end = glue[..=place].to_vec();
            let stop = glue[place];
            format.stops.retain(|other| *other != stop);
            format.stops.insert(0, stop);
        }
        if format.stops.is_empty() {
            return Err(TrainerError::BadCheckpoint(
                "nothing says where an answer ends: name an eos_token in tokenizer_config.json".to_owned(),
            ));
        }
        Ok(format)
    }

    /// Tokens at which an answer ends; the first is the one that examples end with.
    #[must_use]
    pub fn stops(&self) -> &[u32] {
        &self.stops
    }

    /// The tokenizer.
    #[must_use]
    pub const fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Tokens of a conversation up to where the assistant's next answer begins. `messages` and `tools` are in OpenAI's
    /// form.
    ///
    /// # Errors
    /// `BadSpec` where a message cannot be read or the template refuses the conversation.
    pub fn prompt(&self, messages: &[Value], tools: &[Value]) -> Result<Vec<u32>, TrainerError> {
        let messages = self.read(messages)?;
        let tools: Vec<Value> = tools.iter().map(|tool| self.guard_value(&message::tool(tool))).collect();
        match &self.kind {
            Kind::Plain => Ok(plain::prompt(&messages, &tools)),
            Kind::Template(template) => {
                let text = if self.knows_tools {
                    template.render(&messages, &tools, true)?
                } else {
                    let with_tools = self.tools_in_text(&messages, &tools);
                    template.render(&with_tools, &[], true)?
                };
                self.encode_guarded(&text)
            }
        }
    }

    /// Tokens to put behind an answer for the messages of an observation, up to where the next answer begins: first the
    /// end of the answer, unless it was sampled (`answered_with_end`).
    ///
    /// # Errors
    /// As [`ChatFormat::prompt`].
    pub fn continuation(&self, answered_with_end: bool, messages: &[Value]) -> Result<Vec<u32>, TrainerError> {
        let messages = self.read(messages)?;
        let glue = self.glue(&messages, true)?;
        Ok(match (glue.strip_prefix(self.end.as_slice()), answered_with_end) {
            (Some(rest), true) => rest.to_vec(),
            (Some(_), false) | (None, true) => glue,
            // The template itself puts nothing behind an answer.
            (None, false) => [self.end.clone(), glue].concat(),
        })
    }

    /// A whole conversation to learn from: its tokens, and which are answers (with their ends). Made of the same
    /// pieces as a rollout: prompt, answer, continuation, answer ... Messages after the last answer are left out, and
    /// answers with `"weight": 0` are context.
    ///
    /// # Errors
    /// As [`ChatFormat::prompt`]; `BadSpec` where nothing is answered.
    pub fn example(&self, messages: &[Value], tools: &[Value]) -> Result<(Vec<u32>, Vec<bool>), TrainerError> {
        let read = self.read(messages)?;
        let answers: Vec<usize> = (0..read.len()).filter(|place| read[*place].role == Role::Assistant).collect();
        let first = *answers.first().ok_or_else(|| TrainerError::BadSpec("no message is an answer".to_owned()))?;
        let mut tokens = self.prompt(&messages[..first], tools)?;
        let mut is_action = vec![false; tokens.len()];
        for (turn, place) in answers.iter().enumerate() {
            let answer = &read[*place];
            tokens.extend(self.encode_guarded(&call_text::answer(self.style, &answer.content, &answer.calls))?);
            tokens.extend(&self.end);
            is_action.resize(tokens.len(), answer.counts);
            if let Some(next) = answers.get(turn + 1) {
                tokens.extend(self.continuation(true, &messages[place + 1..*next])?);
                is_action.resize(tokens.len(), false);
            }
        }
        Ok((tokens, is_action))
    }

    /// Tokens that follow an answer in the format.
    fn glue(&self, messages: &[ChatMessage], add_generation_prompt: bool) -> Result<Vec<u32>, TrainerError> {
        let template = match &self.kind {
            Kind::Plain => return Ok(plain::continuation(messages)),
            Kind::Template(template) => template,
        };
        let answered = [ChatMessage::new(Role::User, "."), ChatMessage::new(Role::Assistant, ANSWER_MARK)];
        let whole: Vec<ChatMessage> = answered.into_iter().chain(self.tools_in_text(messages, &[])).collect();
        let text = template.render(&whole, &[], add_generation_prompt)?;
        let (_, behind) = text.rsplit_once(ANSWER_MARK).ok_or_else(|| {
            TrainerError::BadCheckpoint("the chat template leaves out what the assistant said".to_owned())
        })?;
        self.encode_guarded(behind)
    }

    /// For a template without tools: they are listed in the system message, and calls are text.
    fn tools_in_text(&self, messages: &[ChatMessage], tools: &[Value]) -> Vec<ChatMessage> {
        if self.knows_tools {
            return messages.to_vec();
        }
        let mut with_tools: Vec<ChatMessage> = messages
            .iter()
            .map(|message| {
                let content = call_text::answer(self.style, &message.content, &message.calls);
                // A template that knows no tools need not know their role.
                let role = if message.role == Role::Tool { Role::User } else { message.role };
                ChatMessage { role, content, calls: Vec::new(), ..message.clone() }
            })
            .collect();
        if !tools.is_empty() {
            let list = call_text::list_tools(tools);
            match with_tools.first_mut() {
                Some(first) if first.role == Role::System => first.content = format!("{}\n\n{list}", first.content),
                _ => with_tools.insert(0, ChatMessage::new(Role::System, list)),
            }
        }
        with_tools
    }

    /// Reads messages; names of special tokens in them are parted.
    fn read(&self, messages: &[Value]) -> Result<Vec<ChatMessage>, TrainerError> {
        let read = |(place, message): (usize, &Value)| {
            let mut message = ChatMessage::read(message)
                .map_err(|fault| TrainerError::BadSpec(format!("messages[{place}]: {fault}")))?;
            message.content = self.guard(&message.content);
            for call in &mut message.calls {
                call.name = self.guard(&call.name);
                call.arguments = self.guard_value(&call.arguments);
            }
            Ok(message)
        };
        messages.iter().enumerate().map(read).collect()
    }

    fn guard(&self, text: &str) -> String {
        let mut text = text.replace([ANSWER_MARK, BREAK_MARK], "\u{FFFD}");
        for name in self.tokenizer.special_names() {
            if text.contains(name.as_str()) {
                let inside = name.chars().next().map_or(0, char::len_utf8);
                text = text.replace(name.as_str(), &format!("{}{BREAK_MARK}{}", &name[..inside], &name[inside..]));
            }
        }
        text
    }

    fn guard_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.guard(text)),
            Value::Array(items) => items.iter().map(|item| self.guard_value(item)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.iter().map(|(key, value)| (self.guard(key), self.guard_value(value))).collect())
            }
            other => other.clone(),
        }
    }

    /// Tokens of a text in which names of special tokens that count as text are parted.
    fn encode_guarded(&self, text: &str) -> Result<Vec<u32>, TrainerError> {
        let mut tokens = Vec::new();
        for piece in text.split(BREAK_MARK) {
            tokens.extend(self.tokenizer.encode(piece)?);
        }
        Ok(tokens)
    }
}

#[cfg(test)]
mod tests;
