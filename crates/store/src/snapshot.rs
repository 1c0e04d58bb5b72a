//! Snapshots as rows.

use palestra_protocol::id::{SessionId, SnapshotId};

use super::StoreError;
use super::cell::{Kind, id, number, optional_text, text, time};
use super::engine::{BulkRow, Select, Statement, Table};
use super::field::Fields;
use super::row::SnapshotRow;

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

pub(super) fn decode<F: Fields>(row: &F) -> Result<SnapshotRow, StoreError> {
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

pub(super) fn one(tenant: &str, snapshot: SnapshotId) -> Statement<'_> {
    Select::from(&SNAPSHOTS).only("tenant =", text(tenant)).only("id =", id(snapshot)).build()
}

pub(super) fn of_session(session: SessionId) -> Statement<'static> {
    Select::from(&SNAPSHOTS).only("session =", id(session)).then("ORDER BY id").build()
}
