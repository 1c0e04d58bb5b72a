//! A dataset as a script of either dialect, from which an engine makes a database with exactly these rows.

use std::fmt::Write as _;

use super::literal::literal;
use super::name::quoted;
use super::{Column, Dataset, ForeignKey, Sort, Table};
use crate::value::Dialect;

/// Rows of one INSERT.
const BATCH_ROWS: usize = 200;
/// Bytes after which an INSERT ends, well below what engines take as one statement.
const BATCH_BYTES: usize = 64 << 10;

/// Content of a dataset that a dialect cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {detail}")]
pub struct Unwritable {
    /// The table, column and row.
    pub place: String,
    /// The reason.
    pub detail: String,
}

impl Dataset {
    /// The script of this database: tables, rows, references, indexes, and what comes after them.
    ///
    /// # Errors
    /// When a row has not a value per column, PostgreSQL has no such value, or [`Dataset::after`] is missing in this dialect.
    pub fn script(&self, dialect: Dialect) -> Result<String, Unwritable> {
        let mut out = String::new();
        if dialect == Dialect::Sqlite && !self.loads_in_order() {
            out.push_str("PRAGMA foreign_keys = OFF;\n");
        }
        for table in &self.tables {
            create(&mut out, table, dialect);
        }
        for table in &self.tables {
            insert(&mut out, table, dialect)?;
        }
        for table in &self.tables {
            finish(&mut out, table, dialect);
        }
        let after = self.after.in_dialect(dialect).ok_or_else(|| Unwritable {
            place: "after".into(),
            detail: format!("says nothing in {}", dialect.name()),
        })?;
        out.push_str(after);
        Ok(out)
    }

    /// True if SQLite takes the rows in this order with foreign keys enforced at each statement.
    fn loads_in_order(&self) -> bool {
        let mut seen: Vec<&str> = Vec::new();
        self.tables.iter().all(|table| {
            let met = table
                .foreign_keys
                .iter()
                .all(|key| !key.unenforced && seen.iter().any(|name| name.eq_ignore_ascii_case(&key.table)));
            seen.push(&table.name);
            met
        })
    }
}

fn create(out: &mut String, table: &Table, dialect: Dialect) {
    let mut parts: Vec<String> = table.columns.iter().map(|column| definition(column, dialect)).collect();
    if !table.primary_key.is_empty() {
        parts.push(format!("PRIMARY KEY ({})", names(&table.primary_key, dialect)));
    }
    parts.extend(table.unique.iter().map(|columns| format!("UNIQUE ({})", names(columns, dialect))));
    parts.extend(table.checks.iter().map(|check| format!("CHECK ({check})")));
    if dialect == Dialect::Sqlite {
        parts.extend(table.foreign_keys.iter().map(|key| reference(key, dialect)));
    }
    let _ = writeln!(out, "CREATE TABLE {} (\n  {}\n);", quoted(&table.name, dialect), parts.join(",\n  "));
}

fn definition(column: &Column, dialect: Dialect) -> String {
    let declared = match (dialect, &column.declared) {
        (Dialect::Sqlite, Some(declared)) => declared.as_str(),
        _ => column.sort.type_name(dialect),
    };
    let mut text = quoted(&column.name, dialect);
    if !declared.is_empty() {
        let _ = write!(text, " {declared}");
    }
    if column.not_null {
        text.push_str(" NOT NULL");
    }
    if let Some(default) = &column.default {
        let _ = write!(text, " DEFAULT ({default})");
    }
    text
}

fn reference(key: &ForeignKey, dialect: Dialect) -> String {
    let mut text = format!("FOREIGN KEY ({}) REFERENCES {}", names(&key.columns, dialect), quoted(&key.table, dialect));
    if !key.references.is_empty() {
        let _ = write!(text, " ({})", names(&key.references, dialect));
    }
    if !key.on_delete.is_empty() {
        let _ = write!(text, " ON DELETE {}", key.on_delete);
    }
    text
}

fn insert(out: &mut String, table: &Table, dialect: Dialect) -> Result<(), Unwritable> {
    let (mut rows, mut start) = (0, out.len());
    for (number, row) in table.rows.iter().enumerate() {
        let line = values(row, table, number, dialect)?;
        if rows == 0 {
            start = out.len();
            let _ = write!(out, "INSERT INTO {} VALUES\n{line}", quoted(&table.name, dialect));
        } else {
            let _ = write!(out, ",\n{line}");
        }
        rows += 1;
        if rows == BATCH_ROWS || out.len() - start > BATCH_BYTES {
            out.push_str(";\n");
            rows = 0;
        }
    }
    if rows > 0 {
        out.push_str(";\n");
    }
    Ok(())
}

fn values(row: &[crate::value::Value], table: &Table, number: usize, dialect: Dialect) -> Result<String, Unwritable> {
    if row.len() != table.columns.len() {
        return Err(Unwritable {
            place: format!("{}, row {}", table.name, number + 1),
            detail: format!("has {} values for {} columns", row.len(), table.columns.len()),
        });
    }
    let written = row.iter().zip(&table.columns).map(|(value, column)| {
        literal(value, column.sort, dialect).map_err(|detail| Unwritable {
            place: format!("{}.{}, row {}", table.name, column.name, number + 1),
            detail,
        })
    });
    Ok(format!("({})", written.collect::<Result<Vec<_>, _>>()?.join(", ")))
}

