//! Values at run time. Their types are known statically, so a value carries no more than it needs.

use std::sync::Arc;

use crate::kinds::TableId;

/// A row by its table and its number in it. Numbers are given in the order of creation and never again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// The table.
    pub table: TableId,
    /// From 0, in the order of creation.
    pub number: u32,
}

/// A value.
///
/// | type | representation |
/// | --- | --- |
/// | int | `Int` |
/// | date | `Int`: days since 1970-01-01 |
/// | instant | `Int`: seconds since 1970-01-01T00:00:00Z |
/// | duration | `Int`: seconds |
/// | money | `Int`: minor units |
/// | dec n | `Int`: the number times 10^n |
/// | text, enum | `Text` |
/// | ref | `Row` |
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Value {
    /// Null.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A number, or what is counted in one.
    Int(i64),
    /// Text, or a word of an enum.
    Text(Arc<str>),
    /// A row.
    Row(RowKey),
    /// Values of one type.
    List(Arc<[Value]>),
    /// The fields of a record, in the order of its type.
    Record(Arc<[Value]>),
}

impl Value {
    /// Text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(Arc::from(text))
    }

    /// True if this is null.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}
