//! A differential test: the same changes, drawn when it is judged, on what the acting side left and on what the reference leaves. Both
//! have to take or refuse each alike, and to show the same afterwards.
//!
//! Only what the acting side may write in words of its own is tried: tables whose rules are not the reference's to the letter, and
//! views. Values come from the data, from what both sides' definitions write out, with their neighbours, from a list of far and odd ones, and from chance, which no
//! statement of the session can foresee; so does the moment of each change. A number that a definition works out (`1000 + 7`) is met by chance alone.

mod draw;
mod growth;
mod literals;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::closed::Differences;
use super::context::{Author, CheckFailure, TaskDatabases};
use super::state::{place, select};
use crate::engine::{SqlError, StatementResult, TableInfo};
use crate::script::{lex, quoted};
use crate::value::{Dialect, Value};
use crate::world::Draw;

use draw::Shape;
use literals::{LITERALS_MAX, literals};

/// Changes that are drawn for a table whose rules are tried, beside those that follow from what its rules write out.
const CHANGES_OF_RULES: usize = 48;
/// Changes that are drawn for each table on which views hang.
const CHANGES_OF_VIEWS: usize = 24;

/// Changes that are tried: whoever writes out more values than that is not judged by some of them.
const CHANGES_MAX: usize = 10_000;

/// Changes take place at any moment of these years: 1950 to 2150.
const MOMENTS_MS: (i64, i64) = (-631_152_000_000, 5_680_281_600_000);

/// Functions that SQLite itself takes for ones that give something else every time.
const UNSTEADY_OF_SQLITE: &str =
    "SELECT name FROM pragma_function_list WHERE type = 's' AND name IN ($) GROUP BY name HAVING max(flags & 2048) = 0";
/// Functions of PostgreSQL that are immutable in no form, but for those that depend on the form of values or on the time alone.
const UNSTEADY_OF_POSTGRES: &str = "SELECT proname::text FROM pg_catalog.pg_proc WHERE prokind = 'f' AND proname IN ($) \
     AND proname NOT IN ('now', 'concat', 'concat_ws', 'format', 'to_char', 'to_date', 'to_timestamp', 'to_json', 'to_jsonb', \
     'row_to_json', 'array_to_string', 'age', 'make_timestamptz', 'quote_literal', 'quote_nullable') \
     GROUP BY proname HAVING bool_and(provolatile <> 'i')";
/// Names of PostgreSQL's own beside those that begin with `pg_`: schemas, columns of every table, and what depends on the zone.
const OF_SYSTEM: [&str; 8] = ["information_schema", "xmin", "xmax", "cmin", "cmax", "ctid", "tableoid", "timezone"];
/// Spellings of PostgreSQL for types and expressions that depend on the time zone.
const ZONED: [&str; 2] = ["with time zone", "at time zone"];
/// Words of PostgreSQL that stand for functions, written without parentheses.
const WHO_ASKS: [&str; 6] =
    ["current_user", "session_user", "current_role", "current_catalog", "current_schema", "user"];

/// One change, and what is read after it.
struct Change {
    sql: String,
    relation: String,
    columns: Vec<String>,
}

/// Tries changes. How many there were and how many both took is the evidence, with the seed of the chance.
pub(super) async fn check(
    databases: &mut TaskDatabases<'_>,
    gold: &str,
    differences: &Differences<'_>,
    rows: &BTreeMap<String, StatementResult>,
) -> Result<Result<Json, Json>, CheckFailure> {
    if let Some(why) = depends_on_more(databases, differences).await? {
        return Ok(Err(why));
    }
    if let Some(why) = too_much(differences) {
        return Ok(Err(why));
    }
    let seed: u64 = rand::random();
    let mut draw = Draw::of(&["differential", &seed.to_string()]);
    let changes = changes(differences, rows, &mut draw);
    if changes.len() > CHANGES_MAX {
        let why = format!(
            "{} changes follow from the values that are written out, and at most {CHANGES_MAX} are tried",
            changes.len()
        );
        return Ok(Err(json!({"why": why, "seed": seed})));
    }
    let mut taken = 0_usize;
    for change in &changes {
        let query = select(&change.relation, &change.columns, differences.dialect);
        let now_ms = draw.between(MOMENTS_MS.0, MOMENTS_MS.1);
        let expected = databases.reference(gold).await?.read_at(now_ms, &change.sql, &query, Author::Task).await?;
        if unfinished(&expected) {
            continue;
        }
        let found = databases.left().await?.read_at(now_ms, &change.sql, &query, Author::Acting).await?;
        let why = match (expected, found) {
            (Ok(expected), Ok(found)) => {
                taken += 1;
                differences.of_rows(&change.relation, &expected, &found)
            }
            (Ok(_), Err(error)) => Some(format!("it is refused: {}", error.message)),
            (Err(error), Ok(_)) => Some(format!("it is taken, and should not be: {}", error.message)),
            (Err(_), Err(_)) => None,
        };
        if let Some(why) = why {
            let sql: String = change.sql.chars().take(2_000).collect();
            return Ok(Err(
                json!({"change": sql, "now_ms": now_ms, "shows": change.relation, "why": why, "seed": seed}),
            ));
        }
    }
    Ok(Ok(json!({"tried": changes.len(), "taken": taken, "seed": seed})))
}

