//! Functions of lists.

use std::collections::HashSet;

use super::Parameter::{Element, Int, List, Same};
use super::{Builtin, Context, Outcome, int, list};
use crate::expression::frame::EvalError;
use crate::kinds::Type;
use crate::value::Value;

pub(super) const ALL: &[Builtin] = &[
    Builtin {
        name: "size",
        parameters: &[List],
        result: Outcome::Is(&Type::Int),
        run: |_, given| Ok(Value::Int(i64::try_from(list(&given[0])?.len()).unwrap_or(i64::MAX))),
    },
    Builtin {
        name: "contains",
        parameters: &[List, Element],
        result: Outcome::Is(&Type::Bool),
        run: |context, given| Ok(Value::Bool(read(context, &given[0])?.contains(&given[1]))),
    },
    Builtin {
        name: "unique",
        parameters: &[List],
        result: Outcome::First,
        run: |context, given| {
            let mut seen = HashSet::new();
            Ok(Value::List(read(context, &given[0])?.iter().filter(|value| seen.insert(*value)).cloned().collect()))
        },
    },
    Builtin {
        name: "take",
        parameters: &[List, Int],
        result: Outcome::First,
        run: |context, given| {
            let (values, most) = (list(&given[0])?, int(&given[1])?);
            let most = usize::try_from(most).map_err(|_| EvalError::OutOfRange("the number of elements"))?;
            let values = &values[..most.min(values.len())];
            context.spend(values.len())?;
            Ok(Value::List(values.into()))
        },
    },
    Builtin {
        name: "reverse",
        parameters: &[List],
        result: Outcome::First,
        run: |context, given| Ok(Value::List(read(context, &given[0])?.iter().rev().cloned().collect())),
    },
    Builtin {
        name: "concat",
        parameters: &[List, Same],
        result: Outcome::First,
        run: |context, given| {
            let (left, right) = (read(context, &given[0])?, read(context, &given[1])?);
            Ok(Value::List(left.iter().chain(right).cloned().collect()))
        },
    },
];

fn read<'v>(context: &mut Context<'_>, value: &'v Value) -> Result<&'v [Value], EvalError> {
    let values = list(value)?;
    context.spend(values.len())?;
    Ok(values)
}
