//! What happened to a job: its history, then what happens.

use std::time::Duration;

use futures::stream::BoxStream;
use palestra_protocol::id::JobId;
use palestra_protocol::job::{JobEvent, JobEventKind};

use super::{Jobs, JobsError};
use palestra_store::Tenant;

/// Events that are read at a time.
const EVENTS_PER_PAGE: u32 = 256;
/// Milliseconds between two looks for events that another node wrote.
const POLL_MS: u64 = 2_000;

impl Jobs {
    /// What happened to a job after a number, then what happens: until it is over, or the server stops.
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
            let watch = jobs.0.watches.listen(id);
            loop {
                // Listens before it looks, so that nothing is written unheard in between.
                let news = watch.notify().notified();
                tokio::pin!(news);
                news.as_mut().enable();
                // The row is read before the events: what it counts is there.
                let (row, page) = match jobs.look(&tenant, id, last).await {
                    Ok(Some(found)) => found,
                    Ok(None) => return,
                    Err(error) => {
                        tracing::warn!(job = %id, %error, "events could not be read; the reader resumes");
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

    /// Whether the job is over and how many events it has, and the next ones; none when it is gone.
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
