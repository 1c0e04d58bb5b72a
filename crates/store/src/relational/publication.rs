//! The publication of a definition, in several transactions.

use serde_json::Value;

use super::Relational;
use crate::cell::{json, number, text};
use crate::definition::{DEFINITIONS, TASK_ROWS, decode, encode, one};
use crate::engine::{Bulk, BulkRow, Engine, Transaction};
use crate::row::DefinitionRow;
use crate::{Durability, StoreError};

/// Rows that are stored in one transaction: some ten milliseconds in which steps wait.
const ROWS_PER_TRANSACTION: usize = 2_048;

#[expect(private_bounds, reason = "engines are an inner matter; only the two finished stores are public")]
impl<E: Engine> Relational<E> {
    /// Stores the rows in many short transactions, so that steps are not held up, and then the definition, which makes
    /// them visible. Rows lie under the digest of their content: what an interrupted publication leaves behind is used by
    /// the next one of the same content and never seen otherwise.
    pub(super) async fn publish_definition(
        &self,
        definition: &DefinitionRow,
        rows: &[(String, Vec<Value>)],
    ) -> Result<(DefinitionRow, bool), StoreError> {
        let newest = self.one(one(&definition.tenant, &definition.name, None), decode).await?;
        if let Some(same) = newest.filter(|newest| newest.digest == definition.digest) {
            return Ok((same, false));
        }
        let insert = TASK_ROWS.insert("ON CONFLICT DO NOTHING", "task row");
        for (split, rows) in rows {
            for (chunk, rows) in (0_u64..).zip(rows.chunks(ROWS_PER_TRANSACTION)) {
                let first = chunk.saturating_mul(ROWS_PER_TRANSACTION as u64);
                self.store_rows(&insert, &definition.digest, split, first, rows).await?;
            }
        }
        let mut transaction = self.begin(Durability::Disk).await?;
        let published = publish_next(&mut transaction, definition).await;
        self.settle(transaction, Durability::Disk, published).await
    }

    async fn store_rows(
        &self,
        insert: &Bulk,
        digest: &str,
        split: &str,
        first: u64,
        rows: &[Value],
    ) -> Result<(), StoreError> {
        let rows: Vec<BulkRow<'_>> = (first..)
            .zip(rows)
            .map(|(index, row)| Ok(vec![text(digest), text(split), number(index)?, json(row)?]))
            .collect::<Result<_, StoreError>>()?;
        // The definition's own commit makes these durable.
        let mut transaction = self.begin(Durability::Process).await?;
        let stored = transaction.bulk(insert, &rows).await;
        self.settle(transaction, Durability::Process, stored).await
    }
}

async fn publish_next<T: Transaction>(
    transaction: &mut T,
    definition: &DefinitionRow,
) -> Result<(DefinitionRow, bool), StoreError> {
    // Two publishers of one name take their versions one after the other.
    transaction.lock(&format!("definition {} {}", definition.tenant, definition.name)).await?;
    let found = transaction.fetch(one(&definition.tenant, &definition.name, None)).await?;
    let newest = found.first().map(decode).transpose()?;
    let version = match newest {
        Some(newest) if newest.digest == definition.digest => return Ok((newest, false)),
        Some(newest) => newest.version.checked_add(1),
        None => Some(1),
    };
    let version = version.ok_or_else(|| StoreError::Broken("there is no version after this one".to_owned()))?;
    let next = DefinitionRow { version, ..definition.clone() };
    transaction.bulk(&DEFINITIONS.insert("", "definition"), &[encode(&next)?]).await?;
    Ok((next, true))
}
