//! Pieces of syntax that translations are made of.

use sqlparser::ast::{Expr, Ident, ObjectName, Value};

use super::Untranslatable;
use crate::dataset::is_plain;
use crate::parse;
use crate::value::Dialect;

/// An expression of PostgreSQL from its text, which we wrote.
pub(super) fn parsed(text: &str) -> Result<Expr, Untranslatable> {
    parse::expression(text, Dialect::Postgres).map_err(|fault| Untranslatable::Construct(format!("{text}: {fault}")))
}

/// Puts something around an expression.
pub(super) fn wrap(expr: &mut Expr, text: impl FnOnce(&Expr) -> String) -> Result<(), Untranslatable> {
    *expr = parsed(&text(expr))?;
    Ok(())
}

pub(super) fn cast(expr: &mut Expr, to: &str) -> Result<(), Untranslatable> {
    wrap(expr, |inner| format!("CAST({inner} AS {to})"))
}

pub(super) fn string(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}

/// A number as it is written, with its sign.
pub(super) fn number_of_literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(digits.clone()),
            _ => None,
        },
        Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Minus, expr } => {
            number_of_literal(expr).map(|digits| format!("-{digits}"))
        }
        Expr::Nested(inner) => number_of_literal(inner),
        _ => None,
    }
}

pub(super) fn text_of_literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        Expr::Nested(inner) => text_of_literal(inner),
        _ => None,
    }
}

/// Writes a name as the scripts of PostgreSQL do.
pub(super) fn fold(ident: &mut Ident) {
    ident.value = ident.value.to_ascii_lowercase();
    ident.quote_style = if is_plain(&ident.value) { None } else { Some('"') };
}

/// The last part of a name, in lower case.
pub(super) fn last(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.to_ascii_lowercase()).unwrap_or_default()
}
