//! The same query in other words. Each rewrite gives the same result on every database that meets the schema, NULLs and duplicates
//! included; where this follows from keys or NOT NULL, they are those of the dataset.
//!
//! Where a query leaves its result open (a limit among ties, a column beside its group), only rewrites that leave the plan as it is are
//! made.

mod expression;
mod membership;
mod select;
mod settled;
mod spelling;
mod whole;

use std::collections::BTreeSet;

use sqlparser::ast::{Expr, Query, Select};

use crate::dataset::Dataset;
use crate::names::{Names, Node, Part, replaced, walk};
use crate::parse;
use crate::value::Dialect;

/// A query in other words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// It.
    pub sql: String,
    /// Kind of rewrite.
    pub kind: Kind,
}

/// Kinds of rewrites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Other names for tables.
    Alias,
    /// Capitals where there were none, and the reverse.
    Letters,
    /// Parentheses that change nothing.
    Parentheses,
    /// Operands of `AND` and `OR` in another order.
    PredicateOrder,
    /// `5 < a` for `a > 5`.
    Turned,
    /// `BETWEEN` for two comparisons, and the reverse.
    Between,
    /// `IN` with a list for `OR`, and the reverse.
    InList,
    /// `NOT` around the opposite.
    Not,
    /// `COUNT(*)` for the count of a column that is never NULL, and the reverse.
    Count,
    /// Tables of a join in another order.
    JoinOrder,
    /// Conditions of joins in `WHERE`.
    JoinInWhere,
    /// A subquery for a join.
    SubqueryForJoin,
    /// A join for a subquery.
    JoinForSubquery,
    /// `EXISTS` for `IN`.
    Exists,
    /// `GROUP BY` for `DISTINCT`, and the reverse.
    Distinct,
    /// The sides of `UNION` or `INTERSECT` in another order.
    SetOrder,
    /// All of it as a table in `FROM`.
    Derived,
    /// All of it as a common table.
    Common,
}

/// All rewrites of a query, in a fixed order and without repetitions; none where the text is not one query.
#[must_use]
pub fn rewrites(sql: &str, dialect: Dialect, dataset: &Dataset) -> Vec<Rewrite> {
    parse::reference(sql, dialect, |query| rewrites_of(&query, sql, dialect, dataset)).unwrap_or_default()
}

fn rewrites_of(query: &Query, sql: &str, dialect: Dialect, dataset: &Dataset) -> Vec<Rewrite> {
    let mut found: Vec<(Kind, String)> = Vec::new();
    found.extend(spelling::aliases(query, dataset).map(|other| (Kind::Alias, other.to_string())));
    found.push((Kind::Letters, spelling::letters(sql, dialect)));
    let mut changed =
        places(query, dataset, |_, _| Vec::new(), |select| spelling::parentheses(select).into_iter().collect());
    if settled::is_settled(query, dataset) {
        changed.extend(places(query, dataset, expression::equivalents, |_| Vec::new()));
        changed.extend(structures(query, dataset));
        changed.extend(whole::wraps(query, dialect));
    }
    found.extend(changed.into_iter().map(|(kind, query)| (kind, query.to_string())));
    let mut seen = BTreeSet::from([sql.trim().to_string(), query.to_string()]);
    found.retain(|(_, sql)| seen.insert(sql.clone()));
    found.into_iter().map(|(kind, sql)| Rewrite { sql, kind }).collect()
}

/// Copies of a query with one expression or one select in other words.
fn places(
    query: &Query,
    dataset: &Dataset,
    expressions: impl Fn(&Expr, &[crate::names::Scope<'_>]) -> Vec<(Kind, Expr)>,
    selects: impl Fn(&Select) -> Vec<(Kind, Select)>,
) -> Vec<(Kind, Query)> {
    let mut found = Vec::new();
    walk(query, &Names::new(query, dataset), |number, place, scopes| match place {
        Node::Expression(expr) => found.extend(
            expressions(expr, scopes)
                .into_iter()
                .map(|(kind, to)| (kind, replaced(query, number, Part::Expression(Box::new(to))))),
        ),
        Node::Select(to) => found.extend(
            selects(to).into_iter().map(|(kind, to)| (kind, replaced(query, number, Part::Select(Box::new(to))))),
        ),
        Node::Query(_) => {}
    });
    found
}

/// Copies of a query with the clauses of one select in other words.
fn structures(query: &Query, dataset: &Dataset) -> Vec<(Kind, Query)> {
    let mut found = Vec::new();
    let (ordered, names) = (query.order_by.is_some(), Names::new(query, dataset));
    walk(query, &names, |number, place, scopes| {
        if let Node::Select(select) = place {
            let mut others = select::equivalents(select, ordered, scopes);
            others.extend(membership::equivalents(select, ordered, &names, scopes));
            found.extend(
                others.into_iter().map(|(kind, to)| (kind, replaced(query, number, Part::Select(Box::new(to))))),
            );
        }
    });
    found
}
