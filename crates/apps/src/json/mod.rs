//! Values to JSON and back, by their type.
//!
//! | type | JSON |
//! | --- | --- |
//! | money, dec n | an exact decimal string: `"12.50"`; numbers that are exact as written are read too |
//! | date | `"2031-05-05"` |
//! | instant | `"2031-05-05T09:00+02:00"` in the app's time zone; read with or without the offset |
//! | duration | `"1h30m"`; whole seconds are read too |
//! | enum, text | a string |
//! | ref | the id of the row |
//! | list, record | an array, an object |

mod describe;
mod read;

use std::sync::Arc;

use palestra_state::{Array, Object, State};
use serde_json::{Number, Value as Json};

use crate::amount;
use crate::calendar::{show_date, show_duration};
use crate::kinds::Type;
use crate::schema::Schema;
use crate::value::{RowKey, Value};

pub use read::{Wrong, WrongKind};

/// Gives the ids of rows.
pub trait RowIds {
    /// The id under which a row is shown; none where it isn't there any more.
    fn id_of(&self, row: RowKey) -> Option<&Arc<str>>;
}

/// Converts values of a schema.
#[derive(Debug, Clone, Copy)]
pub struct Codec<'a> {
    schema: &'a Schema,
}

impl<'a> Codec<'a> {
    /// The conversion for a schema.
    #[must_use]
    pub const fn new(schema: &'a Schema) -> Self {
        Self { schema }
    }

    /// A value as JSON. `ids` gives the ids of rows; one that isn't there any more is null.
    #[must_use]
    pub fn to_json(&self, value: &Value, kind: &Type, ids: &dyn RowIds) -> Json {
        self.to_state(value, kind, ids).to_value()
    }

    /// A value as persistent JSON, which shares the texts of the value.
    #[must_use]
    pub fn to_state(&self, value: &Value, kind: &Type, ids: &dyn RowIds) -> State {
        match (value, kind.present()) {
            (Value::Null, _) => State::Null,
            (Value::Bool(flag), _) => State::Bool(*flag),
            (Value::Int(number), kind) => self.number(*number, kind),
            (Value::Text(text), _) => State::String(Arc::clone(text)),
            (Value::Row(row), _) => ids.id_of(*row).map_or(State::Null, |id| State::String(Arc::clone(id))),
            (Value::List(values), Type::List(element)) => {
                let mut array = Array::default();
                array.elements_mut().extend(values.iter().map(|value| self.to_state(value, element, ids)));
                State::Array(Arc::new(array))
            }
            (Value::Record(values), Type::Record(fields)) => {
                let mut object = Object::default();
                for (value, (name, kind)) in values.iter().zip(fields.iter()) {
                    object.members_mut().insert(Arc::clone(name), self.to_state(value, kind, ids));
                }
                State::Object(Arc::new(object))
            }
            // A value of another type than it is said to be; the checker leaves none.
            (Value::List(_) | Value::Record(_), _) => State::Null,
        }
    }

    fn number(&self, number: i64, kind: &Type) -> State {
        match kind {
            Type::Date => State::String(show_date(number).into()),
            Type::Instant => State::String(self.schema.calendar.show_instant(number).into()),
            Type::Duration => State::String(show_duration(number).into()),
            Type::Money(currency) => State::String(amount::show(number, amount::minor_digits(currency)).into()),
            Type::Decimal(scale) => State::String(amount::show(number, *scale).into()),
            _ => State::Number(Number::from(number)),
        }
    }
}

#[cfg(test)]
mod tests;
