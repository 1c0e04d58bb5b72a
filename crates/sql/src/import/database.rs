//! Reads a dataset out of a database of SQLite, by queries through the engine: files and scripts are opened in its worker alone.

use std::sync::Arc;

use super::{columns, references};
use crate::dataset::{Column, Dataset, ForeignKey, Index, Table};
use crate::engine::{Access, Database, Engine, EngineError, Limits, Opening, SqlError, Step};
use crate::script::quoted;
use crate::source::Source;
use crate::task::Spoken;
use crate::value::Value;

/// Rows that one query reads.
const PAGE: usize = 2_000;
/// Rows of a whole database.
const ROWS_MAX: usize = 1_000_000;
/// Bytes of all its values.
const BYTES_MAX: usize = 256 << 20;
/// Reading may take more than a session's statements.
const LIMITS: Limits =
    Limits { statement_ms: 30_000, rows_max: PAGE, bytes_max: 64 << 20, memory_max: 256 << 20, growth_max: 1 << 20 };

/// Contents of a database file.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The data.
    pub dataset: Dataset,
    /// Differences between dialects, in words.
    pub notes: Vec<String>,
}

/// Reason why a database could not be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unreadable {
    /// The engine would not open it, or failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A query on it failed: it is damaged.
    #[error("{}: {}", .0.code, .0.message)]
    Query(Box<SqlError>),
    /// It is more than can be imported.
    #[error("the database must hold at most {ROWS_MAX} rows, and {} MiB of values", BYTES_MAX >> 20)]
    TooLarge,
}

/// Reads a database of SQLite. Tables of the engine, virtual tables and what belongs to them are left out.
///
/// # Errors
/// When the engine does not open it, it is damaged, or too large.
pub async fn dataset(engine: &dyn Engine, source: &Arc<Source>) -> Result<Read, Unreadable> {
    let database = open(engine, source).await?;
    let mut reader = Reader { database, seq: 0, rows: 0, bytes: 0, notes: Vec::new() };
    let read = reader.dataset().await;
    reader.database.close().await;
    Ok(Read { dataset: read?, notes: reader.notes })
}

/// Opens a database to read it.
///
/// # Errors
/// When the engine does not open it.
pub(super) async fn open(engine: &dyn Engine, source: &Arc<Source>) -> Result<Box<dyn Database>, EngineError> {
    engine.open(source, &Opening { access: Access::Read, limits: LIMITS, seed: 0 }).await
}

struct Reader {
    database: Box<dyn Database>,
    seq: u64,
    rows: usize,
    bytes: usize,
    notes: Vec<String>,
}

impl Reader {
    async fn dataset(&mut self) -> Result<Dataset, Unreadable> {
        let mut tables = Vec::new();
        for name in self.tables().await? {
            tables.push(self.table(name).await?);
        }
        tables = references::order(tables);
        complete_references(&mut tables);
        let mut dataset = Dataset { tables, after: self.after().await? };
        for table in &mut dataset.tables {
            columns::settle(table, &mut self.notes);
        }
        references::mark(&mut dataset, &mut self.notes);
        Ok(dataset)
    }

    /// Names of the tables that a script can make again.
    async fn tables(&mut self) -> Result<Vec<String>, Unreadable> {
        let rows = self
            .query(
                "SELECT s.name, l.type FROM sqlite_schema AS s JOIN pragma_table_list AS l \
                 ON l.name = s.name AND l.schema = 'main' \
                 WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY s.rowid",
            )
            .await?;
        let mut names = Vec::new();
        for row in rows {
            let name = text(&row, 0);
            match text(&row, 1).as_str() {
                "table" => names.push(name),
                "virtual" => self.notes.push(format!("{name}: virtual tables are left out")),
                _ => {}
            }
        }
        Ok(names)
    }

    /// Views and triggers, which only SQLite has.
    async fn after(&mut self) -> Result<Spoken, Unreadable> {
        let rows = self
            .query("SELECT type, name, sql FROM sqlite_schema WHERE type IN ('view', 'trigger') ORDER BY rowid")
            .await?;
        let mut statements = String::new();
        for row in &rows {
            self.notes.push(format!("{}: the {} is left out of PostgreSQL", text(row, 1), text(row, 0)));
            statements.push_str(&text(row, 2));
            statements.push_str(";\n");
        }
        Ok(if rows.is_empty() { Spoken::Nothing } else { Spoken::each(statements, "") })
    }

    async fn table(&mut self, name: String) -> Result<Table, Unreadable> {
        let mut table = Table { name, ..Table::default() };
        self.columns(&mut table).await?;
        self.foreign_keys(&mut table).await?;
        self.indexes(&mut table).await?;
        self.rows(&mut table).await?;
        self.keys_without_null(&mut table);
        Ok(table)
    }

