//! API keys as rows.

use palestra_protocol::id::KeyId;
use palestra_protocol::time::Timestamp;

use super::StoreError;
use super::cell::{Cell, Kind, id, json, optional_time, text, time};
use super::engine::{BulkRow, Select, Statement, Table};
use super::field::Fields;
use super::row::{KeyRow, PageRequest};

pub(super) const KEYS: Table = Table {
    name: "keys",
    columns: &[
        ("id", Kind::Text),
        ("tenant", Kind::Text),
        ("name", Kind::Text),
        ("scopes", Kind::Text),
        ("mac", Kind::Bytes),
        ("created_at", Kind::Integer),
        ("expires_at", Kind::Integer),
        ("revoked_at", Kind::Integer),
    ],
};

pub(super) fn encode(row: &KeyRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![
        id(row.id),
        text(&row.tenant),
        text(&row.name),
        json(&row.scopes)?,
        Cell::Bytes((&row.mac[..]).into()),
        time(row.created_at),
        optional_time(row.expires_at),
        optional_time(row.revoked_at),
    ])
}

pub(super) fn decode<F: Fields>(row: &F) -> Result<KeyRow, StoreError> {
    Ok(KeyRow {
        id: row.id("id")?,
        tenant: row.text("tenant")?,
        name: row.text("name")?,
        scopes: row.json("scopes")?,
        mac: row.bytes("mac")?,
        created_at: row.time("created_at")?,
        expires_at: row.time_or_none("expires_at")?,
        revoked_at: row.time_or_none("revoked_at")?,
    })
}

pub(super) fn one(key: KeyId) -> Statement<'static> {
    Select::from(&KEYS).only("id =", id(key)).build()
}

pub(super) fn page<'a>(tenant: &'a str, page: &'a PageRequest) -> Statement<'a> {
    Select::from(&KEYS)
        .only("tenant =", text(tenant))
        .only_if("id <", page.before.as_deref().map(text))
        .then("ORDER BY id DESC")
        .limit(page.limit)
}

pub(super) fn revoke(tenant: &str, key: KeyId, at: Timestamp) -> Statement<'_> {
    let sql = "UPDATE keys SET revoked_at = COALESCE(revoked_at, $1) WHERE tenant = $2 AND id = $3";
    Statement::new(sql, vec![time(at), text(tenant), id(key)])
}
