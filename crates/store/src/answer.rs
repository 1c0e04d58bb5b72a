//! Answers of creating calls as rows.

use palestra_protocol::time::Timestamp;

use super::cell::{Kind, text, time};
use super::engine::Reader;
use super::field::Fields;
use super::row::IdempotencyRow;
use super::statement::{Bulk, BulkRow, Select, Statement, Table};
use super::{Durability, Store, StoreError, Transaction};

const ANSWERS: Table = Table {
    name: "answers",
    columns: &[
        ("tenant", Kind::Text),
        ("operation", Kind::Text),
        ("key", Kind::Text),
        ("request", Kind::Text),
        ("answer", Kind::Text),
        ("at", Kind::Integer),
    ],
};

pub(super) const INSERT_ANSWERS: Bulk = ANSWERS.insert("", "answer");

pub(super) fn encode(row: &IdempotencyRow) -> BulkRow<'_> {
    vec![text(&row.tenant), text(&row.operation), text(&row.key), text(&row.request), text(&row.answer), time(row.at)]
}

fn decode(row: &dyn Fields) -> Result<IdempotencyRow, StoreError> {
    Ok(IdempotencyRow {
        tenant: row.text("tenant")?,
        operation: row.text("operation")?,
        key: row.text("key")?,
        request: row.text("request")?,
        answer: row.text("answer")?,
        at: row.time("at")?,
    })
}

impl dyn Reader {
    /// The answer of a creating call.
    pub async fn answer(&self, tenant: &str, operation: &str, key: &str) -> Result<Option<IdempotencyRow>, StoreError> {
        let query = Select::from(&ANSWERS)
            .filter("tenant =", text(tenant))
            .filter("operation =", text(operation))
            .filter("key =", text(key))
            .build();
        self.one(query, decode).await
    }
}

impl Store {
    /// Deletes answers older than `before`; answers how many.
    pub async fn delete_answers(&self, before: Timestamp) -> Result<u64, StoreError> {
        let delete = Statement::new("DELETE FROM answers WHERE at < $1", vec![time(before)]);
        self.execute(delete, Durability::Process).await
    }
}

impl Transaction<'_> {
    /// Adds the answer of a creating call.
    pub async fn insert_answer(&mut self, row: &IdempotencyRow) -> Result<(), StoreError> {
        self.bulk(&INSERT_ANSWERS, &[encode(row)]).await
    }
}
