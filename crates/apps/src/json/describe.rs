//! Types as JSON Schema, for tools, and values as plain text, for people.

use serde_json::{Value as Json, json};

use super::{Codec, RowIds};
use crate::amount;
use crate::calendar::{show_date, show_duration};
use crate::kinds::Type;
use crate::limits::TEXT_BYTES_MAX;
use crate::value::Value;

impl Codec<'_> {
    /// The JSON Schema of the values of a type, in the form in which they are written.
    #[must_use]
    pub fn schema_of(&self, kind: &Type) -> Json {
        match kind {
            Type::Null => json!({"type": "null"}),
            Type::Bool => json!({"type": "boolean"}),
            Type::Int => json!({"type": "integer"}),
            Type::Text => json!({"type": "string", "maxLength": TEXT_BYTES_MAX}),
            Type::Date => json!({"type": "string", "format": "date", "description": "a date such as 2031-05-05"}),
            Type::Instant => json!({
                "type": "string",
                "description": "a time such as 2031-05-05T09:00; local unless it has an offset",
            }),
            Type::Duration => json!({
                "type": "string",
                "pattern": "^-?([0-9]+[smhdw])+$",
                "description": "a duration such as 1h30m",
            }),
            Type::Money(currency) => {
                decimal_schema(amount::minor_digits(currency), &format!("an amount in {currency}"))
            }
            Type::Decimal(scale) => decimal_schema(*scale, "an exact number"),
            Type::Enum(words) => {
                json!({"type": "string", "enum": words.iter().map(|word| &**word).collect::<Vec<_>>()})
            }
            Type::Row(table) => {
                json!({"type": "string", "description": format!("id of a {}", self.schema.table(*table).name)})
            }
            Type::List(element) => json!({"type": "array", "items": self.schema_of(element)}),
            Type::Record(fields) => {
                let properties: serde_json::Map<String, Json> =
                    fields.iter().map(|(name, kind)| (name.to_string(), self.schema_of(kind))).collect();
                let required: Vec<&str> =
                    fields.iter().filter(|(_, kind)| !kind.may_be_null()).map(|(name, _)| &**name).collect();
                json!({
                    "type": "object",
                    "properties": properties,
                    "required": required,
                    "additionalProperties": false,
                })
            }
            Type::Opt(inner) => json!({"anyOf": [self.schema_of(inner), {"type": "null"}]}),
        }
    }

    /// A value as people read it: `12.50 EUR`, `2031-05-05 09:00`, `yes`, and `-` for null.
    #[must_use]
    pub fn show(&self, value: &Value, kind: &Type, ids: &dyn RowIds) -> String {
        match (value, kind.present()) {
            (Value::Bool(flag), _) => if *flag { "yes" } else { "no" }.to_owned(),
            (Value::Int(number), kind) => self.show_number(*number, kind),
            (Value::Text(text), _) => text.to_string(),
            (Value::Row(row), _) => ids.id_of(*row).map_or_else(|| "-".to_owned(), ToString::to_string),
            (Value::List(values), Type::List(element)) => {
                values.iter().map(|value| self.show(value, element, ids)).collect::<Vec<_>>().join(", ")
            }
            (Value::Record(values), Type::Record(fields)) => {
                let show = |(value, (name, kind))| format!("{name}: {}", self.show(value, kind, ids));
                values
                    .iter()
                    .zip(fields.iter().map(|(name, kind)| (name, kind)))
                    .map(show)
                    .collect::<Vec<_>>()
                    .join(", ")
            }
            (Value::Null | Value::List(_) | Value::Record(_), _) => "-".to_owned(),
        }
    }

    fn show_number(&self, number: i64, kind: &Type) -> String {
        match kind {
            Type::Date => show_date(number),
            Type::Instant => {
                let (date, time) = (self.schema.calendar.date(number), self.schema.calendar.time_of_day(number));
                let shown = format!("{} {:02}:{:02}", show_date(date), time / 3600, time / 60 % 60);
                if time % 60 == 0 { shown } else { format!("{shown}:{:02}", time % 60) }
            }
            Type::Duration => show_duration(number),
            Type::Money(currency) => format!("{} {currency}", amount::show(number, amount::minor_digits(currency))),
            Type::Decimal(scale) => amount::show(number, *scale),
            _ => number.to_string(),
        }
    }
}

fn decimal_schema(digits: u8, description: &str) -> Json {
    let fraction = if digits == 0 { String::new() } else { format!("(\\.[0-9]{{1,{digits}}})?") };
    let example = amount::show(1250, digits);
    json!({
        "type": "string",
        "pattern": format!("^-?[0-9]+{fraction}$"),
        "description": format!("{description} such as {example}"),
    })
}
