//! Recipe of the initial rows.

use crate::expression::Checked;
use crate::kinds::{ColumnId, TableId};

/// Recipe of the initial rows.
#[derive(Debug)]
pub struct Seed {
    /// Number of different initial databases.
    pub variants: u32,
    /// In the order in which tables are filled.
    pub tables: Vec<TableSeed>,
}

/// Recipe of a table's rows.
#[derive(Debug)]
pub struct TableSeed {
    /// The table.
    pub table: TableId,
    /// Number of rows, and their source.
    pub count: SeedCount,
    /// Columns of the rows, once or once per listed row. Earlier columns are locals.
    pub rows: Vec<Vec<SeedColumn>>,
}

/// Number of rows, and their source.
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
        /// Number of rows for each.
        number: Checked,
    },
}

/// Recipe of a column of an initial row.
#[derive(Debug)]
pub struct SeedColumn {
    /// The column.
    pub column: ColumnId,
    /// Its value.
    pub value: SeedValue,
    /// True if it must differ from all earlier ones.
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
