//! Functions of text.

use super::Parameter::{Text, TextList};
use super::{Builtin, Context, Outcome, list, words};
use crate::expression::frame::EvalError;
use crate::kinds::Type;
use crate::value::Value;

pub(super) const ALL: &[Builtin] = &[
    Builtin {
        name: "lower",
        parameters: &[Text],
        result: TEXT,
        run: |context, given| made(context, words(&given[0])?.to_lowercase()),
    },
    Builtin {
        name: "upper",
        parameters: &[Text],
        result: TEXT,
        run: |context, given| made(context, words(&given[0])?.to_uppercase()),
    },
    Builtin {
        name: "trim",
        parameters: &[Text],
        result: TEXT,
        run: |context, given| made(context, words(&given[0])?.trim().to_owned()),
    },
    Builtin {
        name: "size",
        parameters: &[Text],
        result: Outcome::Is(&Type::Int),
        run: |context, given| {
            let text = read(context, &given[0])?;
            Ok(Value::Int(i64::try_from(text.chars().count()).unwrap_or(i64::MAX)))
        },
    },
    Builtin {
        name: "contains",
        parameters: &[Text, Text],
        result: BOOL,
        run: |context, given| Ok(Value::Bool(read(context, &given[0])?.contains(words(&given[1])?))),
    },
    Builtin {
        name: "starts_with",
        parameters: &[Text, Text],
        result: BOOL,
        run: |_, given| Ok(Value::Bool(words(&given[0])?.starts_with(words(&given[1])?))),
    },
    Builtin {
        name: "ends_with",
        parameters: &[Text, Text],
        result: BOOL,
        run: |_, given| Ok(Value::Bool(words(&given[0])?.ends_with(words(&given[1])?))),
    },
    Builtin { name: "replace", parameters: &[Text, Text, Text], result: TEXT, run: replace },
    Builtin { name: "split", parameters: &[Text, Text], result: Outcome::ListOfText, run: split },
    Builtin { name: "join", parameters: &[TextList, Text], result: TEXT, run: join },
    Builtin {
        name: "matches_words",
        parameters: &[Text, Text],
        result: BOOL,
        run: |context, given| {
            let (text, query) = (read(context, &given[0])?.to_lowercase(), read(context, &given[1])?.to_lowercase());
            let found = tokens(&query).all(|wanted| {
                let mut among = tokens(&text);
                among.any(|token| token.starts_with(wanted))
            });
            Ok(Value::Bool(found))
        },
    },
];

const TEXT: Outcome = Outcome::Is(&Type::Text);
const BOOL: Outcome = Outcome::Is(&Type::Bool);

/// The parts between what is neither a letter nor a digit.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|token| !token.is_empty())
}

fn read<'v>(context: &mut Context<'_>, value: &'v Value) -> Result<&'v str, EvalError> {
    let text = words(value)?;
    context.spend_text(text.len())?;
    Ok(text)
}

fn made(context: &mut Context<'_>, text: String) -> Result<Value, EvalError> {
    context.spend_text(text.len())?;
    Ok(Value::Text(text.into()))
}

fn replace(context: &mut Context<'_>, given: &[Value]) -> Result<Value, EvalError> {
    let (text, from, to) = (read(context, &given[0])?, words(&given[1])?, words(&given[2])?);
    if from.is_empty() {
        return Err(EvalError::OutOfRange("the text to replace"));
    }
    context.spend_text(text.matches(from).count().saturating_mul(to.len()))?;
    Ok(Value::Text(text.replace(from, to).into()))
}

fn split(context: &mut Context<'_>, given: &[Value]) -> Result<Value, EvalError> {
    let (text, separator) = (read(context, &given[0])?, words(&given[1])?);
    if separator.is_empty() {
        return Err(EvalError::OutOfRange("the separator"));
    }
    context.spend(text.matches(separator).count() + 1)?;
    Ok(Value::List(text.split(separator).map(Value::text).collect()))
}

fn join(context: &mut Context<'_>, given: &[Value]) -> Result<Value, EvalError> {
    let (values, separator) = (list(&given[0])?, words(&given[1])?);
    let mut joined = String::new();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(words(value)?);
        context.spend_text(separator.len() + words(value)?.len())?;
    }
    Ok(Value::Text(joined.into()))
}
