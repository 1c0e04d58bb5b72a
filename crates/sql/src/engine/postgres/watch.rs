//! Looks after a session's statements from outside: ends what goes on after its time, and what fills the disk before it is done.

use std::time::Duration;

use super::place::Place;
use super::server::{Lane, Server, literal, lost};
use super::wire::{Answer, Ask, Interrupter};
use crate::engine::{Cut, EngineError, Limits};

/// How much longer than its time a statement goes on before we ask for its end: the server has a timer itself.
const GRACE: Duration = Duration::from_millis(500);
/// How long the server may take to end it before it ends the connection.
const END_MAX: Duration = Duration::from_secs(10);
/// How often the database's size is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What is looked after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    /// The time that it takes.
    Time,
    /// Also the size of the database.
    Size,
}

/// Runs a batch in a session's place. With it comes which limit ended it, if it was we who did.
pub(super) async fn watched(
    place: &mut Place,
    asks: &[Ask<'_>],
    watch: Watch,
    limits: &Limits,
    size_max: u64,
) -> Result<(Answer, Option<Cut>), EngineError> {
    let (server, database, interrupter) = (place.server(), place.name.clone(), place.wire.interrupter());
    let batch = place.wire.batch(asks);
    tokio::pin!(batch);
    let cut = tokio::select! {
        answer = &mut batch => return answer.map(|answer| (answer, None)).map_err(lost),
        cut = look(&server, &database, watch, limits, size_max) => cut,
    };
    tracing::debug!(?cut, database, "a statement is ended from outside");
    let ended = tokio::time::timeout(END_MAX, async {
        interrupt(&interrupter).await;
        batch.await
    });
    match ended.await {
        Ok(Ok(answer)) => Ok((answer, Some(cut))),
        // It went too far, whatever became of the connection: it is not to be run again.
        Ok(Err(error)) => Err(EngineError::Midway(format!("PostgreSQL: {error}"))),
        Err(_) => {
            let terminate = format!("SELECT pg_catalog.pg_terminate_backend({})", interrupter.process());
            if let Err(error) = server.rows(Lane::Watch, &terminate).await {
                tracing::info!(%error, database, "a connection cannot be closed");
            }
            Err(EngineError::Midway(
                "a statement did not end when it was told to, and its connection was closed".to_owned(),
            ))
        }
    }
}

/// Comes back when the statement is to be ended.
async fn look(server: &Server, database: &str, watch: Watch, limits: &Limits, size_max: u64) -> Cut {
    let end = tokio::time::Instant::now() + Duration::from_millis(limits.statement_ms) + GRACE;
    let size = format!("SELECT pg_catalog.pg_database_size({})", literal(database));
    loop {
        let next = tokio::time::Instant::now() + LOOK_EVERY;
        if watch == Watch::Time || next > end {
            tokio::time::sleep_until(end).await;
            return Cut::Time;
        }
        tokio::time::sleep_until(next).await;
        let rows = server.rows(Lane::Watch, &size).await.unwrap_or_default();
        let bytes = rows.first().and_then(|row| row.first()?.as_deref()?.parse::<u64>().ok()).unwrap_or(0);
        if bytes > size_max {
            return Cut::Growth;
        }
    }
}

async fn interrupt(interrupter: &Interrupter) {
    if let Err(error) = interrupter.interrupt().await {
        tracing::debug!(%error, "a statement cannot be interrupted");
    }
}
