//! Chat templates: Jinja with what Hugging Face's `apply_chat_template` adds to it, bounded in work and memory.

use std::fmt;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Value as Jinja};
use serde_json::{Map, Value, json};

use super::date::strftime;
use super::json_text::{JsonStyle, write};
use super::message::{ChatMessage, Role};
use crate::failure::TrainerError;
use crate::tokenizer::Tokenizer;

/// Longest template.
const SOURCE_BYTES_MAX: usize = 1 << 20;
/// Work of one rendering: about one per instruction and per 64 bytes made, so 256 MB at most.
const RENDER_FUEL_MAX: u64 = 4_000_000;
/// Deepest nesting of a value that a template writes as JSON.
const DEPTH_MAX: usize = 64;
/// Widest indentation that a template may ask for.
const INDENT_SPACES_MAX: usize = 16;
/// The name under which the only template is kept.
const NAME: &str = "chat";

/// A template that has been read.
pub(super) struct Template {
    environment: Environment<'static>,
    bos: Option<String>,
    eos: Option<String>,
}

impl fmt::Debug for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Template").finish_non_exhaustive()
    }
}

impl Template {
    /// Reads a template.
    pub(super) fn new(source: &str, tokenizer: &Tokenizer, now_unix_seconds: i64) -> Result<Self, TrainerError> {
        let bad = |detail: String| TrainerError::BadCheckpoint(format!("the chat template: {detail}"));
        if source.len() > SOURCE_BYTES_MAX {
            return Err(bad(format!("{} bytes; at most {SOURCE_BYTES_MAX}", source.len())));
        }
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| bad(error.to_string()))?);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_fuel(Some(RENDER_FUEL_MAX));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", |value: &Jinja, options: Kwargs| to_json(value, &options));
        // In Python a text is iterable, and templates ask.
        environment.add_test("iterable", |value: &Jinja| value.as_str().is_some() || value.try_iter().is_ok());
        environment.add_function("raise_exception", |detail: String| -> Result<Jinja, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, detail))
        });
        environment.add_function("strftime_now", move |format: String| {
            strftime(&format, now_unix_seconds).map_err(|detail| Error::new(ErrorKind::InvalidOperation, detail))
        });
        let source = without_generation(source);
        environment.add_template_owned(NAME, source).map_err(|error| bad(error.to_string()))?;
        let name = |id: Option<u32>| id.and_then(|id| String::from_utf8(tokenizer.token_bytes(id)).ok());
        Ok(Self { environment, bos: name(tokenizer.bos()), eos: name(tokenizer.eos().first().copied()) })
    }

    /// True if a prompt names the tools that it is given.
    pub(super) fn lists_tools(&self) -> bool {
        const PROBE: &str = "a_tool_that_is_listed";
        let tool = json!({"type": "function", "function": {
            "name": PROBE, "description": "", "parameters": {"type": "object", "properties": {}}}});
        let question = [ChatMessage::new(Role::User, ".")];
        self.render(&question, &[tool], true).is_ok_and(|text| text.contains(PROBE))
    }

    /// The text of a conversation.
    pub(super) fn render(
        &self,
        messages: &[ChatMessage],
        tools: &[Value],
        add_generation_prompt: bool,
    ) -> Result<String, TrainerError> {
        let messages: Jinja = messages.iter().map(|message| to_jinja(&message.to_value())).collect();
        let tools = if tools.is_empty() { Jinja::from(()) } else { tools.iter().map(to_jinja).collect() };
        let context = Jinja::from_pairs([
            ("messages", messages),
            ("tools", tools),
            ("documents", Jinja::from(())),
            ("add_generation_prompt", add_generation_prompt.into()),
            ("bos_token", self.bos.as_deref().unwrap_or_default().into()),
            ("eos_token", self.eos.as_deref().unwrap_or_default().into()),
        ]);
        let refused = |error: Error| {
            let line = error.line().map(|line| format!(" (line {line})")).unwrap_or_default();
            let detail = error.detail().map_or_else(|| error.to_string(), str::to_owned);
            TrainerError::BadSpec(format!("the chat template refuses the conversation: {detail}{line}"))
        };
        self.environment.get_template(NAME).and_then(|template| template.render(context)).map_err(refused)
    }
}

