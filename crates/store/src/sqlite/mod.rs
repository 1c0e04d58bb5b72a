//! SQLite, the embedded engine: one connection writes, a few others read concurrently (write-ahead log).

mod writer;

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, Sqlite};

use self::writer::Writer;
use super::cell::Cell;
use super::engine::{Engine, EngineTransaction, Reader, StepOrder, Visit, implement_driver};
use super::field::broken;
use super::row::NodeRow;
use super::statement::Statement;
use super::{Durability, Groups, StoreError, migration};

/// Connections that read.
const READ_CONNECTIONS: u32 = 4;
/// Longest wait of a statement for another process that holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for a connection; above the longest that one query may take.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(60);
/// Pages kept in memory per connection, in KiB. The default of 2 MiB makes every commit of many sessions read pages again.
const CACHE_KIB: u32 = 32 * 1024;

/// Connections to one file.
pub(super) struct SqliteEngine {
    writer: Writer,
    readers: SqlitePool,
}

impl SqliteEngine {
    /// Opens the file, creates it where there is none, and migrates it to the newest schema.
    ///
    /// # Errors
    /// When the file cannot be opened, is no database, or was written by a newer version.
    pub(super) async fn open(path: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .busy_timeout(BUSY_TIMEOUT)
            .pragma("temp_store", "MEMORY")
            .pragma("cache_size", format!("-{CACHE_KIB}"))
            .disable_statement_logging();
        let mut first = options.clone().connect().await?;
        migration::sqlite().run(&mut first).await?;
        let writer = Writer::start(path)?;
        first.close().await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READ_CONNECTIONS)
            .min_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            // Local connections do not go stale, so neither age nor a test before each use makes sense.
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .connect_with(options.pragma("query_only", "on"))
            .await?;
        Ok(Self { writer, readers })
    }
}

#[async_trait]
impl Reader for SqliteEngine {
    fn step_order(&self) -> StepOrder {
        StepOrder::BySeq
    }

    async fn fetch(&self, query: Statement<'_>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let rows = bind(query).fetch_all(&self.readers).await?;
        rows.iter().try_for_each(|row| visit(row))
    }
}

#[async_trait]
impl Engine for SqliteEngine {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    async fn begin(&self, durability: Durability) -> Result<Box<dyn EngineTransaction>, StoreError> {
        Ok(Box::new(self.writer.begin(durability).await?))
    }

    async fn commit(&self, node: &NodeRow, groups: &Groups, durability: Durability) -> Result<(), StoreError> {
        self.writer.commit(node.clone(), Groups::clone(groups), durability).await
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

implement_driver!(Sqlite, SqliteRow);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use palestra_protocol::id::EpisodeId;
    use serde_json::Value;

    use super::*;
    use crate::row::Record;
    use crate::{Store, Target, step};

    async fn open(path: &Path) -> Result<Arc<Store>, StoreError> {
        crate::open(&Target::Sqlite(path.to_owned())).await
    }

    async fn store() -> (tempfile::TempDir, Arc<Store>, NodeRow) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = open(&folder.path().join("palestra.db")).await.expect("a fresh store opens");
        let node = NodeRow { id: "node-1".to_owned(), incarnation: "first".to_owned() };
        store.claim_node(&node).await.expect("the node is free");
        (folder, store, node)
    }

    fn state(digest: &str, bytes: usize) -> Record {
        Record::State { digest: digest.to_owned(), state: Value::String("x".repeat(bytes)) }
    }

    /// Runs a statement on the file, not through the store.
    async fn run_sql(folder: &tempfile::TempDir, sql: &'static str) {
        use sqlx::Connection as _;
        let options = SqliteConnectOptions::new().filename(folder.path().join("palestra.db"));
        let mut connection = sqlx::SqliteConnection::connect_with(&options).await.expect("the file opens");
        sqlx::raw_sql(sql).execute(&mut connection).await.expect("the statement runs");
        connection.close().await.expect("the connection closes");
    }

