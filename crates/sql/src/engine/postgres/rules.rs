//! Classification of a statement, and the statements that are refused before the server sees them. The rights of the session's role
//! are the wall behind this one.

use super::hardening::why_forbidden;
use crate::engine::Access;
use crate::script::{Sort, Statement, Token};
use crate::value::Dialect;

/// Handling of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// Reads, as far as one can see.
    Read,
    /// Changes rows.
    Write,
    /// Changes the schema.
    Define,
    /// Cannot run in a transaction.
    Outside,
    /// Changes a setting; `name` in lower case.
    Set { name: String, local: bool },
    /// Changes when constraints are checked.
    Constraints,
    /// Begins, ends or divides a transaction.
    Transaction(Verb),
}

impl Act {
    /// True if values are read in such a statement.
    pub(super) const fn has_dates(&self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Define)
    }
}

/// Effect of a statement on transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verb {
    Begin { start: bool, modes: Modes },
    Modes(Modes),
    Commit { chain: bool },
    Rollback { chain: bool },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
}

/// Requested modes of a transaction. The level of isolation makes no difference where nobody else is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Modes {
    pub(super) read_only: Option<bool>,
}

/// Statements of [`Access::Write`] that change rows.
const WRITES: [&str; 5] = ["INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE"];

/// Statements of [`Access::Write`] that define what is temporary. On anything else the role has no such right.
const TEMPORARY: [&str; 9] = [
    "CREATE TABLE",
    "CREATE INDEX",
    "CREATE VIEW",
    "CREATE SEQUENCE",
    "DROP TABLE",
    "DROP INDEX",
    "DROP VIEW",
    "ALTER TABLE",
    "ANALYZE",
];

/// Statements of [`Access::Define`].
const DEFINES: [&str; 26] = [
    "CREATE MATERIALIZED VIEW",
    "CREATE TYPE",
    "CREATE DOMAIN",
    "CREATE TRIGGER",
    "CREATE STATISTICS",
    "CREATE SCHEMA",
    "DROP SEQUENCE",
    "DROP MATERIALIZED VIEW",
    "DROP TYPE",
    "DROP DOMAIN",
    "DROP TRIGGER",
    "DROP STATISTICS",
    "DROP SCHEMA",
    "DROP FUNCTION",
    "ALTER INDEX",
    "ALTER VIEW",
    "ALTER MATERIALIZED VIEW",
    "ALTER SEQUENCE",
    "ALTER TYPE",
    "ALTER DOMAIN",
    "ALTER SCHEMA",
    "ALTER TRIGGER",
    "ALTER STATISTICS",
    "REFRESH",
    "COMMENT",
    "REINDEX",
];

/// Settings that change how values are read and written, and nothing else.
const SETTINGS: [&str; 5] = ["search_path", "timezone", "datestyle", "intervalstyle", "extra_float_digits"];

/// Classifies a statement.
///
/// # Errors
/// Why it is refused, in words.
pub(super) fn judge(statement: &Statement<'_>, access: Access) -> Result<Act, String> {
    let name = statement.name(Dialect::Postgres);
    if let Some((function, why)) = forbidden(statement) {
        return Err(format!("{function}() cannot be used here: {why}"));
    }
    let refused = || Err(format!("{} cannot be used here", if name.is_empty() { "this statement" } else { &name }));
    let words: Vec<String> = statement.words().collect();
    let has = |word: &str| words.iter().any(|found| found == word);
    if has("TABLESAMPLE") && !has("REPEATABLE") {
        return Err("TABLESAMPLE gives other rows every time: add REPEATABLE (seed)".to_owned());
    }
    let changes = match access {
        Access::Read => WRITES.contains(&&*name) || TEMPORARY.contains(&&*name) || DEFINES.contains(&&*name),
        Access::Write => DEFINES.contains(&&*name),
        Access::Define => false,
    };
    if changes || access == Access::Read && is_transaction(&name) {
        let may = if access == Access::Read { "read" } else { "read and change rows" };
        return Err(format!("{name} cannot be used here: this database can only be used to {may}"));
    }
    match &*name {
        "SELECT" | "VALUES" | "TABLE" if access > Access::Read => Ok(query(statement)),
        "SELECT" | "VALUES" | "TABLE" | "SHOW" => Ok(Act::Read),
        "EXPLAIN" => explain(statement, access),
        "VACUUM" if access == Access::Define => Ok(Act::Outside),
        "CREATE INDEX" | "DROP INDEX" | "REINDEX" if has("CONCURRENTLY") => Ok(Act::Outside),
        "CREATE TABLE" if has("COMMIT") && !has("PRESERVE") => {
            Err("ON COMMIT DROP and DELETE ROWS cannot be used here: drop the table instead".to_owned())
        }
        name if WRITES.contains(&name) => Ok(Act::Write),
        name if TEMPORARY.contains(&name) || DEFINES.contains(&name) => Ok(Act::Define),
        "SET" | "SET LOCAL" | "SET SESSION" | "RESET" => setting(statement),
        "SET CONSTRAINTS" => Ok(Act::Constraints),
        name if is_transaction(name) => {
            transaction(statement, name).map_or_else(refused, |verb| Ok(Act::Transaction(verb)))
        }
        _ => refused(),
    }
}

