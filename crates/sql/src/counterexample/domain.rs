//! Values that a column may hold: those that it held, and those around what it is compared with.

use std::cmp::Ordering;

use jiff::ToSpan;
use jiff::civil::Date;
use rand::{Rng, RngExt};
use sqlparser::ast::BinaryOperator;

use super::constraint::Test;
use crate::dataset::Sort;
use crate::value::Value;

/// Number of values of a column that are looked at.
const OBSERVED_MAX: usize = 400;

/// The values of a column.
#[derive(Debug, Clone, Default)]
pub(super) struct Domain {
    pub(super) sort: Sort,
    /// Different values that it held, NULL left out.
    pub(super) observed: Vec<Value>,
    /// Constants that it is compared with, and their neighbours.
    pub(super) near: Vec<Value>,
    /// True if NULL is allowed.
    pub(super) nullable: bool,
    /// True if it held NULL, or nothing at all.
    pub(super) held_null: bool,
    /// True if values came again and again, as those of a category do.
    pub(super) category: bool,
}

impl Domain {
    pub(super) fn new<'v>(sort: Sort, nullable: bool, values: impl Iterator<Item = &'v Value>) -> Self {
        let mut domain = Self { sort, nullable, ..Self::default() };
        let (mut seen, mut count) = (std::collections::BTreeSet::new(), 0_usize);
        for value in values {
            count += 1;
            if *value == Value::Null {
                domain.held_null = true;
            } else if domain.observed.len() < OBSERVED_MAX && seen.insert(format!("{value:?}")) {
                domain.observed.push(value.clone());
            }
        }
        domain.held_null |= count == 0;
        domain.category = domain.observed.len() * 3 <= count * 2;
        domain
    }

    /// Takes in what a test compares with.
    pub(super) fn learn(&mut self, test: &Test) {
        let found = match test {
            Test::Compare(_, value) => near(value),
            Test::In(values) => values.iter().flat_map(near).collect(),
            Test::Like(pattern) => alike(pattern),
            Test::Null(_) => Vec::new(),
            Test::Not(test) => return self.learn(test),
        };
        for value in found.into_iter().filter_map(|value| fitted(value, self.sort)) {
            if !self.near.contains(&value) {
                self.near.push(value);
            }
        }
    }

    /// A value that meets the test, or that does not; `None` where none is known.
    pub(super) fn meeting(&self, test: &Test, truth: bool, rng: &mut impl Rng) -> Option<Value> {
        if let Test::Null(null) = test {
            return if *null == truth { self.nullable.then_some(Value::Null) } else { self.any(rng) };
        }
        let fit: Vec<&Value> =
            self.near.iter().chain(&self.observed).filter(|value| holds(test, value) == truth).collect();
        // The first ones lie next to the boundary.
        let first = if rng.random_bool(0.7) { fit.len().min(6) } else { fit.len() };
        (first > 0).then(|| fit[rng.random_range(0..first)].clone())
    }

    fn any(&self, rng: &mut impl Rng) -> Option<Value> {
        (!self.observed.is_empty()).then(|| self.observed[rng.random_range(0..self.observed.len())].clone())
    }

    /// A value that was not there before, of the same look; which one follows from `number` where nothing is known.
    pub(super) fn fresh(&self, number: i64, rng: &mut impl Rng) -> Value {
        match self.sort {
            Sort::Boolean => self.any(rng).unwrap_or(Value::Integer(number % 2)),
            Sort::Integer => {
                Value::Integer(self.greatest().map_or(0, |greatest| greatest as i64).saturating_add(number))
            }
            Sort::Real => Value::Real(
                (self.greatest().unwrap_or(0.0) * rng.random_range(0.1..1.5) * 4.0).round() / 4.0 + number as f64 / 8.0,
            ),
            Sort::Decimal => match self.any(rng) {
                Some(Value::Integer(_)) | None => Value::Integer(number),
                Some(Value::Real(real)) => Value::Real(real.floor() + number as f64),
                Some(other) => other,
            },
            Sort::Date | Sort::Timestamp => {
                self.any(rng).and_then(|value| later(&value, number)).unwrap_or_else(|| {
                    let day = Date::constant(2024, 1, 1).saturating_add((number % 3000).days());
                    Value::Text(if self.sort == Sort::Date { day.to_string() } else { format!("{day} 08:00:00") })
                })
            }
            Sort::Blob => Value::Blob(number.to_be_bytes().to_vec()),
            Sort::Text => match self.any(rng) {
                // Imported dates are texts.
                Some(Value::Text(text)) => {
                    later(&Value::Text(text.clone()), number).unwrap_or_else(|| Value::Text(lookalike(&text, rng)))
                }
                Some(Value::Integer(_)) => Value::Integer(number),
                Some(other) => other,
                None => Value::Text(format!("word {number}")),
            },
        }
    }

    fn greatest(&self) -> Option<f64> {
        self.observed.iter().filter_map(number).reduce(f64::max)
    }
}

/// A number, also where it is written as text.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
        Value::Boolean(truth) => Some(f64::from(u8::from(*truth))),
        Value::Decimal(text) | Value::Text(text) => text.parse().ok(),
        Value::Null | Value::Blob(_) => None,
    }
}

