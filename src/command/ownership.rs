//! The run that owns the sessions of `palestra run`: as long as this program lives it is renewed, and nothing outlives it.

use std::time::Duration;

use palestra_client::{Client, ClientError};
use palestra_protocol::id::RunId;
use palestra_protocol::run::CreateRun;

/// How long the server waits for a program that says nothing before it closes the sessions.
const LEASE_MS: u64 = 60_000;
/// How often the lease is renewed: some renewals may get lost.
const HEARTBEAT_MS: u64 = 15_000;

/// Starts a run.
///
/// # Errors
/// When the server refuses or cannot be reached.
pub(super) async fn begin(client: &Client) -> Result<RunId, ClientError> {
    Ok(client.create_run(&CreateRun { id: None, lease_ms: LEASE_MS }).await?.id)
}

/// Renews the lease until the server says that the run has ended. A server that does not answer is asked again.
pub(super) async fn keep(client: &Client, run: RunId) -> ClientError {
    loop {
        tokio::time::sleep(Duration::from_millis(HEARTBEAT_MS)).await;
        if let Err(ClientError::Problem(problem)) = client.heartbeat(run).await
            && matches!(problem.status, 404 | 409 | 410)
        {
            return ClientError::Problem(problem);
        }
    }
}
