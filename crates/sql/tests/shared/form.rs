//! The usual form of tests and the thorough one.

use palestra_sql::value::Dialect;

/// True if everything is tried on an engine. The usual form spares PostgreSQL, which takes a hundred times as long to make a database;
/// `PALESTRA_SUITES=all` tries everything on it too.
pub(crate) fn thorough(dialect: Dialect) -> bool {
    dialect == Dialect::Sqlite || everything()
}

/// True if everything is asked for.
pub(crate) fn everything() -> bool {
    std::env::var("PALESTRA_SUITES").is_ok_and(|form| form == "all")
}