    #[tokio::test]
    async fn a_full_disk_undoes_the_commit_and_nothing_else() {
        let (_folder, store, node) = store().await;
        let transaction = store.begin(Durability::Process).await.expect("a transaction");
        let limit = Statement::new("PRAGMA max_page_count = 64", Vec::new());
        assert!(transaction.exists(limit).await.expect("a limit can be set"));
        transaction.commit().await.expect("it ends");
        let small = vec![state("small", 10)];
        let groups = [small.clone(), vec![state("large", 4_000_000)]].into();
        let full = store.commit(&node, &groups, Durability::Process).await;
        assert!(matches!(full, Err(StoreError::Engine(_))), "{full:?}");
        assert_eq!(store.state("small").await.expect("a query"), None);
        store.commit(&node, &[small].into(), Durability::Disk).await.expect("what fits is stored");
        assert!(store.state("small").await.expect("a query").is_some());
    }

    #[tokio::test]
    async fn a_commit_waits_for_what_it_says() {
        let (_folder, store, _node) = store().await;
        for (durability, level) in [(Durability::Process, 1), (Durability::Disk, 2), (Durability::Process, 1)] {
            let transaction = store.begin(durability).await.expect("a transaction");
            let query = Statement::new("PRAGMA synchronous", Vec::new());
            let found = transaction.one(query, |row| row.number("synchronous")).await.expect("a row");
            assert_eq!(found, Some(level));
            transaction.commit().await.expect("it ends");
        }
    }

    #[tokio::test]
    async fn broken_data_is_an_error() {
        let (folder, store, node) = store().await;
        store.commit(&node, &[vec![state("a", 1)]].into(), Durability::Process).await.expect("it is new");
        run_sql(&folder, "UPDATE states SET state = '{'").await;
        let broken = store.state("a").await;
        assert!(matches!(broken, Err(StoreError::Broken(_))), "{broken:?}");
        run_sql(&folder, "UPDATE states SET state = x'ff00'").await;
        let broken = store.state("a").await;
        assert!(matches!(broken, Err(StoreError::Broken(_))), "{broken:?}");
    }

