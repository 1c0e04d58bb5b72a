//! Inputs of the acting side: tools, and plain text.

use serde_json::{Map, Value as Json, json};

use crate::task::Submission;
use crate::value::{Dialect, Value};

/// Bytes of SQL of one action.
pub const SQL_BYTES_MAX: usize = 256 << 10;
/// Statements of one action.
pub const STATEMENTS_MAX: usize = 500;
/// Bytes of an answer in words.
const ANSWER_BYTES_MAX: usize = 16 << 10;
const PARAMETERS_MAX: usize = 1_000;

/// An action.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Input<'a> {
    /// Plain text: the last block that is fenced with ```` ```sql ```` is a query, one that is fenced with ```` ```submit ```` is handed
    /// in; without such a block all of it is a query.
    Text(&'a str),
    /// A call of one of the tools.
    Call {
        /// Its name.
        tool: &'a str,
        /// An object.
        arguments: &'a Json,
    },
}

/// An action that makes sense.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Query { sql: String, parameters: Vec<Value> },
    Schema { table: Option<String> },
    Explain { sql: String, parameters: Vec<Value> },
    Rewind { to_seq: u64 },
    Submit { sql: Option<String>, answer: Option<String> },
}

/// The tools of every session, as OpenAI function tools, the same for both dialects.
#[must_use]
pub fn tools() -> Vec<Json> {
    let tool = |name: &str, description: &str, properties: Json, required: &[&str]| {
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": {
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }}})
    };
    let sql = json!({"type": "string", "minLength": 1, "maxLength": SQL_BYTES_MAX});
    let parameters = json!({
        "type": "array", "maxItems": PARAMETERS_MAX, "items": {"type": ["string", "number", "boolean", "null"]},
        "description": "Values for `?`, `?1` or `:name` (SQLite) or `$1` (PostgreSQL) in order, where `sql` is one statement.",
    });
    vec![
        tool(
            "query",
            "Run one or several statements, up to the first that fails. Transactions go on across calls; one that is open at the end \
             is rolled back.",
            json!({"sql": sql, "parameters": parameters}),
            &["sql"],
        ),
        tool(
            "schema",
            "Show tables, views, indexes and triggers as they are now: all of them in short, or one table in full.",
            json!({"table": {"type": "string", "minLength": 1, "maxLength": 200}}),
            &[],
        ),
        tool(
            "explain",
            "Show the plan of one statement without running it.",
            json!({"sql": sql, "parameters": parameters}),
            &["sql"],
        ),
        tool(
            "rewind",
            "Return to the state after an earlier action, and undo all later ones. Actions are counted from 1; 0 is the beginning.",
            json!({"to_seq": {"type": "integer", "minimum": 0}}),
            &["to_seq"],
        ),
        tool(
            "submit",
            "Hand in what the task asks for and end the episode: a query as `sql`, a value as `answer`, or neither where the state of \
             the database is the result. A query is run on the database as you leave it.",
            json!({
                "sql": {"type": "string", "maxLength": SQL_BYTES_MAX},
                "answer": {"type": ["string", "number", "boolean"], "maxLength": ANSWER_BYTES_MAX},
            }),
            &[],
        ),
    ]
}

/// A call that is well formed but chosen without looking; `choice` is any number.
#[must_use]
pub fn random_call(choice: u64) -> (&'static str, Map<String, Json>) {
    let (tool, arguments) = match choice % 5 {
        0 => ("query", json!({"sql": "SELECT 1"})),
        1 => ("query", json!({"sql": "SELECT count(*) FROM nothing"})),
        2 => ("schema", json!({})),
        3 => ("rewind", json!({"to_seq": 0})),
        _ => ("submit", json!({"sql": "SELECT 1"})),
    };
    (tool, arguments.as_object().cloned().unwrap_or_default())
}

impl Action {
    /// Reads an action.
    ///
    /// # Errors
    /// In words for the acting side.
    pub(super) fn read(input: Input<'_>, dialect: Dialect, wanted: Submission) -> Result<Self, String> {
        let action = match input {
            Input::Text(text) => from_text(text, wanted),
            Input::Call { tool, arguments } => from_call(tool, arguments, dialect)?,
        };
        action.bounded(dialect)
    }

    fn bounded(self, dialect: Dialect) -> Result<Self, String> {
        match &self {
            Self::Query { sql, .. } | Self::Explain { sql, .. } | Self::Submit { sql: Some(sql), .. }
                if sql.len() > SQL_BYTES_MAX =>
            {
                Err(format!("SQL may have {SQL_BYTES_MAX} bytes; this has {}", sql.len()))
            }
            Self::Query { sql, .. } if crate::script::split(sql, dialect).len() > STATEMENTS_MAX => {
                Err(format!("an action may hold {STATEMENTS_MAX} statements"))
            }
            Self::Query { parameters, .. } | Self::Explain { parameters, .. } if parameters.len() > PARAMETERS_MAX => {
                Err(format!("a statement may have {PARAMETERS_MAX} parameters"))
            }
            Self::Submit { answer: Some(answer), .. } if answer.len() > ANSWER_BYTES_MAX => {
                Err(format!("an answer may have {ANSWER_BYTES_MAX} bytes; this has {}", answer.len()))
            }
            _ => Ok(self),
        }
    }
}

