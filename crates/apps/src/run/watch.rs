//! Milestones and minefields: looked at after each call of the agent, and never unlearnt.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{CallCounter, CallError, Reply, World};
use crate::expression::{DEFAULT_BUDGET, EvalError, Host};
use crate::functions::id;
use crate::value::{RowKey, Value};

/// Answers what milestones ask of a call.
struct MilestoneQueries<'a> {
    counted: CallCounter<'a>,
    rows: &'a [RowKey],
    arguments: &'a Map<String, Json>,
}

impl Host for MilestoneQueries<'_> {
    fn call(&mut self, function: u16, arguments: &[Value]) -> Result<Value, EvalError> {
        match (function, arguments) {
            (id::HAS_ROW, [_, Value::Row(row)]) => Ok(Value::Bool(self.rows.contains(row))),
            (id::HAS_ROW, [_, Value::Null]) => Ok(Value::Bool(false)),
            (id::ARGUMENT, [Value::Text(name)]) => Ok(Value::Text(match self.arguments.get(&**name) {
                None | Some(Json::Null) => "".into(),
                Some(Json::String(text)) => text.as_str().into(),
                Some(other) => other.to_string().into(),
            })),
            _ => self.counted.call(function, arguments),
        }
    }
}

/// Notes what a call has reached.
pub(super) fn look(
    world: &mut World,
    name: &str,
    arguments: &Map<String, Json>,
    result: &Result<Reply, CallError>,
) -> Result<(), CallError> {
    let beginning = Arc::clone(&world.beginning);
    let code = match result {
        Ok(_) => Value::Null,
        Err(CallError::Raised(raised)) => Value::Text(Arc::clone(&raised.code)),
        Err(CallError::Crashed(_)) => return Ok(()),
    };
    let call = Value::Record([Value::text(name), Value::Bool(result.is_ok()), code].into());
    let locals = [beginning.task.clone(), call];
    let rows = result.as_ref().map_or(&[][..], |reply| &reply.rows);
    for (place, watch) in beginning.watches.iter().enumerate() {
        let open = !world.reached.contains(&place) && watch.after.iter().all(|before| world.reached.contains(before));
        if !open {
            continue;
        }
        let mut host = MilestoneQueries { counted: CallCounter(&world.counts), rows, arguments };
        let mut budget = DEFAULT_BUDGET;
        match watch.when.holds(&mut world.frame(&locals, &mut host, &mut budget)) {
            Ok(true) => {
                world.reached.insert(place);
            }
            // What an overflow or a row that has gone leaves open has not been reached.
            Ok(false) | Err(EvalError::OutOfRange(_) | EvalError::Dangling(_)) => {}
            Err(error) => return Err(CallError::Crashed(error)),
        }
    }
    Ok(())
}
