//! Values as both dialects write them.

use std::fmt::Write as _;

use super::Sort;
use crate::value::{Dialect, Value};

/// Writes a value of a column of a sort, so that the engine reads back exactly this value.
///
/// # Errors
/// In words, when the dialect has no such value, or PostgreSQL's type of the sort does not hold it.
pub(super) fn literal(value: &Value, sort: Sort, dialect: Dialect) -> Result<String, String> {
    match dialect {
        Dialect::Sqlite => Ok(sqlite(value)),
        Dialect::Postgres => postgres(value, sort),
    }
}

fn sqlite(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Boolean(value) => i64::from(*value).to_string(),
        Value::Integer(value) => value.to_string(),
        // SQLite has no NaN: it stores NULL in its place.
        Value::Real(value) if value.is_nan() => "NULL".into(),
        Value::Real(value) if value.is_infinite() => if *value > 0.0 { "9e999" } else { "-9e999" }.into(),
        Value::Real(value) => sqlite_real(*value),
        Value::Decimal(digits) => digits.clone(),
        Value::Text(text) if text.contains('\0') => format!("CAST({} AS TEXT)", sqlite_bytes(text.as_bytes())),
        Value::Text(text) => string(text),
        Value::Blob(bytes) => sqlite_bytes(bytes),
    }
}

/// A finite number as an expression that gives exactly it. SQLite reads digits exactly only in a middle range; beyond it the number
/// is written as its whole mantissa times powers of two, each product of which is exact.
fn sqlite_real(value: f64) -> String {
    const STEP: i32 = 62;
    if value == 0.0 || (1e-5..1e15).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let bits = value.to_bits();
    let raised = i32::try_from((bits >> 52) & 0x7ff).unwrap_or_default();
    let fraction = bits & ((1 << 52) - 1);
    let mantissa = if raised == 0 { fraction } else { fraction | (1 << 52) };
    let mut exponent = raised.max(1) - 1075;
    let mut text = format!("{}{mantissa}.0", if value < 0.0 { "-" } else { "" });
    while exponent != 0 {
        let step = exponent.abs().min(STEP);
        let _ = write!(text, "{}{}.0", if exponent > 0 { '*' } else { '/' }, 1_u64 << step);
        exponent -= step * exponent.signum();
    }
    text
}

fn postgres(value: &Value, sort: Sort) -> Result<String, String> {
    let written = match (value, sort) {
        (Value::Null, _) => "NULL".into(),
        (Value::Boolean(value), Sort::Boolean) => postgres_boolean(*value).into(),
        (Value::Integer(value @ (0 | 1)), Sort::Boolean) => postgres_boolean(*value == 1).into(),
        (Value::Boolean(value), Sort::Integer) => i64::from(*value).to_string(),
        (Value::Integer(value), Sort::Integer | Sort::Real | Sort::Decimal) => value.to_string(),
        (Value::Integer(value), Sort::Text) => format!("'{value}'"),
        (Value::Real(value), Sort::Real | Sort::Decimal) => format!("'{}'", postgres_real(*value)),
        (Value::Real(value), Sort::Text) if value.is_nan() => "NULL".into(),
        (Value::Real(value), Sort::Text) => string(&sqlite_text_of_real(*value)),
        (Value::Decimal(digits), Sort::Decimal | Sort::Real) => digits.clone(),
        (Value::Decimal(digits), Sort::Text) => string(digits),
        (Value::Text(text), Sort::Text | Sort::Date | Sort::Timestamp) => {
            if text.contains('\0') {
                return Err("text with a NUL, which PostgreSQL does not hold".into());
            }
            string(text)
        }
        (Value::Text(text), Sort::Blob) => postgres_bytes(text.as_bytes()),
        (Value::Blob(bytes), Sort::Blob) => postgres_bytes(bytes),
        (value, sort) => return Err(format!("{value:?} in a column of sort {sort:?}")),
    };
    Ok(written)
}

const fn postgres_boolean(value: bool) -> &'static str {
    if value { "TRUE" } else { "FALSE" }
}

fn postgres_real(value: f64) -> String {
    if value.is_infinite() { (if value > 0.0 { "Infinity" } else { "-Infinity" }).into() } else { format!("{value:?}") }
}

/// Text in quotes, the same in both dialects.
fn string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn sqlite_bytes(bytes: &[u8]) -> String {
    format!("X'{}'", hex::encode(bytes))
}

fn postgres_bytes(bytes: &[u8]) -> String {
    format!("'\\x{}'", hex::encode(bytes))
}

