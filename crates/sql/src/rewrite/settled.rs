//! Check that a query's result follows from the rows alone, not from how an engine finds them.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, OrderByKind, Query, Select,
    SelectItem,
};

use crate::dataset::{Dataset, Sort};
use crate::grouping;
use crate::names::{Names, Node, Scope, last, resolve, walk};

/// Functions whose value depends on the order of rows, or on nothing in them.
const OPEN: [&str; 9] = [
    "group_concat",
    "string_agg",
    "array_agg",
    "json_group_array",
    "json_agg",
    "random",
    "randomblob",
    "gen_random_uuid",
    "changes",
];

/// True if rows, their number and, where there is an order, their order are the same in whatever way the query is run.
pub(super) fn is_settled(query: &Query, dataset: &Dataset) -> bool {
    let (mut settled, mut queries, mut rounded, mut filtered) = (true, 0, false, false);
    walk(query, &Names::new(query, dataset), |_, place, scopes| match place {
        Node::Query(inner) => {
            queries += 1;
            settled &= inner.limit_clause.is_none() && inner.fetch.is_none() && inner.with.is_none();
            settled &= queries > 1 || order_is_total(inner, scopes);
            filtered |= inner.order_by.is_some();
        }
        Node::Select(select) => {
            settled &=
                select.top.is_none() && select.from.iter().all(|from| from.joins.iter().all(|join| !join.global));
            filtered |= select.having.is_some();
        }
        Node::Expression(Expr::Function(function)) => {
            let name = last(&function.name).unwrap_or_default().to_lowercase();
            settled &= function.over.is_none() && !OPEN.contains(&name.as_str());
            rounded |= matches!(name.as_str(), "sum" | "avg" | "total") && !is_exact(function, scopes);
        }
        Node::Expression(_) => {}
    });
    // A sum of fractions depends on their order in its last digits, which must not decide anything.
    let decisive = rounded && (filtered || queries > 1);
    settled && !decisive && grouping::is_portable(query, dataset)
}

fn is_exact(function: &Function, scopes: &[Scope<'_>]) -> bool {
    let FunctionArguments::List(list) = &function.args else {
        return false;
    };
    list.args.iter().all(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
            resolve(expr, scopes).is_some_and(|found| found.sort() == Sort::Integer)
        }
        _ => false,
    })
}

/// True if rows that an `ORDER BY` leaves in any order are the same rows.
fn order_is_total(query: &Query, scopes: &[Scope<'_>]) -> bool {
    let Some(order) = &query.order_by else {
        return true;
    };
    let (OrderByKind::Expressions(keys), Some(select)) = (&order.kind, query.body.as_select()) else {
        return false;
    };
    let is_key = |expr: &Expr| keys.iter().any(|key| key.expr == *expr);
    let selected = select.projection.iter().all(|item| match item {
        SelectItem::UnnamedExpr(expr) => is_key(expr),
        SelectItem::ExprWithAlias { expr, alias } => is_key(expr) || is_key(&Expr::Identifier(alias.clone())),
        _ => false,
    });
    selected
        || is_one_per_group(select, is_key)
        || (scopes.last().is_some_and(|scope| scope.len() == 1) && has_unique(query, keys, scopes))
}

fn is_one_per_group(select: &Select, is_key: impl Fn(&Expr) -> bool) -> bool {
    match &select.group_by {
        GroupByExpr::Expressions(groups, _) => !groups.is_empty() && groups.iter().all(is_key),
        GroupByExpr::All(_) => false,
    }
}

/// True if rows of a single table are ordered by something unique.
fn has_unique(query: &Query, keys: &[sqlparser::ast::OrderByExpr], scopes: &[Scope<'_>]) -> bool {
    query
        .body
        .as_select()
        .is_some_and(|select| matches!(&select.group_by, GroupByExpr::Expressions(groups, _) if groups.is_empty()))
        && keys
            .iter()
            .filter_map(|key| resolve(&key.expr, scopes))
            .any(|found| found.out == 0 && found.is_key() && found.never_null())
}
