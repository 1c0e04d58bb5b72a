//! Engines and environments for tests.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use palestra_sql::engine::Engine;
use palestra_sql::engine::postgres::{PostgresEngine, Settings as PostgresSettings};
use palestra_sql::engine::sqlite::{Settings as SqliteSettings, SqliteEngine};
use palestra_sql::template::Suite;

use crate::private;

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

/// `None` where PostgreSQL is not installed.
pub(crate) async fn postgres() -> Option<Postgres> {
    let settings =
        |cluster| PostgresSettings { cluster, node: "suites".to_owned(), warm: 0, sessions_max: 8, templates_max: 24 };
    let (engine, folder) = private::postgres(settings).await?;
    Some(Postgres { engine, _folder: folder })
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
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../environments/sql").join(name);
    let mut all = BTreeMap::new();
    files(&folder, "", &mut all);
    Suite::load(&all).unwrap_or_else(|faults| panic!("{name}: {faults:#?}"))
}

/// Number of tasks that are drawn of each template and split.
pub(crate) fn seeds() -> u64 {
    std::env::var("PALESTRA_SUITE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}