/// ChatML, for a model without a template: with `<|im_end|>` where the vocabulary has it, else the token at which texts
/// end. Tools are listed as Hermes does.
pub(super) fn chat_ml(tokenizer: &Tokenizer) -> String {
    let end = if tokenizer.id_of("<|im_end|>").is_some() { "'<|im_end|>'" } else { "eos_token" };
    CHAT_ML.replace("END", end)
}

const CHAT_ML: &str = include_str!("chat_ml.jinja");

/// `{% generation %}` marks answers for `transformers`; here they are marked otherwise, and the tag is a plain block.
fn without_generation(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let Some(length) = rest[start..].find("%}") else { break };
        let tag = &rest[start..start + length];
        text.push_str(&rest[..start]);
        match tag[2..].trim_matches(|c: char| c.is_whitespace() || c == '-' || c == '+') {
            "generation" => text.push_str(&tag.replace("generation", "if true")),
            "endgeneration" => text.push_str(&tag.replace("endgeneration", "endif")),
            _ => text.push_str(tag),
        }
        rest = &rest[start + length..];
    }
    text.push_str(rest);
    text
}

/// The filter `tojson`, which in `transformers` is Python's `json.dumps` and escapes nothing for HTML.
fn to_json(value: &Jinja, options: &Kwargs) -> Result<String, Error> {
    let invalid = |detail: &'static str| Error::new(ErrorKind::InvalidOperation, detail);
    let indent: Option<usize> = options.get("indent")?;
    let separators: Option<Vec<String>> = options.get("separators")?;
    // Texts stay as they are, and keys have one order: both are the case whatever these say.
    let _: (Option<bool>, Option<bool>) = (options.get("ensure_ascii")?, options.get("sort_keys")?);
    options.assert_all_used()?;
    if indent.is_some_and(|spaces| spaces > INDENT_SPACES_MAX) {
        return Err(invalid("tojson: indent is at most 16"));
    }
    let mut style = JsonStyle { indent, ..JsonStyle::SPACED };
    if let Some(separators) = &separators {
        let [item, key] = separators.as_slice() else { return Err(invalid("tojson: separators are two texts")) };
        style = JsonStyle { item, key, indent };
    }
    Ok(write(&from_jinja(value, 0)?, style))
}

fn to_jinja(value: &Value) -> Jinja {
    match value {
        Value::Null => Jinja::from(()),
        Value::Bool(value) => Jinja::from(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Jinja::from(number),
            (None, Some(number)) => Jinja::from(number),
            (None, None) => Jinja::from(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Jinja::from(text.as_str()),
        Value::Array(items) => items.iter().map(to_jinja).collect(),
        Value::Object(fields) => Jinja::from_pairs(fields.iter().map(|(key, value)| (key.as_str(), to_jinja(value)))),
    }
}

fn from_jinja(value: &Jinja, depth: usize) -> Result<Value, Error> {
    let unwritable = |detail: &'static str| Error::new(ErrorKind::InvalidOperation, detail);
    if depth > DEPTH_MAX {
        return Err(unwritable("tojson: nested too deeply"));
    }
    Ok(match value.kind() {
        ValueKind::None => Value::Null,
        ValueKind::Bool => Value::Bool(value.is_true()),
        ValueKind::Number => match (value.as_i64(), value.is_integer()) {
            (Some(number), true) => number.into(),
            _ => match u64::try_from(value.clone()) {
                Ok(number) if value.is_integer() => number.into(),
                _ => f64::try_from(value.clone())?.into(),
            },
        },
        ValueKind::String => value.as_str().unwrap_or_default().into(),
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter()?.map(|item| from_jinja(&item, depth + 1)).collect::<Result<Vec<Value>, Error>>()?.into()
        }
        ValueKind::Map => {
            let mut fields = Map::new();
            for key in value.try_iter()? {
                let item = value.get_item(&key)?;
                fields.insert(key.to_string(), from_jinja(&item, depth + 1)?);
            }
            Value::Object(fields)
        }
        _ => return Err(unwritable("tojson: not a JSON value")),
    })
}
