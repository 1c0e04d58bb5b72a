//! Wrong queries that look right: each differs from a correct one by a single slip, made in the syntax tree.
//!
//! They measure whether a judge tells right from wrong, and are the broken queries of repair tasks. A mutant may still be equivalent
//! to the query on every database, or on the one at hand: only an engine tells.

mod clause;
mod expression;

use std::collections::BTreeSet;

use rand::{Rng, RngExt};
use sqlparser::ast::{Expr, Query};

use crate::dataset::Dataset;
use crate::grouping;
use crate::names::{Names, Node, Part, literal, replaced, walk};
use crate::parse;
use crate::value::{Dialect, Value};

/// A query with a slip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// It.
    pub sql: String,
    /// Kind of slip.
    pub kind: Kind,
    /// Description of the change: ``"`age > 30` became `age >= 30`"``.
    pub what: String,
}

/// Sorts of slips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Another comparison: `<` for `<=`, `=` for `<>`.
    Comparison,
    /// Another constant.
    Constant,
    /// A condition that is missing.
    Condition,
    /// A condition that is negated, `IN` for `NOT IN` included.
    Negation,
    /// `OR` for `AND`, `AND` for `OR`.
    Connective,
    /// Another aggregate.
    Aggregate,
    /// `DISTINCT` missing, or there where it is not asked for.
    Distinct,
    /// Another column of the same table that holds the same sort of values.
    Column,
    /// Tables joined on another column.
    JoinColumn,
    /// `LEFT` for `INNER`, `INNER` for `LEFT`.
    JoinKind,
    /// A table that is not joined.
    JoinDropped,
    /// Ordered the other way, or not at all. Only where the order counts.
    Order,
    /// One row more or fewer.
    Limit,
    /// A key missing in `GROUP BY`.
    Grouping,
    /// `HAVING` missing.
    Having,
    /// `UNION`, `INTERSECT` or `EXCEPT` for one another, or one side only.
    SetOperation,
    /// The result itself, written out.
    HardCoded,
}

impl Kind {
    /// Complaint of a reader who sees the result of such a slip and does not know the query.
    #[must_use]
    pub const fn symptom(self) -> &'static str {
        match self {
            Self::Comparison => "what lies exactly on a boundary, or on the wrong side of it, is treated wrongly",
            Self::Constant => "a boundary or a value that is looked for is not the one that was agreed",
            Self::Condition => "rows are counted in that should have been left out",
            Self::Negation => "exactly the rows that should be left out are reported, and the others are missing",
            Self::Connective => "conditions are combined wrongly: too many rows or too few come out",
            Self::Aggregate => "the figures are wrong although the right rows are looked at",
            Self::Distinct => {
                "duplicates are treated wrongly: they are listed or counted when they should not be, or the reverse"
            }
            Self::Column => "one of the values comes from the wrong column",
            Self::JoinColumn => "records are matched with records that they do not belong to",
            Self::JoinKind => {
                "records without a counterpart are treated wrongly: they are missing, or are there when they should not be"
            }
            Self::JoinDropped => {
                "records count that have no counterpart in another table, or each counts a wrong number of times"
            }
            Self::Order => "the order is wrong, and with it what comes first",
            Self::Limit => "there is one row too many or too few",
            Self::Grouping => "figures of different groups are thrown together",
            Self::Having => "groups are reported that should have been left out",
            Self::SetOperation => {
                "two lists are combined wrongly: what is in both, in either or in only one is mixed up"
            }
            Self::HardCoded => "the figures never change, whatever is in the database",
        }
    }
}

/// A changed part of a query.
struct Change<T> {
    kind: Kind,
    what: String,
    to: T,
}

impl<T> Change<T> {
    fn map<U>(self, to: impl FnOnce(T) -> U) -> Change<U> {
        Change { kind: self.kind, what: self.what, to: to(self.to) }
    }
}

/// All mutants of a query, in a fixed order and without repetitions; none where the text is not one query. Those that PostgreSQL would
/// refuse for what they select beside `GROUP BY` are left out where the query itself is not of that sort.
#[must_use]
pub fn mutants(sql: &str, dialect: Dialect, dataset: &Dataset) -> Vec<Mutant> {
    parse::reference(sql, dialect, |query| mutants_of(&query, dataset)).unwrap_or_default()
}

fn mutants_of(query: &Query, dataset: &Dataset) -> Vec<Mutant> {
    let names = Names::new(query, dataset);
    let portable = grouping::is_portable(query, dataset);
    let mut mutants: Vec<Mutant> = Vec::new();
    let mut seen = BTreeSet::from([query.to_string()]);
    walk(query, &names, |number, place, scopes| {
        let mut take = |change: Change<Part>| {
            let changed = replaced(query, number, change.to);
            if grouping::is_bound(&changed, dataset) && (!portable || grouping::is_portable(&changed, dataset)) {
                let sql = changed.to_string();
                if seen.insert(sql.clone()) {
                    mutants.push(Mutant { sql, kind: change.kind, what: change.what });
                }
            }
        };
        match place {
            Node::Expression(expr) => {
                for change in expression::changes(expr, scopes) {
                    take(change.map(|to| Part::Expression(Box::new(to))));
                }
            }
            Node::Select(select) => {
                for change in clause::of_select(select, scopes) {
                    take(change.map(|to| Part::Select(Box::new(to))));
                }
            }
            Node::Query(inner) => {
                for change in clause::of_query(inner, number == 0) {
                    take(change.map(|to| Part::Query(Box::new(to))));
                }
            }
        }
    });
    mutants
}

/// One mutant, drawn: first the sort of slip among those that the query allows, then one of that sort. `None` where there is none.
///
/// Injects a slip; the issue of a repair task can begin with [`Kind::symptom`]. Whether the mutant's result differs on the data at hand
/// is to be checked.
pub fn inject(sql: &str, dialect: Dialect, dataset: &Dataset, rng: &mut impl Rng) -> Option<Mutant> {
    let mut mutants = mutants(sql, dialect, dataset);
    let kinds: Vec<Kind> = mutants.iter().map(|mutant| mutant.kind).collect::<BTreeSet<_>>().into_iter().collect();
    if kinds.is_empty() {
        return None;
    }
    let kind = kinds[rng.random_range(0..kinds.len())];
    mutants.retain(|mutant| mutant.kind == kind);
    Some(mutants.swap_remove(rng.random_range(0..mutants.len())))
}

/// The mutant that knows the result by heart. `columns` is the width of the result, of which `rows` may be none.
#[must_use]
pub fn hard_coded(columns: usize, rows: &[Vec<Value>]) -> Mutant {
    let line = |row: &[Value]| row.iter().map(|value| literal(value).to_string()).collect::<Vec<_>>().join(", ");
    let sql = if rows.is_empty() {
        format!("SELECT {} WHERE 1 = 0", line(&vec![Value::Null; columns]))
    } else {
        let lines: Vec<String> = rows.iter().map(|row| format!("({})", line(row))).collect();
        format!("SELECT * FROM (VALUES {}) AS known", lines.join(", "))
    };
    Mutant { sql, kind: Kind::HardCoded, what: format!("the {} rows of the result are written out", rows.len()) }
}

/// Words for a change of an expression.
fn became(from: &Expr, to: &Expr) -> String {
    format!("`{from}` became `{to}`")
}
