//! A server in this process, on a free port, with a data folder of its own.

use std::time::Duration;

use palestra::app::{self, App};
use palestra::config::Config;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The admin key of servers in tests.
pub const ADMIN: &str = "admin-key-for-tests";
/// Longest wait for a server that stops, in milliseconds.
const STOP_MS_MAX: u64 = 30_000;

/// A running server; stop it with [`Server::stop`].
pub struct Server {
    pub url: String,
    pub app: App,
    pub http: reqwest::Client,
    data: TempDir,
    running: JoinHandle<std::io::Result<()>>,
}

/// What a call answered.
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

impl Server {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        Self::start_in(data, change).await
    }

    /// Starts on a data folder that an earlier server left.
    pub async fn start_in(data: TempDir, change: impl FnOnce(&mut Config)) -> Self {
        // Another test of this process may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut config = Config { data: data.path().to_owned(), admin_key: Some(ADMIN.into()), ..Config::default() };
        change(&mut config);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let app = App::open(config).await.expect("a server");
        #[expect(clippy::disallowed_methods, reason = "Server::stop waits for it")]
        let running = tokio::spawn(app::serve(app.clone(), listener));
        Self { url, app, http: reqwest::Client::new(), data, running }
    }

    /// Stops as SIGTERM does, and gives the data folder back.
    pub async fn stop(self) -> TempDir {
        self.app.shutdown().cancel();
        let stopped = tokio::time::timeout(Duration::from_millis(STOP_MS_MAX), self.running).await;
        stopped.expect("the server stops in time").expect("it does not panic").expect("its listener holds");
        self.data
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(ADMIN)
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
