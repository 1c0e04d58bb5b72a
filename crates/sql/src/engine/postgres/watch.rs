//! Looks after a session's statements from outside: ends what goes on after its time, and what fills the disk before it is done.

use std::time::Duration;

use super::server::{Purpose, Server, literal, lost};
use super::slot::Slot;
use super::wire::{Answer, BatchStatement, CancelHandle};
use crate::engine::{CutReason, EngineError, Limits};

/// Time beyond its limit after which we ask for a statement's end: the server has a timer itself.
const GRACE: Duration = Duration::from_millis(500);
/// Time that the server may take to end it before it ends the connection.
const END_MAX: Duration = Duration::from_secs(10);
/// Interval at which the database's size is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Watched statement and database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    /// The time that it takes.
    Time,
    /// Also the size of the database.
    Size,
}

/// Runs a batch in a session's place. With it comes which limit ended it, if it was we who did.
pub(super) async fn watched(
    slot: &mut Slot,
    batch: &[BatchStatement<'_>],
    watch: Watch,
    limits: &Limits,
    size_max: u64,
) -> Result<(Answer, Option<CutReason>), EngineError> {
    let (server, database, cancel_handle) = (slot.server(), slot.name.clone(), slot.wire.cancel_handle());
    let batch = slot.wire.batch(batch);
    tokio::pin!(batch);
    let cut = tokio::select! {
        answer = &mut batch => return answer.map(|answer| (answer, None)).map_err(lost),
        cut = look(&server, &database, watch, limits, size_max) => cut,
    };
    tracing::debug!(?cut, database, "a statement is ended from outside");
    let ended = tokio::time::timeout(END_MAX, async {
        interrupt(&cancel_handle).await;
        batch.await
    });
    match ended.await {
        Ok(Ok(answer)) => Ok((answer, Some(cut))),
        // It went too far, whatever became of the connection: it is not to be run again.
        Ok(Err(error)) => Err(EngineError::Midway(format!("PostgreSQL: {error}"))),
        Err(_) => {
            let terminate = format!("SELECT pg_catalog.pg_terminate_backend({})", cancel_handle.process());
            if let Err(error) = server.rows(Purpose::Watch, &terminate).await {
                tracing::info!(%error, database, "a connection cannot be closed");
            }
            Err(EngineError::Midway(
                "a statement did not end when it was told to, and its connection was closed".to_owned(),
            ))
        }
    }
}

/// Comes back when the statement is to be ended.
async fn look(server: &Server, database: &str, watch: Watch, limits: &Limits, size_max: u64) -> CutReason {
    let end = tokio::time::Instant::now() + Duration::from_millis(limits.statement_ms) + GRACE;
    let size = format!("SELECT pg_catalog.pg_database_size({})", literal(database));
    loop {
        let next = tokio::time::Instant::now() + LOOK_EVERY;
        if watch == Watch::Time || next > end {
            tokio::time::sleep_until(end).await;
            return CutReason::Time;
        }
        tokio::time::sleep_until(next).await;
        let rows = server.rows(Purpose::Watch, &size).await.unwrap_or_default();
        let bytes = rows.first().and_then(|row| row.first()?.as_deref()?.parse::<u64>().ok()).unwrap_or(0);
        if bytes > size_max {
            return CutReason::Growth;
        }
    }
}

async fn interrupt(cancel_handle: &CancelHandle) {
    if let Err(error) = cancel_handle.interrupt().await {
        tracing::debug!(%error, "a statement cannot be interrupted");
    }
}
