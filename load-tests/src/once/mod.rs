//! Rows that are measured by themselves, each on servers of its own: starting, memory, forks, hashes, growth.

mod fork;
mod growth;
mod memory;
mod start;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::figures::{Holds, Series};
use crate::targets::{ONCE, Once, OnceRow};
use crate::terminal::tell;

/// Bytes in a gigabyte.
const GIGABYTE: f64 = 1e9;
/// Bytes in a megabyte.
const MEGABYTE: f64 = 1e6;
/// Bytes in a kilobyte.
const KILOBYTE: f64 = 1e3;

/// Extent of the measurements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// Starts of a server.
    pub(crate) starts: usize,
    /// Idle sessions.
    pub(crate) sessions: usize,
    /// Idle sockets.
    pub(crate) sockets: usize,
    /// Sessions with a small document each.
    pub(crate) documents: usize,
    /// Times that a thousand forks are made.
    pub(crate) forks: usize,
    /// Edits of a large document.
    pub(crate) edits: usize,
    /// Live sessions, from few to many.
    pub(crate) live: [usize; 3],
    /// Steps in a store that is not empty.
    pub(crate) stored_steps: usize,
    /// Rounds in which growth is measured.
    pub(crate) rounds: usize,
    /// For how long in each.
    pub(crate) window: Duration,
}

/// Result of a row.
pub(crate) struct Measured {
    pub(crate) row: &'static OnceRow,
    pub(crate) values: Series,
}

impl Measured {
    /// Verdict on its target; `None` where it has none.
    pub(crate) fn holds(&self) -> Option<Holds> {
        self.row.most.map(|most| Holds::at_most(self.values.median(), most))
    }
}

/// Values by row.
type Values = Vec<(Once, Series)>;

/// Measures every group of rows in which one is wanted.
///
/// # Errors
/// When a server fails or refuses something.
pub(crate) async fn run(
    program: &Path,
    sizes: Sizes,
    wanted: impl Fn(&OnceRow) -> bool,
) -> anyhow::Result<Vec<Measured>> {
    let any = |rows: &[Once]| ONCE.iter().any(|row| rows.contains(&row.what) && wanted(row));
    let mut values = Values::new();
    if any(&start::ROWS) {
        tell("starting");
        values.extend(start::measure(program, sizes)?);
    }
    if any(&memory::ROWS) {
        tell("memory");
        values.extend(memory::measure(program, sizes).await?);
    }
    if any(&fork::ROWS) {
        tell("forks and hashes");
        values.extend(fork::measure(program, sizes).await?);
    }
    if any(&growth::ROWS) {
        tell("growth");
        values.extend(growth::measure(program, sizes).await?);
    }
    let of = |what: Once| values.iter().find(|(measured, _)| *measured == what).map(|(_, values)| values.clone());
    let rows = ONCE.iter().filter(|row| wanted(row));
    Ok(rows.filter_map(|row| Some(Measured { row, values: of(row.what)? })).collect())
}

/// Asks for sessions of `bench/counter` that only wait.
fn counters(record: &str) -> Value {
    json!({"environment": "bench/counter", "task": {"split": "train", "index": 0}, "record": record})
}

/// Asks for sessions of `bench/document` with so much state.
fn documents(bytes: usize) -> Value {
    json!({"environment": "bench/document", "task": {"split": "train", "index": 0}, "config": {"bytes": bytes}})
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