    #[tokio::test]
    async fn a_file_that_is_no_store_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("palestra.db");
        std::fs::write(&path, "this is no database, but it is long enough to be read as one".repeat(99))
            .expect("written");
        assert!(matches!(open(&path).await, Err(StoreError::Engine(_))));
        assert!(matches!(open(&folder.path().join("no/such")).await, Err(StoreError::Engine(_))));
    }

    #[tokio::test]
    async fn a_newer_store_is_refused() {
        let (folder, store, _node) = store().await;
        store.close().await;
        run_sql(
            &folder,
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES (999, 'from the future', TRUE, x'00', 0)",
        )
        .await;
        let newer = open(&folder.path().join("palestra.db")).await;
        assert!(matches!(newer, Err(StoreError::Migration(_))));
    }

    /// The steps of SQLite's plan for a query.
    async fn plan(store: &Store, sql: &str) -> Vec<String> {
        let plan = Statement::built(format!("EXPLAIN QUERY PLAN {sql}"), Vec::new());
        store.all(plan, |row| row.text("detail")).await.expect("a plan")
    }

    #[tokio::test]
    async fn rows_are_looked_up_by_key() {
        let (_folder, store, _node) = store().await;
        let row = "(SELECT 'a' AS episode, 1 AS seq) AS r";
        let episode = EpisodeId::new();
        for (sql, table) in [
            (format!("UPDATE episodes SET seq = r.seq FROM {row} WHERE episodes.id = r.episode"), "episodes"),
            (format!("DELETE FROM intents WHERE (episode, seq) IN (SELECT r.episode, r.seq FROM {row})"), "intents"),
            (step::between(StepOrder::BySeq, episode, 1, 9, 9).sql.as_str().to_owned(), "steps"),
            (step::last(StepOrder::BySeq, episode).sql.as_str().to_owned(), "steps"),
            // As people ask who read the file with a tool of their own.
            ("SELECT * FROM steps WHERE episode = 'a'".to_owned(), "steps"),
            ("SELECT episodes.id, COUNT(*) FROM episodes JOIN steps ON steps.episode = episodes.id WHERE episodes.run = 'a' \
              GROUP BY 1".to_owned(), "steps"),
        ] {
            let plan = plan(&store, &sql).await;
            assert!(!plan.iter().any(|line| line.starts_with(&format!("SCAN {table}"))), "{sql}: {plan:?}");
        }
    }

    #[tokio::test]
    async fn episodes_of_an_older_file_keep_the_secrets_of_their_seed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("palestra.db");
        let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let mut connection = options.connect().await.expect("the file opens");
        let mut older = migration::sqlite();
        older.migrations.to_mut().truncate(14);
        older.run(&mut connection).await.expect("the older form");
        let episode = EpisodeId::new();
        let sql = "INSERT INTO episodes (id, session, tenant, ordinal, attempt, environment, version, digest, task, seed, \
                   config, state, terminated, truncated, started_at) \
                   VALUES ($1, $2, 'a', 1, 1, 'terminal/x', 1, 'sha256:1', 'train-0', 77, '{}', 'running', 0, 0, 0)";
        let session = palestra_protocol::id::SessionId::new();
        let row = sqlx::query(sql).bind(episode.to_string()).bind(session.to_string());
        row.execute(&mut connection).await.expect("an episode");
        connection.close().await.expect("the connection closes");
        let store = open(&path).await.expect("an older file is brought to the newest form");
        let stored = store.episode("a", episode).await.expect("a query").expect("it is there");
        assert_eq!(stored.secrets, palestra_state::secrets::Secrets::Seed(77));
    }

    #[tokio::test]
    async fn steps_of_an_older_file_are_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("palestra.db");
        let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let mut connection = options.connect().await.expect("the file opens");
        let mut older = migration::sqlite();
        older.migrations.to_mut().truncate(6);
        older.run(&mut connection).await.expect("the older form");
        let episode = EpisodeId::new();
        for seq in 1..=3 {
            let sql = "INSERT INTO steps (episode, seq, answer, terminated, truncated, interrupted, at) \
                       VALUES ($1, $2, '{}', 0, 0, 0, 0)";
            sqlx::query(sql).bind(episode.to_string()).bind(seq).execute(&mut connection).await.expect("a step");
        }
        connection.close().await.expect("the connection closes");
        let store = open(&path).await.expect("an older file is brought to the newest form");
        let count = Statement::new("SELECT COUNT(*) AS number FROM steps", Vec::new());
        assert_eq!(store.number(count).await.expect("a count"), 3);
    }

    #[tokio::test]
    async fn jobs_of_an_older_file_are_kept_and_may_be_of_a_new_kind() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("palestra.db");
        let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let mut connection = options.connect().await.expect("the file opens");
        let mut older = migration::sqlite();
        older.migrations.to_mut().truncate(15);
        older.run(&mut connection).await.expect("the older form");
        let job = palestra_protocol::id::JobId::new();
        for sql in [
            "INSERT INTO jobs (id, tenant, kind, state, priority, device, memory_bytes, blocked, attempts, attempts_max, fence, events, \
             dead_letter, created_at, reports) VALUES ($1, 'a', 'check', 'queued', 3, 'any', 0, 0, 1, 2, 1, 4, 0, 5, 6)",
            "INSERT INTO job_specs VALUES ($1, 'sha256:1', '{\"environment\":\"puzzle/a\"}', '[]', '{}')",
        ] {
            sqlx::query(sql).bind(job.to_string()).execute(&mut connection).await.expect("a job");
        }
        connection.close().await.expect("the connection closes");
        let store = open(&path).await.expect("an older file is brought to the newest form");
        let row = store.stored_job(job).await.expect("a query").expect("it is there").row;
        assert_eq!((row.kind.as_str(), row.priority, row.attempts_max, row.reports), ("check", 3, 2, 6));
        store.close().await;
        run_sql(&folder, "UPDATE jobs SET kind = 'novel'").await;
    }
}
