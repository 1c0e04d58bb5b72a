//! Schema of a session's database, asked of SQLite itself. PRAGMA statements are asked, not the tables of the same names, which a
//! table that the acting side makes could hide.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use super::definition;
use crate::engine::{ColumnInfo, ForeignKeyInfo, IndexInfo, Schema, SchemaDetail, SchemaDetailKind, TableInfo};
use crate::script::quoted;
use crate::value::Value;

/// Every object that somebody made, by name.
pub(super) const OBJECTS: &str = "\
    SELECT * FROM (\
      SELECT '' AS owner, type, name, tbl_name, sql FROM main.sqlite_schema \
      UNION ALL SELECT 'temp.', type, name, tbl_name, sql FROM temp.sqlite_schema) \
    WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY owner, name";

/// Numbers that a database keeps for whoever uses it.
pub(super) const NUMBERS: &str = "PRAGMA main.user_version; PRAGMA main.application_id;";

/// The particulars of the answers to [`NUMBERS`].
pub(super) fn numbers(answers: impl Iterator<Item = Rows>) -> impl Iterator<Item = SchemaDetail> {
    ["user_version", "application_id"].into_iter().zip(answers).map(|(name, rows)| SchemaDetail {
        sort: SchemaDetailKind::Other,
        of: String::new(),
        words: format!("{name} {}", rows.first().map_or(0, |row| number(row, 0))),
    })
}

/// The rows of one question.
pub(super) type Rows = Vec<Vec<Value>>;

/// Size of rows in bytes.
pub(super) fn bytes(rows: &Rows) -> u64 {
    let value = |value: &Value| match value {
        Value::Text(text) => size_of::<Value>() + text.len(),
        _ => size_of::<Value>(),
    };
    rows.iter().flatten().map(value).sum::<usize>() as u64
}

/// A table, view, index or trigger.
struct Object {
    /// `temp.`, or nothing.
    owner: String,
    kind: String,
    name: String,
    table: String,
    sql: Option<String>,
}

/// Names of all objects, before anything is known about them.
pub(super) struct Objects(Vec<Object>);

/// SQLite's answers about one table or view.
#[derive(Default)]
pub(super) struct Answers {
    columns: Rows,
    indexes: Rows,
    foreign_keys: Rows,
    /// The columns of each index, by the index's name.
    indexed: HashMap<String, Rows>,
}

impl Objects {
    /// From the rows of [`OBJECTS`].
    pub(super) fn read(rows: &Rows) -> Self {
        Self(
            rows.iter()
                .map(|row| Object {
                    owner: text(row, 0),
                    kind: text(row, 1),
                    name: text(row, 2),
                    table: text(row, 3),
                    sql: optional_text(row, 4),
                })
                .collect(),
        )
    }

    /// The tables in order. Every question about them has an answer, and they are asked together.
    pub(super) fn tables(&self) -> Vec<usize> {
        self.of_kind("table")
    }

    /// The views in order. A question about one that is broken fails, so that each is asked alone.
    pub(super) fn views(&self) -> Vec<usize> {
        self.of_kind("view")
    }

    fn of_kind(&self, kind: &str) -> Vec<usize> {
        (0..self.0.len()).filter(|at| self.0[*at].kind == kind).collect()
    }

    /// Queries for the columns of a table or view: one statement.
    pub(super) fn ask_columns(&self, at: usize) -> String {
        self.ask(at, "table_xinfo", &self.0[at].name)
    }

    /// Queries for the rest of a table: two statements.
    pub(super) fn ask_table(&self, at: usize) -> String {
        let name = &self.0[at].name;
        self.ask(at, "index_list", name) + &self.ask(at, "foreign_key_list", name)
    }

    /// Queries for the indexes that [`Self::ask_table`] found: a statement each.
    pub(super) fn ask_indexes(&self, at: usize, answers: &Answers) -> String {
        answers.index_names().map(|name| self.ask(at, "index_xinfo", &name)).collect()
    }

    fn ask(&self, at: usize, pragma: &str, name: &str) -> String {
        let owner = if self.0[at].owner.is_empty() { "main." } else { "temp." };
        let mut question = String::new();
        let _ = write!(question, "PRAGMA {owner}{pragma}({});", quoted(name));
        question
    }

