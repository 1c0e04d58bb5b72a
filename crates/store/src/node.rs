//! Nodes as rows.

use palestra_protocol::time::Timestamp;

use super::StoreError;
use super::cell::{Kind, text, time};
use super::engine::{BulkRow, Select, Statement, Table};
use super::field::Fields;
use super::row::NodeRow;

pub(super) const NODES: Table =
    Table { name: "nodes", columns: &[("id", Kind::Text), ("incarnation", Kind::Text), ("beat_at", Kind::Integer)] };

/// What happens to the row of an earlier incarnation.
pub(super) const TAKE_OVER: &str =
    "ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation, beat_at = excluded.beat_at";

pub(super) fn encode(row: &NodeRow, now: Timestamp) -> BulkRow<'_> {
    vec![text(&row.id), text(&row.incarnation), time(now)]
}

pub(super) fn decode_beat<F: Fields>(row: &F) -> Result<Timestamp, StoreError> {
    row.time("beat_at")
}

pub(super) fn one(node: &str) -> Statement<'_> {
    Select::from(&NODES).only("id =", text(node)).build()
}

pub(super) fn beat(node: &NodeRow, now: Timestamp) -> Statement<'_> {
    let sql = "UPDATE nodes SET beat_at = $1 WHERE id = $2 AND incarnation = $3";
    Statement::new(sql, vec![time(now), text(&node.id), text(&node.incarnation)])
}

/// A query that finds a row if `node` is held by its incarnation; `sql` takes both, in this order.
pub(super) fn held<'a>(sql: &'static str, node: &'a NodeRow) -> Statement<'a> {
    Statement::new(sql, vec![text(&node.id), text(&node.incarnation)])
}
