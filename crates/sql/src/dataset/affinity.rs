//! Column affinities of SQLite: what it makes of a value that is stored in, or compared with, a column.

use super::Column;
use crate::value::Dialect;

/// An affinity, as <https://www.sqlite.org/datatype3.html> defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Affinity {
    /// Numbers that are whole become integers, and text that reads as a number becomes one.
    Integer,
    /// Numbers become floating-point ones.
    Real,
    /// Text that reads as a number becomes one.
    Numeric,
    /// Numbers become text.
    Text,
    /// Everything stays what it is.
    Blob,
}

impl Affinity {
    /// The affinity of a declared type, by the words in it.
    #[must_use]
    pub fn of_declared(declared: &str) -> Self {
        let declared = declared.to_ascii_uppercase();
        let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
        if has(&["INT"]) {
            Self::Integer
        } else if has(&["CHAR", "CLOB", "TEXT"]) {
            Self::Text
        } else if declared.is_empty() || has(&["BLOB"]) {
            Self::Blob
        } else if has(&["REAL", "FLOA", "DOUB"]) {
            Self::Real
        } else {
            Self::Numeric
        }
    }

    /// True if text that is compared with such a column is read as a number where it reads as one.
    #[must_use]
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Integer | Self::Real | Self::Numeric)
    }
}

impl Column {
    /// The affinity that the column has in SQLite.
    #[must_use]
    pub fn affinity(&self) -> Affinity {
        Affinity::of_declared(self.declared.as_deref().unwrap_or_else(|| self.sort.type_name(Dialect::Sqlite)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affinities_follow_the_words_of_the_type() {
        let cases = [
            ("int", Affinity::Integer),
            ("FLOATING POINT", Affinity::Integer),
            ("varchar(255)", Affinity::Text),
            ("double", Affinity::Real),
            ("decimal(19,4)", Affinity::Numeric),
            ("datetime", Affinity::Numeric),
            ("", Affinity::Blob),
        ];
        for (declared, affinity) in cases {
            assert_eq!(Affinity::of_declared(declared), affinity, "{declared}");
        }
    }
}
