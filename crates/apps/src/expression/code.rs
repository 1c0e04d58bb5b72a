//! Compiled expressions: a tree with every name, column and overload resolved.

use std::sync::Arc;

use super::functions::Run;
use super::show::Shape;
use super::syntax::Root;
use crate::kinds::{ColumnId, TableId};
use crate::value::Value;

/// One step of an evaluation with what it needs.
#[derive(Debug, Clone)]
pub(super) enum Code {
    Constant(Value),
    /// A local of the frame.
    Local(u16),
    /// The variable of a query; they are numbered by how deeply the queries are nested.
    Variable(u16),
    /// The one row of a table.
    Single(TableId),
    Now,
    Today,
    /// A member of a row or record, and what null in its place gives.
    Member(Box<Code>, Member, OnNull),
    Index(Box<[Code; 2]>),
    Within(Root, Box<Code>),
    List(Box<[Code]>),
    /// The fields in the order of the type.
    Record(Box<[Code]>),
    Not(Box<Code>),
    Negate(Box<Code>),
    All(Box<[Code]>),
    Any(Box<[Code]>),
    /// Compares a value with a constant; the other way around if `false`.
    Is(Box<Code>, Value, bool),
    /// Compares two values; the other way around if `false`.
    Same(Box<[Code; 2]>, bool),
    Order(Order, Box<[Code; 2]>),
    In(Box<[Code; 2]>),
    Arithmetic(Arithmetic, Range, Box<[Code; 2]>),
    Join(Box<[Code; 2]>),
    Default(Box<[Code; 2]>),
    Choice(Box<[Code; 3]>),
    Query(Box<Query>),
    Call(Run, Box<[Code]>),
    Host(u16, Box<[Code]>),
    Exists(Box<Code>),
    ById(TableId, Box<Code>),
    /// The place of a word of an enum among its words.
    Rank(Arc<[Arc<str>]>, Box<Code>),
    Show(Shape, Box<Code>),
    Template(Box<[Part]>),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Member {
    Column(ColumnId),
    Field(u16),
    Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnNull {
    Fail,
    Null,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Order {
    Less,
    AtMost,
    More,
    AtLeast,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Possible results beyond the range of 64 bits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Range {
    Any,
    Instant,
}

#[derive(Debug, Clone)]
pub(super) struct Query {
    pub(super) kind: QueryKind,
    pub(super) source: Source,
    pub(super) variable: u16,
    pub(super) predicate: Option<Code>,
    pub(super) body: Option<Code>,
}

#[derive(Debug, Clone)]
pub(super) enum Source {
    Table(TableId),
    /// The rows of a table that an index gives for a value.
    Lookup(TableId, ColumnId, Box<Code>),
    List(Box<Code>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryKind {
    Find,
    Count,
    Any,
    All,
    None,
    First,
    Last,
    One,
    Sum,
    Min,
    Max,
    Map,
    Sort,
    SortDescending,
    Distinct,
}

/// A piece of a template.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Text(Arc<str>),
    Hole(Shape, Code),
}

impl Code {
    /// The equality of a column of a variable's row with something that does not depend on it, if this condition demands
    /// one: what an index can answer.
    pub(super) fn lookup(&self, variable: u16, indexed: &dyn Fn(ColumnId) -> bool) -> Option<(ColumnId, Self)> {
        let column = |code: &Self| match code {
            Self::Member(row, Member::Column(column), _) if matches!(**row, Self::Variable(found) if found == variable) => {
                Some(*column).filter(|column| indexed(*column))
            }
            _ => None,
        };
        match self {
            Self::All(parts) => parts.iter().find_map(|part| part.lookup(variable, indexed)),
            Self::Is(row, value, true) if !value.is_null() => {
                column(row).map(|column| (column, Self::Constant(value.clone())))
            }
            Self::Same(pair, true) => {
                let [left, right] = &**pair;
                [(left, right), (right, left)].into_iter().find_map(|(row, key)| {
                    let column = column(row)?;
                    (!key.depends_on(variable)).then(|| (column, key.clone()))
                })
            }
            _ => None,
        }
    }

    /// True if the value can change with a variable, or from one evaluation to the next.
    fn depends_on(&self, variable: u16) -> bool {
        match self {
            Self::Variable(found) => *found == variable,
            Self::Host(..) => true,
            _ => self.parts().into_iter().any(|part| part.depends_on(variable)),
        }
    }

    /// Shows this code and everything within it, outermost first.
    pub(super) fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a Self)) {
        see(self);
        self.parts().into_iter().for_each(|part| part.visit(see));
    }

    /// The parts directly within this one.
    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Variable(_) | Self::Constant(_) | Self::Local(_) | Self::Single(_) | Self::Now | Self::Today => {
                Vec::new()
            }
            Self::Member(inner, ..)
            | Self::Within(_, inner)
            | Self::Not(inner)
            | Self::Negate(inner)
            | Self::Is(inner, ..)
            | Self::Exists(inner)
            | Self::ById(_, inner)
            | Self::Rank(_, inner)
            | Self::Show(_, inner) => vec![inner],
            Self::Index(pair)
            | Self::Same(pair, _)
            | Self::Order(_, pair)
            | Self::In(pair)
            | Self::Arithmetic(_, _, pair)
            | Self::Join(pair)
            | Self::Default(pair) => pair.iter().collect(),
            Self::Choice(parts) => parts.iter().collect(),
            Self::List(parts)
            | Self::Record(parts)
            | Self::All(parts)
            | Self::Any(parts)
            | Self::Call(_, parts)
            | Self::Host(_, parts) => parts.iter().collect(),
            Self::Template(parts) => {
                parts.iter().filter_map(|part| if let Part::Hole(_, code) = part { Some(code) } else { None }).collect()
            }
            Self::Query(query) => {
                let source = match &query.source {
                    Source::Table(_) => None,
                    Source::Lookup(_, _, code) | Source::List(code) => Some(&**code),
                };
                source.into_iter().chain(&query.predicate).chain(&query.body).collect()
            }
        }
    }
}
