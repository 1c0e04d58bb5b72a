//! Conversion between the types of a worker and those of engines.

use palestra_sqlite_worker::wire;

use crate::engine::{Access, CutReason, Limits, SqlError, StatementResult, StepResult, error_text};
use crate::value::{Column, Value};

pub(super) const fn access(access: Access) -> wire::Access {
    match access {
        Access::Read => wire::Access::Read,
        Access::Write => wire::Access::Write,
        Access::Define => wire::Access::Define,
    }
}

pub(super) const fn limits(limits: &Limits) -> wire::Limits {
    wire::Limits {
        statement_ms: limits.statement_ms,
        rows_max: limits.rows_max as u64,
        bytes_max: limits.bytes_max as u64,
        memory_max: limits.memory_max as u64,
        growth_max: limits.growth_max,
    }
}

/// Values as SQLite has them: no booleans, and exact numbers only as far as its numbers go.
pub(super) fn parameters(values: &[Value]) -> Vec<wire::Value> {
    values
        .iter()
        .map(|value| match value {
            Value::Null => wire::Value::Null,
            Value::Boolean(flag) => wire::Value::Integer(i64::from(*flag)),
            Value::Integer(number) => wire::Value::Integer(*number),
            Value::Real(number) => wire::Value::Real(*number),
            Value::Decimal(digits) => decimal(digits),
            Value::Text(text) => wire::Value::Text(text.clone()),
            Value::Blob(bytes) => wire::Value::Blob(bytes.clone()),
        })
        .collect()
}

fn decimal(digits: &str) -> wire::Value {
    match (digits.parse(), digits.parse()) {
        (Ok(number), _) => wire::Value::Integer(number),
        (_, Ok(number)) => wire::Value::Real(number),
        _ => wire::Value::Text(digits.to_owned()),
    }
}

/// Outcome of `sql`.
pub(super) fn ran(ran: wire::StepResult, sql: &str) -> StepResult {
    StepResult {
        results: ran.results.into_iter().map(result).collect(),
        error: ran.error.map(|error| sql_error(error, sql)),
        pure: ran.pure,
        in_transaction: ran.in_transaction,
    }
}

fn result(result: wire::StatementResult) -> StatementResult {
    StatementResult {
        command: result.command,
        columns: result.columns.into_iter().map(|(name, type_name)| Column { name, type_name }).collect(),
        rows: result.rows.into_iter().map(|row| row.into_iter().map(value).collect()).collect(),
        truncated: result.truncated,
        affected: result.affected,
        vm_steps: Some(result.vm_steps),
    }
}

fn value(value: wire::Value) -> Value {
    match value {
        wire::Value::Null => Value::Null,
        wire::Value::Integer(number) => Value::Integer(number),
        wire::Value::Real(number) => Value::Real(number),
        wire::Value::Text(text) => Value::Text(text),
        wire::Value::Blob(bytes) => Value::Blob(bytes),
    }
}

/// The error of `sql`, with its place in characters.
pub(super) fn sql_error(error: wire::SqlError, sql: &str) -> SqlError {
    let position = error.offset.map(|offset| {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(sql.len());
        sql[..sql.floor_char_boundary(offset)].chars().count()
    });
    SqlError {
        code: error.code,
        message: error_text(error.message),
        detail: None,
        hint: None,
        statement: usize::try_from(error.statement).unwrap_or(usize::MAX),
        position,
        cut: error.cut.map(cut),
    }
}

const fn cut(cut: wire::CutReason) -> CutReason {
    match cut {
        wire::CutReason::Refused => CutReason::Refused,
        wire::CutReason::Time => CutReason::Time,
        wire::CutReason::Size => CutReason::Size,
        wire::CutReason::Memory => CutReason::Memory,
        wire::CutReason::Growth => CutReason::Growth,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters() {
        let sql = "SELECT 'zażółć', nocolumn";
        let offset = sql.find("nocolumn").map(|offset| offset as u64);
        let error = |offset| sql_error(wire::SqlError { offset, ..wire::SqlError::default() }, sql).position;
        assert_eq!(error(offset), Some(17));
        assert_eq!(error(Some(11)), Some(10), "within a character counts as before it");
        assert_eq!(error(Some(9_999)), Some(25));
        assert_eq!(error(None), None);
    }

    #[test]
    fn exact_numbers_become_the_nearest_that_sqlite_has() {
        let decimals =
            ["12", "12.50", "99999999999999999999", "NaN-ish"].map(|digits| Value::Decimal(digits.to_owned()));
        let expected = [
            wire::Value::Integer(12),
            wire::Value::Real(12.5),
            wire::Value::Real(1e20),
            wire::Value::Text("NaN-ish".to_owned()),
        ];
        assert_eq!(parameters(&decimals), expected);
        assert_eq!(parameters(&[Value::Boolean(true)]), [wire::Value::Integer(1)]);
    }
}
