//! Types of values, all known before anything runs.

use std::fmt;
use std::sync::Arc;

/// Index of a table in the definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u16);

/// Index of a column in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId(pub u16);

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// Nothing but null: the type of the literal.
    Null,
    /// `true` or `false`.
    Bool,
    /// A whole number of 64 bits.
    Int,
    /// Text.
    Text,
    /// A civil date.
    Date,
    /// A point in time.
    Instant,
    /// A length of time.
    Duration,
    /// An amount in the minor unit of a currency, by its code of three letters.
    Money(Arc<str>),
    /// A number with this many digits behind the point.
    Decimal(u8),
    /// One of some words. Two enums with the same words are the same type.
    Enum(Arc<[Arc<str>]>),
    /// A row of a table.
    Row(TableId),
    /// Values of one type.
    List(Box<Type>),
    /// Named values.
    Record(Arc<[(Arc<str>, Type)]>),
    /// The type, or null. Never nested.
    Opt(Box<Type>),
}

impl Type {
    /// This type or null.
    #[must_use]
    pub fn or_null(self) -> Self {
        match self {
            Self::Opt(_) | Self::Null => self,
            other => Self::Opt(Box::new(other)),
        }
    }

    /// This type without null.
    #[must_use]
    pub fn present(&self) -> &Self {
        match self {
            Self::Opt(inner) => inner,
            other => other,
        }
    }

    /// True if null is among its values.
    #[must_use]
    pub const fn may_be_null(&self) -> bool {
        matches!(self, Self::Opt(_) | Self::Null)
    }
}

/// As a definition spells it, with tables by number.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Text => f.write_str("text"),
            Self::Date => f.write_str("date"),
            Self::Instant => f.write_str("instant"),
            Self::Duration => f.write_str("duration"),
            Self::Money(currency) => write!(f, "money {currency}"),
            Self::Decimal(scale) => write!(f, "dec {scale}"),
            Self::Enum(words) => {
                f.write_str("enum")?;
                words.iter().try_for_each(|word| write!(f, " {word}"))
            }
            Self::Row(table) => write!(f, "ref #{}", table.0),
            Self::List(element) => write!(f, "list {element}"),
            Self::Record(fields) => {
                f.write_str("{")?;
                for (index, (name, kind)) in fields.iter().enumerate() {
                    write!(f, "{}{name}: {kind}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
            Self::Opt(inner) => write!(f, "opt {inner}"),
        }
    }
}
