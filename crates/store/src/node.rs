//! Nodes as rows.

use palestra_protocol::time::Timestamp;

use super::cell::{Kind, text, time};
use super::clock::Clock;
use super::engine::Reader;
use super::row::NodeRow;
use super::statement::{Select, Statement, Table};
use super::{Durability, Store, StoreError};

const NODES: Table =
    Table { name: "nodes", columns: &[("id", Kind::Text), ("incarnation", Kind::Text), ("beat_at", Kind::Integer)] };

/// The incarnation of a node that claimed it last holds it.
const TAKE_OVER: &str = "ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation, beat_at = excluded.beat_at";

/// A query that finds a row if `node` is held by its incarnation; `sql` takes both, in this order.
pub(super) fn held<'a>(sql: &'static str, node: &'a NodeRow) -> Statement<'a> {
    Statement::new(sql, vec![text(&node.id), text(&node.incarnation)])
}

impl dyn Reader {
    /// The time of a node's last heartbeat.
    pub async fn node_beat(&self, node: &str) -> Result<Option<Timestamp>, StoreError> {
        self.one(Select::from(&NODES).filter("id =", text(node)).build(), |row| row.time("beat_at")).await
    }
}

impl Store {
    /// Takes the node for this incarnation and fences every earlier one.
    pub async fn claim_node(&self, node: &NodeRow) -> Result<(), StoreError> {
        let row = vec![text(&node.id), text(&node.incarnation), time(Clock::System.now())];
        self.bulk(&NODES.insert(TAKE_OVER, "node"), &[row], Durability::Disk).await
    }

    /// Renews the node's heartbeat; fails with [`StoreError::Fenced`] when another incarnation holds it.
    pub async fn beat(&self, node: &NodeRow, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE nodes SET beat_at = $1 WHERE id = $2 AND incarnation = $3";
        let update = Statement::new(sql, vec![time(now), text(&node.id), text(&node.incarnation)]);
        match self.execute(update, Durability::Process).await? {
            0 => Err(StoreError::Fenced),
            _ => Ok(()),
        }
    }
}
