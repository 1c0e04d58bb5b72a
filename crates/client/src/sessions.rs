//! Sessions: open, act, judge, copy, close, and what can be read of them.

use palestra_protocol::id::{GroupId, RunId, SessionId, SnapshotId};
use palestra_protocol::list::{List, Page};
use palestra_protocol::session::{
    CreateSession, Created, Diff, Fork, Opened, Reset, Restore, Session, SessionState, Snapshot, StartPoint, StateView,
    TakeSnapshot, Verify,
};
use palestra_protocol::step::{Finish, FinishReason, Finished, Step, Stepped};
use palestra_protocol::verdict::Verdict;
use reqwest::{Method, StatusCode};
use serde::Serialize;

use crate::error::ClientError;
use crate::transport::{Client, read, succeed};

/// A query for sessions.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SessionQuery {
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
    /// Open or closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// Most rows of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The verdict of a judging.
#[derive(Debug, Clone, PartialEq)]
pub enum Verified {
    /// The verdict.
    Verdict(Box<Verdict>),
    /// It was not there within `wait_ms`; it will be at this address.
    Pending {
        /// Path of the verdict.
        location: String,
    },
}

impl Client {
    /// Opens one session, or several with `count`. With a `key` the call is safe to repeat for 24 hours.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn create(&self, request: &CreateSession, key: Option<&str>) -> Result<Created, ClientError> {
        self.post(&["sessions"], request, key).await
    }

    /// Opens one session.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or when `count` was given.
    pub async fn create_one(&self, request: &CreateSession) -> Result<Opened, ClientError> {
        match self.create(request, None).await? {
            Created::One(opened) => Ok(*opened),
            Created::Many(_) => Err(ClientError::Unsendable("create_one takes no `count`: call create".to_owned())),
        }
    }

    /// Opens one session where a stored episode stood, with the settings of its session. For others, or for several sessions, give
    /// `from` to [`Client::create`]. With a `key` the call is safe to repeat for 24 hours.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn create_from(&self, from: StartPoint, key: Option<&str>) -> Result<Opened, ClientError> {
        let request = CreateSession { from: Some(from), ..CreateSession::default() };
        self.post(&["sessions"], &request, key).await
    }

    /// Begins a new episode.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn reset(&self, session: SessionId, request: &Reset, key: Option<&str>) -> Result<Opened, ClientError> {
        self.post(&["sessions", &session.to_string(), "reset"], request, key).await
    }

    /// Takes a turn. With `seq` the call is safe to repeat.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn step(&self, session: SessionId, step: &Step) -> Result<Stepped, ClientError> {
        self.post(&["sessions", &session.to_string(), "step"], step, None).await
    }

    /// Ends the episode.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn finish(&self, session: SessionId, reason: FinishReason) -> Result<Finished, ClientError> {
        self.post(&["sessions", &session.to_string(), "finish"], &Finish { reason, detail: None, episode: None }, None)
            .await
    }

    /// Judges the episode; a live one is finished first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn verify(&self, session: SessionId, request: &Verify) -> Result<Verified, ClientError> {
        let call = self.request(Method::POST, &["sessions", &session.to_string(), "verify"]).json(request);
        let response = succeed(call.send().await?).await?;
        if response.status() == StatusCode::ACCEPTED {
            let location = response.headers().get(reqwest::header::LOCATION).and_then(|value| value.to_str().ok());
            return Ok(Verified::Pending { location: location.unwrap_or_default().to_owned() });
        }
        read(response).await.map(|verdict| Verified::Verdict(Box::new(verdict)))
    }

    /// Copies the session.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn fork(
        &self,
        session: SessionId,
        request: &Fork,
        key: Option<&str>,
    ) -> Result<Vec<Opened>, ClientError> {
        let list: List<Opened> = self.post(&["sessions", &session.to_string(), "fork"], request, key).await?;
        Ok(list.data)
    }

    /// Names the present point of the episode.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn take_snapshot(
        &self,
        session: SessionId,
        request: &TakeSnapshot,
        key: Option<&str>,
    ) -> Result<Snapshot, ClientError> {
        self.post(&["sessions", &session.to_string(), "snapshots"], request, key).await
    }

    /// Every named point of the session.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn snapshots(&self, session: SessionId) -> Result<Vec<Snapshot>, ClientError> {
        let page: Page<Snapshot> = self.get(&["sessions", &session.to_string(), "snapshots"], &()).await?;
        Ok(page.data)
    }

    /// Goes on from a named point in a new episode.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn restore(
        &self,
        session: SessionId,
        snapshot: SnapshotId,
        key: Option<&str>,
    ) -> Result<Opened, ClientError> {
        self.post(&["sessions", &session.to_string(), "restore"], &Restore { snapshot }, key).await
    }

    /// Describes a session.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn session(&self, session: SessionId) -> Result<Session, ClientError> {
        self.get(&["sessions", &session.to_string()], &()).await
    }

    /// A page of sessions, newest first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn sessions(&self, query: &SessionQuery) -> Result<Page<Session>, ClientError> {
        self.get(&["sessions"], query).await
    }

    /// Privileged state, or the part that a JSON pointer names.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn state(&self, session: SessionId, pointer: &str) -> Result<StateView, ClientError> {
        self.get(&["sessions", &session.to_string(), "state"], &[("pointer", pointer)]).await
    }

    /// The difference from another session or a snapshot, given by its id.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn diff(&self, session: SessionId, against: &str) -> Result<Diff, ClientError> {
        self.get(&["sessions", &session.to_string(), "diff"], &[("against", against)]).await
    }

    /// Closes the session; its record stays. Closing twice is the same as once.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn close(&self, session: SessionId) -> Result<(), ClientError> {
        let request = self.request(Method::DELETE, &["sessions", &session.to_string()]);
        succeed(request.send().await?).await.map(drop)
    }
}
