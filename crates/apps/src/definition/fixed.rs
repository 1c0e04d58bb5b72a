//! `tasks.jsonl`: fixed tasks, one a line of JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::goal::GoalDefinition;
use super::{Name, maybe};
use crate::fault::{Fault, Faults, Position};
use crate::ids::ID_BYTES_MAX;
use crate::syntax::node::Node;
use crate::syntax::read::{At, read};

/// The file of the fixed tasks.
pub const TASKS_FILE: &str = "tasks.jsonl";
/// Fixed tasks of an app.
pub const TASKS_MAX: usize = 5_000;
/// Characters of an instruction.
const TEXT_CHARACTERS_MAX: usize = 20_000;
/// Calls of a solution.
pub const SOLUTION_CALLS_MAX: usize = 200;
/// The split of a task that names none.
const SPLIT: &str = "test";

/// A fixed task.
#[derive(Debug, Clone)]
pub struct FixedDefinition {
    /// Its author's id for it.
    pub id: Name,
    /// Its split.
    pub split: Arc<str>,
    /// Text for the agent.
    pub text: Arc<str>,
    /// Rows that begin otherwise than the initial data.
    pub start: Option<Json>,
    /// Rows that end otherwise than they begin.
    pub end: Option<Json>,
    /// Goal.
    pub goal: GoalDefinition,
    /// Calls: the tool, and its arguments.
    pub solution: Vec<(Name, Map<String, Json>)>,
}

/// Reads the lines of a file.
///
/// # Errors
/// Every fault of form, at its line.
pub fn read_lines(text: &str) -> Result<Vec<FixedDefinition>, Faults> {
    let (mut tasks, mut faults) = (Vec::new(), Faults::new());
    let mut places: BTreeMap<Arc<str>, Position> = BTreeMap::new();
    let file: Arc<str> = Arc::from(TASKS_FILE);
    for (line, number) in text.lines().zip(1_u32..).filter(|(line, _)| !line.trim().is_empty()) {
        let position = Position { file: Arc::clone(&file), line: number, column: 1 };
        let fault = |message: String| Fault { position: position.clone(), path: String::new(), message };
        if tasks.len() >= TASKS_MAX {
            faults.push(fault(format!("an app has at most {TASKS_MAX} fixed tasks: leave some out")));
            break;
        }
        match FixedDefinition::read_line(line, &position) {
            Err(found) => faults.extend(found),
            Ok(task) => match places.insert(Arc::clone(&task.id.text), position.clone()) {
                Some(first) => {
                    faults.push(fault(format!("the id `{}` stands at {first} too: change one", task.id.text)));
                }
                None => tasks.push(task),
            },
        }
    }
    if faults.is_empty() { Ok(tasks) } else { Err(faults) }
}

impl FixedDefinition {
    fn read_line(line: &str, position: &Position) -> Result<Self, Faults> {
        let whole = |column: usize, message: String| {
            let column = u32::try_from(column.max(1)).unwrap_or(1);
            vec![Fault { position: Position { column, ..position.clone() }, path: String::new(), message }]
        };
        let json: Json = palestra_state::json::read(line)
            .map_err(|error| whole(error.column(), format!("the line is no JSON, correct it: {error}")))?;
        let id = match &json["id"] {
            Json::String(id) => id.clone(),
            Json::Number(id) => id.to_string(),
            _ => return Err(whole(1, "the field `id` is missing: give each task a text that names it".to_owned())),
        };
        let wrong = id.trim() != id || id.is_empty() || id.len() > ID_BYTES_MAX || id.chars().any(char::is_control);
        if wrong {
            let message = format!("{id:?} is no id: use 1 to {ID_BYTES_MAX} bytes without blanks at the ends");
            return Err(whole(1, message));
        }
        // The id leads the path of every fault.
        let root = Node::of_json(&Json::Object(Map::from_iter([(id, json.clone())])), position);
        read(&root, |at| {
            let (key, at) = at.entries()?.pop()?;
            Self::read(Name::of_key(key, &at), &at, &json)
        })
    }

    fn read(id: Name, at: &At<'_>, json: &Json) -> Option<Self> {
        let mut fields = at.fields()?;
        let _ = fields.optional("id");
        let split = maybe(fields.optional("split"), |at| at.identifier(&[]));
        let text = fields.required("text").and_then(|at| at.text_within(TEXT_CHARACTERS_MAX));
        let start = maybe(fields.optional("start"), |at| at.entries());
        let goal = fields.required("goal").and_then(|at| GoalDefinition::read_fixed(&at));
        let solution = fields.required("solution").and_then(|at| at.elements());
        fields.finish();
        start?;
        let solution = solution?;
        if solution.len() > SOLUTION_CALLS_MAX {
            return at.expected(&format!("a solution of at most {SOLUTION_CALLS_MAX} calls"));
        }
        let calls: Vec<_> =
            solution.iter().zip(json["solution"].as_array()?).map(|(at, json)| call(at, json)).collect();
        let member = |of: &Json, name: &str| of.get(name).filter(|value| !value.is_null()).cloned();
        Some(Self {
            id,
            split: split?.unwrap_or_else(|| SPLIT.into()),
            text: text?,
            start: member(json, "start"),
            end: member(&json["goal"], "end"),
            goal: goal?,
            solution: calls.into_iter().collect::<Option<_>>()?,
        })
    }
}

fn call(at: &At<'_>, json: &Json) -> Option<(Name, Map<String, Json>)> {
    let mut fields = at.fields()?;
    let tool = fields.required("tool").and_then(|at| Name::read(&at));
    let arguments = maybe(fields.optional("arguments"), |at| at.entries());
    fields.finish();
    arguments?;
    Some((tool?, json["arguments"].as_object().cloned().unwrap_or_default()))
}