    /// The schema, with the answers about each table and view by its number.
    pub(super) fn describe(&self, mut answers: BTreeMap<usize, Answers>) -> Schema {
        let mut schema = Schema::default();
        for (at, object) in self.0.iter().enumerate() {
            match object.kind.as_str() {
                "table" | "view" => {
                    let answers = answers.remove(&at).unwrap_or_default();
                    schema.tables.push(object.table_info(&answers, &mut schema.indexes));
                }
                "trigger" => schema.triggers.push((object.owned(&object.name), object.owned(&object.table))),
                _ => {}
            }
        }
        let indexes = self.of_kind("index").into_iter().map(|at| &self.0[at]);
        let made: HashMap<String, Option<&str>> =
            indexes.map(|object| (object.owned(&object.name), object.sql.as_deref())).collect();
        for index in &mut schema.indexes {
            if let Some(sql) = made.get(&index.name).copied().flatten() {
                let parts = definition::index_parts(sql);
                for (column, part) in index.columns.iter_mut().zip(parts.columns) {
                    // What is no column has no name, and is told as it was written.
                    if column.is_empty() {
                        *column = part;
                    }
                }
                index.condition = parts.condition;
            }
        }
        schema.indexes.sort_by(|a, b| a.name.cmp(&b.name));
        fill_references(&mut schema.tables);
        schema
    }
}

impl Objects {
    /// Facts that the schema leaves out, with the same answers.
    pub(super) fn schema_details(&self, answers: &BTreeMap<usize, Answers>) -> BTreeSet<SchemaDetail> {
        let mut found = BTreeSet::new();
        for (at, object) in self.0.iter().enumerate() {
            let name = object.owned(&object.name).to_lowercase();
            let sql = object.sql.as_deref().unwrap_or_default();
            match object.kind.as_str() {
                "table" => {
                    found.extend(definition::options(sql).into_iter().map(|(sort, words)| SchemaDetail {
                        sort,
                        of: name.clone(),
                        words,
                    }));
                    let Some(answers) = answers.get(&at) else { continue };
                    found.extend(answers.generated(&name));
                    found.extend(answers.references(&name));
                }
                "trigger" => {
                    let of = object.owned(&object.table).to_lowercase();
                    let words = format!("{name}: {}", definition::plain(sql));
                    let refuses = definition::only_refuses(sql);
                    let sort = if refuses { SchemaDetailKind::Refusal } else { SchemaDetailKind::Trigger };
                    found.insert(SchemaDetail { sort, of, words });
                }
                _ => {}
            }
        }
        found
    }
}

impl Object {
    fn owned(&self, name: &str) -> String {
        format!("{}{name}", self.owner)
    }

    fn table_info(&self, answers: &Answers, indexes: &mut Vec<IndexInfo>) -> TableInfo {
        let view = self.kind == "view";
        let mut table = TableInfo { name: self.owned(&self.name), view, sql: self.sql.clone(), ..TableInfo::default() };
        let mut key = Vec::new();
        for row in answers.columns.iter().filter(|row| number(row, 6) != 1) {
            table.columns.push(ColumnInfo {
                name: text(row, 1),
                type_name: text(row, 2),
                not_null: number(row, 3) != 0,
                default: optional_text(row, 4),
            });
            if number(row, 5) > 0 {
                key.push((number(row, 5), text(row, 1)));
            }
        }
        key.sort_unstable();
        table.primary_key = key.into_iter().map(|(_, name)| name).collect();
        // SQLite tells the last one first.
        for row in answers.indexes.iter().rev() {
            let (name, unique, origin, partial) =
                (text(row, 1), number(row, 2) != 0, text(row, 3), number(row, 4) != 0);
            let rows = answers.indexed.get(&name).map_or(&[][..], Vec::as_slice);
            let columns: Vec<String> = rows.iter().filter(|row| number(row, 5) == 1).map(|row| text(row, 2)).collect();
            if unique && !partial && origin != "pk" && columns.iter().all(|column| !column.is_empty()) {
                table.unique.push(columns.clone());
            }
            if origin == "c" {
                indexes.push(IndexInfo {
                    name: self.owned(&name),
                    table: table.name.clone(),
                    columns,
                    unique,
                    condition: None,
                    comparison: collations(rows),
                });
            }
        }
        table.foreign_keys = foreign_keys(&answers.foreign_keys, &self.owner);
        if let Some(sql) = self.sql.as_deref().filter(|_| !view) {
            table.checks = definition::checks(sql);
        }
        table
    }
}

