//! Scripts: rules in order, of which the first that fits a request answers it.

use std::path::Path;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use crate::conversation::{Call, Message, Piece, Request, Role};
use crate::template::{Groups, JsonTemplate, Template};

/// Tokens of a part of a stream.
const TOKENS_PER_CHUNK: usize = 8;
/// The model that is listed where the script names none.
const MODEL: &str = "scripted";

/// Rules that are checked and ready to answer.
#[derive(Debug)]
pub struct Script {
    pub(crate) policy_version: Option<String>,
    pub(crate) rules: Vec<Rule>,
}

/// A script that cannot be used, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the script {file} cannot be read: {detail}; name a file that is there")]
    Unreadable {
        /// Its path.
        file: String,
        /// The fault.
        detail: String,
    },
    /// It has not the shape of a script.
    #[error("{file} is no script: {detail}; write rules as docs/scripted-model.md shows")]
    Shape {
        /// Its path.
        file: String,
        /// The fault, with its line.
        detail: String,
    },
    /// A rule cannot be used.
    #[error("{file}, rule {rule}: {detail}")]
    Rule {
        /// Its path.
        file: String,
        /// Its number, from 1.
        rule: usize,
        /// The fault, and what to do.
        detail: String,
    },
}

/// A script as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenScript {
    #[serde(default)]
    policy_version: Option<String>,
    rules: Vec<WrittenRule>,
}

/// A rule as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenRule {
    turn: Option<usize>,
    last: Option<String>,
    any: Option<String>,
    model: Option<String>,
    tool: Option<String>,
    text: Option<String>,
    calls: Vec<WrittenCall>,
    reasoning: Option<String>,
    finish: Option<Finish>,
    tokens_per_chunk: Option<usize>,
    retokenise: bool,
    status: Option<u16>,
    retry_after: Option<u64>,
    delay_ms: u64,
    chunk_delay_ms: u64,
    cut_after_chunks: Option<usize>,
    bytes: Option<u64>,
    hang: bool,
}

/// A call as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCall {
    tool: String,
    /// JSON, or a text that becomes the arguments as it is.
    #[serde(default)]
    arguments: Value,
}

/// Why sampling ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Finish {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
}

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) turn: Option<usize>,
    pub(crate) last: Option<Regex>,
    pub(crate) any: Option<Regex>,
    pub(crate) model: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) text: Template,
    pub(crate) reasoning: Template,
    pub(crate) calls: Vec<(Template, Arguments)>,
    pub(crate) finish: Option<Finish>,
    pub(crate) tokens_per_chunk: usize,
    pub(crate) retokenise: bool,
    pub(crate) faults: Faults,
}

/// Arguments of a call, into which texts are inserted.
#[derive(Debug)]
pub(crate) enum Arguments {
    Text(Template),
    Json(JsonTemplate),
}

/// Ways in which an answer goes wrong, or comes late.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    pub(crate) status: Option<u16>,
    pub(crate) retry_after: Option<u64>,
    pub(crate) delay_ms: u64,
    pub(crate) chunk_delay_ms: u64,
    pub(crate) cut_after_chunks: Option<usize>,
    pub(crate) bytes: Option<u64>,
    pub(crate) hang: bool,
}

/// The answer of a rule to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) message: Message,
    pub(crate) finish: Finish,
}

impl Script {
    /// Reads a script from a file.
    ///
    /// # Errors
    /// When there is no such file, or it is no script.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::read(&text, &file),
            Err(error) => Err(ScriptError::Unreadable { file, detail: error.to_string() }),
        }
    }

    /// Reads a script; `file` names it in errors.
    ///
    /// # Errors
    /// When it is no script.
    pub fn read(text: &str, file: &str) -> Result<Self, ScriptError> {
        let shape = |detail| ScriptError::Shape { file: file.to_owned(), detail };
        let written: WrittenScript = palestra_yaml::read(text).map_err(|error| shape(error.to_string()))?;
        if written.rules.is_empty() {
            return Err(shape("it has no rules".to_owned()));
        }
        let printable = |text: &String| text.chars().all(|character| matches!(character, ' '..='~'));
        if !written.policy_version.as_ref().is_none_or(printable) {
            return Err(shape(
                "`policy_version` goes into a header and must be of printable ASCII characters".to_owned(),
            ));
        }
        let rules = written.rules.into_iter().zip(1..).map(|(rule, number)| {
            rule.check().map_err(|detail| ScriptError::Rule { file: file.to_owned(), rule: number, detail })
        });
        Ok(Self { policy_version: written.policy_version, rules: rules.collect::<Result<_, _>>()? })
    }

    /// Models that rules name.
    pub(crate) fn models(&self) -> Vec<&str> {
        let mut models: Vec<&str> = self.rules.iter().filter_map(|rule| rule.model.as_deref()).collect();
        models.sort_unstable();
        models.dedup();
        if models.is_empty() { vec![MODEL] } else { models }
    }

    /// The first rule that fits, and its reply.
    pub(crate) fn answer(&self, request: &Request) -> Option<(&Rule, Reply)> {
        let seen = Seen::new(request);
        self.rules.iter().find_map(|rule| rule.answer(&seen).map(|reply| (rule, reply)))
    }
}

