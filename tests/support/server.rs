//! A server of its own for one test: the real application on a free port, with a temporary data folder.

use std::net::SocketAddr;

use palestra::app::{self, App};
use palestra::config::{Config, Secret};
use palestra_client::Client;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// Accepted as the admin's credential.
pub const ADMIN_KEY: &str = "an-admin-key-for-tests";

pub struct TestServer {
    pub app: App,
    address: SocketAddr,
    tracker: TaskTracker,
    _data: TempDir,
}

impl TestServer {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts with settings that differ from the defaults.
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        let mut config = Config {
            data: data.path().to_owned(),
            admin_key: Some(Secret::from(ADMIN_KEY.to_owned())),
            bench_effects: Some(data.path().join("effects")),
            ..Config::default()
        };
        change(&mut config);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let app = App::open(config).await.expect("the application opens");
        let tracker = TaskTracker::new();
        tracker.spawn(app::serve(app.clone(), listener));
        Self { app, address, tracker, _data: data }
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

    pub async fn stop(self) {
        self.app.shutdown().cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
