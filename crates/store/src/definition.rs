//! Published definitions and their task rows.

use palestra_protocol::time::Timestamp;
use serde_json::Value;

use super::cell::{Kind, bound, json, number, text, time};
use super::engine::Reader;
use super::field::Fields;
use super::row::DefinitionRow;
use super::statement::{Bulk, BulkRow, Select, Statement, Table};
use super::{Durability, Store, StoreError, Transaction};

/// Rows that are stored in one transaction: some ten milliseconds in which steps wait.
const ROWS_PER_TRANSACTION: usize = 2_048;

const DEFINITIONS: Table = Table {
    name: "definitions",
    columns: &[
        ("tenant", Kind::Text),
        ("name", Kind::Text),
        ("version", Kind::Integer),
        ("digest", Kind::Text),
        ("definition", Kind::Text),
        ("splits", Kind::Text),
        ("created_at", Kind::Integer),
    ],
};

const INSERT_DEFINITION: Bulk = DEFINITIONS.insert("", "definition");

const TASK_ROWS: Table = Table {
    name: "task_rows",
    columns: &[("digest", Kind::Text), ("split", Kind::Text), ("position", Kind::Integer), ("content", Kind::Text)],
};

const INSERT_TASK_ROWS: Bulk = TASK_ROWS.insert("ON CONFLICT DO NOTHING", "task row");

fn encode(row: &DefinitionRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![
        text(&row.tenant),
        text(&row.name),
        number(u64::from(row.version))?,
        text(&row.digest),
        json(&row.definition)?,
        json(&row.splits)?,
        time(row.created_at),
    ])
}

fn decode(row: &dyn Fields) -> Result<DefinitionRow, StoreError> {
    Ok(DefinitionRow {
        tenant: row.text("tenant")?,
        name: row.text("name")?,
        version: row.version("version")?,
        digest: row.text("digest")?,
        definition: row.json("definition")?,
        splits: row.json("splits")?,
        created_at: row.time("created_at")?,
    })
}

impl dyn Reader {
    /// A definition by name and version, withdrawn or not; where no version is named, the newest that is not withdrawn.
    pub async fn definition(
        &self,
        tenant: &str,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<DefinitionRow>, StoreError> {
        let query = Select::from(&DEFINITIONS).filter("tenant =", text(tenant)).filter("name =", text(name));
        let query = match version {
            Some(version) => query.filter("version =", bound(u64::from(version))),
            None => query.then("AND withdrawn_at IS NULL ORDER BY version DESC"),
        };
        self.one(query.limit(1), decode).await
    }

    /// The highest version of a name, withdrawn or not; none where nothing was published under it.
    pub async fn last_version(&self, tenant: &str, name: &str) -> Result<Option<u32>, StoreError> {
        let query = Select::named("version", "definitions")
            .filter("tenant =", text(tenant))
            .filter("name =", text(name))
            .then("ORDER BY version DESC")
            .limit(1);
        self.one(query, |row| row.version("version")).await
    }

    /// The newest version of every definition of a tenant that is not withdrawn, by name.
    pub async fn definitions(&self, tenant: &str) -> Result<Vec<DefinitionRow>, StoreError> {
        let newest = "AND version = (SELECT MAX(other.version) FROM definitions AS other \
                      WHERE other.tenant = definitions.tenant AND other.name = definitions.name \
                      AND other.withdrawn_at IS NULL) ORDER BY name";
        self.all(Select::from(&DEFINITIONS).filter("tenant =", text(tenant)).then(newest).build(), decode).await
    }

    /// One row of a split, by the digest that it was published under.
    pub async fn task_row(&self, digest: &str, split: &str, index: u64) -> Result<Option<Value>, StoreError> {
        let query = Select::from(&TASK_ROWS)
            .filter("digest =", text(digest))
            .filter("split =", text(split))
            .filter("position =", bound(index))
            .build();
        self.one(query, |row| row.json("content")).await
    }
}

impl Store {
    /// Stores a definition with its rows as the next version of its name, all or nothing. When the newest version of the
    /// tenant's name that is not withdrawn has the same digest, stores nothing and answers that row; otherwise the new one. The flag is
    /// true for a new one.
    ///
    /// The rows go in many short transactions, so that steps are not held up, and then the definition, which makes them visible.
    /// They are stored under the digest of their content: those of an interrupted publication are used by the next one of the same
    /// content, and never seen otherwise.
    pub async fn publish(
        &self,
        definition: &DefinitionRow,
        rows: &[(String, Vec<Value>)],
    ) -> Result<(DefinitionRow, bool), StoreError> {
        let newest = self.definition(&definition.tenant, &definition.name, None).await?;
        if let Some(same) = newest.filter(|newest| newest.digest == definition.digest) {
            return Ok((same, false));
        }
        for (split, rows) in rows {
            for (chunk, rows) in (0_u64..).zip(rows.chunks(ROWS_PER_TRANSACTION)) {
                let first = chunk.saturating_mul(ROWS_PER_TRANSACTION as u64);
                let rows: Vec<BulkRow<'_>> = (first..)
                    .zip(rows)
                    .map(|(index, row)| Ok(vec![text(&definition.digest), text(split), number(index)?, json(row)?]))
                    .collect::<Result<_, StoreError>>()?;
                // The definition's own commit makes these durable.
                self.bulk(&INSERT_TASK_ROWS, &rows, Durability::Process).await?;
            }
        }
        let mut transaction = self.begin(Durability::Disk).await?;
        let published = transaction.publish_next(definition).await;
        transaction.settle(published).await
    }

    /// Withdraws a version; one that is withdrawn stays so. False where there is no such version.
    pub async fn withdraw(&self, tenant: &str, name: &str, version: u32, at: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE definitions SET withdrawn_at = COALESCE(withdrawn_at, $1) \
                   WHERE tenant = $2 AND name = $3 AND version = $4";
        let cells = vec![time(at), text(tenant), text(name), bound(u64::from(version))];
        Ok(self.execute(Statement::new(sql, cells), Durability::Disk).await? > 0)
    }
}

impl Transaction<'_> {
    async fn publish_next(&mut self, definition: &DefinitionRow) -> Result<(DefinitionRow, bool), StoreError> {
        // Two publishers of one name take their versions one after the other.
        self.lock(&format!("definition {} {}", definition.tenant, definition.name)).await?;
        let newest = self.definition(&definition.tenant, &definition.name, None).await?;
        if let Some(same) = newest.filter(|newest| newest.digest == definition.digest) {
            return Ok((same, false));
        }
        let last = self.last_version(&definition.tenant, &definition.name).await?;
        let version = last
            .unwrap_or(0)
            .checked_add(1)
            .ok_or_else(|| StoreError::Broken("there is no version after this one".to_owned()))?;
        let next = DefinitionRow { version, ..definition.clone() };
        self.bulk(&INSERT_DEFINITION, &[encode(&next)?]).await?;
        Ok((next, true))
    }
}
