//! `${parameter}` in texts: as words, or as SQL of a dialect.
//!
//! `${name}` is a value and `${name.field}` one of named values. In SQL a value is written as a literal; `${name:raw}` is written as
//! it is, for names of columns and parts of queries, and so is what differs by dialect. In words `${name:money}` writes cents as
//! `12.50`, and `${name:sql}` a literal, for queries that are shown. What is written raw may hold parameters of its own.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::task::Spoken;
use crate::value::{Dialect, Value};

/// Depth to which parameters may stand in parameters.
const DEPTH: usize = 4;
/// Places that are filled in one text, those in parameters included: templates come from anybody.
const PLACES_MAX: usize = 10_000;
/// Bytes of a text that was filled.
const BYTES_MAX: usize = 1 << 20;

/// Value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Filled {
    /// A value.
    Value(Value),
    /// Named values.
    Named(BTreeMap<String, Filled>),
    /// SQL of each dialect.
    Spoken(BTreeMap<Dialect, String>),
}

/// Parameters by name.
pub(super) type Filling = BTreeMap<String, Filled>;

impl Filled {
    /// Reads the form in a file: a scalar, an object of them, or `{sqlite, postgres}`.
    ///
    /// # Errors
    /// In words, when it is a list.
    pub(super) fn of(json: &Json) -> Result<Self, String> {
        if let Json::Object(fields) = json {
            let spoken = |dialect: Dialect| Some((dialect, fields.get(dialect.name())?.as_str()?.to_owned()));
            if fields.len() == 2
                && let (Some(sqlite), Some(postgres)) = (spoken(Dialect::Sqlite), spoken(Dialect::Postgres))
            {
                return Ok(Self::Spoken(BTreeMap::from([sqlite, postgres])));
            }
            return fields
                .iter()
                .map(|(name, field)| Ok((name.clone(), Self::of(field)?)))
                .collect::<Result<_, _>>()
                .map(Self::Named);
        }
        value(json).map(Self::Value)
    }
}

/// A scalar.
///
/// # Errors
/// In words, when it is a list or an object.
pub(super) fn value(json: &Json) -> Result<Value, String> {
    match json {
        Json::Null => Ok(Value::Null),
        Json::Bool(truth) => Ok(Value::Boolean(*truth)),
        Json::String(text) => Ok(Value::Text(text.clone())),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Ok(Value::Integer(whole)),
            (None, Some(real)) => Ok(Value::Real(real)),
            (None, None) => Err(format!("{number} is too large")),
        },
        Json::Array(_) | Json::Object(_) => Err("a single value is wanted here".to_owned()),
    }
}

/// Notation of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    /// As people read them.
    Words,
    /// As literals.
    Sql(Dialect),
}

/// A text with its parameters in place.
///
/// # Errors
/// In words, when one is unknown or cannot stand there.
pub(super) fn fill(text: &str, notation: Notation, filling: &Filling) -> Result<String, String> {
    TextFiller { notation, filling, places: PLACES_MAX }.text(text, DEPTH)
}

/// Fills one text.
struct TextFiller<'a> {
    notation: Notation,
    filling: &'a Filling,
    /// Places that may still be filled.
    places: usize,
}

impl TextFiller<'_> {
    fn text(&mut self, text: &str, depth: usize) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            out.push_str(&rest[..start]);
            let inner = &rest[start + 2..];
            let end = inner.find('}').ok_or("a parameter lacks its closing brace")?;
            self.places = self.places.checked_sub(1).ok_or("there are too many parameters in a text")?;
            out.push_str(&self.place(&inner[..end], depth)?);
            if out.len() > BYTES_MAX {
                return Err("a text is too long with its parameters".to_owned());
            }
            rest = &inner[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn place(&mut self, name: &str, depth: usize) -> Result<String, String> {
        let (path, form) = name.split_once(':').unwrap_or((name, ""));
        let filled = find(path, self.filling)?;
        match (filled, form, self.notation) {
            (Filled::Spoken(texts), "" | "raw", Notation::Sql(dialect)) => {
                let text = texts.get(&dialect).ok_or_else(|| format!("{path:?} lacks {}", dialect.name()))?;
                self.nested(text, depth)
            }
            (Filled::Spoken(_), ..) => Err(format!("{path:?} differs by dialect and cannot stand in words")),
            (Filled::Named(_), ..) => Err(format!("{path:?} has named values: say which one, as in ${{{path}.name}}")),
            (Filled::Value(Value::Text(text)), "raw", _) => self.nested(text, depth),
            (Filled::Value(value), "", Notation::Sql(_)) | (Filled::Value(value), "sql", _) => Ok(literal(value)),
            (Filled::Value(Value::Text(text)), "", Notation::Words) => self.nested(text, depth),
            (Filled::Value(Value::Integer(cents)), "money", Notation::Words) => {
                let sign = if *cents < 0 { "-" } else { "" };
                Ok(format!("{sign}{}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100))
            }
            (Filled::Value(value), "", Notation::Words) | (Filled::Value(value), "raw", _) => Ok(words(value)),
            (Filled::Value(_), ..) => Err(format!("{path:?} cannot be written as {form:?} here")),
        }
    }

    fn nested(&mut self, text: &str, depth: usize) -> Result<String, String> {
        let depth = depth.checked_sub(1).ok_or("parameters stand in one another without end")?;
        self.text(text, depth)
    }
}

fn find<'a>(path: &str, filling: &'a Filling) -> Result<&'a Filled, String> {
    let mut names = path.split('.');
    let first = names.next().unwrap_or_default();
    let mut filled = filling.get(first).ok_or_else(|| format!("there is no parameter {first:?}"))?;
    for name in names {
        filled = match filled {
            Filled::Named(fields) => fields.get(name).ok_or_else(|| format!("{first:?} has no value {name:?}"))?,
            _ => return Err(format!("{first:?} has no named values")),
        };
    }
    Ok(filled)
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Decimal(text) | Value::Text(text) => text.clone(),
        Value::Blob(bytes) => hex::encode(bytes),
    }
}