/// A floating-point number as SQLite turns it into text: 15 significant digits, and always a point or an exponent. SQLite itself
/// is not exact beyond some 30 digits before or after the point; there the last digit may differ.
#[must_use]
pub fn sqlite_text_of_real(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Inf" } else { "-Inf" }.into();
    }
    // C's %!.15g, but that SQLite rounds by the sixteenth digit alone. Digits and exponent first, then a form.
    let (digits, mut exponent) = sqlite_digits(value.abs());
    let mut rounded = (digits + 5) / 10;
    if rounded == 10_u64.pow(15) {
        rounded /= 10;
        exponent += 1;
    }
    let digits = format!("{rounded:015}");
    let digits = digits.trim_end_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    let sign = if value < 0.0 { "-" } else { "" };
    let mut text = String::from(sign);
    if (-4..15).contains(&exponent) {
        let (whole, part) = if exponent < 0 {
            ("0".to_owned(), format!("{}{digits}", "0".repeat(usize::try_from(-exponent - 1).unwrap_or_default())))
        } else {
            let length = usize::try_from(exponent).unwrap_or_default() + 1;
            let padded = format!("{digits:0<length$}");
            (padded[..length].to_owned(), padded[length..].to_owned())
        };
        let _ = write!(text, "{whole}.{}", if part.is_empty() { "0" } else { &part });
    } else {
        let part = if digits.len() > 1 { &digits[1..] } else { "0" };
        let _ = write!(text, "{}.{part}e{}{:02}", &digits[..1], if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
    text
}

/// The first 16 digits of a positive number, and the exponent of the first. SQLite holds a number as the double next to it and the rest,
/// scaled to 18 or 19 digits before the point, and cuts the rest off: what is left lies toward that double.
fn sqlite_digits(value: f64) -> (u64, i32) {
    /// The most that it scales to.
    const SCALED_MAX: u64 = 9_223_372_036_854_774_784;
    let number = |digits: &str| digits.parse::<u64>().unwrap_or_default();
    let scientific = format!("{value:.60e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let mantissa = mantissa.replace('.', "");
    let length = if number(&mantissa[..19]) > SCALED_MAX { 18 } else { 19 };
    let (whole, rest) = mantissa.split_at(length);
    let next: f64 = format!("{whole}.{rest}").parse().unwrap_or_default();
    // Doubles of this size have no digits behind the point.
    let upward = number(&format!("{next:.0}")) > number(whole) && rest.bytes().any(|digit| digit != b'0');
    let scaled = format!("{:0length$}", number(whole) + u64::from(upward));
    (number(&scaled[..16]), exponent.parse().unwrap_or(0) + i32::from(scaled.len() > length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy as _, any, prop_assert_eq, proptest};

    use super::*;

    fn select<T: rusqlite::types::FromSql>(expression: &str) -> T {
        let database = rusqlite::Connection::open_in_memory().expect("SQLite");
        database.query_row(&format!("SELECT {expression}"), [], |row| row.get(0)).expect("a value")
    }

    proptest! {
        #[test]
        fn sqlite_reads_numbers_back_exactly(
            value in any::<f64>().prop_filter("no NaN", |value| !value.is_nan()),
            usual in -1e9..1e9_f64,
            scale in -15..6_i32,
        ) {
            for value in [value, usual, usual * 10_f64.powi(scale), (usual * 100.0).round() / 100.0] {
                let back: f64 = select(&sqlite(&Value::Real(value)));
                prop_assert_eq!(back.to_bits(), value.to_bits());
            }
        }

        #[test]
        fn numbers_become_the_text_that_sqlite_makes(value in -1e9..1e9_f64, scale in -9..6_i32, whole in any::<i32>()) {
            // The last is next to half of the fifteenth digit.
            let near = f64::from(whole) + 4e-6 + 5e-7;
            for value in [value, value * 10_f64.powi(scale), f64::from(whole), f64::from(whole) / 100.0, near] {
                let text: String = select(&format!("CAST({} AS TEXT)", sqlite(&Value::Real(value))));
                prop_assert_eq!(sqlite_text_of_real(value), text);
            }
        }

        #[test]
        fn sqlite_reads_text_and_bytes_back(text in any::<String>(), bytes in any::<Vec<u8>>()) {
            prop_assert_eq!(select::<String>(&sqlite(&Value::Text(text.clone()))), text);
            prop_assert_eq!(select::<Vec<u8>>(&sqlite(&Value::Blob(bytes.clone()))), bytes);
        }
    }

    #[test]
    fn edges_are_written() {
        for value in [i64::MIN, i64::MAX, 0] {
            assert_eq!(select::<i64>(&sqlite(&Value::Integer(value))), value);
        }
        assert_eq!(select::<String>(&sqlite(&Value::Text("a\0b'".into()))), "a\0b'");
        for value in [733_468_531.473_595_5, -98_503_743_033.099_35, 0.1 + 0.2, 5e-324, 1e23] {
            assert_eq!(sqlite_text_of_real(value), select::<String>(&format!("CAST({} AS TEXT)", sqlite_real(value))));
        }
        let write = |value, sort| postgres(&value, sort);
        assert_eq!(write(Value::Real(f64::INFINITY), Sort::Real), Ok("'Infinity'".into()));
        assert_eq!(write(Value::Real(-0.0), Sort::Real), Ok("'-0.0'".into()));
        assert_eq!(write(Value::Integer(1), Sort::Boolean), Ok("TRUE".into()));
        assert_eq!(write(Value::Real(98.0), Sort::Text), Ok("'98.0'".into()));
        assert_eq!(write(Value::Real(0.0), Sort::Text), Ok("'0.0'".into()));
        assert_eq!(write(Value::Real(f64::NAN), Sort::Text), Ok("NULL".into()));
        assert!(write(Value::Text("a\0".into()), Sort::Text).is_err());
        assert!(write(Value::Text("many".into()), Sort::Integer).is_err());
    }
}