fn from_text(text: &str, wanted: Submission) -> Action {
    match last_block(text) {
        Some((Fence::Submit, body)) => match wanted {
            Submission::Sql => Action::Submit { sql: Some(body), answer: None },
            Submission::Answer => Action::Submit { sql: None, answer: Some(body) },
            Submission::State => Action::Submit { sql: None, answer: None },
        },
        Some((Fence::Sql, sql)) => Action::Query { sql, parameters: Vec::new() },
        None => Action::Query { sql: text.trim().to_owned(), parameters: Vec::new() },
    }
}

#[derive(Clone, Copy)]
enum Fence {
    Sql,
    Submit,
}

/// The last fenced block of either sort that is closed; one that is not closed goes on to the end.
fn last_block(text: &str) -> Option<(Fence, String)> {
    let mut last = None;
    let mut open: Option<(Option<Fence>, Vec<&str>)> = None;
    for line in text.lines() {
        let mark = line.trim().strip_prefix("```").map(str::trim);
        match (mark, &mut open) {
            (Some(word), None) => open = Some((fence(word), Vec::new())),
            (Some(""), Some((sort, body))) => {
                last = sort.map(|sort| (sort, body.join("\n"))).or(last);
                open = None;
            }
            (_, Some((_, body))) => body.push(line),
            (None, None) => {}
        }
    }
    match open {
        Some((Some(sort), body)) => Some((sort, body.join("\n"))),
        _ => last,
    }
    .map(|(sort, body)| (sort, body.trim().to_owned()))
}

fn fence(word: &str) -> Option<Fence> {
    match word.to_ascii_lowercase().as_str() {
        "sql" | "sqlite" | "postgres" | "postgresql" => Some(Fence::Sql),
        "submit" => Some(Fence::Submit),
        _ => None,
    }
}

fn from_call(tool: &str, arguments: &Json, dialect: Dialect) -> Result<Action, String> {
    let known: &[&str] = match tool {
        "query" | "explain" => &["sql", "parameters"],
        "schema" => &["table"],
        "rewind" => &["to_seq"],
        "submit" => &["sql", "answer"],
        _ => return Err(format!("there is no tool {tool:?}; there are query, schema, explain, rewind, submit")),
    };
    let given = match arguments {
        Json::Object(given) => given,
        _ => return Err(format!("the arguments of {tool} are an object")),
    };
    if let Some(unknown) = given.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("{tool} has no argument {unknown:?}; it has {}", known.join(", ")));
    }
    let text = |name: &str| match given.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{name} is a string")),
    };
    let sql = || text("sql")?.ok_or_else(|| format!("{tool} needs sql"));
    Ok(match tool {
        "query" => Action::Query { sql: sql()?, parameters: parameters(given.get("parameters"), dialect)? },
        "explain" => Action::Explain { sql: sql()?, parameters: parameters(given.get("parameters"), dialect)? },
        "schema" => Action::Schema { table: text("table")? },
        "rewind" => {
            let to_seq = given.get("to_seq").and_then(whole);
            Action::Rewind { to_seq: to_seq.ok_or("rewind needs to_seq, a whole number from 0")? }
        }
        _ => Action::Submit { sql: text("sql")?, answer: answer(given.get("answer"))? },
    })
}

/// A whole number from 0, however it is written: 1.0 and 1e9 are whole numbers to a JSON schema.
fn whole(given: &Json) -> Option<u64> {
    /// 2^53: every whole number below it is one that a float holds exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    given.as_u64().or_else(|| {
        let real = given.as_f64().filter(|real| (0.0..EXACT).contains(real) && real.fract() == 0.0)?;
        format!("{:.0}", real.abs()).parse().ok()
    })
}

fn answer(given: Option<&Json>) -> Result<Option<String>, String> {
    match given {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(value @ (Json::Number(_) | Json::Bool(_))) => Ok(Some(value.to_string())),
        Some(_) => Err("answer is a string, a number or a boolean".to_owned()),
    }
}

fn parameters(given: Option<&Json>, dialect: Dialect) -> Result<Vec<Value>, String> {
    match given {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(values)) => values.iter().map(|value| parameter(value, dialect)).collect(),
        Some(_) => Err("parameters is an array".to_owned()),
    }
}

fn parameter(value: &Json, dialect: Dialect) -> Result<Value, String> {
    match value {
        Json::Null => Ok(Value::Null),
        Json::Bool(value) if dialect == Dialect::Sqlite => Ok(Value::Integer(i64::from(*value))),
        Json::Bool(value) => Ok(Value::Boolean(*value)),
        Json::String(text) => Ok(Value::Text(text.clone())),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Ok(Value::Integer(whole)),
            (None, Some(real)) => Ok(Value::Real(real)),
            (None, None) => Err(format!("{number} is too large for a parameter")),
        },
        Json::Array(_) | Json::Object(_) => Err("a parameter is a string, a number, a boolean or null".to_owned()),
    }
}
