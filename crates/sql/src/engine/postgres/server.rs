//! The server that holds the databases, as its administrator sees it: connections of our own, what we may do there, and the removal
//! of everything that bears our prefix.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::Rng;
use tokio::sync::Mutex;
use tokio_postgres::config::Host;

use super::private::PrivateServer;
use super::wire::{Address, Login, Wire, WireError};
use crate::engine::EngineError;
use crate::script::quoted;

/// The oldest version whose commands are used here.
const VERSION_MIN: u32 = 130_000;
/// Limit for connections of an earlier process to end: PostgreSQL rolls back their work first.
const EARLIER_END_WAIT: Duration = Duration::from_secs(60);
/// Between two looks at them.
const EARLIER_LOOK_PAUSE: Duration = Duration::from_millis(20);

/// `application_name` of sessions: the same for all, since what they run can read it.
const APPLICATION: &str = "palestra";

/// Location of databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cluster {
    /// A running cluster: `postgres://user:password@host:port/database`, or `host=/run/postgresql user=...`. Connections are not
    /// encrypted, so it is on this machine or a network that is trusted. As a superuser, functions that reach beyond a database are
    /// taken from sessions; as another role with CREATEDB and CREATEROLE, they are only recognised by their names.
    Url(String),
    /// One of our own in this folder, which it has for itself; ended with this process.
    Private {
        /// The folder.
        folder: PathBuf,
        /// Where `initdb` and `postgres` are; the newest installed version where left out.
        binaries: Option<PathBuf>,
    },
}

/// For what a connection of the administrator is used: those who wait for something long must not stop the others.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    /// Makes databases.
    Make,
    /// Removes them.
    Drop,
    /// Looks after sessions.
    Watch,
}

/// A server and its administrator.
pub(super) struct Server {
    address: Address,
    login: Login,
    /// Prefix of all names of this engine.
    prefix: String,
    /// True if we are superuser.
    pub(super) superuser: bool,
    /// `server_version_num`.
    pub(super) version: u32,
    lanes: [Mutex<Option<Wire>>; 3],
    counter: AtomicU64,
    private: Option<Arc<PrivateServer>>,
}

impl Server {
    /// Connects, or starts a server first; checks what we may do; removes what an earlier process of this node left.
    pub(super) async fn connect(cluster: Cluster, node: &str) -> Result<Arc<Self>, EngineError> {
        let named = !node.is_empty()
            && node.len() <= 24
            && node.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !named {
            return Err(EngineError::Missing(format!("{node:?} is no name of a node: use 1 to 24 of a-z and 0-9")));
        }
        let (address, login, private) = match cluster {
            Cluster::Url(url) => {
                let (address, login) = parse(&url)?;
                (address, login, None)
            }
            Cluster::Private { folder, binaries } => {
                let start = move || PrivateServer::start(&folder, binaries.as_deref());
                let started = tokio::task::spawn_blocking(start).await;
                let private = started.map_err(|error| EngineError::Missing(error.to_string()))??;
                let (user, database) = ("palestra".to_owned(), "postgres".to_owned());
                let login = Login { user, password: None, database, application: APPLICATION.to_owned() };
                (private.address(), login, Some(Arc::new(private)))
            }
        };
        let prefix = format!("palestra_{node}_");
        let login = Login { application: format!("{prefix}{:016x}", rand::rng().next_u64()), ..login };
        let mut server = Self {
            address,
            login,
            prefix,
            superuser: false,
            version: 0,
            lanes: [const { Mutex::const_new(None) }; 3],
            counter: AtomicU64::new(0),
            private,
        };
        server.check().await?;
        if server.is_private() {
            // A session's role has nothing to do there. In a cluster that is named, this is for its owner to say.
            let closed = "REVOKE CONNECT, TEMPORARY ON DATABASE postgres, template0, template1 FROM PUBLIC";
            server.run(Purpose::Make, &[closed]).await?;
        }
        server.end_earlier().await?;
        server.sweep().await?;
        Ok(Arc::new(server))
    }

    /// Ends the connections of an earlier process of this node, and waits until they are gone: PostgreSQL goes on with a statement whose
    /// client was killed, and a database that it was still making would come after the sweep.
    async fn end_earlier(&self) -> Result<(), EngineError> {
        let (prefix, own) = (literal(&self.prefix), literal(&self.login.application));
        let earlier = format!(
            "SELECT pid, pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
             WHERE starts_with(application_name, {prefix}) AND application_name <> {own}"
        );
        let began = Instant::now();
        while !self.names(&earlier).await?.is_empty() {
            if began.elapsed() > EARLIER_END_WAIT {
                let seconds = EARLIER_END_WAIT.as_secs();
                return Err(EngineError::Lost(format!(
                    "PostgreSQL: connections of an earlier process of this node do not end within {seconds} s: look for \
                     application_name like {prefix} in pg_stat_activity"
                )));
            }
            tokio::time::sleep(EARLIER_LOOK_PAUSE).await;
        }
        Ok(())
    }