/// A query may do more than read. A transaction that may only read does not stop all of it: what is temporary is written all the same.
fn query(statement: &Statement<'_>) -> Act {
    let words: Vec<String> = statement.words().collect();
    let before = |at: usize| at.checked_sub(1).map_or("", |at| &*words[at]);
    let makes = |at: usize| words[at] == "INTO" && !matches!(before(at), "INSERT" | "MERGE");
    if (0..words.len()).any(makes) {
        return Act::Define;
    }
    let mut calls = statement.tokens.windows(2).filter(|pair| pair[1].text(statement.text) == "(");
    let draws = |name: String| matches!(&*name, "nextval" | "setval");
    let draws = calls.any(|pair| pair[0].name(statement.text).is_some_and(draws));
    if draws || words.iter().any(|word| WRITES.contains(&&**word)) { Act::Write } else { Act::Read }
}

fn is_transaction(name: &str) -> bool {
    matches!(
        name,
        "BEGIN"
            | "START TRANSACTION"
            | "SET TRANSACTION"
            | "COMMIT"
            | "END"
            | "ROLLBACK"
            | "ABORT"
            | "SAVEPOINT"
            | "RELEASE"
    )
}

/// The first function that may not be called, and why. Names in Unicode escapes are refused, since they could be anything.
fn forbidden(statement: &Statement<'_>) -> Option<(String, &'static str)> {
    let sql = statement.text;
    let tokens = &statement.tokens;
    if let Some(token) = tokens.iter().find(|token| token.sort == Sort::Name && !token.text(sql).starts_with('"')) {
        return Some((token.text(sql).to_owned(), "a name in Unicode escapes could be any"));
    }
    let calls = tokens.windows(2).filter(|pair| pair[1].text(sql) == "(");
    calls.filter_map(|pair| pair[0].name(sql)).find_map(|name| why_forbidden(&name).map(|why| (name, why)))
}

/// EXPLAIN runs nothing unless it is told to.
fn explain(statement: &Statement<'_>, access: Access) -> Result<Act, String> {
    let sql = statement.text;
    let mut rest = &statement.tokens[1..];
    let mut options = Vec::new();
    if rest.first().is_some_and(|token| token.text(sql) == "(") {
        let end = rest.iter().position(|token| token.text(sql) == ")").map_or(rest.len(), |at| at + 1);
        options.extend(rest[..end].iter().filter_map(|token| token.word(sql)));
        rest = &rest[end..];
    }
    let is_option = |token: &&Token| matches!(token.word(sql).as_deref(), Some("ANALYZE" | "ANALYSE" | "VERBOSE"));
    let leading = rest.iter().take_while(is_option).count();
    options.extend(rest[..leading].iter().filter_map(|token| token.word(sql)));
    if options.iter().any(|word| word.starts_with("ANALY")) {
        return Err(
            "EXPLAIN ANALYZE cannot be used here: its times differ from run to run. EXPLAIN shows the plan".to_owned()
        );
    }
    let inner = Statement { tokens: rest[leading..].to_vec(), ..statement.clone() };
    let name = inner.name(Dialect::Postgres);
    let known = matches!(&*name, "SELECT" | "VALUES" | "TABLE") || access > Access::Read && WRITES.contains(&&*name);
    if known { Ok(Act::Read) } else { Err(format!("EXPLAIN {name} cannot be used here")) }
}

fn setting(statement: &Statement<'_>) -> Result<Act, String> {
    let words: Vec<Option<String>> = statement.tokens.iter().map(|token| token.name(statement.text)).collect();
    let word = |index: usize| words.get(index).and_then(|word| word.as_deref()).unwrap_or_default();
    let scoped = matches!(word(1), "local" | "session");
    let first = 1 + usize::from(scoped);
    let name = if word(first) == "time" && word(first + 1) == "zone" { "timezone" } else { word(first) };
    // A name with a dot is a setting of an extension, and one of ours holds the virtual now.
    let dotted = statement.tokens.get(first + 1).is_some_and(|token| token.text(statement.text) == ".");
    if !SETTINGS.contains(&name) || dotted {
        return Err(format!("the setting {name:?} cannot be changed here; these can: {}", SETTINGS.join(", ")));
    }
    Ok(Act::Set { name: name.to_owned(), local: word(1) == "local" })
}

