//! A server of its own for one test: the real application on a free port, with a temporary data folder.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use palestra::app::{App, Ground};
use palestra::command::serve::serve;
use palestra::config::{Config, SandboxChoice};
use palestra_auth::RootSecret;
use palestra_client::Client;
use palestra_environment::EnvironmentKind;
use palestra_families::backends::Backends;
use palestra_store::clock::Clock;
use palestra_store::row::NodeRow;
use palestra_store::{self as store, Target};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;
use sqlx::Connection as _;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// Accepted as the admin's credential.
pub const ADMIN_KEY: &str = "an-admin-key-for-tests";
/// Longest wait for a server that stops; far below its own patience, so that a server that waits in vain is noticed.
const STOP_MS_MAX: u64 = 8_000;

/// A running server; stop it with [`TestServer::stop`].
pub struct TestServer {
    address: SocketAddr,
    pub app: App,
    pub http: reqwest::Client,
    data: TempDir,
    tracker: TaskTracker,
}

/// The answer of a call.
pub struct Answer {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
}

impl Answer {
    /// The body of a call that went well.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(self.status.is_success(), "{} {}", self.status, self.body);
        self.body
    }

    /// The code of a call that was refused.
    #[track_caller]
    pub fn code(&self) -> &str {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{}", self.body);
        self.body["code"].as_str().expect("a problem has a code")
    }
}

impl TestServer {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        Self::start_in(data, change).await
    }

    /// Starts on a data folder that an earlier server left.
    pub async fn start_in(data: TempDir, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config {
            data: data.path().to_owned(),
            admin_key: Some(ADMIN_KEY.into()),
            bench_effects: Some(data.path().join("effects")),
            sandbox: SandboxChoice::None,
            ..Config::default()
        };
        change(&mut config);
        let app = App::open(config).await.expect("the application opens");
        Self::serve(app, data).await
    }

    /// Starts with these kinds of environments and no others.
    pub async fn start_with_kinds(kinds: Vec<Arc<dyn EnvironmentKind>>) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        let config = Config { data: data.path().to_owned(), admin_key: Some(ADMIN_KEY.into()), ..Config::default() };
        let node = NodeRow { id: "node".to_owned(), incarnation: "1".to_owned() };
        let store = store::open(&Target::Sqlite(data.path().join("palestra.db"))).await.expect("a store");
        store.claim_node(&node).await.expect("the node");
        let root = RootSecret::from_text("a root secret for tests");
        let backends = Backends::none(data.path());
        let ground = Ground { store, kinds, backends, node, clock: Clock::System };
        let app = App::assemble(config, ground, &root, None).await.expect("an application");
        Self::serve(app, data).await
    }

    async fn serve(app: App, data: TempDir) -> Self {
        // Another test of this process may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let tracker = TaskTracker::new();
        tracker.spawn(serve(app.clone(), listener));
        Self { app, http: reqwest::Client::new(), address, data, tracker }
    }

    /// Stops as SIGTERM does, and gives the data folder back.
    pub async fn stop(self) -> TempDir {
        self.app.shutdown().cancel();
        self.tracker.close();
        let stopped = tokio::time::timeout(Duration::from_millis(STOP_MS_MAX), self.tracker.wait()).await;
        stopped.expect("the server stops in time");
        self.data
    }

    /// Changes the store behind the server's back, which is a file in its data folder.
    pub async fn sql(&self, sql: &'static str) {
        let url = format!("sqlite://{}", self.data.path().join("palestra.db").display());
        let mut connection = sqlx::SqliteConnection::connect(&url).await.expect("the database opens");
        sqlx::raw_sql(sql).execute(&mut connection).await.expect("the statement runs");
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn key(&self) -> &'static str {
        ADMIN_KEY
    }

    pub fn client(&self) -> Client {
        Client::new(&self.url(), Some(ADMIN_KEY)).expect("a client")
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url())).bearer_auth(ADMIN_KEY)
    }

    pub async fn get(&self, path: &str) -> Answer {
        read(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        read(self.request(Method::POST, path).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        read(self.request(Method::DELETE, path)).await
    }
}

/// Sends a request and reads its answer as JSON; null where there is no body.
pub async fn read(request: RequestBuilder) -> Answer {
    let response = request.send().await.expect("an answer");
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = response.bytes().await.expect("a body");
    let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).expect("JSON") };
    Answer { status, headers, body }
}
