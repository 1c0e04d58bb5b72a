//! Snapshots as rows.

use palestra_protocol::id::{SessionId, SnapshotId};

use super::StoreError;
use super::cell::{Kind, id, number, optional_text, text, time};
use super::engine::Reader;
use super::field::Fields;
use super::row::SnapshotRow;
use super::statement::{BulkRow, Select, Table};

pub(super) const SNAPSHOTS: Table = Table {
    name: "snapshots",
    columns: &[
        ("id", Kind::Text),
        ("tenant", Kind::Text),
        ("session", Kind::Text),
        ("name", Kind::Text),
        ("episode", Kind::Text),
        ("seq", Kind::Integer),
        ("at", Kind::Integer),
        ("state", Kind::Text),
    ],
};

pub(super) fn encode(row: &SnapshotRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![
        id(row.id),
        text(&row.tenant),
        id(row.session),
        optional_text(row.name.as_deref()),
        id(row.episode),
        number(row.seq)?,
        time(row.at),
        optional_text(row.state.as_deref()),
    ])
}

fn decode(row: &dyn Fields) -> Result<SnapshotRow, StoreError> {
    Ok(SnapshotRow {
        id: row.id("id")?,
        tenant: row.text("tenant")?,
        session: row.id("session")?,
        name: row.text_or_none("name")?,
        episode: row.id("episode")?,
        seq: row.number("seq")?,
        at: row.time("at")?,
        state: row.text_or_none("state")?,
    })
}

impl dyn Reader {
    /// A snapshot of a tenant.
    pub async fn snapshot(&self, tenant: &str, snapshot: SnapshotId) -> Result<Option<SnapshotRow>, StoreError> {
        let query = Select::from(&SNAPSHOTS).filter("tenant =", text(tenant)).filter("id =", id(snapshot)).build();
        self.one(query, decode).await
    }

    /// Snapshots of a session, oldest first.
    pub async fn snapshots(&self, session: SessionId) -> Result<Vec<SnapshotRow>, StoreError> {
        let query = Select::from(&SNAPSHOTS).filter("session =", id(session)).then("ORDER BY id").build();
        self.all(query, decode).await
    }
}
