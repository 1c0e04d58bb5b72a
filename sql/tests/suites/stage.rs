//! Engines and environments for tests.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use palestra_sql::engine::postgres::{Cluster, PostgresEngine, Settings as PostgresSettings};
use palestra_sql::engine::sqlite::{Settings as SqliteSettings, SqliteEngine};
use palestra_sql::engine::{Engine, EngineError};
use palestra_sql::template::Suite;

/// An engine on workers of its own.
pub(crate) fn sqlite() -> Arc<dyn Engine> {
    let command = vec![OsString::from(env!("CARGO_BIN_EXE_palestra-sqlite-worker"))];
    Arc::new(SqliteEngine::new(SqliteSettings { workers: 2, ..SqliteSettings::new(command) }))
}

/// An engine on a cluster of its own.
pub(crate) struct Postgres {
    engine: PostgresEngine,
    _folder: tempfile::TempDir,
}

impl Postgres {
    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        Arc::new(self.engine.clone())
    }

    pub(crate) async fn close(self) {
        self.engine.close().await;
    }
}

/// A cluster in a temporary folder; `None` where PostgreSQL is not installed.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
pub(crate) async fn postgres() -> Option<Postgres> {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::Private { folder: folder.path().join("cluster"), binaries: None };
    let settings = PostgresSettings { cluster, node: "suites".to_owned(), warm: 0, sessions_max: 8, templates_max: 24 };
    match PostgresEngine::connect(settings).await {
        Ok(engine) => Some(Postgres { engine, _folder: folder }),
        Err(EngineError::Missing(why)) if why.contains("not installed") => {
            println!("skipped: no PostgreSQL");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn files(folder: &Path, prefix: &str, into: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files(&entry.path(), &format!("{name}/"), into);
        } else {
            into.insert(name, std::fs::read(entry.path()).expect("a file"));
        }
    }
}

/// An environment of ours.
pub(crate) fn suite(name: &str) -> Suite {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../environments/sql").join(name);
    let mut all = BTreeMap::new();
    files(&folder, "", &mut all);
    Suite::load(&all).unwrap_or_else(|faults| panic!("{name}: {faults:#?}"))
}

/// How many tasks are drawn of each template and split.
pub(crate) fn seeds() -> u64 {
    std::env::var("PALESTRA_SUITE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}
