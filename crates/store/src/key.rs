//! API keys as rows.

use palestra_protocol::id::KeyId;
use palestra_protocol::time::Timestamp;

use super::cell::{Cell, Kind, id, json, optional_time, text, time};
use super::engine::Reader;
use super::field::Fields;
use super::row::{KeyRow, PageRequest};
use super::statement::{BulkRow, Select, Statement, Table};
use super::{Durability, Store, StoreError};

const KEYS: Table = Table {
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

fn encode(row: &KeyRow) -> Result<BulkRow<'_>, StoreError> {
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

fn decode(row: &dyn Fields) -> Result<KeyRow, StoreError> {
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

impl dyn Reader {
    /// A key of any tenant.
    pub async fn key(&self, key: KeyId) -> Result<Option<KeyRow>, StoreError> {
        self.one(Select::from(&KEYS).filter("id =", id(key)).build(), decode).await
    }

    /// Keys of a tenant by descending id.
    pub async fn keys(&self, tenant: &str, page: &PageRequest) -> Result<Vec<KeyRow>, StoreError> {
        let query = Select::from(&KEYS)
            .filter("tenant =", text(tenant))
            .filter_if("id <", page.before.as_deref().map(text))
            .then("ORDER BY id DESC")
            .limit(page.limit);
        self.all(query, decode).await
    }
}

impl Store {
    /// Inserts a key.
    pub async fn create_key(&self, row: &KeyRow) -> Result<(), StoreError> {
        self.bulk(&KEYS.insert("", "key"), &[encode(row)?], Durability::Disk).await
    }

    /// Revokes a key; false when the tenant has no such key. Revoking twice keeps the first time.
    pub async fn revoke_key(&self, tenant: &str, key: KeyId, at: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE keys SET revoked_at = COALESCE(revoked_at, $1) WHERE tenant = $2 AND id = $3";
        let update = Statement::new(sql, vec![time(at), text(tenant), id(key)]);
        Ok(self.execute(update, Durability::Disk).await? > 0)
    }
}
