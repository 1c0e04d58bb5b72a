//! How initial rows are made.

use crate::expression::Checked;
use crate::kinds::{ColumnId, TableId};

/// How initial rows are made.
#[derive(Debug)]
pub struct Seed {
    /// How many different initial databases there are.
    pub variants: u32,
    /// In the order in which tables are filled.
    pub tables: Vec<TableSeed>,
}

/// How rows of a table are made.
#[derive(Debug)]
pub struct TableSeed {
    /// The table.
    pub table: TableId,
    /// How many, and from what.
    pub count: SeedCount,
    /// What their columns are, once or once per listed row. Earlier columns are locals.
    pub rows: Vec<Vec<SeedColumn>>,
}

/// How many rows, and from what.
#[derive(Debug)]
pub enum SeedCount {
    /// One per entry of [`TableSeed::rows`].
    Listed,
    /// So many.
    Number(Checked),
    /// One per element, which is the first local.
    Each(Checked),
    /// So many for each row of a table, which is the first local.
    Per {
        /// That table.
        table: TableId,
        /// How many for each.
        number: Checked,
    },
}

/// How a column of an initial row is made.
#[derive(Debug)]
pub struct SeedColumn {
    /// The column.
    pub column: ColumnId,
    /// Its value.
    pub value: SeedValue,
    /// Whether it must differ from all earlier ones.
    pub distinct: bool,
}

/// The value of a column of an initial row.
#[derive(Debug)]
pub enum SeedValue {
    /// An expression, with random functions.
    Expression(Checked),
    /// Any word of the enum.
    Uniform,
}
