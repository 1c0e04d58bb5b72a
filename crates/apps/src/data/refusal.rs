//! Errors of writes to a row.

use crate::kinds::{ColumnId, TableId};
use crate::limits::Misfit;
use crate::schema::Schema;
use crate::value::RowKey;

/// Reason why a row can't be inserted, updated or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another row has this value of a unique column.
    #[error("another row has the same value")]
    Unique {
        /// The table.
        table: TableId,
        /// The unique column.
        column: ColumnId,
    },
    /// A row refers to the one that would go.
    #[error("a row refers to it")]
    Restricted {
        /// The table of the row that refers to it.
        table: TableId,
        /// The column by which it does.
        column: ColumnId,
    },
    /// The row, or a row that a value names, doesn't exist.
    #[error("the row doesn't exist")]
    Missing(RowKey),
    /// There are no further ids, or as many rows as there may be.
    #[error("the table is full")]
    Full {
        /// The table.
        table: TableId,
    },
    /// A value doesn't fit its column.
    #[error("the value doesn't fit: {why}")]
    Value {
        /// The table.
        table: TableId,
        /// The column.
        column: ColumnId,
        /// The reason.
        why: Misfit,
    },
    /// There are more or fewer values than columns.
    #[error("a row has one value for each column")]
    Width {
        /// The table.
        table: TableId,
    },
    /// The id can't be one, or another row has it.
    #[error("the id is taken, or isn't one")]
    Id {
        /// The table.
        table: TableId,
    },
    /// A table with a single row keeps it and gets no other.
    #[error("the table has exactly one row")]
    Single {
        /// The table.
        table: TableId,
    },
    /// A deletion would reach more rows than it may.
    #[error("the deletion reaches too many rows")]
    TooMany,
}

impl Refusal {
    /// The refusal in words, with the names of what it is about.
    #[must_use]
    pub fn describe(&self, schema: &Schema) -> String {
        match self {
            Self::Unique { table, column } | Self::Restricted { table, column } | Self::Value { table, column, .. } => {
                let table = schema.table(*table);
                format!("{}.{}: {self}", table.name, table.describe(*column).name)
            }
            Self::Missing(RowKey { table, .. })
            | Self::Full { table }
            | Self::Width { table }
            | Self::Id { table }
            | Self::Single { table } => format!("{}: {self}", schema.table(*table).name),
            Self::TooMany => self.to_string(),
        }
    }
}
