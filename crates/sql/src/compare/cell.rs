//! Equality of two values.

use jiff::civil::DateTime;
use jiff::tz::Offset;

use crate::value::Value;

/// A value, read the way that a comparison wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'a> {
    Null,
    Number(Number<'a>),
    /// A date with or without a time: nanoseconds since 1970, without an offset taken as UTC.
    Moment(i128),
    Text(&'a str),
    Blob(&'a [u8]),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number<'a> {
    /// Storage class in the engine, where those count; else 0.
    sort: u8,
    pub(super) value: f64,
    /// The value itself, where it is a whole number that was not computed in floating point.
    whole: Option<i64>,
    /// Its text, if it is text.
    written: Option<&'a str>,
}

/// Equal keys mean cells that are the same; different ones need not mean that they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key<'a> {
    Null,
    Whole(u8, i64),
    Float(u8, u64),
    Moment(i128),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// Cells of different classes differ; numbers are all of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Class<'a> {
    Null,
    Number(u8),
    Moment(i128),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// Comparison of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// By their sort and by how they are written.
    Exact,
    /// Numbers by what they mean, whatever their sort; texts by how they are written.
    Written,
    /// Numbers, dates and times by what they mean.
    Meaning,
}

impl<'a> Cell<'a> {
    /// Reads a value. Where it is exact, text is text and every sort of number stays of its sort.
    pub(super) fn read(value: &'a Value, reading: Reading) -> Self {
        let sort = |number: u8| if reading == Reading::Exact { number } else { 0 };
        match value {
            Value::Null => Self::Null,
            Value::Boolean(value) => Self::whole(i64::from(*value), sort(1)),
            Value::Integer(value) => Self::whole(*value, sort(2)),
            Value::Real(value) => Self::Number(Number { sort: sort(3), value: *value, whole: None, written: None }),
            Value::Decimal(digits) => decimal(digits, sort(4)),
            Value::Text(text) if reading == Reading::Exact => Self::Text(text),
            Value::Text(text) => read_text(text, reading == Reading::Meaning),
            Value::Blob(bytes) => Self::Blob(bytes),
        }
    }

    fn whole(value: i64, sort: u8) -> Self {
        Self::Number(Number { sort, value: value as f64, whole: Some(value), written: None })
    }

    pub(super) fn key(&self) -> Key<'a> {
        match *self {
            Self::Null => Key::Null,
            Self::Number(Number { written: Some(text), .. }) | Self::Text(text) => Key::Text(text),
            Self::Number(Number { sort, whole: Some(whole), .. }) => Key::Whole(sort, whole),
            Self::Number(Number { sort, value, .. }) => match as_whole(value) {
                Some(whole) => Key::Whole(sort, whole),
                None if value.is_nan() => Key::Float(sort, f64::NAN.to_bits()),
                None => Key::Float(sort, value.to_bits()),
            },
            Self::Moment(moment) => Key::Moment(moment),
            Self::Blob(bytes) => Key::Blob(bytes),
        }
    }

    pub(super) fn class(&self) -> Class<'a> {
        match *self {
            Self::Null => Class::Null,
            Self::Number(Number { sort, .. }) => Class::Number(sort),
            Self::Moment(moment) => Class::Moment(moment),
            Self::Text(text) => Class::Text(text),
            Self::Blob(bytes) => Class::Blob(bytes),
        }
    }

    /// True if two cells count as the same. Reflexive and symmetric; with a tolerance not transitive.
    pub(super) fn same(&self, other: &Self, tolerance: f64) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.same(b, tolerance),
            _ => self.class() == other.class(),
        }
    }
}

impl Number<'_> {
    /// Two texts are compared as texts, two whole numbers exactly, everything else within the tolerance.
    fn same(&self, other: &Self, tolerance: f64) -> bool {
        if self.sort != other.sort {
            return false;
        }
        if let (Some(a), Some(b)) = (self.written, other.written) {
            return a == b;
        }
        if let (Some(a), Some(b)) = (self.whole, other.whole) {
            return a == b;
        }
        let (a, b) = (self.value, other.value);
        a == b
            || (a.is_nan() && b.is_nan())
            || (a.is_finite() && b.is_finite() && (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0))
    }
}

/// The whole number that a float is, where floats of that size are exact.
fn as_whole(value: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (value.fract() == 0.0 && value.abs() < EXACT).then_some(value as i64)
}

fn decimal(digits: &str, sort: u8) -> Cell<'_> {
    let whole = match digits.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|digit| digit == b'0') => whole.parse().ok(),
        Some(_) => None,
        None => digits.parse().ok(),
    };
    match digits.parse::<f64>() {
        Ok(value) => Cell::Number(Number { sort, value, whole, written: None }),
        Err(_) => Cell::Text(digits),
    }
}

fn read_text(text: &str, moments: bool) -> Cell<'_> {
    if plainly_a_number(text) {
        // As text it is matched with numbers only: two texts that are written in two ways are two texts.
        let whole = text.parse::<i64>().ok();
        let value = text.parse::<f64>().unwrap_or(f64::NAN);
        if whole.is_some() || text.contains('.') {
            return Cell::Number(Number { sort: 0, value, whole, written: Some(text) });
        }
    }
    moment(text).filter(|_| moments).map_or(Cell::Text(text), Cell::Moment)
}

/// Digits with a sign and a point perhaps, no leading zeros (`007` is a code) and no exponent.
fn plainly_a_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits(whole) && (whole == "0" || !whole.starts_with('0')) && fraction.is_none_or(all_digits)
}

/// `2025-01-31`, `2025-01-31 08:00`, `2025-01-31T08:00:00.5Z`, `2025-01-31 08:00:00+02`.
fn moment(text: &str) -> Option<i128> {
    let bytes = text.as_bytes();
    let shaped = bytes.len() >= 10
        && bytes.len() <= 40
        && bytes[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if !shaped {
        return None;
    }
    let date = text.get(..10)?.parse::<jiff::civil::Date>().ok()?;
    let Some(rest) = text.get(10..).filter(|rest| !rest.is_empty()) else {
        return nanoseconds(date.at(0, 0, 0, 0), 0);
    };
    let rest = rest.strip_prefix([' ', 'T'])?;
    let end = rest.find(['+', '-', 'Z']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(end);
    let time = clock.parse::<jiff::civil::Time>().ok().filter(|_| clock.contains(':'))?;
    nanoseconds(date.to_datetime(time), offset_seconds(zone)?)
}

fn nanoseconds(at: DateTime, offset: i128) -> Option<i128> {
    let moment = Offset::UTC.to_timestamp(at).ok()?;
    Some(moment.as_nanosecond() - offset * 1_000_000_000)
}

/// ``, `Z`, `+02`, `+02:30`, `-0230`.
fn offset_seconds(zone: &str) -> Option<i128> {
    let sign = match zone.bytes().next() {
        None | Some(b'Z') => return (zone.len() <= 1).then_some(0),
        Some(b'-') => -1,
        Some(_) => 1,
    };
    let digits: String = zone[1..].chars().filter(|sign| *sign != ':').collect();
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) || !matches!(digits.len(), 2 | 4) {
        return None;
    }
    let part = |range: std::ops::Range<usize>| digits.get(range).map_or(Some(0), |text| text.parse::<i128>().ok());
    Some(sign * (part(0..2)? * 3_600 + part(2..4)? * 60))
}
