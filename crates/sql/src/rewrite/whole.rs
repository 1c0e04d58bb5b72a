//! A query within another one that gives its rows on.

use sqlparser::ast::{Query, SetExpr, SetOperator};

use super::Kind;
use crate::parse;
use crate::value::Dialect;

/// The query as a table, as a common table, and with the sides of its set operation turned. Where rows have an order, none of these
/// would keep it.
pub(super) fn wraps(query: &Query, dialect: Dialect) -> Vec<(Kind, Query)> {
    if query.order_by.is_some() {
        return Vec::new();
    }
    let derived = format!("SELECT * FROM ({query}) AS whole");
    let common = format!("WITH whole AS ({query}) SELECT * FROM whole");
    let mut found: Vec<(Kind, Query)> = [(Kind::Derived, derived), (Kind::Common, common)]
        .into_iter()
        .filter_map(|(kind, sql)| Some((kind, parse::reference(&sql, dialect, |query| query)?)))
        .collect();
    if let SetExpr::SetOperation { left, op: op @ (SetOperator::Union | SetOperator::Intersect), set_quantifier, right } =
        &*query.body
        && !matches!(**left, SetExpr::SetOperation { .. })
        && !matches!(**right, SetExpr::SetOperation { .. })
    {
        let body = SetExpr::SetOperation {
            left: right.clone(),
            op: *op,
            set_quantifier: *set_quantifier,
            right: left.clone(),
        };
        found.push((Kind::SetOrder, Query { body: Box::new(body), ..query.clone() }));
    }
    found
}