/// Collations of an index, but for the usual one.
fn collations(rows: &[Vec<Value>]) -> Option<String> {
    let others = rows.iter().filter(|row| number(row, 5) == 1 && !text(row, 4).eq_ignore_ascii_case("BINARY"));
    let words: Vec<String> = others.map(|row| format!("{} collates {}", text(row, 2), text(row, 4))).collect();
    (!words.is_empty()).then(|| words.join(", ").to_lowercase())
}

/// Rows about columns of references, put together to references in the order in which they were declared.
fn foreign_keys(rows: &Rows, owner: &str) -> Vec<ForeignKeyInfo> {
    let mut keys: BTreeMap<std::cmp::Reverse<i64>, ForeignKeyInfo> = BTreeMap::new();
    for row in rows {
        let key = keys.entry(std::cmp::Reverse(number(row, 0))).or_default();
        key.table = format!("{owner}{}", text(row, 2));
        key.columns.push(text(row, 3));
        key.references.extend(optional_text(row, 4));
        key.on_delete = text(row, 6);
    }
    keys.into_values().collect()
}

/// A reference that names no columns is one to the primary key.
fn fill_references(tables: &mut [TableInfo]) {
    let keys: HashMap<String, Vec<String>> =
        tables.iter().map(|table| (table.name.to_ascii_lowercase(), table.primary_key.clone())).collect();
    for key in tables.iter_mut().flat_map(|table| &mut table.foreign_keys).filter(|key| key.references.is_empty()) {
        key.references = keys.get(&key.table.to_ascii_lowercase()).cloned().unwrap_or_default();
    }
}

impl Answers {
    /// Answers to [`Objects::ask_columns`] and [`Objects::ask_table`].
    pub(super) fn new(columns: Rows, indexes: Rows, foreign_keys: Rows) -> Self {
        Self { columns, indexes, foreign_keys, indexed: HashMap::new() }
    }

    /// Columns that are worked out, or hidden.
    fn generated<'a>(&'a self, table: &'a str) -> impl Iterator<Item = SchemaDetail> + 'a {
        self.columns.iter().filter(|row| number(row, 6) != 0).map(move |row| SchemaDetail {
            sort: SchemaDetailKind::Generated,
            of: format!("{table}.{}", text(row, 1).to_lowercase()),
            words: if number(row, 6) == 1 { "is hidden" } else { "is generated" }.to_owned(),
        })
    }

    /// Referential actions of a table that do more than refuse.
    fn references<'a>(&'a self, table: &'a str) -> impl Iterator<Item = SchemaDetail> + 'a {
        let mut columns: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for row in &self.foreign_keys {
            columns.entry(number(row, 0)).or_default().push(text(row, 3).to_lowercase());
        }
        let acting = self
            .foreign_keys
            .iter()
            .filter(|row| number(row, 1) == 0 && !matches!(&*text(row, 5), "NO ACTION" | "RESTRICT"));
        acting.map(move |row| {
            let mut columns = columns.get(&number(row, 0)).cloned().unwrap_or_default();
            columns.sort_unstable();
            let words = format!("({}) on update {}", columns.join(", "), text(row, 5).to_lowercase());
            SchemaDetail { sort: SchemaDetailKind::Reference, of: table.to_owned(), words }
        })
    }

    /// The indexes in the order in which they are asked about.
    fn index_names(&self) -> impl Iterator<Item = String> {
        self.indexes.iter().map(|row| text(row, 1))
    }

    /// Takes the answers to [`Objects::ask_indexes`].
    pub(super) fn add_indexes(&mut self, answers: impl Iterator<Item = Rows>) {
        self.indexed = self.index_names().zip(answers).collect();
    }
}

fn text(row: &[Value], at: usize) -> String {
    optional_text(row, at).unwrap_or_default()
}

fn optional_text(row: &[Value], at: usize) -> Option<String> {
    match row.get(at) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn number(row: &[Value], at: usize) -> i64 {
    match row.get(at) {
        Some(Value::Integer(number)) => *number,
        _ => 0,
    }
}
