//! Contents that observations name by their digest: stored with what names them, and read as long as the record is.

use palestra_environment::blob::Blob;
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::observation::Observation;
use palestra_store::Tenant;
use palestra_store::row::{BlobRow, EpisodeRow, Record};
use serde_json::Value;

use super::cell::Live;
use super::{SessionError, Sessions, turn};

/// Records of the contents that an observation names since the last call. Where nothing is recorded that they could be read from, they
/// are put into the observation itself.
pub(super) fn keep(live: &mut Live, observation: &mut Observation) -> Vec<Record> {
    let blobs = live.place.as_mut().map(turn::take_blobs).unwrap_or_default();
    if live.recorded() {
        let episode = live.episode.id;
        let record = |Blob { digest, media_type, bytes }| {
            Record::Blob(BlobRow { episode, digest, media_type: media_type.to_owned(), bytes })
        };
        return blobs.into_iter().map(record).collect();
    }
    for block in &mut observation.content {
        let named = blobs.iter().find(|blob| Blob::named_by(block) == Some(&blob.digest));
        if let (Some(blob), Value::Object(block)) = (named, block) {
            blob.fill(block);
        }
    }
    Vec::new()
}

/// The same for the first observation of an episode, which is stored itself where it names contents: no step tells it.
pub(super) fn keep_first(live: &mut Live) -> Vec<Record> {
    let Some(mut first) = live.first.take() else { return Vec::new() };
    let mut records = keep(live, &mut first);
    if !records.is_empty() {
        records.push(Record::Opening { episode: live.episode.id, observation: first.clone() });
    }
    live.first = Some(first);
    records
}

impl Sessions {
    /// The first observation of an episode, that before a fork included, where it was stored.
    pub(super) async fn stored_opening(&self, episode: &EpisodeRow) -> Result<Option<Observation>, SessionError> {
        let (mut id, mut origin) = (episode.id, episode.origin);
        loop {
            let stored = self.0.store.opening(id).await?;
            let Some(before) = origin.filter(|_| stored.is_none()) else { return Ok(stored) };
            id = before.episode;
            origin = self.0.store.episode(&episode.tenant, id).await?.ok_or(SessionError::NotFound("episode"))?.origin;
        }
    }

    /// Content that an observation of an episode named, those before a fork included.
    ///
    /// # Errors
    /// When there is no such episode or no such content.
    pub async fn blob(&self, tenant: &Tenant, episode: EpisodeId, digest: &str) -> Result<BlobRow, SessionError> {
        let mut next = Some(episode);
        while let Some(id) = next {
            let row = self.0.store.episode(tenant, id).await?.ok_or(SessionError::NotFound("episode"))?;
            if let Some(found) = self.0.store.blob(id, digest).await? {
                return Ok(found);
            }
            next = row.origin.map(|origin| origin.episode);
        }
        Err(SessionError::NotFound("content of this episode"))
    }

    /// Content that an observation of a session's current episode named.
    ///
    /// # Errors
    /// When there is no such session or no such content.
    pub async fn session_blob(&self, tenant: &Tenant, id: SessionId, digest: &str) -> Result<BlobRow, SessionError> {
        let session = self.0.store.session(tenant, id).await?.ok_or(SessionError::NotFound("session"))?;
        self.blob(tenant, session.episode, digest).await
    }
}