fn transaction(statement: &Statement<'_>, name: &str) -> Option<Verb> {
    let sql = statement.text;
    let words: Vec<String> = statement.words().collect();
    let position = |wanted: &str| words.iter().position(|word| word == wanted);
    let follows = |first: &str, second: &str| {
        position(first).is_some_and(|at| words.get(at + 1).is_some_and(|word| word == second))
    };
    let modes = || Modes {
        read_only: if follows("READ", "ONLY") { Some(true) } else { follows("READ", "WRITE").then_some(false) },
    };
    let chain = follows("AND", "CHAIN");
    let last = || statement.tokens.last().and_then(|token| token.name(sql));
    Some(match name {
        "BEGIN" => Verb::Begin { start: false, modes: modes() },
        "START TRANSACTION" => Verb::Begin { start: true, modes: modes() },
        "SET TRANSACTION" => Verb::Modes(modes()),
        "ROLLBACK" if position("TO").is_some() => Verb::RollbackTo(last()?),
        "COMMIT" | "END" if position("PREPARED").is_none() => Verb::Commit { chain },
        "ROLLBACK" | "ABORT" if position("PREPARED").is_none() => Verb::Rollback { chain },
        "SAVEPOINT" => Verb::Savepoint(last()?),
        "RELEASE" => Verb::Release(last()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::split;

    fn of(sql: &str, access: Access) -> Result<Act, String> {
        judge(&split(sql, Dialect::Postgres)[0], access)
    }

    #[test]
    fn statements_are_allowed_by_access() {
        let cases = [
            ("select 1", Access::Read),
            ("with a as (select 1) select * from a", Access::Read),
            ("explain (costs off) select 1", Access::Read),
            ("show timezone", Access::Read),
            ("set time zone 'UTC'", Access::Read),
            ("insert into a values (1)", Access::Write),
            ("explain insert into a values (1)", Access::Write),
            ("begin", Access::Write),
            ("create temp table t (a int)", Access::Write),
            ("create type t as enum ('a')", Access::Define),
            ("vacuum", Access::Define),
        ];
        let all = [Access::Read, Access::Write, Access::Define];
        for (sql, least) in cases {
            for access in all {
                assert_eq!(of(sql, access).is_ok(), access >= least, "{sql} with {access:?}");
            }
        }
    }

    #[test]
    fn statements_beyond_the_database_are_refused_to_everybody() {
        let refused = [
            "copy a to program 'id'",
            "do $$ begin end $$",
            "create function f() returns int as 'x' language c",
            "create extension dblink",
            "set role postgres",
            "set session authorization x",
            "set statement_timeout = 0",
            "reset all",
            "set palestra.now = '1'",
            "alter system set x = 1",
            "alter role a superuser",
            "grant a to b",
            "listen a",
            "notify a",
            "lock table a",
            "prepare p as select 1",
            "execute p",
            "call p()",
            "prepare transaction 'x'",
            "commit prepared 'x'",
            "select pg_sleep(1)",
            "select \"pg_sleep\"(1)",
            "select pg_catalog.lo_import('x')",
            "select U&\"pg\\005fsleep\"(1)",
            "explain analyze select 1",
            "explain (analyze) select 1",
            "explain (verbose, analyze true) select 1",
            "discard all",
            "load 'x'",
            "checkpoint",
            "declare c cursor for select 1",
            "set local work_mem = '1GB'",
            "set enable_seqscan = off",
            "create rule r as on insert to a do nothing",
            "drop database a",
            "create database a",
            "security label on table a is 'b'",
            "select * from a tablesample system (1)",
            "'nonsense'",
        ];
        for sql in refused {
            assert!(of(sql, Access::Define).is_err(), "{sql}");
        }
    }

    #[test]
    fn queries_that_write_do_not_read() {
        let cases = [
            ("select 'insert' as a, (select 1)", Act::Read),
            ("with a as (insert into b values (1) returning c) select * from a", Act::Write),
            ("select pg_catalog.nextval('a')", Act::Write),
            ("values (setval('a', 1))", Act::Write),
            ("select * into temp a from b", Act::Define),
        ];
        for (sql, act) in cases {
            assert_eq!(of(sql, Access::Write), Ok(act), "{sql}");
            assert_eq!(of(sql, Access::Read), Ok(Act::Read), "{sql}");
        }
    }

    #[test]
    fn transactions_are_understood() {
        let modes = Modes { read_only: Some(true) };
        let cases = [
            ("start transaction isolation level serializable, read only", Verb::Begin { start: true, modes }),
            ("end work and chain", Verb::Commit { chain: true }),
            ("abort and no chain", Verb::Rollback { chain: false }),
            ("rollback work to savepoint \"A b\"", Verb::RollbackTo("A b".to_owned())),
            ("release Abc", Verb::Release("abc".to_owned())),
        ];
        for (sql, verb) in cases {
            assert_eq!(of(sql, Access::Write), Ok(Act::Transaction(verb)), "{sql}");
        }
    }
}
