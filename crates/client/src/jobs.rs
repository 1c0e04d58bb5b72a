//! Jobs: queueing them, watching them, and fetching what they left.

use std::time::{Duration, Instant};

use futures::stream::{BoxStream, StreamExt};
use palestra_protocol::id::JobId;
use palestra_protocol::job::{Artifact, Checkpoint, CreateJob, Job, JobEvent, JobEventKind, JobKind, JobState};
use palestra_protocol::list::{List, Page};
use reqwest::Method;
use serde::Serialize;
use tokio::io::AsyncWrite;

use crate::download::{Downloaded, receive};
use crate::error::ClientError;
use crate::events::follow;
use crate::transport::{Client, read, succeed};

/// First wait before a lost connection is opened again, in milliseconds; it doubles with each failure in a row.
const RECONNECT_MS_MIN: u64 = 200;
/// Longest such wait.
const RECONNECT_MS_MAX: u64 = 10_000;
/// Time that a server may stay away before a watcher gives up, in milliseconds.
const RECONNECT_PATIENCE_MS: u64 = 15 * 60_000;

/// A query for jobs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct JobQuery {
    /// In this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
    /// Of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<JobKind>,
    /// Those alone that failed after their last attempt.
    pub dead_letter: bool,
    /// Most rows of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl Client {
    /// Queues a job. With a caller-made id or an idempotency key it is safe to repeat.
    ///
    /// # Errors
    /// [`ClientError::Problem`] with every fault of the job, or when the server cannot be reached.
    pub async fn create_job(&self, request: &CreateJob, key: Option<&str>) -> Result<Job, ClientError> {
        self.post(&["jobs"], request, key).await
    }

    /// One job.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn job(&self, job: JobId) -> Result<Job, ClientError> {
        self.get(&["jobs", &job.to_string()], &()).await
    }

    /// A page of jobs, newest first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn jobs(&self, query: &JobQuery) -> Result<Page<Job>, ClientError> {
        self.get(&["jobs"], query).await
    }

    /// Cancels a job: at once while it is queued; a running one is asked to stop.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn cancel_job(&self, job: JobId) -> Result<Job, ClientError> {
        self.post(&["jobs", &job.to_string(), "cancel"], &serde_json::Map::new(), None).await
    }

    /// Queues a failed or cancelled job again.
    ///
    /// # Errors
    /// When the job is not over or has succeeded, or the server cannot be reached.
    pub async fn retry_job(&self, job: JobId) -> Result<Job, ClientError> {
        self.post(&["jobs", &job.to_string(), "retry"], &serde_json::Map::new(), None).await
    }

    /// Forgets a job that is over, with its artefacts; policies stay.
    ///
    /// # Errors
    /// When the job is not over, or the server cannot be reached.
    pub async fn delete_job(&self, job: JobId) -> Result<(), ClientError> {
        succeed(self.request(Method::DELETE, &["jobs", &job.to_string()]).send().await?).await.map(drop)
    }

    /// Metrics of a job, oldest first: a page behind the event `after`.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn job_metrics(&self, job: JobId, after: u64, limit: u32) -> Result<Page<JobEvent>, ClientError> {
        let query = [("cursor", after.to_string()), ("limit", limit.to_string())];
        self.get(&["jobs", &job.to_string(), "metrics"], &query).await
    }

    /// The last metrics of a job, newest first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn last_job_metrics(&self, job: JobId, limit: u32) -> Result<Vec<JobEvent>, ClientError> {
        let query = [("newest", "true".to_owned()), ("limit", limit.to_string())];
        let page: Page<JobEvent> = self.get(&["jobs", &job.to_string(), "metrics"], &query).await?;
        Ok(page.data)
    }

    /// Complete checkpoints of a job, oldest first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn checkpoints(&self, job: JobId) -> Result<Vec<Checkpoint>, ClientError> {
        let list: List<Checkpoint> = self.get(&["jobs", &job.to_string(), "checkpoints"], &()).await?;
        Ok(list.data)
    }

    /// The files that a job left, by name.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn artifacts(&self, job: JobId) -> Result<Vec<Artifact>, ClientError> {
        let list: List<Artifact> = self.get(&["jobs", &job.to_string(), "artifacts"], &()).await?;
        Ok(list.data)
    }

    /// Writes an artefact to `into` as it arrives, and checks its digest.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, `into` cannot be written ([`ClientError::File`]), or what arrived is not what
    /// the server has.
    pub async fn download_artifact(
        &self,
        job: JobId,
        name: &str,
        into: &mut (impl AsyncWrite + Unpin),
    ) -> Result<Downloaded, ClientError> {
        let job = job.to_string();
        let segments: Vec<&str> = ["jobs", job.as_str(), "artifacts"].into_iter().chain(name.split('/')).collect();
        receive(self.request(Method::GET, &segments), into).await
    }

    /// The events of the job behind number `after` (0: from the beginning), then those that come, until the job is over.
    ///
    /// A lost connection is opened again and nothing is told twice; after a quarter of an hour without the server the stream ends
    /// with [`ClientError::GaveUp`]. A refusal ends it too.
    #[must_use]
    pub fn job_events(&self, job: JobId, after: u64) -> BoxStream<'static, Result<JobEvent, ClientError>> {
        let watch = Watch {
            client: self.clone(),
            job,
            after,
            connection: None,
            heard: false,
            ended: false,
            over: false,
            failing: None,
            wait_ms: RECONNECT_MS_MIN,
        };
        futures::stream::unfold(watch, |mut watch| async move { watch.next().await.map(|event| (event, watch)) })
            .boxed()
    }

    async fn open_job_events(
        &self,
        job: JobId,
        after: u64,
    ) -> Result<BoxStream<'static, Result<JobEvent, ClientError>>, ClientError> {
        let request = self.request(Method::GET, &["jobs", &job.to_string(), "events"]);
        follow(request.header("last-event-id", after.to_string())).await
    }

    /// Reads JSON that an artefact of a job holds; at most 64 MiB.
    ///
    /// # Errors
    /// As [`Client::download_artifact`], and when it is larger or no such JSON.
    pub async fn read_artifact<T: serde::de::DeserializeOwned>(
        &self,
        job: JobId,
        name: &str,
    ) -> Result<T, ClientError> {
        const JSON_BYTES_MAX: u64 = 64 << 20;
        let job = job.to_string();
        let segments: Vec<&str> = ["jobs", job.as_str(), "artifacts"].into_iter().chain(name.split('/')).collect();
        let response = succeed(self.request(Method::GET, &segments).send().await?).await?;
        if response.content_length().is_none_or(|bytes| bytes > JSON_BYTES_MAX) {
            return Err(ClientError::Unexpected {
                status: 200,
                excerpt: format!("{name} is larger than {JSON_BYTES_MAX} bytes: download it to a file"),
            });
        }
        read(response).await
    }
}

