//! A database of its own for one test, in the server that `PALESTRA_TEST_POSTGRES_URL` names (`scripts/postgres`).

use palestra_protocol::id::SessionId;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// The URL of an administrator of a PostgreSQL server that is there for tests alone.
const VARIABLE: &str = "PALESTRA_TEST_POSTGRES_URL";

/// An empty database.
pub struct Database {
    admin_url: String,
    name: String,
}

impl Database {
    /// Makes a database; none, with a line that says so, where no server is named.
    pub async fn create() -> Option<Self> {
        let Ok(admin_url) = std::env::var(VARIABLE) else {
            crate::not_tried("PostgreSQL (PALESTRA_TEST_POSTGRES_URL)");
            return None;
        };
        let database = Self { admin_url, name: format!("test_{}", SessionId::new().uuid().as_simple()) };
        database.administer(format!("CREATE DATABASE {}", database.name)).await;
        Some(database)
    }

    /// Where it is.
    pub fn url(&self) -> String {
        let (server, _) = self.admin_url.rsplit_once('/').expect("the admin URL ends in a database");
        format!("{server}/{}", self.name)
    }

    /// Ends every connection to it, as a restart of the server does.
    pub async fn disconnect_all(&self) {
        let name = &self.name;
        let sql = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
        self.administer(sql).await;
    }

    /// Removes it, whoever is still connected.
    pub async fn remove(self) {
        self.administer(format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }

    async fn administer(&self, sql: String) {
        let mut admin = PgConnection::connect(&self.admin_url).await.expect("the test server answers");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.expect("an administrator may do this");
        admin.close().await.expect("the connection closes");
    }
}