/// True if a value meets a test, nearly as an engine would say.
pub(super) fn holds(test: &Test, value: &Value) -> bool {
    if *value == Value::Null {
        return *test == Test::Null(true);
    }
    match test {
        Test::Null(null) => !null,
        Test::Not(test) => !holds(test, value),
        Test::In(values) => values.iter().any(|other| order(value, other) == Ordering::Equal),
        Test::Like(pattern) => match value {
            Value::Text(text) => matches(&pattern.to_lowercase(), &text.to_lowercase()),
            _ => false,
        },
        Test::Compare(op, other) => {
            let order = order(value, other);
            match op {
                BinaryOperator::Eq => order == Ordering::Equal,
                BinaryOperator::NotEq => order != Ordering::Equal,
                BinaryOperator::Lt => order == Ordering::Less,
                BinaryOperator::LtEq => order != Ordering::Greater,
                BinaryOperator::Gt => order == Ordering::Greater,
                _ => order != Ordering::Less,
            }
        }
    }
}

fn order(left: &Value, right: &Value) -> Ordering {
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        _ => match (left, right) {
            (Value::Text(left), Value::Text(right)) => left.cmp(right),
            _ => format!("{left:?}").cmp(&format!("{right:?}")),
        },
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('%') => {
            let rest = &pattern[1..];
            text.char_indices().map(|(place, _)| place).chain([text.len()]).any(|place| matches(rest, &text[place..]))
        }
        Some(wanted) => text.chars().next().is_some_and(|found| {
            (wanted == '_' || wanted == found) && matches(&pattern[wanted.len_utf8()..], &text[found.len_utf8()..])
        }),
    }
}

/// A constant and what lies next to it.
fn near(value: &Value) -> Vec<Value> {
    match value {
        Value::Integer(number) => {
            [0, 1, -1, 2].iter().map(|step| Value::Integer(number.saturating_add(*step))).collect()
        }
        Value::Real(number) => [0.0, 0.5, -0.5, 1.0, -1.0].iter().map(|step| Value::Real(number + step)).collect(),
        Value::Text(text) => {
            if let Ok(number) = text.parse::<i64>() {
                return [0, 1, -1].iter().map(|step| Value::Text(number.saturating_add(*step).to_string())).collect();
            }
            let mut found = vec![value.clone()];
            if let (Some(after), Some(before)) = (later(value, 1), later(value, -1)) {
                found.extend([after, before]);
            } else {
                found.extend(
                    [text.to_uppercase(), text.to_lowercase(), format!("{text} b")].into_iter().map(Value::Text),
                );
            }
            found
        }
        other => vec![other.clone()],
    }
}

/// Texts that match a pattern, and texts that nearly do.
fn alike(pattern: &str) -> Vec<Value> {
    let bare = pattern.replace('%', "").replace('_', "a");
    let filled = pattern.replace('%', "xy").replace('_', "a");
    let texts = [
        bare.clone(),
        filled,
        format!("q{bare}"),
        format!("{bare}q"),
        format!("q{bare}q"),
        bare.to_uppercase(),
        format!("q{}", bare.to_lowercase()),
    ];
    texts.into_iter().map(Value::Text).collect()
}

/// A value as a column of this sort holds it; `None` where it does not.
fn fitted(value: Value, sort: Sort) -> Option<Value> {
    match (sort, &value) {
        (_, Value::Null) => None,
        (Sort::Integer, Value::Integer(_)) | (Sort::Real, Value::Real(_)) | (Sort::Text, Value::Text(_)) => Some(value),
        (Sort::Integer, Value::Real(number)) => Some(Value::Integer(number.round() as i64)),
        (Sort::Integer, Value::Text(text)) => text.parse().ok().map(Value::Integer),
        (Sort::Real, _) => number(&value).map(Value::Real),
        (Sort::Decimal, Value::Integer(_) | Value::Real(_)) => Some(value),
        (Sort::Text, Value::Integer(number)) => Some(Value::Text(number.to_string())),
        (Sort::Text, Value::Real(number)) => Some(Value::Text(number.to_string())),
        (Sort::Date | Sort::Timestamp, Value::Text(_)) => later(&value, 0),
        (Sort::Boolean, Value::Boolean(_) | Value::Integer(0 | 1)) => Some(value),
        _ => None,
    }
}

/// A date, or a date and a time, so many days later; `None` where the text is no date.
fn later(value: &Value, days: i64) -> Option<Value> {
    let Value::Text(text) = value else {
        return None;
    };
    let (day, rest) = (text.get(..10)?, text.get(10..)?);
    let shifted = day.parse::<Date>().ok()?.checked_add((days % 3000).days()).ok()?;
    Some(Value::Text(format!("{shifted}{rest}")))
}

/// Text of the same pattern of letters and digits.
fn lookalike(text: &str, rng: &mut impl Rng) -> String {
    let mut found = String::new();
    for c in text.chars() {
        found.push(match c {
            'a'..='z' => char::from(rng.random_range(b'a'..=b'z')),
            'A'..='Z' => char::from(rng.random_range(b'A'..=b'Z')),
            '0'..='9' => char::from(rng.random_range(b'1'..=b'9')),
            other => other,
        });
    }
    found
}