/// A job that is watched over as many connections as it takes.
struct Watch {
    client: Client,
    job: JobId,
    /// Number of the last event that was told.
    after: u64,
    connection: Option<BoxStream<'static, Result<JobEvent, ClientError>>>,
    /// True once this connection brought an event.
    heard: bool,
    /// True where the last event ended the job.
    ended: bool,
    /// True once the stream has ended.
    over: bool,
    /// Since when no connection could be kept.
    failing: Option<Instant>,
    wait_ms: u64,
}

impl Watch {
    async fn next(&mut self) -> Option<Result<JobEvent, ClientError>> {
        while !self.over {
            let Some(connection) = &mut self.connection else {
                match self.client.open_job_events(self.job, self.after).await {
                    Ok(connection) => (self.connection, self.heard) = (Some(connection), false),
                    Err(error) => {
                        if let Some(error) = self.wait_after(error).await {
                            return Some(Err(error));
                        }
                    }
                }
                continue;
            };
            match connection.next().await {
                Some(Ok(event)) => {
                    if let Some(event) = self.take(event) {
                        return Some(Ok(event));
                    }
                }
                Some(Err(error)) => {
                    self.connection = None;
                    if let Some(error) = self.wait_after(error).await {
                        return Some(Err(error));
                    }
                }
                None => {
                    self.connection = None;
                    if let Some(error) = self.check_over().await {
                        return Some(Err(error));
                    }
                }
            }
        }
        None
    }

    /// Notes an event; none where it was told before.
    fn take(&mut self, event: JobEvent) -> Option<JobEvent> {
        (self.heard, self.failing, self.wait_ms) = (true, None, RECONNECT_MS_MIN);
        if event.number <= self.after {
            return None;
        }
        self.after = event.number;
        self.ended = ends_job(&event);
        Some(event)
    }

    /// A connection ended in good order: the job is over, or the server stops.
    async fn check_over(&mut self) -> Option<ClientError> {
        if self.ended {
            self.over = true;
            return None;
        }
        match self.client.job(self.job).await {
            // A connection that told nothing has told all that there is.
            Ok(job) if !self.heard && job.state.is_over() => {
                self.over = true;
                None
            }
            Ok(_) => {
                tokio::time::sleep(Duration::from_millis(self.wait_ms)).await;
                None
            }
            Err(error) => self.wait_after(error).await,
        }
    }

    /// Waits after a failure that may pass; answers one that does not.
    async fn wait_after(&mut self, error: ClientError) -> Option<ClientError> {
        let passes = error.may_pass();
        let since = *self.failing.get_or_insert_with(Instant::now);
        let seconds = since.elapsed().as_secs_f64();
        if !passes || since.elapsed() > Duration::from_millis(RECONNECT_PATIENCE_MS) {
            self.over = true;
            return Some(if passes { ClientError::GaveUp { seconds, last: error.to_string() } } else { error });
        }
        tokio::time::sleep(Duration::from_millis(self.wait_ms)).await;
        self.wait_ms = (self.wait_ms * 2).min(RECONNECT_MS_MAX);
        None
    }
}

/// True for an event that ends its job, unless the job is tried again.
fn ends_job(event: &JobEvent) -> bool {
    event.kind == JobEventKind::State
        && serde_json::from_value::<JobState>(event.data["state"].clone()).is_ok_and(JobState::is_over)
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_protocol::time::Timestamp;
    use serde_json::json;

    #[test]
    fn a_job_ends_with_its_last_state() {
        let event = |kind, data| JobEvent { number: 1, attempt: 1, at: Timestamp::from_milliseconds(0), kind, data };
        assert!(ends_job(&event(JobEventKind::State, json!({"state": "failed"}))));
        assert!(!ends_job(&event(JobEventKind::State, json!({"state": "queued"}))));
        assert!(!ends_job(&event(JobEventKind::State, json!({}))));
        assert!(!ends_job(&event(JobEventKind::Log, json!({"state": "failed"}))));
    }
}
