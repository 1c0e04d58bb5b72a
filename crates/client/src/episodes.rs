//! Episodes: the record that outlives a session.

use palestra_protocol::episode::{Episode, EpisodeState, Rescore, StepRecord, Trajectory};
use palestra_protocol::id::{EpisodeId, GroupId, RunId, SessionId};
use palestra_protocol::list::Page;
use palestra_protocol::verdict::{Status, Verdict};
use reqwest::Method;
use serde::Serialize;
use tokio::io::AsyncWrite;

use crate::download::{Downloaded, receive};
use crate::error::ClientError;
use crate::transport::Client;

/// A query for episodes.
#[derive(Debug, Clone, Default, Serialize)]
pub struct EpisodeQuery {
    /// Of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Of this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupId>,
    /// Of this environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Of this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Running or ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<EpisodeState>,
    /// With this status of the first verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// With at least this score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_min: Option<f64>,
    /// With at most this score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_max: Option<f64>,
    /// Most rows of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl Client {
    /// One episode.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn episode(&self, episode: EpisodeId) -> Result<Episode, ClientError> {
        self.get(&["episodes", &episode.to_string()], &()).await
    }

    /// A page of episodes, newest first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn episodes(&self, query: &EpisodeQuery) -> Result<Page<Episode>, ClientError> {
        self.get(&["episodes"], query).await
    }

    /// One recorded step, uncut.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn step_record(&self, episode: EpisodeId, seq: u64) -> Result<StepRecord, ClientError> {
        self.get(&["episodes", &episode.to_string(), "steps", &seq.to_string()], &()).await
    }

    /// A whole episode.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn trajectory(&self, episode: EpisodeId) -> Result<Trajectory, ClientError> {
        self.get(&["episodes", &episode.to_string(), "trajectory"], &[("format", "json")]).await
    }

    /// Writes a recording of an episode to `into` as it arrives: `html`, or `playwright` for a trace.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the file cannot be written.
    pub async fn download_recording(
        &self,
        episode: EpisodeId,
        form: &str,
        into: &mut (impl AsyncWrite + Unpin),
    ) -> Result<Downloaded, ClientError> {
        let request = self.request(Method::GET, &["episodes", &episode.to_string(), "trajectory"]);
        receive(request.query(&[("format", form)]), into).await
    }

    /// Every verdict on an episode, oldest first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn verdicts(&self, episode: EpisodeId) -> Result<Vec<Verdict>, ClientError> {
        let page: Page<Verdict> = self.get(&["episodes", &episode.to_string(), "verdicts"], &()).await?;
        Ok(page.data)
    }

    /// Judges a stored episode again.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn rescore(&self, episode: EpisodeId, request: &Rescore) -> Result<Verdict, ClientError> {
        self.post(&["episodes", &episode.to_string(), "verify"], request, None).await
    }
}
