//! Verdicts and the states that they judge, as rows.

use palestra_protocol::id::EpisodeId;
use serde_json::Value;

use super::StoreError;
use super::cell::{Kind, flag, id, json, real, text, time, word};
use super::engine::Reader;
use super::field::Fields;
use super::row::VerdictRow;
use super::statement::{BulkRow, Select, Table};

pub(super) const VERDICTS: Table = Table {
    name: "verdicts",
    columns: &[
        ("episode", Kind::Text),
        ("verifier", Kind::Text),
        ("verifier_version", Kind::Text),
        ("tenant", Kind::Text),
        ("session", Kind::Text),
        ("status", Kind::Text),
        ("score", Kind::Real),
        ("passed", Kind::Boolean),
        ("trainable", Kind::Boolean),
        ("verdict", Kind::Text),
        ("at", Kind::Integer),
    ],
};

pub(super) const STATES: Table = Table { name: "states", columns: &[("digest", Kind::Text), ("state", Kind::Text)] };

pub(super) fn encode(row: &VerdictRow) -> Result<BulkRow<'_>, StoreError> {
    let verdict = &row.verdict;
    Ok(vec![
        id(verdict.episode),
        text(&verdict.verifier.name),
        text(&verdict.verifier.version),
        text(&row.tenant),
        id(row.session),
        word(verdict.status.as_str()),
        real(verdict.score),
        flag(verdict.passed),
        flag(verdict.trainable),
        json(verdict)?,
        time(row.at),
    ])
}

fn decode(row: &dyn Fields) -> Result<VerdictRow, StoreError> {
    Ok(VerdictRow {
        tenant: row.text("tenant")?,
        session: row.id("session")?,
        verdict: row.json("verdict")?,
        at: row.time("at")?,
    })
}

pub(super) fn encode_state<'a>(digest: &'a str, state: &Value) -> Result<BulkRow<'a>, StoreError> {
    Ok(vec![text(digest), json(state)?])
}

impl dyn Reader {
    /// Verdicts of an episode, oldest first.
    pub async fn verdicts(&self, episode: EpisodeId) -> Result<Vec<VerdictRow>, StoreError> {
        let query = Select::from(&VERDICTS).filter("episode =", id(episode));
        self.all(query.then("ORDER BY at, verifier, verifier_version").build(), decode).await
    }

    /// The final state that was stored by this digest.
    pub async fn state(&self, digest: &str) -> Result<Option<Value>, StoreError> {
        let query = Select::from(&STATES).filter("digest =", text(digest)).build();
        self.one(query, |row| row.json("state")).await
    }
}
