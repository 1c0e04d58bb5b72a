//! A real server inside the test, on a port of its own and a temporary data folder.

use palestra::app::{self, App};
use palestra::config::Config;
use palestra_client::Client;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

const ADMIN_KEY: &str = "test-admin-key-0123456789";

pub struct TestServer {
    app: App,
    url: String,
    tracker: TaskTracker,
    _folder: TempDir,
}

impl TestServer {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let config = Config {
            data: folder.path().join("data"),
            admin_key: Some(ADMIN_KEY.to_owned().into()),
            ..Config::default()
        };
        let app = App::open(config).await.unwrap();
        let tracker = TaskTracker::new();
        tracker.spawn(app::serve(app.clone(), listener));
        Self { app, url, tracker, _folder: folder }
    }

    pub fn client(&self) -> Client {
        Client::new(&self.url, Some(ADMIN_KEY)).unwrap()
    }

    pub fn key(&self) -> &'static str {
        ADMIN_KEY
    }

    /// Host and port.
    pub fn address(&self) -> String {
        self.url.trim_start_matches("http://").to_owned()
    }

    pub async fn stop(self) {
        self.app.shutdown().cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
