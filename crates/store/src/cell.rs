//! Encoding of values as parameters of statements, in the five types that both engines share.

use std::borrow::Cow;

use palestra_protocol::time::Timestamp;
use serde::Serialize;

use super::StoreError;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Real,
    Boolean,
    Bytes,
}

/// A column of a table or of rows that are passed to a statement.
pub(super) type Column = (&'static str, Kind);

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    Text(Option<Cow<'a, str>>),
    Integer(Option<i64>),
    Real(Option<f64>),
    Boolean(bool),
    Bytes(Cow<'a, [u8]>),
}

impl Cell<'_> {
    /// The same value, for another thread.
    pub(super) fn into_owned(self) -> Cell<'static> {
        match self {
            Self::Text(text) => Cell::Text(text.map(|text| Cow::Owned(text.into_owned()))),
            Self::Integer(number) => Cell::Integer(number),
            Self::Real(number) => Cell::Real(number),
            Self::Boolean(flag) => Cell::Boolean(flag),
            Self::Bytes(bytes) => Cell::Bytes(Cow::Owned(bytes.into_owned())),
        }
    }
}

/// Replaces a NUL, which PostgreSQL cannot store in text.
const NUL_REPLACEMENT: &str = "\u{fffd}";

/// Text. A NUL is stored as U+FFFD on both engines, so that they agree and so that no single name can make the commit of
/// many sessions fail. JSON is not affected, since it escapes NUL.
pub(super) fn text(text: &str) -> Cell<'_> {
    Cell::Text(Some(without_nul(text)))
}

/// Text, or none.
pub(super) fn optional_text(text: Option<&str>) -> Cell<'_> {
    Cell::Text(text.map(without_nul))
}

fn without_nul(text: &str) -> Cow<'_, str> {
    if text.as_bytes().contains(&0) { Cow::Owned(text.replace('\0', NUL_REPLACEMENT)) } else { Cow::Borrowed(text) }
}

/// An id in its text form.
#[expect(clippy::needless_pass_by_value, reason = "ids are small and copied, and often sit in an option")]
pub(super) fn id(id: impl ToString) -> Cell<'static> {
    Cell::Text(Some(Cow::Owned(id.to_string())))
}

/// An id in its text form, or none.
pub(super) fn optional_id(id: Option<impl ToString>) -> Cell<'static> {
    Cell::Text(id.map(|id| Cow::Owned(id.to_string())))
}

/// A name from a fixed set.
pub(super) fn word(word: &'static str) -> Cell<'static> {
    Cell::Text(Some(Cow::Borrowed(word)))
}

/// One of a fixed set of words, or none.
pub(super) fn optional_word(word: Option<&'static str>) -> Cell<'static> {
    Cell::Text(word.map(Cow::Borrowed))
}

/// A value as JSON text.
///
/// # Errors
/// [`StoreError::Broken`] when the value has no JSON form.
pub(super) fn json<T: Serialize + ?Sized>(value: &T) -> Result<Cell<'static>, StoreError> {
    serde_json::to_string(value)
        .map(|json| Cell::Text(Some(Cow::Owned(json))))
        .map_err(|error| StoreError::Broken(format!("a value cannot be written as JSON: {error}")))
}

/// A value as JSON text, or none.
///
/// # Errors
/// [`StoreError::Broken`] when the value has no JSON form.
pub(super) fn optional_json<T: Serialize>(value: Option<&T>) -> Result<Cell<'static>, StoreError> {
    value.map_or(Ok(Cell::Text(None)), json)
}

/// An unsigned integer.
///
/// # Errors
/// [`StoreError::Broken`] when it is above 2^63 - 1, which columns cannot hold.
pub(super) fn number(number: u64) -> Result<Cell<'static>, StoreError> {
    i64::try_from(number)
        .map(|number| Cell::Integer(Some(number)))
        .map_err(|_| StoreError::Broken(format!("{number} is above 2^63 - 1, the largest number that a column holds")))
}

/// An unsigned integer, or none.
///
/// # Errors
/// As [`number`].
pub(super) fn optional_number(value: Option<u64>) -> Result<Cell<'static>, StoreError> {
    value.map_or(Ok(Cell::Integer(None)), number)
}

/// A bound for a comparison: above 2^63 - 1 it is clamped to that.
pub(super) fn bound(number: u64) -> Cell<'static> {
    Cell::Integer(Some(i64::try_from(number).unwrap_or(i64::MAX)))
}

/// 64 bits without an order, reinterpreted as a signed number.
pub(super) fn bits(bits: Option<u64>) -> Cell<'static> {
    Cell::Integer(bits.map(u64::cast_signed))
}

/// A point in time.
pub(super) const fn time(time: Timestamp) -> Cell<'static> {
    Cell::Integer(Some(time.milliseconds()))
}

/// A point in time, or none.
pub(super) fn optional_time(time: Option<Timestamp>) -> Cell<'static> {
    Cell::Integer(time.map(Timestamp::milliseconds))
}

/// A real number. NaN and infinities become NULL, as they do in JSON: SQLite cannot store NaN.
pub(super) fn real(number: Option<f64>) -> Cell<'static> {
    Cell::Real(number.filter(|number| number.is_finite()))
}

/// Yes or no.
pub(super) const fn flag(flag: bool) -> Cell<'static> {
    Cell::Boolean(flag)
}
