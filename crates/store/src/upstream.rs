//! Upstreams as rows.

use super::cell::{Cell, Kind, json, text, time};
use super::engine::Reader;
use super::field::Fields;
use super::row::UpstreamRow;
use super::statement::{Bulk, Select, Statement, Table};
use super::{Durability, Store, StoreError};

const UPSTREAMS: Table = Table {
    name: "upstreams",
    columns: &[
        ("tenant", Kind::Text),
        ("name", Kind::Text),
        ("definition", Kind::Text),
        ("sealed_key", Kind::Bytes),
        ("updated_at", Kind::Integer),
    ],
};

fn decode(row: &dyn Fields) -> Result<UpstreamRow, StoreError> {
    Ok(UpstreamRow {
        tenant: row.text("tenant")?,
        name: row.text("name")?,
        definition: row.json("definition")?,
        sealed_key: row.bytes("sealed_key")?,
        updated_at: row.time("updated_at")?,
    })
}

impl dyn Reader {
    /// Upstreams of a tenant by name.
    pub async fn upstreams(&self, tenant: &str) -> Result<Vec<UpstreamRow>, StoreError> {
        self.all(Select::from(&UPSTREAMS).filter("tenant =", text(tenant)).then("ORDER BY name").build(), decode).await
    }

    /// An upstream of a tenant.
    pub async fn upstream(&self, tenant: &str, name: &str) -> Result<Option<UpstreamRow>, StoreError> {
        let query = Select::from(&UPSTREAMS).filter("tenant =", text(tenant)).filter("name =", text(name));
        self.one(query.build(), decode).await
    }
}

const PUT: Bulk = UPSTREAMS.insert(
    "ON CONFLICT (tenant, name) DO UPDATE SET definition = excluded.definition, sealed_key = excluded.sealed_key, \
     updated_at = excluded.updated_at",
    "upstream",
);

impl Store {
    /// Inserts an upstream, or replaces the one of its name.
    pub async fn put_upstream(&self, row: &UpstreamRow) -> Result<(), StoreError> {
        let cells = vec![
            text(&row.tenant),
            text(&row.name),
            json(&row.definition)?,
            Cell::Bytes((&row.sealed_key[..]).into()),
            time(row.updated_at),
        ];
        self.bulk(&PUT, &[cells], Durability::Disk).await
    }

    /// Deletes an upstream; false when the tenant has none of this name.
    pub async fn delete_upstream(&self, tenant: &str, name: &str) -> Result<bool, StoreError> {
        let delete =
            Statement::new("DELETE FROM upstreams WHERE tenant = $1 AND name = $2", vec![text(tenant), text(name)]);
        Ok(self.execute(delete, Durability::Disk).await? > 0)
    }
}
