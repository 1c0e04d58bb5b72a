//! Databases that questions are asked of: our own library, and those of Spider where the data is present.

use std::collections::BTreeMap;
use std::path::Path;

use palestra_sql::dataset::{Column, Dataset, ForeignKey, Sort, Table};
use palestra_sql::value::Value;
use rusqlite::Connection;

/// A database and the reference queries that are asked of it, each once.
pub(crate) struct Database {
    pub(crate) name: String,
    pub(crate) dataset: Dataset,
    pub(crate) references: Vec<String>,
}

/// Our own, and of Spider all with `PALESTRA_SPIDER=all`, else a few small ones; a line says so where that data is absent.
pub(crate) fn databases() -> Vec<Database> {
    let mut databases = vec![library()];
    if let Some(root) = palestra_test_support::data("spider") {
        let wanted = std::env::var("PALESTRA_SPIDER")
            .unwrap_or_else(|_| "concert_singer,pets_1,employee_hire_evaluation".into());
        databases.extend(folder(&root, |name| wanted == "all" || wanted.split(',').any(|other| other == name)));
    }
    databases
}

/// The library and its questions.
pub(crate) fn library() -> Database {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/own"));
    folder(root, |_| true).pop().expect("the library")
}

/// The wanted databases of a folder of questions and scripts.
fn folder(root: &Path, wanted: impl Fn(&str) -> bool) -> Vec<Database> {
    let text = std::fs::read_to_string(root.join("questions.json")).expect("questions");
    let questions: Vec<serde_json::Value> = serde_json::from_str(&text).expect("questions");
    let mut by_database: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for question in &questions {
        let name = question["db"].as_str().expect("a database").to_string();
        let sql = question["gold"].as_str().expect("a query").trim().trim_end_matches(';').trim().to_string();
        let references = by_database.entry(name).or_default();
        if !references.contains(&sql) {
            references.push(sql);
        }
    }
    let chosen = by_database.into_iter().filter(|(name, _)| wanted(name));
    let made = chosen.map(|(name, references)| {
        let script = std::fs::read_to_string(root.join("sqlite").join(format!("{name}.sql"))).expect("a script");
        Database { dataset: read(&script), name, references }
    });
    made.collect()
}

/// The database that a script of SQLite makes.
fn read(script: &str) -> Dataset {
    let connection = Connection::open_in_memory().expect("a database in memory");
    connection
        .execute_batch(&format!("PRAGMA foreign_keys = OFF; BEGIN; {script}; COMMIT"))
        .expect("a script that runs");
    let ask = |sql: &str| -> Vec<Vec<Value>> {
        let mut statement = connection.prepare(sql).expect("a query");
        let width = statement.column_count();
        let rows = statement.query_map([], |row| {
            (0..width).map(|place| row.get::<_, rusqlite::types::Value>(place)).collect::<Result<Vec<_>, _>>()
        });
        rows.expect("rows").map(|row| row.expect("a row").into_iter().map(plain).collect()).collect()
    };
    let names = ask("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    let mut tables: Vec<Table> = names
        .iter()
        .map(|row| {
            let name = text(&row[0]);
            let mut primary_key: Vec<(i64, String)> = Vec::new();
            let columns = ask(&format!("PRAGMA table_info(\"{name}\")"))
                .iter()
                .map(|row| {
                    if let Value::Integer(place @ 1..) = row[5] {
                        primary_key.push((place, text(&row[1])));
                    }
                    let declared = text(&row[2]);
                    Column {
                        name: text(&row[1]),
                        sort: sort(&declared),
                        not_null: row[3] == Value::Integer(1),
                        declared: Some(declared),
                        ..Column::default()
                    }
                })
                .collect();
            primary_key.sort();
            let foreign_keys = ask(&format!("PRAGMA foreign_key_list(\"{name}\")"))
                .iter()
                .map(|row| ForeignKey {
                    columns: vec![text(&row[3])],
                    table: text(&row[2]),
                    references: vec![text(&row[4])],
                    unenforced: true,
                    ..ForeignKey::default()
                })
                .collect();
            let rows = ask(&format!("SELECT * FROM \"{name}\""));
            Table {
                name,
                columns,
                primary_key: primary_key.into_iter().map(|(_, name)| name).collect(),
                foreign_keys,
                rows,
                ..Table::default()
            }
        })
        .collect();
    let whole = Dataset { tables: tables.clone(), ..Dataset::default() };
    for table in &mut tables {
        let rows = std::mem::take(&mut table.rows);
        for key in &mut table.foreign_keys {
            key.unenforced = !holds(&whole, &table.columns, &rows, key);
        }
        table.rows = rows;
    }
    Dataset { tables, ..Dataset::default() }
}

/// True if a reference holds and refers to a key.
fn holds(whole: &Dataset, columns: &[Column], rows: &[Vec<Value>], key: &ForeignKey) -> bool {
    let Some(parent) = whole.tables.iter().find(|table| table.name.eq_ignore_ascii_case(&key.table)) else {
        return false;
    };
    let place =
        |columns: &[Column], name: &str| columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
    let (Some(here), Some(there)) = (place(columns, &key.columns[0]), place(&parent.columns, &key.references[0]))
    else {
        return false;
    };
    let is_key = parent.primary_key.len() == 1 && parent.primary_key[0].eq_ignore_ascii_case(&key.references[0]);
    is_key
        && rows.iter().all(|row| row[here] == Value::Null || parent.rows.iter().any(|other| other[there] == row[here]))
}

fn sort(declared: &str) -> Sort {
    let declared = declared.to_lowercase();
    match declared.as_str() {
        "date" => Sort::Date,
        "datetime" | "timestamp" => Sort::Timestamp,
        other if other.contains("int") || other == "bool" => Sort::Integer,
        other if other.contains("real") || other.contains("float") || other.contains("double") => Sort::Real,
        other if other.contains("decimal") || other.contains("numeric") => Sort::Decimal,
        _ => Sort::Text,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    }
}

fn plain(value: rusqlite::types::Value) -> Value {
    match value {
        rusqlite::types::Value::Null => Value::Null,
        rusqlite::types::Value::Integer(number) => Value::Integer(number),
        rusqlite::types::Value::Real(number) => Value::Real(number),
        rusqlite::types::Value::Text(text) => Value::Text(text),
        rusqlite::types::Value::Blob(bytes) => Value::Blob(bytes),
    }
}
