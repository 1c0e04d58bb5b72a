//! Policies: stored models that can be used, measured, trained further and downloaded.

use std::time::Duration;

use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Policy, RegisterCheckpoint};
use palestra_protocol::list::Page;
use palestra_protocol::worker::{ActAnswer, ActRequest};
use reqwest::Method;
use serde::Serialize;
use tokio::io::AsyncWrite;

use crate::download::{Downloaded, receive};
use crate::error::ClientError;
use crate::transport::{Client, read, succeed};

/// Time limit of an action of a policy, in milliseconds; the server gives up earlier.
const ACT_MS_MAX: u64 = 11 * 60_000;

/// A query for policies.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PolicyQuery {
    /// Of this job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// Most rows of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl Client {
    /// One policy.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn policy(&self, policy: PolicyId) -> Result<Policy, ClientError> {
        self.get(&["policies", &policy.to_string()], &()).await
    }

    /// A page of policies, newest first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn policies(&self, query: &PolicyQuery) -> Result<Page<Policy>, ClientError> {
        self.get(&["policies"], query).await
    }

    /// Registers the policy that a checkpoint of a training holds; the newest one where no step is named.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn register_checkpoint(&self, request: &RegisterCheckpoint) -> Result<Policy, ClientError> {
        self.post(&["policies"], request, None).await
    }

    /// Deletes a policy.
    ///
    /// # Errors
    /// `job_over` while a job uses it; when the server cannot be reached or refuses.
    pub async fn delete_policy(&self, policy: PolicyId) -> Result<(), ClientError> {
        succeed(self.request(Method::DELETE, &["policies", &policy.to_string()]).send().await?).await.map(drop)
    }

    /// Writes a file of the policy's folder to `into` as it arrives, and checks its digest.
    ///
    /// # Errors
    /// As [`Client::download_artifact`].
    pub async fn download_policy_file(
        &self,
        policy: PolicyId,
        file: &str,
        into: &mut (impl AsyncWrite + Unpin),
    ) -> Result<Downloaded, ClientError> {
        let request = self.request(Method::GET, &["policies", &policy.to_string(), "download"]);
        receive(request.query(&[("file", file)]), into).await
    }

    /// Asks a policy to act.
    ///
    /// # Errors
    /// `policy_cold` when no worker serves it, `policy_busy` when too many wait; otherwise when the server cannot be reached.
    pub async fn act(&self, policy: PolicyId, request: &ActRequest) -> Result<ActAnswer, ClientError> {
        let call = self.request(Method::POST, &["policies", &policy.to_string(), "act"]);
        read(call.timeout(Duration::from_millis(ACT_MS_MAX)).json(request).send().await?).await
    }
}
