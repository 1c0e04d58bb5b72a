//! Answers of creating calls as rows.

use palestra_protocol::time::Timestamp;

use super::StoreError;
use super::cell::{Kind, text, time};
use super::engine::{BulkRow, Select, Statement, Table};
use super::field::Fields;
use super::row::IdempotencyRow;

pub(super) const ANSWERS: Table = Table {
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

pub(super) fn encode(row: &IdempotencyRow) -> BulkRow<'_> {
    vec![text(&row.tenant), text(&row.operation), text(&row.key), text(&row.request), text(&row.answer), time(row.at)]
}

pub(super) fn decode<F: Fields>(row: &F) -> Result<IdempotencyRow, StoreError> {
    Ok(IdempotencyRow {
        tenant: row.text("tenant")?,
        operation: row.text("operation")?,
        key: row.text("key")?,
        request: row.text("request")?,
        answer: row.text("answer")?,
        at: row.time("at")?,
    })
}

pub(super) fn one<'a>(tenant: &'a str, operation: &'a str, key: &'a str) -> Statement<'a> {
    Select::from(&ANSWERS)
        .only("tenant =", text(tenant))
        .only("operation =", text(operation))
        .only("key =", text(key))
        .build()
}

pub(super) fn forget(before: Timestamp) -> Statement<'static> {
    Statement::new("DELETE FROM answers WHERE at < $1", vec![time(before)])
}
