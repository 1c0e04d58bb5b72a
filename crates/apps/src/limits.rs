//! Values that a column of a type can hold: those that survive the way to JSON and back.

use std::ops::RangeInclusive;

use palestra_state::WHOLE_MAX;

use crate::calendar::DAYS;
use crate::kinds::Type;
use crate::value::Value;

/// Longest text, in bytes.
pub const TEXT_BYTES_MAX: usize = 65_536;
/// Most entries of a list that a call is given, where its parameter says nothing.
pub const LIST_ENTRIES_MAX: i64 = 1_000;
/// First and last point in time, in seconds since 1970: within the years 1 to 9999 in every time zone.
pub const INSTANTS: RangeInclusive<i64> = -62_135_510_400..=253_402_128_000;

/// Reason why a value doesn't fit a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// It is of another type.
    #[error("it is of another type")]
    Type,
    /// A whole number or a duration that not every JSON implementation carries exactly.
    #[error("it must be within ±9007199254740991")]
    Whole,
    /// A date or a point in time that no calendar shows.
    #[error("it must be within the years 1 to 9999")]
    Calendar,
    /// Text that is too long.
    #[error("it must not be longer than 65536 bytes")]
    Length,
    /// Text with a character that databases don't store.
    #[error("it must not contain the character NUL")]
    Nul,
}

/// Checks that a value fits a type. Rows are not looked up.
///
/// # Errors
/// Why it doesn't.
pub fn check(value: &Value, kind: &Type) -> Result<(), Misfit> {
    match (value, kind) {
        (Value::Null, Type::Opt(_) | Type::Null) | (Value::Bool(_), Type::Bool) => Ok(()),
        (Value::Int(_), Type::Money(_) | Type::Decimal(_)) => Ok(()),
        (Value::Int(whole), Type::Int | Type::Duration) => within(whole.unsigned_abs() <= WHOLE_MAX, Misfit::Whole),
        (Value::Int(day), Type::Date) => within(DAYS.contains(day), Misfit::Calendar),
        (Value::Int(instant), Type::Instant) => within(INSTANTS.contains(instant), Misfit::Calendar),
        (Value::Text(text), Type::Text) => {
            within(text.len() <= TEXT_BYTES_MAX, Misfit::Length)?;
            within(!text.contains('\0'), Misfit::Nul)
        }
        (Value::Text(word), Type::Enum(words)) => within(words.contains(word), Misfit::Type),
        (Value::Row(row), Type::Row(table)) => within(row.table == *table, Misfit::Type),
        (Value::List(elements), Type::List(element)) => elements.iter().try_for_each(|value| check(value, element)),
        (Value::Record(values), Type::Record(fields)) => {
            within(values.len() == fields.len(), Misfit::Type)?;
            values.iter().zip(fields.iter()).try_for_each(|(value, (_, kind))| check(value, kind))
        }
        (value, Type::Opt(inner)) => check(value, inner),
        _ => Err(Misfit::Type),
    }
}

fn within(fits: bool, misfit: Misfit) -> Result<(), Misfit> {
    if fits { Ok(()) } else { Err(misfit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_their_type_alone() {
        let words = Type::Enum(["in", "out"].map(Into::into).into());
        let pair = Type::Record([("a".into(), Type::Int), ("b".into(), Type::Opt(Box::new(Type::Text)))].into());
        let fitting = [
            (Value::Null, Type::Opt(Box::new(Type::Int))),
            (Value::Int(i64::MAX), Type::Money("EUR".into())),
            (Value::Int(9_007_199_254_740_991), Type::Int),
            (Value::text("in"), words.clone()),
            (Value::List([Value::Int(1)].into()), Type::List(Box::new(Type::Int))),
            (Value::Record([Value::Int(1), Value::Null].into()), pair.clone()),
        ];
        for (value, kind) in fitting {
            assert_eq!(check(&value, &kind), Ok(()), "{value:?} in {kind}");
        }
        let wrong = [
            (Value::Null, Type::Int, Misfit::Type),
            (Value::Bool(true), Type::Int, Misfit::Type),
            (Value::Int(9_007_199_254_740_992), Type::Int, Misfit::Whole),
            (Value::Int(i64::MIN), Type::Duration, Misfit::Whole),
            (Value::Int(i64::MAX), Type::Date, Misfit::Calendar),
            (Value::Int(i64::MIN), Type::Instant, Misfit::Calendar),
            (Value::text("gone"), words, Misfit::Type),
            (Value::text("\0"), Type::Text, Misfit::Nul),
            (Value::text(&"x".repeat(TEXT_BYTES_MAX + 1)), Type::Text, Misfit::Length),
            (Value::List([Value::Null].into()), Type::List(Box::new(Type::Int)), Misfit::Type),
            (Value::Record([Value::Int(1)].into()), pair, Misfit::Type),
        ];
        for (value, kind, misfit) in wrong {
            assert_eq!(check(&value, &kind), Err(misfit), "{kind}");
        }
    }
}
