//! Events of a job: the stored ones, then new ones as they come.

use std::time::Duration;

use futures::stream::BoxStream;
use palestra_protocol::id::JobId;
use palestra_protocol::job::{JobEvent, JobEventKind};

use super::{Jobs, JobsError};
use palestra_store::Tenant;

/// Events of one page.
const EVENTS_PER_PAGE: u32 = 256;
/// Milliseconds between two polls for events that another node stored.
const POLL_MS: u64 = 2_000;

impl Jobs {
    /// Events of a job after a number, stored ones and new ones, until the job is over or the server stops.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn events(
        &self,
        tenant: &Tenant,
        id: JobId,
        after: u64,
    ) -> Result<BoxStream<'static, JobEvent>, JobsError> {
        self.row(tenant, id).await?;
        let (jobs, tenant) = (self.clone(), tenant.clone());
        let mut last = after;
        Ok(Box::pin(async_stream::stream! {
            let watch = jobs.0.watches.subscribe(id);
            loop {
                // Subscribes before it reads, so that no notification is missed in between.
                let news = watch.changed().notified();
                tokio::pin!(news);
                news.as_mut().enable();
                // The row is read before the events, so all events that it counts are stored.
                let (row, page) = match jobs.look(&tenant, id, last).await {
                    Ok(Some(found)) => found,
                    Ok(None) => return,
                    Err(error) => {
                        tracing::warn!(job = %id, %error, "events could not be read; the stream ends and its reader resumes");
                        return;
                    }
                };
                let more = !page.is_empty();
                for event in page {
                    last = event.number;
                    yield event;
                }
                if row.0 && last >= row.1 {
                    return;
                }
                if more {
                    continue;
                }
                tokio::select! {
                    () = &mut news => {}
                    () = tokio::time::sleep(Duration::from_millis(POLL_MS)) => {}
                    () = jobs.0.cancel.cancelled() => return,
                }
            }
        }))
    }

    /// The next events, with the end of the job (true) and its number of events; `None` when it was deleted.
    async fn look(
        &self,
        tenant: &str,
        id: JobId,
        after: u64,
    ) -> Result<Option<((bool, u64), Vec<JobEvent>)>, JobsError> {
        let row = match self.row(tenant, id).await {
            Ok(row) => row,
            Err(JobsError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let page = self.0.store.job_events(id, None, after, EVENTS_PER_PAGE).await?;
        Ok(Some(((row.state.is_over(), row.events), page)))
    }

    /// Events of a job after a number, ascending; only those of a kind where one is named.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn events_page(
        &self,
        tenant: &Tenant,
        id: JobId,
        kind: Option<JobEventKind>,
        after: u64,
        limit: u32,
    ) -> Result<Vec<JobEvent>, JobsError> {
        self.row(tenant, id).await?;
        Ok(self.0.store.job_events(id, kind, after, limit).await?)
    }

    /// The last events of a kind, newest first.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn last_events(
        &self,
        tenant: &Tenant,
        id: JobId,
        kind: JobEventKind,
        limit: u32,
    ) -> Result<Vec<JobEvent>, JobsError> {
        self.row(tenant, id).await?;
        Ok(self.0.store.last_job_events(id, kind, limit).await?)
    }
}
