//! Contents that observations name by their digest, and first observations that name some, as rows.

use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Observation;

use super::StoreError;
use super::cell::{Cell, Kind, id, json, text};
use super::engine::Reader;
use super::row::BlobRow;
use super::statement::{BulkRow, Select, Table};

pub(super) const BLOBS: Table = Table {
    name: "blobs",
    columns: &[("episode", Kind::Text), ("digest", Kind::Text), ("media_type", Kind::Text), ("bytes", Kind::Bytes)],
};

pub(super) fn encode(row: &BlobRow) -> BulkRow<'_> {
    vec![id(row.episode), text(&row.digest), text(&row.media_type), Cell::Bytes(row.bytes.as_ref().into())]
}

pub(super) const OPENINGS: Table =
    Table { name: "openings", columns: &[("episode", Kind::Text), ("observation", Kind::Text)] };

pub(super) fn encode_opening(episode: EpisodeId, observation: &Observation) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![id(episode), json(observation)?])
}

impl dyn Reader {
    /// The first observation of this episode, where it was stored.
    pub async fn opening(&self, episode: EpisodeId) -> Result<Option<Observation>, StoreError> {
        let query = Select::from(&OPENINGS).filter("episode =", id(episode)).build();
        self.one(query, |row| row.json("observation")).await
    }

    /// Content that an observation of this episode named by its digest; those before a fork are in its origin.
    pub async fn blob(&self, episode: EpisodeId, digest: &str) -> Result<Option<BlobRow>, StoreError> {
        let query = Select::from(&BLOBS).filter("episode =", id(episode)).filter("digest =", text(digest)).build();
        self.one(query, |row| {
            Ok(BlobRow {
                episode: row.id("episode")?,
                digest: row.text("digest")?,
                media_type: row.text("media_type")?,
                bytes: row.bytes("bytes")?.into(),
            })
        })
        .await
    }
}
