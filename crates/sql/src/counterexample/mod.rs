//! Other databases of the same schema, on which a wrong query gives another result than the reference, and an answer that was written
//! out is wrong.
//!
//! Rows are drawn so that references have something to find: for each of them some rows that it brings together and some that lack one
//! detail, with values on, just below and just above its constants, groups around the size it asks for, and rows without counterpart.
//! [`search`] then tries a few such databases and keeps for each reference those on which most of its mutants fail, and on which it
//! gives the same result in whatever order the rows are stored: else a right query could be taken for a wrong one.

mod constraint;
mod domain;
mod draw;
mod outcome;
mod plan;
mod search;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub use outcome::{Answer, Rows};
pub use search::{Counterexamples, Oracle, ReferenceStats, Search, search};

use crate::dataset::{Dataset, Table};
use draw::{Draft, Style};
use plan::Plan;

/// One other database: the same schema, keys unique, references kept where they held, other rows; 20 to 200 a table, which follow from
/// the seed. `references` are queries in SQLite's dialect; those that are not understood count for nothing.
#[must_use]
pub fn make(dataset: &Dataset, references: &[&str], seed: u64) -> Dataset {
    drawn(dataset, &Plan::new(dataset, references), seed)
}

fn drawn(dataset: &Dataset, plan: &Plan, seed: u64) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // Small databases with few ties make steady results, large ones with many tell more queries apart.
    let (base, most, ties, rounds) =
        [(16, 90, 0.35, 4), (30, 200, 0.6, 4), (10, 45, 0.1, 2), (40, 150, 0.85, 1)][(seed % 4) as usize];
    let style = Style { base, most, ties, rounds, nulls: rng.random_range(0.02..0.15) };
    let rows = Draft::new(plan, style, rng).fill();
    let tables = dataset.tables.iter().zip(rows).map(|(table, rows)| Table { rows, ..table.clone() });
    Dataset { tables: tables.collect(), ..dataset.clone() }
}
