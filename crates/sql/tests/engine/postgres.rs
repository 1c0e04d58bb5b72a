//! PostgreSQL on a cluster of its own, which ends with the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use palestra_sql::engine::postgres::{Cluster, PostgresEngine, Settings};
use palestra_sql::engine::{Engine, EngineError};

use crate::suite::conformance;

static NUMBER: AtomicU32 = AtomicU32::new(0);

pub(crate) async fn make() -> Option<Arc<dyn Engine>> {
    let name = format!("palestra-engine-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let cluster = Cluster::Private { folder: std::env::temp_dir().join(name), binaries: None };
    let settings = Settings { cluster, node: "suite".to_owned(), warm: 1, sessions_max: 50, templates_max: 4 };
    match PostgresEngine::connect(settings).await {
        Ok(engine) => Some(Arc::new(engine)),
        Err(EngineError::Missing(words)) if words.contains("not installed") => {
            palestra_test_support::not_tried("PostgreSQL");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

conformance!(crate::postgres::make);
