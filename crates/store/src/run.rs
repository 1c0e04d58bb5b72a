//! Runs as rows.

use palestra_protocol::id::RunId;
use palestra_protocol::run::RunState;
use palestra_protocol::time::Timestamp;

use super::StoreError;
use super::cell::{Kind, id, number, text, time, word};
use super::engine::{BulkRow, Select, Statement, Table};
use super::field::Fields;
use super::row::RunRow;

pub(super) const RUNS: Table = Table {
    name: "runs",
    columns: &[
        ("tenant", Kind::Text),
        ("id", Kind::Text),
        ("state", Kind::Text),
        ("lease_ms", Kind::Integer),
        ("lease_expires_at", Kind::Integer),
        ("created_at", Kind::Integer),
    ],
};

pub(super) fn encode(row: &RunRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![
        text(&row.tenant),
        id(row.id),
        word(row.state.as_str()),
        number(row.lease_ms)?,
        time(row.lease_expires_at),
        time(row.created_at),
    ])
}

pub(super) fn decode<F: Fields>(row: &F) -> Result<RunRow, StoreError> {
    Ok(RunRow {
        tenant: row.text("tenant")?,
        id: row.id("id")?,
        state: row.word("state")?,
        lease_ms: row.number("lease_ms")?,
        lease_expires_at: row.time("lease_expires_at")?,
        created_at: row.time("created_at")?,
    })
}

pub(super) fn one(tenant: &str, run: RunId) -> Statement<'_> {
    Select::from(&RUNS).only("tenant =", text(tenant)).only("id =", id(run)).build()
}

pub(super) fn active() -> Statement<'static> {
    Select::from(&RUNS).then("WHERE state = 'active' ORDER BY id, tenant").build()
}

pub(super) fn renew(tenant: &str, run: RunId, expires_at: Timestamp) -> Statement<'_> {
    let sql = "UPDATE runs SET lease_expires_at = $1 WHERE tenant = $2 AND id = $3 AND state = 'active'";
    Statement::new(sql, vec![time(expires_at), text(tenant), id(run)])
}

pub(super) fn end(tenant: &str, run: RunId, state: RunState, expired_before: Option<Timestamp>) -> Statement<'_> {
    let mut cells = vec![word(state.as_str()), text(tenant), id(run)];
    let sql = match expired_before {
        None => "UPDATE runs SET state = $1 WHERE tenant = $2 AND id = $3 AND state = 'active'",
        Some(before) => {
            cells.push(time(before));
            "UPDATE runs SET state = $1 WHERE tenant = $2 AND id = $3 AND state = 'active' AND lease_expires_at < $4"
        }
    };
    Statement::new(sql, cells)
}