/// A literal that both dialects read.
fn literal(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Blob(bytes) => format!("'{}'", hex::encode(bytes)),
        Value::Boolean(truth) => (if *truth { "TRUE" } else { "FALSE" }).to_owned(),
        Value::Real(number) => format!("{number:?}"),
        other => words(other),
    }
}

/// SQL with its parameters in place: one text for both dialects where they do not differ.
///
/// # Errors
/// As [`fill`].
pub(super) fn spoken(text: &Spoken, filling: &Filling) -> Result<Spoken, String> {
    Ok(match text {
        Spoken::Nothing => Spoken::Nothing,
        Spoken::Any(text) => {
            let sqlite = fill(text, Notation::Sql(Dialect::Sqlite), filling)?;
            let postgres = fill(text, Notation::Sql(Dialect::Postgres), filling)?;
            if sqlite == postgres { Spoken::Any(sqlite) } else { Spoken::each(sqlite, postgres) }
        }
        Spoken::Each(texts) => {
            let one =
                |(dialect, text): (&Dialect, &String)| Ok((*dialect, fill(text, Notation::Sql(*dialect), filling)?));
            Spoken::Each(texts.iter().map(one).collect::<Result<_, String>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filling() -> Filling {
        let of = |json| Filled::of(&json).expect("a parameter");
        BTreeMap::from([
            ("city".to_owned(), of(json!("L'Aquila"))),
            ("cents".to_owned(), of(json!(1205))),
            ("month".to_owned(), of(json!({"sqlite": "substr(d, 1, 7)", "postgres": "to_char(d, 'YYYY-MM')"}))),
            ("bug".to_owned(), of(json!({"where": "city = ${city}", "says": "too many rows in ${city}"}))),
            ("round".to_owned(), of(json!("${round}"))),
        ])
    }

    #[test]
    fn values_are_literals_in_sql_and_plain_in_words() {
        let sql =
            fill("city = ${city} AND ${month} = 'x' AND p > ${cents}", Notation::Sql(Dialect::Postgres), &filling());
        assert_eq!(sql.expect("filled"), "city = 'L''Aquila' AND to_char(d, 'YYYY-MM') = 'x' AND p > 1205");
        let words = fill("In ${city}, above ${cents:money}: ${bug.says}.", Notation::Words, &filling());
        assert_eq!(words.expect("filled"), "In L'Aquila, above 12.05: too many rows in L'Aquila.");
        assert_eq!(fill("${city:sql}", Notation::Words, &filling()).expect("filled"), "'L''Aquila'");
    }

    #[test]
    fn a_text_becomes_two_where_the_dialects_differ() {
        assert_eq!(
            spoken(&Spoken::any("SELECT ${month} WHERE ${bug.where:raw}"), &filling()).expect("filled"),
            Spoken::each(
                "SELECT substr(d, 1, 7) WHERE city = 'L''Aquila'",
                "SELECT to_char(d, 'YYYY-MM') WHERE city = 'L''Aquila'"
            )
        );
        assert_eq!(spoken(&Spoken::any("SELECT ${cents}"), &filling()).expect("filled"), Spoken::any("SELECT 1205"));
    }

    #[test]
    fn misplaced_parameters_are_named() {
        let says = |text| fill(text, Notation::Words, &filling()).expect_err("a fault");
        assert!(says("${nothing}").contains("nothing"));
        assert!(says("${month}").contains("differs by dialect"));
        assert!(says("${bug}").contains("bug.name"));
        assert!(says("${city").contains("brace"));
        assert!(says("${round}").contains("without end"));
    }

    #[test]
    fn a_text_that_grows_without_measure_is_refused() {
        let of = |text: String| Filled::of(&json!(text)).expect("a parameter");
        let many = |name: &str| format!("${{{name}}}").repeat(200);
        let long = BTreeMap::from([("a".to_owned(), of("x".repeat(10_000))), ("b".to_owned(), of(many("a")))]);
        assert!(fill("${b}", Notation::Words, &long).expect_err("a fault").contains("too long"));
        let empty = BTreeMap::from([("a".to_owned(), of(String::new())), ("b".to_owned(), of(many("a")))]);
        assert!(fill(&many("b"), Notation::Words, &empty).expect_err("a fault").contains("too many"));
    }
}
