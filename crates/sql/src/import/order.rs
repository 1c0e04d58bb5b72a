//! Order of rows: where it counts, and whether a reference determines it fully.

use sqlparser::ast::{Expr, OrderByKind, OrderByOptions, OrderBySort, Query, SelectItem, SetExpr, Value};

use crate::parse;
use crate::value::Dialect;

/// True if the outermost query of a reference of SQLite orders its rows.
#[must_use]
pub fn is_ordered(sql: &str) -> bool {
    parse::reference(sql, Dialect::Sqlite, |query| query.order_by.is_some()).unwrap_or_default()
}

/// The query twice, with every column of the result as a last key, upwards and downwards: where the two results differ in order,
/// the query's own keys leave rows that may stand in either order. `None` where the columns cannot be counted.
pub(super) fn probes(sql: &str) -> Option<[String; 2]> {
    parse::reference(sql, Dialect::Sqlite, |query| without_ties(&query)).flatten()
}

fn without_ties(query: &Query) -> Option<[String; 2]> {
    let width = width(&query.body)?;
    let with = |sort: OrderBySort| {
        let mut query = query.clone();
        let OrderByKind::Expressions(keys) = &mut query.order_by.as_mut()?.kind else { return None };
        let options = OrderByOptions { sort: Some(sort), nulls_first: None };
        keys.extend((1..=width).map(|column| sqlparser::ast::OrderByExpr {
            expr: Expr::value(Value::Number(column.to_string(), false)),
            options: options.clone(),
            with_fill: None,
        }));
        Some(query.to_string())
    };
    Some([with(OrderBySort::Asc)?, with(OrderBySort::Desc)?])
}

/// True if the outermost query takes only some of its rows.
pub(super) fn cuts(sql: &str) -> bool {
    parse::reference(sql, Dialect::Sqlite, |query| query.limit_clause.is_some()).unwrap_or_default()
}

fn width(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let plain =
                |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
            select.projection.iter().all(plain).then_some(select.projection.len())
        }
        SetExpr::Query(query) => width(&query.body),
        SetExpr::SetOperation { left, .. } => width(left),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_order_counts() {
        assert!(is_ordered("SELECT a FROM t ORDER BY b"));
        assert!(is_ordered("SELECT a FROM t UNION SELECT b FROM t ORDER BY 1"));
        assert!(!is_ordered("SELECT a FROM (SELECT a FROM t ORDER BY b LIMIT 3)"));
        assert!(!is_ordered("no query"));
    }

    #[test]
    fn probes_break_ties_both_ways() {
        let probes = probes("SELECT a, b FROM t ORDER BY c DESC LIMIT 3").expect("probes");
        assert_eq!(probes[0], "SELECT a, b FROM t ORDER BY c DESC, 1 ASC, 2 ASC LIMIT 3");
        assert_eq!(probes[1], "SELECT a, b FROM t ORDER BY c DESC, 1 DESC, 2 DESC LIMIT 3");
        assert_eq!(super::probes("SELECT * FROM t ORDER BY c"), None);
    }
}