/// Definitions that write out more values than are tried: one of them could be the one that matters.
fn too_much(differences: &Differences<'_>) -> Option<Json> {
    let tables = differences.other_tables().into_iter().chain(differences.other_views());
    let counts = tables.map(|table| (table, literals(&differences.words_of(&table.name), differences.dialect).len()));
    let (table, count) = counts.into_iter().find(|(_, count)| *count > LITERALS_MAX)?;
    let why = format!("its definition writes out {count} values, and at most {LITERALS_MAX} can be tried");
    Some(json!({"shows": table.name, "why": why}))
}

/// A view or a check that depends on more than rows: on chance, on settings, on who asks. The engine tells which functions do; the time is
/// drawn. Checks of SQLite take none; PostgreSQL tells by refusing an index of one, which must never change.
async fn depends_on_more(
    databases: &mut TaskDatabases<'_>,
    differences: &Differences<'_>,
) -> Result<Option<Json>, CheckFailure> {
    let dialect = differences.dialect;
    for view in differences.other_views() {
        let Some(sql) = differences.left_sql(&view.name) else { continue };
        let asked_for = differences.reference_sql(&view.name).unwrap_or_default();
        if let Some(name) = elsewhere(sql, asked_for, dialect).or(unsteady(databases, sql, dialect).await?) {
            let why = format!("{name} hangs on more than rows");
            return Ok(Some(json!({"view": sql, "shows": view.name, "why": why})));
        }
    }
    if dialect == Dialect::Sqlite {
        return Ok(None);
    }
    for table in differences.other_tables() {
        let (schema, name) = place(&table.name, differences.dialect);
        for check in differences.other_checks(&table.name) {
            let index = format!("CREATE INDEX ON {}.{} (({check}))", quoted(schema), quoted(name));
            if let Err(error) = databases.left().await?.read(&index, Author::Acting).await? {
                return Ok(Some(json!({"check": check, "shows": table.name, "why": error.message})));
            }
        }
    }
    Ok(None)
}

/// Name in a view that is no table of the task: the catalog, versions of rows, or a time with a zone, which the reference does not name.
fn elsewhere(sql: &str, reference: &str, dialect: Dialect) -> Option<String> {
    let known = names(reference, dialect);
    let of_system = |name: &str| match dialect {
        Dialect::Sqlite => name.starts_with("sqlite_") || name.starts_with("pragma_"),
        Dialect::Postgres => name.starts_with("pg_") || OF_SYSTEM.contains(&name),
    };
    let words =
        |sql: &str| lex(sql, dialect).iter().map(|token| token.text(sql).to_lowercase()).collect::<Vec<_>>().join(" ");
    let (own, wanted) = (words(sql), words(reference));
    let zoned =
        ZONED.into_iter().find(|zoned| dialect == Dialect::Postgres && own.contains(zoned) && !wanted.contains(zoned));
    let found = names(sql, dialect).into_iter().find(|name| of_system(name) && !known.contains(name));
    found.or_else(|| zoned.map(str::to_owned))
}

/// The first function or word in the text of a view that gives something else every time, or to everybody.
async fn unsteady(
    databases: &mut TaskDatabases<'_>,
    sql: &str,
    dialect: Dialect,
) -> Result<Option<String>, CheckFailure> {
    let tokens = lex(sql, dialect);
    let calls = tokens.windows(2).filter(|pair| pair[1].text(sql) == "(");
    let called: BTreeSet<String> = calls.map(|pair| pair[0].unquoted(sql).to_lowercase()).collect();
    let listed: Vec<String> = called.iter().map(|name| format!("'{}'", name.replace('\'', "''"))).collect();
    let functions = match dialect {
        Dialect::Sqlite => UNSTEADY_OF_SQLITE,
        Dialect::Postgres => UNSTEADY_OF_POSTGRES,
    };
    let query = functions.replace('$', &listed.join(", "));
    let words = tokens.iter().map(|token| token.text(sql).to_lowercase());
    let mut words = words.filter(|word| dialect == Dialect::Postgres && WHO_ASKS.contains(&word.as_str()));
    if listed.is_empty() {
        return Ok(words.next());
    }
    let found = databases.reference("").await?.asked(&query, "the list of functions").await?;
    let name = found
        .rows
        .into_iter()
        .flatten()
        .find_map(|value| if let Value::Text(name) = value { Some(name) } else { None });
    Ok(name.or_else(|| words.next()))
}