    async fn columns(&mut self, table: &mut Table) -> Result<(), Unreadable> {
        let sql = format!(
            "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo({})",
            string(&table.name)
        );
        let mut key = Vec::new();
        for row in self.query(&sql).await? {
            let (name, declared) = (text(&row, 0), text(&row, 1));
            if number(&row, 5) > 1 {
                self.notes.push(format!("{}.{name}: computed before, plain now", table.name));
            }
            if number(&row, 4) > 0 {
                key.push((number(&row, 4), name.clone()));
            }
            table.columns.push(Column {
                name,
                declared: Some(plain_type(&declared)),
                not_null: number(&row, 2) != 0,
                default: (row[3] != Value::Null).then(|| text(&row, 3)),
                ..Column::default()
            });
        }
        key.sort();
        table.primary_key = key.into_iter().map(|(_, name)| name).collect();
        Ok(())
    }

    async fn foreign_keys(&mut self, table: &mut Table) -> Result<(), Unreadable> {
        let sql = format!(
            "SELECT id, \"table\", \"from\", \"to\", on_delete FROM pragma_foreign_key_list({}) ORDER BY id DESC, seq",
            string(&table.name)
        );
        let mut last = None;
        for row in self.query(&sql).await? {
            if last != Some(number(&row, 0)) {
                last = Some(number(&row, 0));
                let on_delete = text(&row, 4);
                table.foreign_keys.push(ForeignKey {
                    table: text(&row, 1),
                    on_delete: if on_delete == "NO ACTION" { String::new() } else { on_delete },
                    ..ForeignKey::default()
                });
            }
            if let Some(key) = table.foreign_keys.last_mut() {
                key.columns.push(text(&row, 2));
                if row[3] != Value::Null {
                    key.references.push(text(&row, 3));
                }
            }
        }
        Ok(())
    }

    async fn indexes(&mut self, table: &mut Table) -> Result<(), Unreadable> {
        let sql = format!(
            "SELECT name, \"unique\", origin, partial FROM pragma_index_list({}) ORDER BY seq DESC",
            string(&table.name)
        );
        for row in self.query(&sql).await? {
            let (name, origin) = (text(&row, 0), text(&row, 2));
            if origin == "pk" {
                continue;
            }
            let sql = format!("SELECT name FROM pragma_index_info({}) ORDER BY seqno", string(&name));
            let columns = self.query(&sql).await?;
            if number(&row, 3) != 0 || columns.iter().any(|row| row[0] == Value::Null) {
                self.notes.push(format!("{name}: indexes of expressions or of some rows are left out"));
                continue;
            }
            let columns: Vec<String> = columns.iter().map(|row| text(row, 0)).collect();
            if origin == "u" {
                table.unique.push(columns);
            } else {
                table.indexes.push(Index { name, columns, unique: number(&row, 1) != 0 });
            }
        }
        Ok(())
    }

    /// Every row, in the order in which the table itself keeps them.
    async fn rows(&mut self, table: &mut Table) -> Result<(), Unreadable> {
        let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
        loop {
            let sql = format!(
                "SELECT {} FROM {} NOT INDEXED LIMIT {PAGE} OFFSET {}",
                columns.join(", "),
                quoted(&table.name),
                table.rows.len()
            );
            let rows = self.query(&sql).await?;
            let read = rows.len();
            self.rows += read;
            self.bytes += rows.iter().flatten().map(size).sum::<usize>();
            if self.rows > ROWS_MAX || self.bytes > BYTES_MAX {
                return Err(Unreadable::TooLarge);
            }
            table.rows.extend(rows);
            if read == 0 {
                return Ok(());
            }
        }
    }

    /// SQLite lets NULL into primary keys. There, they are unique columns.
    fn keys_without_null(&mut self, table: &mut Table) {
        let places: Vec<_> = table.primary_key.iter().filter_map(|name| table.position(name)).collect();
        if table.rows.iter().any(|row| places.iter().any(|&column| row[column] == Value::Null)) {
            self.notes.push(format!("{}: its key holds NULL, so it is only unique", table.name));
            table.unique.push(std::mem::take(&mut table.primary_key));
        }
    }

    async fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Unreadable> {
        self.seq += 1;
        let mut ran = self.database.run(&Step { seq: self.seq, sql, parameters: &[], now_ms: 0 }).await?;
        match ran.error {
            Some(error) => Err(Unreadable::Query(Box::new(error))),
            None => Ok(ran.results.pop().map(|result| result.rows).unwrap_or_default()),
        }
    }
}

/// A reference that names no columns there means the primary key.
fn complete_references(tables: &mut [Table]) {
    let keys: Vec<_> = tables.iter().map(|table| (table.name.clone(), table.primary_key.clone())).collect();
    for key in tables.iter_mut().flat_map(|table| &mut table.foreign_keys).filter(|key| key.references.is_empty()) {
        if let Some((_, columns)) = keys.iter().find(|(name, _)| name.eq_ignore_ascii_case(&key.table)) {
            key.references.clone_from(columns);
        }
    }
}

/// A declared type as it can be written again: SQLite lets any text in quotes be a type.
fn plain_type(declared: &str) -> String {
    declared.chars().filter(|sign| sign.is_alphanumeric() || " _(),.+-".contains(*sign)).collect()
}

fn string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn text(row: &[Value], column: usize) -> String {
    match row.get(column) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

fn number(row: &[Value], column: usize) -> i64 {
    match row.get(column) {
        Some(Value::Integer(number)) => *number,
        _ => 0,
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) | Value::Decimal(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        _ => 8,
    }
}
