//! Changes of a table's rows, with values that are drawn.

use std::collections::BTreeSet;

use jiff::civil::Date;

use super::literals::{is_day, pieces};
use super::names;
use crate::engine::{StatementResult, TableInfo};
use crate::judge::facts::same;
use crate::judge::state::place;
use crate::script::quoted;
use crate::task::Free;
use crate::value::{Dialect, Value};
use crate::world::{Draw, later};

/// Pairs of values of what is written out that are tried, and as many rows in which all columns that are named have one.
const PAIRS: usize = 96;
/// Rows that are looked at for one that has values.
const ROWS_LOOKED_AT: usize = 16;
/// A number beyond 32 bits, small enough for sums of products to be exact.
const FAR: i64 = 5_000_000_011;
/// Far days, also with a time: however they are read, it is the same which comes first.
const FAR_DAYS: [&str; 4] = ["9999-12-31", "0001-01-01", "9999-12-31 10:00:00", "0001-01-01 10:00:00"];
/// Texts that look like something else, or like nothing.
const ODD_TEXTS: [&str; 4] = ["", "007", "1e3", "Ωé日本"];
/// New keys begin beyond those of worlds, and end where every whole number of 32 bits does.
const FRESH: (i64, i64) = (1_000_000, 900_000_000);

/// Domain of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    Number,
    Day,
    Text,
    Truth,
    /// Values that are only ever copied.
    Other,
}

/// A column whose values are compared.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) sense: Sense,
    /// True if NULL is tried.
    nullable: bool,
    /// True if it is a part of what is unique besides the primary key.
    pub(super) unique: bool,
    /// True if it belongs to the primary key.
    pub(super) key: bool,
    /// True if rules or views name it.
    named: bool,
    /// True if it takes what PostgreSQL takes for dates.
    dates: bool,
}

/// A table as the reference leaves it.
pub(super) struct Shape<'a> {
    pub(super) table: &'a TableInfo,
    pub(super) fields: Vec<Field>,
    pub(super) rows: &'a [Vec<Value>],
    /// True if every column is compared, so that whole rows can be made.
    pub(super) whole: bool,
    dialect: Dialect,
}

impl<'a> Shape<'a> {
    pub(super) fn new(
        table: &'a TableInfo,
        rows: &'a StatementResult,
        words: &[String],
        free: &Free,
        dialect: Dialect,
    ) -> Self {
        let named: BTreeSet<String> = words.iter().flat_map(|text| names(text, dialect)).collect();
        let field = |(at, column): (usize, &crate::value::Column)| {
            let name = column.name.clone();
            let place = format!("{}.{name}", table.name);
            let has = |columns: &Vec<String>| columns.iter().any(|found| same(found, &name));
            let declared = table.columns.iter().find(|found| same(&found.name, &name));
            let declared = declared.map(|column| column.type_name.to_lowercase()).unwrap_or_default();
            let unique = table.unique.iter().any(has);
            let key = has(&table.primary_key);
            Field {
                sense: sense(rows.rows.iter().map(|row| &row[at]), &declared),
                // SQLite's primary keys take NULL where nothing else is said, which no task is about.
                dates: dialect == Dialect::Postgres
                    && (declared.starts_with("date") || declared.starts_with("timestamp")),
                nullable: !key && !free.nullable.iter().any(|column| same(column, &place)),
                unique,
                key,
                named: unique || named.contains(&name.to_lowercase()),
                name,
            }
        };
        let fields: Vec<Field> = rows.columns.iter().enumerate().map(field).collect();
        let whole = fields.len() == table.columns.len();
        Self { table, fields, rows: &rows.rows, whole, dialect }
    }

    pub(super) fn columns(&self) -> Vec<String> {
        self.fields.iter().map(|field| field.name.clone()).collect()
    }