    async fn check(&mut self) -> Result<(), EngineError> {
        let sql = "SELECT pg_catalog.current_setting('server_version_num'), rolsuper, rolcreatedb, rolcreaterole \
                   FROM pg_catalog.pg_roles WHERE rolname = current_user";
        let rows = self.rows(Purpose::Make, sql).await.map_err(|error| {
            EngineError::Missing(format!(
                "PostgreSQL as {:?} on {:?} cannot be reached, check the URL: {error}",
                self.login.user, self.address
            ))
        })?;
        let Some([Some(version), Some(superuser), Some(databases), Some(roles)]) = rows.first().map(Vec::as_slice)
        else {
            return Err(EngineError::Missing(
                "PostgreSQL does not say which role it lets in: check the URL".to_owned(),
            ));
        };
        self.version = version.parse().unwrap_or(0);
        self.superuser = superuser == "t";
        if self.version < VERSION_MIN {
            return Err(EngineError::Missing(format!(
                "PostgreSQL {} is too old: upgrade it to 13 or newer",
                self.version / 10_000
            )));
        }
        for (granted, right) in [(databases, "CREATEDB"), (roles, "CREATEROLE")] {
            if granted != "t" && !self.superuser {
                let role = &self.login.user;
                let words = format!(
                    "the role {role:?} lacks {right}: run ALTER ROLE {role} CREATEDB CREATEROLE as a superuser"
                );
                return Err(EngineError::Missing(words));
            }
        }
        Ok(())
    }

    /// Removes every database and role with our prefix.
    pub(super) async fn sweep(&self) -> Result<(), EngineError> {
        let prefix = literal(&self.prefix);
        let databases = format!("SELECT datname FROM pg_catalog.pg_database WHERE starts_with(datname, {prefix})");
        for name in self.names(&databases).await? {
            self.run(Purpose::Drop, &[&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", quoted(&name))]).await?;
        }
        let roles = format!("SELECT rolname FROM pg_catalog.pg_roles WHERE starts_with(rolname, {prefix})");
        for name in self.names(&roles).await? {
            self.run(Purpose::Drop, &[&format!("DROP ROLE IF EXISTS {}", quoted(&name))]).await?;
        }
        Ok(())
    }

    async fn names(&self, sql: &str) -> Result<Vec<String>, EngineError> {
        let rows = self.rows(Purpose::Drop, sql).await.map_err(lost)?;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }

    /// True if the server is our own.
    pub(super) const fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// True if the server was our own and its process is gone.
    pub(super) fn ended(&self) -> bool {
        self.private.as_ref().is_some_and(|private| private.ended())
    }

    /// Ends the administrator's connections, and the server where it is ours.
    pub(super) async fn close(&self) {
        for purpose in &self.lanes {
            *purpose.lock().await = None;
        }
        if let Some(private) = self.private.clone() {
            let _ = tokio::task::spawn_blocking(move || private.stop()).await;
        }
    }

    /// A name of ours.
    pub(super) fn name(&self, rest: &str) -> String {
        format!("{}{rest}", self.prefix)
    }

    /// A name that was never used before, as long as all others of its kind.
    pub(super) fn fresh_name(&self, kind: &str) -> String {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        format!("{}{kind}_{number:010}", self.prefix)
    }

    /// A password that nobody can guess.
    pub(super) fn password(&self) -> String {
        let mut bytes = [0; 24];
        rand::rng().fill_bytes(&mut bytes);
        hex::encode(bytes)
    }

    /// Connects to a database as the administrator.
    pub(super) async fn enter(&self, database: &str) -> Result<Wire, WireError> {
        Wire::connect(&self.address, &Login { database: database.to_owned(), ..self.login.clone() }).await
    }

    /// Connects to a database as somebody else.
    pub(super) async fn enter_as(&self, database: &str, user: &str, password: &str) -> Result<Wire, WireError> {
        let (user, password) = (user.to_owned(), Some(password.to_owned()));
        let login = Login { user, password, database: database.to_owned(), application: APPLICATION.to_owned() };
        Wire::connect(&self.address, &login).await
    }

    /// The rows of a statement of the administrator.
    pub(super) async fn rows(&self, purpose: Purpose, sql: &str) -> Result<Vec<Vec<Option<String>>>, WireError> {
        let mut wire = self.lanes[purpose as usize].lock().await;
        // A connection that broke, or whose user stopped waiting, is replaced.
        let mut taken = match wire.take() {
            Some(taken) => taken,
            None => self.enter(&self.login.database).await?,
        };
        let rows = taken.rows(sql).await;
        if !matches!(rows, Err(WireError::Broken(_))) {
            *wire = Some(taken);
        }
        rows
    }

    /// Runs statements of the administrator, up to the first that fails.
    pub(super) async fn run(&self, purpose: Purpose, statements: &[&str]) -> Result<(), EngineError> {
        for sql in statements {
            self.rows(purpose, sql).await.map_err(lost)?;
        }
        Ok(())
    }
}

/// Error of a server failure that no statement of a session is to blame for.
#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
pub(super) fn lost(error: WireError) -> EngineError {
    EngineError::Lost(format!("PostgreSQL: {error}"))
}

/// A string as a literal.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn parse(url: &str) -> Result<(Address, Login), EngineError> {
    let wrong = |words: String| EngineError::Missing(format!("the URL of PostgreSQL: {words}"));
    let config: tokio_postgres::Config =
        url.parse().map_err(|error: tokio_postgres::Error| wrong(error.to_string()))?;
    if config.get_ssl_mode() == tokio_postgres::config::SslMode::Require {
        return Err(wrong("encrypted connections are not supported: use a socket or a private network".to_owned()));
    }
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let address = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => Address::Tcp(host.clone(), port),
        Some(Host::Unix(folder)) => Address::Unix(folder.join(format!(".s.PGSQL.{port}"))),
        None => return Err(wrong("the URL names no host: add one".to_owned())),
    };
    let user = config.get_user().ok_or_else(|| wrong("the URL names no user: add one".to_owned()))?.to_owned();
    let password = config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let database = config.get_dbname().unwrap_or("postgres").to_owned();
    Ok((address, Login { user, password, database, application: APPLICATION.to_owned() }))
}
