//! The tools of a terminal, and their arguments.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::screen::{COLUMNS_MAX, COLUMNS_MIN, ROWS_MAX, ROWS_MIN};

/// Milliseconds that a command may take where the call says nothing.
const EXEC_MS: u64 = 30_000;
/// Milliseconds that it may take at most.
const EXEC_MS_MAX: u64 = 600_000;
/// Milliseconds that `keys` and `read` wait at most.
const WAIT_MS_MAX: u64 = 60_000;
/// Bytes of a command.
pub(super) const COMMAND_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a submitted answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tool {
    Exec(Exec),
    Keys(Keys),
    Read(Read),
    Resize(Resize),
    Upload(Upload),
    Download(Download),
    Submit(Submit),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exec {
    pub(super) command: String,
    #[serde(default = "exec_ms")]
    pub(super) timeout_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Submit {
    #[serde(default)]
    pub(super) answer: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Keys {
    pub(super) keys: String,
    #[serde(default = "second")]
    pub(super) wait_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    #[serde(default)]
    pub(super) wait_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Resize {
    pub(super) rows: u16,
    pub(super) columns: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Upload {
    pub(super) path: String,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) base64: Option<String>,
    #[serde(default)]
    pub(super) mode: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Download {
    pub(super) path: String,
}

fn exec_ms() -> u64 {
    EXEC_MS
}

fn second() -> u64 {
    1_000
}

impl Tool {
    /// Reads a call.
    ///
    /// # Errors
    /// In words for the caller.
    pub(super) fn read(tool: &str, arguments: &Map<String, Value>) -> Result<Self, String> {
        let call = match tool {
            "exec" => Self::Exec(arguments_of(arguments)?),
            "keys" => Self::Keys(arguments_of(arguments)?),
            "read" => Self::Read(arguments_of(arguments)?),
            "resize" => Self::Resize(arguments_of(arguments)?),
            "upload" => Self::Upload(arguments_of(arguments)?),
            "download" => Self::Download(arguments_of(arguments)?),
            "submit" => Self::Submit(arguments_of(arguments)?),
            other => return Err(format!("there is no tool {other:?}")),
        };
        call.bounded()
    }

    /// A command with the usual time.
    pub(super) fn command(command: &str) -> Result<Self, String> {
        Self::Exec(Exec { command: command.to_owned(), timeout_ms: EXEC_MS }).bounded()
    }

    fn bounded(self) -> Result<Self, String> {
        match &self {
            Self::Exec(Exec { command, .. }) if command.len() > COMMAND_BYTES_MAX => {
                Err(format!("a command is at most {COMMAND_BYTES_MAX} bytes: upload a script and run that"))
            }
            Self::Submit(Submit { answer: Some(answer) }) if answer.len() > ANSWER_BYTES_MAX => {
                Err(format!("an answer is at most {ANSWER_BYTES_MAX} bytes: leave a longer one in a file"))
            }
            Self::Exec(Exec { command, .. }) if command.contains('\0') => Err("a command holds no NUL".to_owned()),
            Self::Exec(Exec { timeout_ms, .. }) if *timeout_ms > EXEC_MS_MAX => {
                Err(format!("timeout_ms is at most {EXEC_MS_MAX}"))
            }
            Self::Upload(Upload { path, .. }) | Self::Download(Download { path }) if path.contains('\0') => {
                Err("a path holds no NUL".to_owned())
            }
            Self::Keys(Keys { wait_ms, .. }) | Self::Read(Read { wait_ms }) if *wait_ms > WAIT_MS_MAX => {
                Err(format!("wait_ms is at most {WAIT_MS_MAX}"))
            }
            Self::Keys(Keys { keys, .. }) if keys.len() > super::keys::KEYS_BYTES_MAX => {
                Err(format!("keys are at most {} bytes", super::keys::KEYS_BYTES_MAX))
            }
            Self::Resize(Resize { rows, columns })
                if !(ROWS_MIN..=ROWS_MAX).contains(rows) || !(COLUMNS_MIN..=COLUMNS_MAX).contains(columns) =>
            {
                Err(format!("a screen has {ROWS_MIN} to {ROWS_MAX} rows and {COLUMNS_MIN} to {COLUMNS_MAX} columns"))
            }
            _ => Ok(self),
        }
    }
}

fn arguments_of<T: DeserializeOwned>(arguments: &Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments.clone())).map_err(|error| error.to_string())
}

/// The tools, as OpenAI function tools.
pub(crate) fn all() -> Vec<Value> {
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| {
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": {
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }}})
    };
    vec![
        tool(
            "exec",
            "Run a command in the shell and wait for its end. Working directory, variables and background jobs are kept.",
            json!({
                "command": {"type": "string", "maxLength": COMMAND_BYTES_MAX},
                "timeout_ms": {"type": "integer", "minimum": 1, "maximum": EXEC_MS_MAX, "default": EXEC_MS,
                    "description": "After that the command goes on running: read on, or send keys such as <C-c>."},
            }),
            &["command"],
        ),
        tool(
            "keys",
            "Type on the terminal. Text stands for itself, other keys stand in angle brackets: <Enter>, <Tab>, <Esc>, <Up>, \
             <C-c>, <M-x>, <F1>, <lt> for a less-than sign. Shows the screen once it is still.",
            json!({
                "keys": {"type": "string", "maxLength": super::keys::KEYS_BYTES_MAX},
                "wait_ms": {"type": "integer", "minimum": 0, "maximum": WAIT_MS_MAX, "default": 1_000},
            }),
            &["keys"],
        ),
        tool(
            "read",
            "Show the screen, after waiting for the end of the command that runs, or for something to be printed.",
            json!({"wait_ms": {"type": "integer", "minimum": 0, "maximum": WAIT_MS_MAX, "default": 0}}),
            &[],
        ),
        tool(
            "resize",
            "Change the size of the terminal.",
            json!({
                "rows": {"type": "integer", "minimum": ROWS_MIN, "maximum": ROWS_MAX},
                "columns": {"type": "integer", "minimum": COLUMNS_MIN, "maximum": COLUMNS_MAX},
            }),
            &["rows", "columns"],
        ),
        tool(
            "upload",
            "Write a file. Give text, or base64 for other bytes.",
            json!({
                "path": {"type": "string"},
                "text": {"type": "string"},
                "base64": {"type": "string"},
                "mode": {"type": "integer", "minimum": 0, "maximum": 0o777, "description": "Permission bits; 420 (0644) where left out."},
            }),
            &["path"],
        ),
        tool(
            "download",
            "Read a file: text, or base64 where it is not UTF-8.",
            json!({"path": {"type": "string"}}),
            &["path"],
        ),
        tool(
            "submit",
            "Say that the task is done, with the answer where the task asks for one. Ends the episode.",
            json!({"answer": {"type": "string", "maxLength": ANSWER_BYTES_MAX}}),
            &[],
        ),
    ]
}
