//! SQLite on its workers.

use std::ffi::OsString;
use std::sync::Arc;

use palestra_sql::engine::Engine;
use palestra_sql::engine::sqlite::{Settings, SqliteEngine};

use crate::suite::conformance;

/// Workers of the program that this package builds.
pub(crate) fn settings() -> Settings {
    Settings { workers: 2, ..Settings::new(vec![OsString::from(env!("CARGO_BIN_EXE_palestra-sqlite-worker"))]) }
}

pub(crate) async fn make() -> Option<Arc<dyn Engine>> {
    Some(Arc::new(SqliteEngine::new(settings())))
}

conformance!(crate::sqlite::make);