/// True if a limit ended what the reference shows, or its column has no room for a number where another whole one may: it tells nothing.
fn unfinished(expected: &Result<StatementResult, SqlError>) -> bool {
    match expected {
        Ok(result) => result.truncated,
        Err(error) => error.cut.is_some() || error.code == "22003",
    }
}

fn changes(differences: &Differences<'_>, rows: &BTreeMap<String, StatementResult>, draw: &mut Draw) -> Vec<Change> {
    let mut all = Vec::new();
    let dialect = differences.dialect;
    for table in differences.other_tables() {
        let words = differences.words_of(&table.name);
        let Some(rows) = rows.get(&table.name) else { continue };
        let shape = Shape::new(table, rows, &words, differences.free, dialect);
        let literals = literals(&words, dialect);
        let mut drawn = shape.systematic(&literals, false, draw);
        drawn.extend((0..CHANGES_OF_RULES).map(|_| shape.any(&literals, draw)));
        let columns = shape.columns();
        let change = |sql| Change { sql, relation: table.name.clone(), columns: columns.clone() };
        all.extend(drawn.into_iter().flatten().map(change));
    }
    let views = differences.other_views();
    let words: Vec<String> = views.iter().flat_map(|view| differences.words_of(&view.name)).collect();
    let mut literals = literals(&words, dialect);
    literals.extend(literals::lengths(&literals));
    let shape = |table| Some(Shape::new(table, rows.get(&table.name)?, &words, differences.free, dialect));
    let bases = bases(differences, words.clone());
    let shapes: Vec<Shape<'_>> = bases.iter().copied().filter_map(shape).collect();
    let mut drawn: Vec<String> = Vec::new();
    for shape in &shapes {
        drawn.extend(shape.systematic(&literals, true, draw).into_iter().flatten());
        drawn.extend((0..CHANGES_OF_VIEWS).filter_map(|_| shape.any(&literals, draw)));
    }
    let grown: Vec<Shape<'_>> = with_parents(differences, bases, &words).into_iter().filter_map(shape).collect();
    drawn.extend(growth::of(&grown, &literals, draw));
    for view in views {
        let columns: Vec<String> = view.columns.iter().map(|column| column.name.clone()).collect();
        let change = |sql: &String| Change { sql: sql.clone(), relation: view.name.clone(), columns: columns.clone() };
        all.extend(drawn.iter().map(change));
    }
    all
}

/// Tables that definitions of views name, or views that they name.
fn bases<'a>(differences: &Differences<'a>, mut words: Vec<String>) -> Vec<&'a TableInfo> {
    let mut found = BTreeSet::new();
    while let Some(text) = words.pop() {
        let names = names(&text, differences.dialect);
        for table in &differences.after.schema.tables {
            let name = table.name.rsplit('.').next().unwrap_or_default().to_lowercase();
            if names.contains(&name) && found.insert(table.name.as_str()) && table.view {
                words.extend(differences.words_of(&table.name));
            }
        }
    }
    let tables = differences.after.schema.tables.iter();
    tables.filter(|table| !table.view && found.contains(table.name.as_str())).collect()
}

/// With tables whose keys are in keys of these, or in columns that views name: without them, no row could have a new one.
fn with_parents<'a>(
    differences: &Differences<'a>,
    mut tables: Vec<&'a TableInfo>,
    words: &[String],
) -> Vec<&'a TableInfo> {
    let named: BTreeSet<String> = words.iter().flat_map(|text| names(text, differences.dialect)).collect();
    let mut at = 0;
    while let Some(table) = tables.get(at).copied() {
        at += 1;
        for key in &table.foreign_keys {
            let moves = |column: &String| table.primary_key.contains(column) || named.contains(&column.to_lowercase());
            let parent = differences.after.schema.tables.iter().find(|other| other.name == key.table);
            let parent = parent.filter(|parent| {
                key.columns.iter().any(moves) && !tables.iter().any(|known| known.name == parent.name)
            });
            tables.extend(parent);
        }
    }
    tables
}

/// Names and keywords of a text.
fn names(text: &str, dialect: Dialect) -> BTreeSet<String> {
    lex(text, dialect).iter().map(|token| token.unquoted(text).to_lowercase()).collect()
}
