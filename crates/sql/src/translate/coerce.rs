//! Text and numbers side by side: what SQLite's affinities make of them, said in PostgreSQL's types.

use sqlparser::ast::{BinaryOperator, Expr, Value};

use super::Untranslatable;
use super::build::{cast, number_of_literal, parsed, string, text_of_literal, wrap};
use super::scope::Typed;
use crate::dataset::{Affinity, Sort, sqlite_text_of_real};

/// SQLite's pattern for the number at the beginning of a text.
const NUMBER: &str = r"^\s*([-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?)";

/// Makes a number of an expression as SQLite's arithmetic does: text counts by the number at its beginning, or as 0.
pub(super) fn to_number(expr: &mut Expr, typed: Typed) -> Result<Typed, Untranslatable> {
    match typed.sort {
        Some(Sort::Text) => {
            wrap(expr, |text| {
                format!(
                    "CASE WHEN {text} ~ '{NUMBER}' THEN CAST(substring({text} FROM '{NUMBER}') AS double precision) \
                     WHEN {text} IS NOT NULL THEN 0 END"
                )
            })?;
            Ok(Typed::of(Sort::Real, typed.nullable))
        }
        Some(Sort::Boolean) => {
            cast(expr, "integer")?;
            Ok(Typed::of(Sort::Integer, typed.nullable))
        }
        _ => Ok(Typed { affinity: None, ..typed }),
    }
}

/// Makes the two sides of a comparison comparable.
pub(super) fn align(
    left: &mut Expr,
    a: Typed,
    right: &mut Expr,
    b: Typed,
    op: &BinaryOperator,
) -> Result<(), Untranslatable> {
    for (side, typed, other) in [(&mut *left, a, b), (&mut *right, b, a)] {
        if typed.sort == Some(Sort::Boolean) && other.is_number() {
            cast(side, "integer")?;
        }
    }
    if a.is_text() && b.is_number() {
        text_with_number(left, a, right, b, op)
    } else if b.is_text() && a.is_number() {
        text_with_number(right, b, left, a, op)
    } else {
        Ok(())
    }
}

fn text_with_number(
    text: &mut Expr,
    of_text: Typed,
    number: &mut Expr,
    of_number: Typed,
    op: &BinaryOperator,
) -> Result<(), Untranslatable> {
    let equality = matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq);
    let fault = || Err(Untranslatable::Comparison(format!("{text} {op} {number}")));
    let column_is_number = of_number.affinity.is_some_and(Affinity::is_numeric);
    if let Some(written) = text_of_literal(text) {
        // A column of numbers makes a number of text that reads as one.
        return match written.trim().parse::<f64>() {
            Ok(value) if column_is_number && value.is_finite() => {
                *text = parsed(written.trim())?;
                Ok(())
            }
            _ if equality && column_is_number => cast(number, "text"),
            _ => fault(),
        };
    }
    match of_text.affinity {
        // A column of text makes text of the number.
        Some(Affinity::Text) if !column_is_number => match number_of_literal(number) {
            Some(digits) => {
                *number = string(&text_of_number(&digits));
                Ok(())
            }
            None => cast(number, "text"),
        },
        // Both are columns: text that reads as a number is one, and whole numbers are written in one way.
        Some(_) if equality => cast(number, "text"),
        _ => fault(),
    }
}

/// A number as SQLite turns it into text.
fn text_of_number(digits: &str) -> String {
    match (digits.parse::<i64>(), digits.parse::<f64>()) {
        (Ok(whole), _) => whole.to_string(),
        (_, Ok(real)) => sqlite_text_of_real(real),
        _ => digits.to_owned(),
    }
}

/// True if an expression is the literal NULL.
pub(super) fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}
