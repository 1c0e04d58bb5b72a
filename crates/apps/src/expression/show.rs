//! Values as people write them.

use std::fmt::Write as _;

use super::frame::EvalError;
use crate::amount::{self, minor_digits};
use crate::calendar::{Calendar, show_date, show_duration};
use crate::kinds::Type;
use crate::value::Value;

/// Part of a type that a value needs to be written.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Text,
    Bool,
    Int,
    Date,
    Instant,
    Duration,
    /// With this many digits behind the point.
    Scaled(u8),
    /// Elements joined with commas.
    List(Box<Shape>),
}

impl Shape {
    /// None for rows, records and what may be null.
    pub(super) fn of(kind: &Type) -> Option<Self> {
        Some(match kind {
            Type::Bool => Self::Bool,
            Type::Int => Self::Int,
            Type::Text | Type::Enum(_) => Self::Text,
            Type::Date => Self::Date,
            Type::Instant => Self::Instant,
            Type::Duration => Self::Duration,
            Type::Money(currency) => Self::Scaled(minor_digits(currency)),
            Type::Decimal(scale) => Self::Scaled(*scale),
            Type::List(element) => Self::List(Box::new(Self::of(element)?)),
            Type::Null | Type::Row(_) | Type::Record(_) | Type::Opt(_) => return None,
        })
    }

    /// Writes a value behind what is there.
    pub(super) fn write(&self, value: &Value, calendar: &Calendar, out: &mut String) -> Result<(), EvalError> {
        match (self, value) {
            (Self::Text, Value::Text(text)) => out.push_str(text),
            (Self::Bool, Value::Bool(value)) => out.push_str(if *value { "true" } else { "false" }),
            (Self::Int, Value::Int(number)) => push(out, format_args!("{number}")),
            (Self::Date, Value::Int(date)) => out.push_str(&show_date(*date)),
            (Self::Duration, Value::Int(seconds)) => out.push_str(&show_duration(*seconds)),
            (Self::Instant, Value::Int(instant)) => {
                let (date, seconds) = (show_date(calendar.date(*instant)), calendar.time_of_day(*instant));
                push(out, format_args!("{date} {:02}:{:02}", seconds / 3600, seconds / 60 % 60));
                if seconds % 60 != 0 {
                    push(out, format_args!(":{:02}", seconds % 60));
                }
            }
            (Self::Scaled(scale), Value::Int(units)) => out.push_str(&amount::show(*units, *scale)),
            (Self::List(element), Value::List(values)) => {
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    element.write(value, calendar, out)?;
                }
            }
            _ => return Err(EvalError::Mismatch),
        }
        Ok(())
    }
}

fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(arguments);
}