impl WrittenRule {
    fn check(self) -> Result<Rule, String> {
        let hangs = self.hang && self.cut_after_chunks.is_none();
        let faults = [self.status.is_some(), hangs, self.bytes.is_some()].into_iter().filter(|fault| *fault).count();
        let fault = faults > 0;
        if faults > 1 || fault && self.cut_after_chunks.is_some() {
            return Err(
                "several faults stand together: keep one of `status`, `bytes`, `hang`, `cut_after_chunks`".to_owned()
            );
        }
        if self.bytes == Some(0) {
            return Err("`bytes` is 0: write at least 1".to_owned());
        }
        let reply = self.text.is_some() || !self.calls.is_empty() || self.reasoning.is_some();
        if fault && reply {
            return Err("a reply is never sent beside `status`, `bytes` or `hang`: remove one of them".to_owned());
        }
        if !fault && !reply {
            return Err(
                "the reply is missing: write `text`, `calls`, `reasoning`, `status`, `bytes` or `hang`".to_owned()
            );
        }
        if let Some(status) = self.status.filter(|status| !(400..600).contains(status)) {
            return Err(format!("`status` is {status}: write one from 400 to 599"));
        }
        if self.retry_after.is_some() && self.status.is_none() {
            return Err("`retry_after` goes with an error: add `status`, or remove it".to_owned());
        }
        if self.tokens_per_chunk == Some(0) {
            return Err("`tokens_per_chunk` is 0: write at least 1".to_owned());
        }
        if self.calls.iter().any(|call| call.tool.is_empty()) {
            return Err("a call has an empty `tool`: write the name of one".to_owned());
        }
        let regex = |name: &str, text: &Option<String>| {
            let read = text.as_deref().map(Regex::new).transpose();
            read.map_err(|error| format!("`{name}` is no regular expression: {error}: correct it"))
        };
        let (last, any) = (regex("last", &self.last)?, regex("any", &self.any)?);
        let groups = Groups::of([&last, &any]);
        let template = |text: Option<String>| Template::read(&text.unwrap_or_default(), &groups);
        let calls = self.calls.into_iter().map(|call| {
            let arguments = match call.arguments {
                Value::String(text) => Arguments::Text(template(Some(text))?),
                other => Arguments::Json(JsonTemplate::read(other, &groups)?),
            };
            Ok::<_, String>((template(Some(call.tool))?, arguments))
        });
        Ok(Rule {
            calls: calls.collect::<Result<_, _>>()?,
            text: template(self.text)?,
            reasoning: template(self.reasoning)?,
            turn: self.turn,
            last,
            any,
            model: self.model,
            tool: self.tool,
            finish: self.finish,
            tokens_per_chunk: self.tokens_per_chunk.unwrap_or(TOKENS_PER_CHUNK),
            retokenise: self.retokenise,
            faults: Faults {
                status: self.status,
                retry_after: self.retry_after,
                delay_ms: self.delay_ms,
                chunk_delay_ms: self.chunk_delay_ms,
                cut_after_chunks: self.cut_after_chunks,
                bytes: self.bytes,
                hang: self.hang,
            },
        })
    }
}

/// A request as rules look at it.
struct Seen<'a> {
    request: &'a Request,
    turn: usize,
    texts: Vec<String>,
}

impl<'a> Seen<'a> {
    fn new(request: &'a Request) -> Self {
        let turn = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
        Self { request, turn, texts: request.messages.iter().map(Message::text).collect() }
    }

    fn last(&self) -> &str {
        self.texts.last().map(String::as_str).unwrap_or_default()
    }
}

impl Rule {
    fn answer(&self, seen: &Seen<'_>) -> Option<Reply> {
        if self.turn.is_some_and(|turn| turn != seen.turn)
            || self.model.as_ref().is_some_and(|model| *model != seen.request.model)
            || self.tool.as_ref().is_some_and(|tool| !seen.request.tools.contains(tool))
        {
            return None;
        }
        // Of a condition that is not there, nothing is found, and it holds.
        let last = self.last.as_ref().map(|regex| regex.captures(seen.last()));
        let any = self.any.as_ref().map(|regex| seen.texts.iter().find_map(|text| regex.captures(text)));
        if matches!(last, Some(None)) || matches!(any, Some(None)) {
            return None;
        }
        let found = [last.flatten(), any.flatten()];
        let fill = |template: &Template| template.fill(seen.last(), &found);
        let call = |(tool, arguments): &(Template, Arguments)| match arguments {
            Arguments::Text(text) => Call::of_text(&fill(tool), &fill(text)),
            Arguments::Json(json) => Call::of_json(&fill(tool), &json.fill(&fill)),
        };
        let calls: Vec<Call> = self.calls.iter().map(call).collect();
        let finish = self.finish.unwrap_or(if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls });
        let text = fill(&self.text);
        let content = if text.is_empty() { Vec::new() } else { vec![Piece::Text(text)] };
        let message = Message { role: Role::Assistant, reasoning: fill(&self.reasoning), content, calls };
        Some(Reply { message, finish })
    }
}
