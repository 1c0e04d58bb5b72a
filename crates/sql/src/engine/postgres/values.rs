//! Values between the server's text form and ours.

use std::collections::BTreeMap;

use tokio_postgres::types::Type;

use crate::value::Value;

/// Names of types by their number. What is not built in is asked for once.
#[derive(Debug, Default)]
pub(super) struct Types(BTreeMap<u32, String>);

impl Types {
    /// The name, where it is known.
    pub(super) fn name(&self, oid: u32) -> Option<String> {
        Type::from_oid(oid).map(|known| known.name().to_owned()).or_else(|| self.0.get(&oid).cloned())
    }

    /// Remembers names.
    pub(super) fn learn(&mut self, rows: Vec<Vec<Option<String>>>) {
        for row in rows {
            if let [Some(oid), Some(name)] = row.as_slice()
                && let Ok(oid) = oid.parse()
            {
                self.0.insert(oid, name.clone());
            }
        }
    }

    /// Forgets them: a number may be given to another type after a rewind.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

/// A value of a result.
pub(super) fn value(oid: u32, text: Option<String>) -> Value {
    let Some(text) = text else { return Value::Null };
    let read = match Type::from_oid(oid) {
        Some(Type::BOOL) => Some(Value::Boolean(text == "t")),
        Some(Type::INT2 | Type::INT4 | Type::INT8 | Type::OID) => text.parse().ok().map(Value::Integer),
        Some(Type::FLOAT4 | Type::FLOAT8) => real(&text).map(Value::Real),
        Some(Type::NUMERIC) => Some(Value::Decimal(text.clone())),
        Some(Type::BYTEA) => text.strip_prefix("\\x").and_then(|digits| hex::decode(digits).ok()).map(Value::Blob),
        _ => None,
    };
    read.unwrap_or(Value::Text(text))
}

fn real(text: &str) -> Option<f64> {
    match text {
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        _ => text.parse().ok(),
    }
}

/// A parameter in text form, from which the server reads the type that the statement wants.
pub(super) fn text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) if value.is_nan() => "NaN".to_owned(),
        Value::Real(value) if value.is_infinite() => if *value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        Value::Real(value) => format!("{value:?}"),
        Value::Decimal(text) | Value::Text(text) => text.clone(),
        Value::Blob(bytes) => format!("\\x{}", hex::encode(bytes)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_by_their_types() {
        let read = |known: Type, text: &str| value(known.oid(), Some(text.to_owned()));
        assert_eq!(read(Type::BOOL, "t"), Value::Boolean(true));
        assert_eq!(read(Type::INT8, "-5"), Value::Integer(-5));
        assert_eq!(read(Type::FLOAT4, "0.1"), Value::Real(0.1));
        assert_eq!(read(Type::FLOAT8, "-Infinity"), Value::Real(f64::NEG_INFINITY));
        assert_eq!(read(Type::NUMERIC, "1.50"), Value::Decimal("1.50".to_owned()));
        assert_eq!(read(Type::BYTEA, "\\x00ff"), Value::Blob(vec![0, 255]));
        assert_eq!(read(Type::INT4_ARRAY, "{1,2}"), Value::Text("{1,2}".to_owned()));
        assert_eq!(value(25, None), Value::Null);
    }

    #[test]
    fn parameters_are_written_as_the_server_reads_them() {
        assert_eq!(text(&Value::Real(1e300)).as_deref(), Some("1e300"));
        assert_eq!(text(&Value::Blob(vec![1])).as_deref(), Some("\\x01"));
        assert_eq!(text(&Value::Null), None);
    }
}