/// Writes everything that is cheaper or only possible once the rows are there: indexes, and PostgreSQL's references, which may run in
/// circles.
fn finish(out: &mut String, table: &Table, dialect: Dialect) {
    let name = quoted(&table.name, dialect);
    if dialect == Dialect::Postgres {
        for key in table.foreign_keys.iter().filter(|key| !key.unenforced) {
            let _ = writeln!(out, "ALTER TABLE {name} ADD {};", reference(key, dialect));
        }
    }
    for index in &table.indexes {
        let unique = if index.unique { "UNIQUE " } else { "" };
        let columns = names(&index.columns, dialect);
        let _ = writeln!(out, "CREATE {unique}INDEX {} ON {name} ({columns});", quoted(&index.name, dialect));
    }
}

fn names(names: &[String], dialect: Dialect) -> String {
    names.iter().map(|name| quoted(name, dialect)).collect::<Vec<_>>().join(", ")
}

impl Sort {
    /// The type that a script declares.
    #[must_use]
    pub const fn type_name(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (Self::Integer | Self::Boolean, Dialect::Sqlite) => "INTEGER",
            (Self::Real, Dialect::Sqlite) => "REAL",
            (Self::Decimal, Dialect::Sqlite) => "NUMERIC",
            (Self::Text | Self::Date | Self::Timestamp, Dialect::Sqlite) => "TEXT",
            (Self::Blob, Dialect::Sqlite) => "BLOB",
            (Self::Integer, Dialect::Postgres) => "bigint",
            (Self::Real, Dialect::Postgres) => "double precision",
            (Self::Decimal, Dialect::Postgres) => "numeric",
            (Self::Text, Dialect::Postgres) => "text",
            (Self::Boolean, Dialect::Postgres) => "boolean",
            (Self::Date, Dialect::Postgres) => "date",
            (Self::Timestamp, Dialect::Postgres) => "timestamp",
            (Self::Blob, Dialect::Postgres) => "bytea",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Index;
    use crate::task::Spoken;
    use crate::value::Value;

    /// Two tables that refer to each other, so that none can be first.
    fn circle() -> Dataset {
        let column = |name: &str, sort| Column { name: name.into(), sort, ..Column::default() };
        let key = |column: &str, table: &str| ForeignKey {
            columns: vec![column.into()],
            table: table.into(),
            references: vec!["id".into()],
            ..ForeignKey::default()
        };
        let team = Table {
            name: "Team".into(),
            columns: vec![column("id", Sort::Integer), column("captain", Sort::Integer)],
            primary_key: vec!["id".into()],
            foreign_keys: vec![key("captain", "player")],
            rows: vec![vec![Value::Integer(1), Value::Integer(10)], vec![Value::Integer(2), Value::Null]],
            ..Table::default()
        };
        let player = Table {
            name: "player".into(),
            columns: vec![column("id", Sort::Integer), column("Team", Sort::Integer), column("order", Sort::Real)],
            primary_key: vec!["id".into()],
            foreign_keys: vec![key("Team", "Team")],
            indexes: vec![Index { name: "by_team".into(), columns: vec!["Team".into()], unique: false }],
            rows: vec![vec![Value::Integer(10), Value::Integer(1), Value::Real(0.5)]],
            ..Table::default()
        };
        Dataset { tables: vec![team, player], after: Spoken::any("CREATE VIEW v AS SELECT 1;") }
    }

    #[test]
    fn a_circle_of_references_is_written_in_both_dialects() {
        let script = circle().script(Dialect::Sqlite).expect("a script");
        let database = rusqlite::Connection::open_in_memory().expect("SQLite");
        database.execute_batch("PRAGMA foreign_keys = ON").expect("on");
        database.execute_batch(&script).unwrap_or_else(|fault| panic!("{fault}: {script}"));
        let broken: i64 =
            database.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).expect("a count");
        assert_eq!(broken, 0);
        let script = circle().script(Dialect::Postgres).expect("a script");
        assert!(script.contains("ALTER TABLE team ADD FOREIGN KEY (captain) REFERENCES player (id);"), "{script}");
        assert!(script.contains("\"order\" double precision"), "{script}");
    }

    #[test]
    fn references_that_rows_break_are_left_out_of_postgres_alone() {
        let mut dataset = circle();
        dataset.tables[0].foreign_keys[0].unenforced = true;
        let script = dataset.script(Dialect::Postgres).expect("a script");
        assert!(!script.contains("REFERENCES player"), "{script}");
        let script = dataset.script(Dialect::Sqlite).expect("a script");
        assert!(script.contains("FOREIGN KEY (captain) REFERENCES player (id)"), "{script}");
    }

    #[test]
    fn long_tables_are_inserted_in_batches() {
        let mut dataset = circle();
        dataset.tables[0].rows = (0..1_001).map(|id| vec![Value::Integer(id), Value::Null]).collect();
        let script = dataset.script(Dialect::Sqlite).expect("a script");
        assert_eq!(script.matches("INSERT INTO Team").count(), 6);
        let database = rusqlite::Connection::open_in_memory().expect("SQLite");
        database.execute_batch(&script).expect("it loads");
        let rows: i64 = database.query_row("SELECT count(*) FROM team", [], |row| row.get(0)).expect("a count");
        assert_eq!(rows, 1_001);
    }

    #[test]
    fn rows_of_the_wrong_length_are_named() {
        let mut dataset = circle();
        dataset.tables[1].rows.push(vec![Value::Null]);
        let fault = dataset.script(Dialect::Postgres).expect_err("a fault");
        assert_eq!(fault.to_string(), "player, row 2: has 1 values for 3 columns");
    }
}
