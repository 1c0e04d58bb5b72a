//! The run that owns the sessions of who plays: as long as the player lives it is renewed, and nothing outlives it.

use std::time::Duration;

use palestra_client::{Client, ClientError};
use palestra_protocol::id::RunId;
use palestra_protocol::run::CreateRun;

/// Time without a renewal after which the server closes the sessions, in milliseconds.
pub const LEASE_MS: u64 = 60_000;
/// The shortest lease that a run can have, in milliseconds.
const LEASE_MS_MIN: u64 = 1_000;
/// Renewals in the time of a lease, so that some may get lost.
const RENEWALS_PER_LEASE: u64 = 4;

/// Starts a run that lives for `lease_ms` without a renewal, under a name that was given or a new one.
///
/// # Errors
/// When the server refuses or cannot be reached.
pub async fn begin(client: &Client, id: Option<RunId>, lease_ms: u64) -> Result<RunId, ClientError> {
    Ok(client.create_run(&CreateRun { id, lease_ms: lease_ms.max(LEASE_MS_MIN) }).await?.id)
}

/// Renews the lease until the server says that the run has ended. A server that does not answer is asked again.
pub async fn keep(client: &Client, run: RunId, lease_ms: u64) -> ClientError {
    loop {
        tokio::time::sleep(Duration::from_millis(lease_ms.max(LEASE_MS_MIN) / RENEWALS_PER_LEASE)).await;
        if let Err(ClientError::Problem(problem)) = client.heartbeat(run).await
            && matches!(problem.status, 404 | 409 | 410)
        {
            return ClientError::Problem(problem);
        }
    }
}
