//! The data as an archive holds it, and the engines.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use palestra_sql::engine::Engine;
use palestra_sql::engine::postgres::{self, PostgresEngine};
use palestra_sql::engine::sqlite::{Settings, SqliteEngine};
use palestra_sql::import::Engines;

use crate::private;

/// The databases of the short form.
const SHORT: [&str; 2] = ["concert_singer", "tvshow"];

/// True if all questions are asked.
pub(crate) fn long() -> bool {
    std::env::var("PALESTRA_SPIDER").is_ok_and(|form| form == "all")
}

/// Questions of our own.
pub(crate) const OWN_QUESTIONS: usize = 36;

/// Files by path: a database of our own and, but for a line that says so where the data is absent, those of Spider.
pub(crate) fn folder() -> BTreeMap<String, Vec<u8>> {
    let mut questions = Vec::new();
    let mut files = BTreeMap::new();
    take(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/own")), |_| true, &mut questions, &mut files);
    assert_eq!(questions.len(), OWN_QUESTIONS);
    if let Some(root) = palestra_test_support::data("spider") {
        take(&root, |name| long() || SHORT.contains(&name), &mut questions, &mut files);
    }
    files.insert("questions.json".to_owned(), serde_json::to_vec(&questions).expect("JSON"));
    files
}

/// Adds the chosen databases of a folder, and their questions.
fn take(
    root: &Path,
    chosen: impl Fn(&str) -> bool,
    questions: &mut Vec<serde_json::Value>,
    files: &mut BTreeMap<String, Vec<u8>>,
) {
    let text = std::fs::read(root.join("questions.json")).expect("questions");
    let found: Vec<serde_json::Value> = serde_json::from_slice(&text).expect("questions");
    questions.extend(found.into_iter().filter(|question| chosen(question["db"].as_str().expect("a name"))));
    for entry in std::fs::read_dir(root.join("sqlite")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if chosen(path.file_stem().and_then(|stem| stem.to_str()).expect("a name")) {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            files.insert(format!("sqlite/{name}"), std::fs::read(&path).expect("a script"));
        }
    }
}

/// Both engines, PostgreSQL's in a cluster that ends with this.
pub(crate) struct TestEngines {
    pub(crate) engines: Engines,
    postgres: Option<PostgresEngine>,
    _folder: Option<tempfile::TempDir>,
}

impl TestEngines {
    /// Without PostgreSQL where it is not installed.
    pub(crate) async fn new() -> Self {
        let command = vec![env!("CARGO_BIN_EXE_palestra-sqlite-worker").into()];
        let sqlite: Arc<dyn Engine> = Arc::new(SqliteEngine::new(Settings::new(command)));
        let settings = |cluster| postgres::Settings {
            cluster,
            node: "spider".to_owned(),
            warm: 1,
            sessions_max: 32,
            templates_max: 16,
        };
        let (postgres, folder) = private::postgres(settings).await.unzip();
        let engine = postgres.clone().map(|engine| Arc::new(engine) as Arc<dyn Engine>);
        Self { engines: Engines { sqlite, postgres: engine }, postgres, _folder: folder }
    }

    pub(crate) async fn close(self) {
        if let Some(postgres) = self.postgres {
            postgres.close().await;
        }
    }
}