    /// Whole numbers that are keys of rows.
    pub(super) fn keys(&self) -> impl Iterator<Item = i64> + Clone + '_ {
        let keys = (0..self.fields.len()).filter(|at| self.fields[*at].key);
        keys.flat_map(|at| {
            self.rows
                .iter()
                .filter_map(move |row| if let Value::Integer(number) = row[at] { Some(number) } else { None })
        })
    }

    /// Typical values that could be stored in a column, far from the present ones and in every storage class that it takes. A view may
    /// work with numbers in any way, which is nothing for texts in their place.
    fn typical(&self, at: usize, of_view: bool) -> Vec<Value> {
        let field = &self.fields[at];
        let texts = |texts: &[&str]| texts.iter().map(|text| Value::Text((*text).to_owned())).collect::<Vec<_>>();
        let sqlite = self.dialect == Dialect::Sqlite;
        match field.sense {
            // PostgreSQL's whole numbers have sizes, of which the task leaves the choice.
            Sense::Number if !sqlite && !of_view => Vec::new(),
            Sense::Number => {
                let mut all = vec![Value::Integer(FAR), Value::Integer(-FAR), Value::Integer(i64::from(i32::MAX))];
                if sqlite && !field.key {
                    all.push(Value::Real(0.5));
                    if !of_view {
                        all.extend([Value::Text("x".to_owned()), Value::Blob(vec![1])]);
                    }
                }
                all
            }
            Sense::Day => {
                let mut all = texts(&FAR_DAYS);
                if field.dates {
                    all.extend(texts(&["infinity", "-infinity", "0501-01-01 BC"]));
                }
                all
            }
            Sense::Text => {
                let mut all = texts(&ODD_TEXTS);
                all.extend(sqlite.then(|| Value::Blob(b"ab".to_vec())));
                all
            }
            Sense::Truth | Sense::Other => Vec::new(),
        }
    }

    /// The table's full name.
    pub(super) fn name(&self) -> String {
        let (schema, name) = place(&self.table.name, self.dialect);
        format!("{}.{}", quoted(schema), quoted(name))
    }

    /// Each value that is written out, and its neighbours, in each column that is named: alone, and in pairs. Then typical ones.
    pub(super) fn systematic(&self, literals: &[Value], of_view: bool, draw: &mut Draw) -> Vec<Option<String>> {
        let named: Vec<usize> = (0..self.fields.len()).filter(|at| self.fields[*at].named).collect();
        let neighbours = |values: Vec<Value>| -> Vec<Value> {
            values.into_iter().flat_map(|value| (-1..=1).filter_map(move |step| shifted(&value, step))).collect()
        };
        let fitting = |at: usize, values: &[Value]| -> Vec<Value> {
            values.iter().filter_map(|value| fitted(value, self.fields[at].sense)).collect()
        };
        let in_each = |values: &dyn Fn(usize) -> Vec<Value>| -> Vec<(usize, Vec<Value>)> {
            let columns = named.iter().map(|at| (*at, values(*at)));
            columns.filter(|(_, values)| !values.is_empty()).collect()
        };
        // SQLite's columns take values of any sort, so that a rule may let in some of another one.
        let of_any_sort = self.dialect == Dialect::Sqlite && !of_view;
        let inside: Vec<Value> = literals.iter().flat_map(pieces).chain(literals.iter().cloned()).collect();
        let alone = in_each(&|at| {
            let any = of_any_sort && !self.fields[at].key;
            neighbours(if any { inside.clone() } else { fitting(at, &inside) })
        });
        let columns = in_each(&|at| neighbours(fitting(at, literals)));
        let together = in_each(&|at| fitting(at, literals));
        let mut sets: Vec<Vec<(usize, Value)>> = Vec::new();
        let typical =
            named.iter().flat_map(|at| self.typical(*at, of_view).into_iter().map(|value| vec![(*at, value)]));
        let typical: Vec<Vec<(usize, Value)>> = typical.collect();
        for (at, values) in &alone {
            sets.extend(values.iter().map(|value| vec![(*at, value.clone())]));
        }
        // A day may matter only where it comes before or after another one.
        let days = |at: &usize| self.fields[*at].sense == Sense::Day;
        for (at, values) in alone.iter().filter(|(at, _)| days(at)) {
            for other in named.iter().filter(|other| days(other) && *other != at) {
                let ends = FAR_DAYS[..2].iter().map(|day| Value::Text((*day).to_owned()));
                let ends: Vec<Value> = ends.collect();
                let pairs = values.iter().flat_map(|value| ends.iter().map(move |end| (value.clone(), end.clone())));
                sets.extend(pairs.map(|(value, end)| vec![(*at, value), (*other, end)]));
            }
        }
        draw.shuffle(&mut sets);
        if columns.len() > 1 {
            for _ in 0..PAIRS {
                let pair = draw.sample(&columns, 2);
                sets.push(pair.iter().map(|(at, values)| (*at, draw.pick(values).clone())).collect());
            }
        }
        if together.len() > 2 {
            for _ in 0..PAIRS {
                sets.push(together.iter().map(|(at, values)| (*at, draw.pick(values).clone())).collect());
            }
        }
        let mut changes: Vec<Option<String>> = typical.iter().map(|set| self.update(set, self.row(draw))).collect();
        for set in sets.iter().chain(&typical) {
            let row = self.row_with_values(draw);
            changes.push(self.update(set, row));
        }
        changes
    }

    /// A row that has values in all columns that are named, if one of some is: a rule says nothing of those that have none.
    fn row_with_values(&self, draw: &mut Draw) -> Option<&'a Vec<Value>> {
        let is_whole =
            |row: &Vec<Value>| self.fields.iter().zip(row).all(|(field, value)| !field.named || *value != Value::Null);
        let mut row = self.row(draw)?;
        for _ in 0..ROWS_LOOKED_AT {
            if is_whole(row) {
                break;
            }
            row = self.row(draw)?;
        }
        Some(row)
    }

    /// A change of any sort; none where the table has nothing of it.
    pub(super) fn any(&self, literals: &[Value], draw: &mut Draw) -> Option<String> {
        match draw.below(10) {
            0 => self.delete(draw),
            1..=4 => self.insert(literals, draw),
            5 => {
                let at = self.column(draw);
                let value = self.value(at, None, literals, draw)?;
                let (column, value) = (quoted(&self.fields[at].name), self.literal(&value));
                Some(format!("UPDATE {} SET {column} = {value}", self.name()))
            }
            _ => {
                let row = self.row(draw);
                let mut set = Vec::new();
                for _ in 0..=draw.below(2) {
                    let at = self.column(draw);
                    set.extend(self.value(at, row, literals, draw).map(|value| (at, value)));
                }
                set.dedup_by_key(|(at, _)| *at);
                let row = self.row(draw);
                self.update(&set, row)
            }
        }
    }

    fn row(&self, draw: &mut Draw) -> Option<&'a Vec<Value>> {
        (!self.rows.is_empty()).then(|| draw.pick(self.rows))
    }

    /// Columns that rules or views name are drawn more often.
    fn column(&self, draw: &mut Draw) -> usize {
        let named: Vec<usize> = (0..self.fields.len()).filter(|at| self.fields[*at].named).collect();
        if !named.is_empty() && draw.chance(75) { *draw.pick(&named) } else { draw.below(self.fields.len()) }
    }

    fn update(&self, set: &[(usize, Value)], row: Option<&Vec<Value>>) -> Option<String> {
        let set: Vec<String> = set
            .iter()
            .map(|(at, value)| format!("{} = {}", quoted(&self.fields[*at].name), self.literal(value)))
            .collect();
        let row = row?;
        (!set.is_empty()).then(|| format!("UPDATE {} SET {} WHERE {}", self.name(), set.join(", "), self.is(row)))
    }

    fn delete(&self, draw: &mut Draw) -> Option<String> {
        let row = self.row(draw)?;
        Some(format!("DELETE FROM {} WHERE {}", self.name(), self.is(row)))
    }

    /// A copy of a row under a new key, with some values of its own.
    fn insert(&self, literals: &[Value], draw: &mut Draw) -> Option<String> {
        if !self.whole || self.fields.is_empty() {
            return None;
        }
        let base = self.row(draw);
        let own = self.column(draw);
        let alone = self.fields.iter().filter(|field| field.key).count() == 1;
        let mut values = Vec::new();
        for (at, field) in self.fields.iter().enumerate() {
            let drawn = match base {
                _ if field.key && alone && field.sense == Sense::Number && draw.chance(90) => {
                    Some(Value::Integer(draw.between(FRESH.0, FRESH.1)))
                }
                None => self.value(at, base, literals, draw),
                Some(_) if at == own || (field.key || field.unique) && draw.chance(60) => {
                    self.value(at, base, literals, draw)
                }
                Some(row) => Some(row[at].clone()),
            };
            values.push(self.literal(&drawn?));
        }
        let columns: Vec<String> = self.fields.iter().map(|field| quoted(&field.name)).collect();
        Some(format!("INSERT INTO {} ({}) VALUES ({})", self.name(), columns.join(", "), values.join(", ")))
    }

    /// A condition that holds for a row: by its key, else by all that is compared.
    fn is(&self, row: &[Value]) -> String {
        let key = self.table.primary_key.len();
        let keyed = key > 0 && self.fields.iter().filter(|field| field.key).count() == key;
        let terms = self.fields.iter().zip(row).filter(|(field, _)| !keyed || field.key);
        let terms: Vec<String> = terms
            .map(|(field, value)| match value {
                Value::Null => format!("{} IS NULL", quoted(&field.name)),
                value => format!("{} = {}", quoted(&field.name), self.literal(value)),
            })
            .collect();
        terms.join(" AND ")
    }

    /// A value for a column: of another row, of another column of the row, one that is written out, or any.
    fn value(&self, at: usize, row: Option<&'a Vec<Value>>, literals: &[Value], draw: &mut Draw) -> Option<Value> {
        let field = &self.fields[at];
        let step = draw.between(-1, 1);
        let drawn = match draw.below(10) {
            0 if field.nullable => return Some(Value::Null),
            1 | 2 => self.row(draw).map(|row| row[at].clone()),
            3 | 4 => {
                let alike: Vec<usize> =
                    (0..self.fields.len()).filter(|other| self.fields[*other].sense == field.sense).collect();
                row.and_then(|row| shifted(&row[*draw.pick(&alike)], step))
            }
            5 | 6 => {
                let fitting: Vec<Value> = literals.iter().filter_map(|value| fitted(value, field.sense)).collect();
                (!fitting.is_empty()).then(|| draw.pick(&fitting).clone()).and_then(|value| shifted(&value, step))
            }
            _ => self.random(at, draw),
        };
        let drawn = drawn.or_else(|| self.random(at, draw));
        drawn.filter(|value| field.nullable || *value != Value::Null)
    }

    fn random(&self, at: usize, draw: &mut Draw) -> Option<Value> {
        match self.fields[at].sense {
            Sense::Number => {
                let largest = self.rows.iter().filter_map(|row| match row[at] {
                    Value::Integer(number) => number.checked_abs(),
                    _ => None,
                });
                // As far as any type goes that has room for ten times of what there is.
                let far = largest.max().unwrap_or(0).saturating_mul(10).clamp(1_000, 2_000_000_000);
                let span = *draw.pick(&[2, 20, far]);
                Some(Value::Integer(draw.between(-span, span)))
            }
            Sense::Day => {
                let first = Date::constant(1900, 1, 1);
                Some(Value::Text(later(first, draw.between(0, 110_000)).to_string()))
            }
            Sense::Text => {
                let longest = self.rows.iter().filter_map(|row| match &row[at] {
                    Value::Text(text) => Some(text.chars().count()),
                    _ => None,
                });
                let longest = longest.max().unwrap_or(0).saturating_mul(2).clamp(24, 400);
                let length = if draw.chance(50) { longest } else { draw.below(12) };
                let letter = |draw: &mut Draw| *draw.pick(&['a', 'e', 'k', 'r', 'z', 'B', 'Q', ' ', '-', '\'']);
                let text: String = (0..length).map(|_| letter(draw)).collect();
                Some(Value::Text(text))
            }
            Sense::Truth => Some(Value::Boolean(draw.chance(50))),
            Sense::Other => self.row(draw).map(|row| row[at].clone()),
        }
    }

    fn literal(&self, value: &Value) -> String {
        match value {
            Value::Null => "NULL".to_owned(),
            Value::Boolean(truth) => if *truth { "TRUE" } else { "FALSE" }.to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => format!("{number:?}"),
            Value::Decimal(digits) => digits.clone(),
            Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
            Value::Blob(bytes) => match self.dialect {
                Dialect::Sqlite => format!("x'{}'", hex::encode(bytes)),
                Dialect::Postgres => format!("'\\x{}'", hex::encode(bytes)),
            },
        }
    }
}

