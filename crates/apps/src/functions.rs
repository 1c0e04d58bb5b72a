//! Functions that expressions know in some places only, and that something outside the language answers.

use std::sync::Arc;

use crate::expression::{Function, Signature};
use crate::kinds::Type;
use crate::words;

/// The function, as [`Function::id`].
pub mod id {
    /// `calls('name')`
    pub const CALLS: u16 = 0;
    /// `has_row(call, row)`
    pub const HAS_ROW: u16 = 1;
    /// `arg('name')`
    pub const ARGUMENT: u16 = 2;
    /// `int(low, high[, step])`
    pub const INT: u16 = 10;
    /// `chance(part, whole)`
    pub const CHANCE: u16 = 11;
    /// `weights('word', weight, ...)`
    pub const WEIGHTS: u16 = 12;
    /// `pick(list)`
    pub const PICK: u16 = 13;
    /// `sample(list, count)`
    pub const SAMPLE: u16 = 14;
    /// `date_between(a, b)`
    pub const DATE_BETWEEN: u16 = 15;
    /// `instant_between(a, b)`
    pub const INSTANT_BETWEEN: u16 = 16;
    /// The first word generator; the others follow in their order.
    pub const WORDS: u16 = 100;
}

/// Functions of actions, views and rules: `calls`, with the names of everything that can be called.
#[must_use]
pub fn of_actions(calls: &Type) -> Vec<Function> {
    vec![fixed("calls", id::CALLS, std::slice::from_ref(calls), Type::Int)]
}

/// Functions of milestones and minefields: `calls`, `has_row`, and `arg` with the names of all parameters.
#[must_use]
pub fn of_goals(calls: &Type, parameters: &Type) -> Vec<Function> {
    let mut functions = of_actions(calls);
    functions.push(fixed("arg", id::ARGUMENT, std::slice::from_ref(parameters), Type::Text));
    functions.push(generic("has_row", id::HAS_ROW, |kinds| match kinds {
        [Type::Record(_), row] if matches!(row.present(), Type::Row(_)) => Ok(Type::Bool),
        _ => Err("has_row takes `call` and a row".to_owned()),
    }));
    functions
}

/// Functions of seeds, set-ups and events: random numbers, choices and words.
#[must_use]
pub fn of_draws() -> Vec<Function> {
    let mut functions = vec![
        generic("int", id::INT, |kinds| match kinds {
            [Type::Int, Type::Int] | [Type::Int, Type::Int, Type::Int] => Ok(Type::Int),
            _ => Err("int takes the least, the most, and a step if wanted".to_owned()),
        }),
        fixed("chance", id::CHANCE, &[Type::Int, Type::Int], Type::Bool),
        alike("weights", id::WEIGHTS, |kinds| match kinds {
            [first, ..] if kinds.chunks(2).all(|pair| matches!(pair, [kind, Type::Int] if kind == first)) => {
                Ok(first.clone())
            }
            _ => Err("weights takes values of one type, each followed by its weight".to_owned()),
        }),
        generic("pick", id::PICK, |kinds| match kinds {
            [Type::List(element)] => Ok((**element).clone()),
            _ => Err("the argument must be a list".to_owned()),
        }),
        generic("sample", id::SAMPLE, |kinds| match kinds {
            [list @ Type::List(_), Type::Int] => Ok(list.clone()),
            _ => Err("sample takes a list and how many".to_owned()),
        }),
        fixed("date_between", id::DATE_BETWEEN, &[Type::Date, Type::Date], Type::Date),
        fixed("instant_between", id::INSTANT_BETWEEN, &[Type::Instant, Type::Instant], Type::Instant),
    ];
    functions.extend((id::WORDS..).zip(words::all()).map(|(id, generator)| {
        let (name, least, further) = (generator.name, generator.parameters.len(), generator.further);
        generic(name, id, move |kinds| {
            let text = |kind: &Type| matches!(kind, Type::Text | Type::Enum(_));
            let most = least + further.len();
            if [least, most].contains(&kinds.len()) && kinds.iter().all(text) {
                Ok(Type::Text)
            } else if further.is_empty() {
                Err(format!("{name} takes {least} texts"))
            } else {
                Err(format!("{name} takes {least} texts, or {most} with {}", further.join(", ")))
            }
        })
    }));
    functions
}

fn fixed(name: &str, id: u16, arguments: &[Type], result: Type) -> Function {
    Function { name: name.into(), id, signature: Signature::Fixed { arguments: arguments.to_vec(), result } }
}

fn generic(name: &str, id: u16, judge: impl Fn(&[Type]) -> Result<Type, String> + Send + Sync + 'static) -> Function {
    let judge = Arc::new(move |kinds: &[Type], _: Option<&Type>| judge(kinds));
    Function { name: name.into(), id, signature: Signature::Generic { judge, alike: false } }
}

/// A function whose literal arguments take the type that its place asks for, as the words of an enum do.
fn alike(name: &str, id: u16, judge: impl Fn(&[Type]) -> Result<Type, String> + Send + Sync + 'static) -> Function {
    let judge = Arc::new(move |kinds: &[Type], _: Option<&Type>| judge(kinds));
    Function { name: name.into(), id, signature: Signature::Generic { judge, alike: true } }
}
