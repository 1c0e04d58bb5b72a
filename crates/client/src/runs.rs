//! Runs: owners of sessions, alive as long as their lease is renewed.

use palestra_protocol::id::RunId;
use palestra_protocol::list::Page;
use palestra_protocol::run::{CreateRun, Run, RunPlan, RunState, RunSummary};
use reqwest::Method;
use serde::Serialize;

use crate::error::ClientError;
use crate::transport::{Client, succeed};

/// A query for runs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RunQuery {
    /// In this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<RunState>,
    /// Most rows of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl Client {
    /// A page of runs, newest first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn runs(&self, query: &RunQuery) -> Result<Page<RunSummary>, ClientError> {
        self.get(&["runs"], query).await
    }

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

    /// Records the plan of a run.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn plan_run(&self, run: RunId, plan: &RunPlan) -> Result<Run, ClientError> {
        self.put(&["runs", &run.to_string(), "plan"], plan).await
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
