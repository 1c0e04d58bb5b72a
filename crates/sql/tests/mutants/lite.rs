//! SQLite in this process, bounded, for datasets that are tried in great number.

use palestra_sql::compare::{Grid, difference};
use palestra_sql::dataset::Dataset;
use palestra_sql::task::Compare;
use palestra_sql::value::{Column, Dialect, Value};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

pub(crate) type Rows = Vec<Vec<Value>>;

/// Instructions of the virtual machine, in thousands, after which a query counts as failed: cross products of mutants.
const THOUSANDS: u64 = 3_000;

/// A dataset in an engine.
pub(crate) struct Lite(Connection);

impl Lite {
    pub(crate) fn new(dataset: &Dataset) -> Self {
        let connection = Connection::open_in_memory().expect("a database in memory");
        let script = dataset.script(Dialect::Sqlite).expect("a script");
        connection.execute_batch("PRAGMA foreign_keys = OFF; BEGIN").expect("a transaction");
        connection
            .execute_batch(&script)
            .unwrap_or_else(|error| panic!("{error} in {}", &script[..script.len().min(4000)]));
        connection.execute_batch("COMMIT").expect("the end of the transaction");
        Self(connection)
    }

    /// The result of a query.
    pub(crate) fn rows(&self, sql: &str) -> Result<Rows, String> {
        let mut thousands = 0;
        self.0
            .progress_handler(
                1_000,
                Some(move || {
                    thousands += 1;
                    thousands > THOUSANDS
                }),
            )
            .map_err(|error| error.to_string())?;
        let mut statement = self.0.prepare_cached(sql).map_err(|error| error.to_string())?;
        let width = statement.column_count();
        let mut cursor = statement.query([]).map_err(|error| error.to_string())?;
        let mut rows = Vec::new();
        while let Some(row) = cursor.next().map_err(|error| error.to_string())? {
            rows.push((0..width).map(|place| value(row.get_ref_unwrap(place))).collect());
            if rows.len() > 200_000 {
                return Err("too many rows".into());
            }
        }
        Ok(rows)
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

/// True if two results are the same, as a judge finds them; in order where the reference orders.
pub(crate) fn same(left: &Result<Rows, String>, right: &Result<Rows, String>, ordered: bool) -> bool {
    let (Ok(left), Ok(right)) = (left, right) else {
        return left.is_err() && right.is_err();
    };
    let width = |rows: &Rows, other: &Rows| rows.first().or(other.first()).map_or(0, Vec::len);
    let columns = |width| vec![Column { name: String::new(), type_name: String::new() }; width];
    let (expected, found) = (columns(width(left, right)), columns(width(right, left)));
    let how = Compare { ordered, ..Compare::default() };
    difference(Grid { columns: &expected, rows: left }, Grid { columns: &found, rows: right }, &how).is_none()
}