/// A value as one of a column, where it can be.
fn fitted(value: &Value, sense: Sense) -> Option<Value> {
    let fits = match (value, sense) {
        (Value::Integer(_) | Value::Real(_), Sense::Number) => true,
        (Value::Text(text), Sense::Day) => is_day(text),
        (Value::Text(_), Sense::Text) => true,
        _ => false,
    };
    fits.then(|| value.clone())
}

/// The neighbour of a value; of a text, one that is written a little otherwise.
fn shifted(value: &Value, step: i64) -> Option<Value> {
    Some(match value {
        Value::Integer(number) => Value::Integer(number.checked_add(step)?),
        Value::Real(number) => Value::Real(number + step as f64 / 2.0),
        Value::Text(text) if is_day(text) => Value::Text(later(text.parse().ok()?, step).to_string()),
        Value::Text(text) if step < 0 => Value::Text(text.to_uppercase()),
        Value::Text(text) if step > 0 => Value::Text(format!("{text}x")),
        other => other.clone(),
    })
}

fn sense<'v>(values: impl Iterator<Item = &'v Value>, declared: &str) -> Sense {
    let mut sense = None;
    for value in values {
        let of_value = match value {
            Value::Null => continue,
            Value::Integer(_) => Sense::Number,
            Value::Text(text) if is_day(text) => Sense::Day,
            Value::Text(_) => Sense::Text,
            Value::Boolean(_) => Sense::Truth,
            Value::Real(_) | Value::Decimal(_) | Value::Blob(_) => Sense::Other,
        };
        sense = match sense {
            None => Some(of_value),
            Some(known) if known == of_value => Some(known),
            Some(Sense::Day | Sense::Text) if matches!(of_value, Sense::Day | Sense::Text) => Some(Sense::Text),
            Some(_) => return Sense::Other,
        };
    }
    sense.unwrap_or_else(|| match declared {
        _ if declared.contains("int") => Sense::Number,
        _ if declared.contains("date") => Sense::Day,
        _ if declared.contains("text") || declared.contains("char") => Sense::Text,
        _ => Sense::Other,
    })
}
