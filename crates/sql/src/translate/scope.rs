//! Meaning of names at a place of a query.

use sqlparser::ast::Expr;

use crate::dataset::{Affinity, Dataset, Sort, Table};

/// Type of an expression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Typed {
    /// Its type in PostgreSQL; `None` for NULL and what is not known.
    pub(super) sort: Option<Sort>,
    /// SQLite's affinity, which only columns have.
    pub(super) affinity: Option<Affinity>,
    /// True if it may be NULL.
    pub(super) nullable: bool,
}

impl Typed {
    pub(super) const UNKNOWN: Self = Self { sort: None, affinity: None, nullable: true };

    /// An expression, which has no affinity.
    pub(super) const fn of(sort: Sort, nullable: bool) -> Self {
        Self { sort: Some(sort), affinity: None, nullable }
    }

    pub(super) fn is_text(self) -> bool {
        self.sort == Some(Sort::Text)
    }

    pub(super) const fn is_number(self) -> bool {
        matches!(self.sort, Some(Sort::Integer | Sort::Real | Sort::Decimal))
    }
}

/// A column of a relation or result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Output {
    /// In lower case.
    pub(super) name: String,
    pub(super) typed: Typed,
}

/// Something in FROM.
#[derive(Debug, Clone)]
pub(super) struct Relation<'d> {
    /// Qualifier of its columns, in lower case.
    pub(super) name: String,
    pub(super) columns: Vec<Output>,
    /// The table that it is, if it is one.
    pub(super) table: Option<&'d Table>,
}

/// A column that a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Place in FROM.
    pub(super) relation: usize,
    /// Place in the relation.
    pub(super) column: usize,
    pub(super) typed: Typed,
}

/// Meaning of names in one SELECT.
#[derive(Debug, Default)]
pub(super) struct Scope<'s, 'd> {
    pub(super) relations: Vec<Relation<'d>>,
    /// Names that the SELECT gives to its results, with what they stand for, translated.
    pub(super) aliases: Vec<(String, Expr, Typed)>,
    pub(super) outer: Option<&'s Scope<'s, 'd>>,
}

impl Scope<'_, '_> {
    /// The column of this SELECT's own FROM.
    pub(super) fn own(&self, qualifier: Option<&str>, name: &str) -> Option<Found> {
        self.relations.iter().enumerate().find_map(|(relation, candidate)| {
            if qualifier.is_some_and(|qualifier| !candidate.name.eq_ignore_ascii_case(qualifier)) {
                return None;
            }
            let column = candidate.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))?;
            Some(Found { relation, column, typed: candidate.columns[column].typed })
        })
    }

    /// Type of the column, here or in a query around.
    pub(super) fn column(&self, qualifier: Option<&str>, name: &str) -> Option<Typed> {
        match self.own(qualifier, name) {
            Some(found) => Some(found.typed),
            None => self.outer?.column(qualifier, name),
        }
    }

    pub(super) fn alias(&self, name: &str) -> Option<&(String, Expr, Typed)> {
        self.aliases.iter().find(|(alias, ..)| alias.eq_ignore_ascii_case(name))
    }

    /// The column of this SELECT's own FROM that a translated expression is.
    pub(super) fn own_column(&self, expr: &Expr) -> Option<Found> {
        match expr {
            Expr::Identifier(ident) => self.own(None, &ident.value),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [qualifier, name] => self.own(Some(&qualifier.value), &name.value),
                _ => None,
            },
            Expr::Nested(inner) => self.own_column(inner),
            _ => None,
        }
    }
}

/// Translates the queries of one statement.
pub(super) struct Translator<'d> {
    pub(super) dataset: &'d Dataset,
    /// Common tables in sight, the nearest last.
    pub(super) common: Vec<(String, Vec<Output>)>,
}

impl<'d> Translator<'d> {
    pub(super) const fn new(dataset: &'d Dataset) -> Self {
        Self { dataset, common: Vec::new() }
    }
}
