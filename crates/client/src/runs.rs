//! Runs: owners of sessions, alive as long as their lease is renewed.

use palestra_protocol::id::RunId;
use palestra_protocol::run::{CreateRun, Run};
use reqwest::Method;

use crate::error::ClientError;
use crate::transport::{Client, succeed};

impl Client {
    /// Starts a run.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn create_run(&self, request: &CreateRun) -> Result<Run, ClientError> {
        self.post(&["runs"], request, None).await
    }

    /// Describes a run.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn run(&self, run: RunId) -> Result<Run, ClientError> {
        self.get(&["runs", &run.to_string()], &()).await
    }

    /// Renews a run's lease.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn heartbeat(&self, run: RunId) -> Result<Run, ClientError> {
        self.post(&["runs", &run.to_string(), "heartbeat"], &serde_json::Map::new(), None).await
    }

    /// Ends a run and closes its sessions.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn delete_run(&self, run: RunId) -> Result<(), ClientError> {
        succeed(self.request(Method::DELETE, &["runs", &run.to_string()]).send().await?).await.map(drop)
    }
}
