//! Slips in the clauses of a select and of a query.

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Join, JoinConstraint, JoinOperator, LimitClause, OrderByKind, OrderBySort, Query,
    Select, SelectItem, SetExpr, SetOperator, SetQuantifier,
};

use super::{Change, Kind};
use crate::condition::{all_of, conjuncts, speaks_of};
use crate::names::{Scope, literal};
use crate::value::Value;

fn edit<T: Clone>(kind: Kind, what: impl Into<String>, from: &T, change: impl FnOnce(&mut T)) -> Change<T> {
    let mut to = from.clone();
    change(&mut to);
    Change { kind, what: what.into(), to }
}

/// Mutants of a select by one slip in a clause.
pub(super) fn of_select(select: &Select, scopes: &[Scope<'_>]) -> Vec<Change<Select>> {
    let mut found = Vec::new();
    match select.distinct {
        Some(Distinct::Distinct) => {
            found.push(edit(Kind::Distinct, "DISTINCT was dropped", select, |select| {
                select.distinct = None;
            }));
        }
        None => found.push(edit(Kind::Distinct, "DISTINCT was added", select, |select| {
            select.distinct = Some(Distinct::Distinct);
        })),
        _ => {}
    }
    // Of several conditions each is dropped on its own.
    if let Some(condition) = &select.selection {
        let what = format!("WHERE {condition} was dropped");
        found.push(edit(Kind::Condition, what, select, |select| select.selection = None));
    }
    if let Some(condition) = &select.having {
        found
            .push(edit(Kind::Having, format!("HAVING {condition} was dropped"), select, |select| select.having = None));
    }
    if let GroupByExpr::Expressions(keys, _) = &select.group_by {
        // Without any key there is one group, of which only aggregates speak.
        let aggregates = keys.len() > 1 || crate::grouping::has_aggregate(&select.projection);
        for (place, key) in keys.iter().enumerate().filter(|_| aggregates) {
            found.push(edit(Kind::Grouping, format!("`{key}` was dropped from GROUP BY"), select, |select| {
                if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
                    keys.remove(place);
                }
            }));
        }
    }
    for (item, from) in select.from.iter().enumerate() {
        for (place, join) in from.joins.iter().enumerate() {
            if let Some((what, other)) = other_kind(&join.join_operator) {
                found.push(edit(Kind::JoinKind, what, select, |select| {
                    select.from[item].joins[place].join_operator = other;
                }));
            }
            if let Some(without) = without_join(select, item, place, scopes) {
                found.push(Change {
                    kind: Kind::JoinDropped,
                    what: format!("`{}` was dropped", join.to_string().trim()),
                    to: without,
                });
            }
        }
    }
    found
}

fn other_kind(operator: &JoinOperator) -> Option<(&'static str, JoinOperator)> {
    match operator {
        JoinOperator::Join(constraint @ JoinConstraint::On(_))
        | JoinOperator::Inner(constraint @ JoinConstraint::On(_)) => {
            Some(("JOIN became LEFT JOIN", JoinOperator::Left(constraint.clone())))
        }
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
            Some(("LEFT JOIN became JOIN", JoinOperator::Join(constraint.clone())))
        }
        _ => None,
    }
}

/// The select without one of its joins, where nothing else speaks of the table; conditions on it go with it.
fn without_join(select: &Select, item: usize, place: usize, scopes: &[Scope<'_>]) -> Option<Select> {
    let before: usize = select.from[..item].iter().map(|from| 1 + from.joins.len()).sum();
    let dropped = before + 1 + place;
    let whole_stars = select
        .projection
        .iter()
        .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
    if whole_stars || scopes.last()?.len() <= dropped {
        return None;
    }
    let mut without = select.clone();
    let Join { .. } = without.from[item].joins.remove(place);
    if let Some(condition) = without.selection.take() {
        let kept = conjuncts(&condition).into_iter().filter(|condition| !speaks_of(condition, dropped, scopes));
        without.selection = all_of(kept);
    }
    let elsewhere = speaks_of(&without.projection, dropped, scopes)
        || speaks_of(&without.from, dropped, scopes)
        || speaks_of(&without.selection, dropped, scopes)
        || speaks_of(&without.group_by, dropped, scopes)
        || speaks_of(&without.having, dropped, scopes);
    (!elsewhere).then_some(without)
}

/// Mutants of a query by one slip in the handling of its rows.
pub(super) fn of_query(query: &Query, outermost: bool) -> Vec<Change<Query>> {
    let mut found = Vec::new();
    let limited = query.limit_clause.is_some();
    if let Some(order) = &query.order_by
        && let OrderByKind::Expressions(keys) = &order.kind
        && (outermost || limited)
    {
        for (place, key) in keys.iter().enumerate() {
            found.push(edit(Kind::Order, format!("the direction of `{key}` was turned"), query, |query| {
                with_keys(query, |keys| {
                    let descending = keys[place].options.sort == Some(OrderBySort::Desc);
                    keys[place].options.sort = Some(if descending { OrderBySort::Asc } else { OrderBySort::Desc });
                });
            }));
            found.push(edit(Kind::Order, format!("`{key}` was dropped from ORDER BY"), query, |query| {
                with_keys(query, |keys| drop(keys.remove(place)));
                if keys.len() == 1 {
                    query.order_by = None;
                }
            }));
        }
    }
    if let Some(LimitClause::LimitOffset { limit: Some(Expr::Value(value)), offset, limit_by }) = &query.limit_clause
        && let Ok(limit) = value.value.to_string().parse::<i64>()
    {
        let lower = (limit > 1).then_some(limit - 1);
        for other in [Some(limit + 1), lower].into_iter().flatten() {
            let clause = LimitClause::LimitOffset {
                limit: Some(literal(&Value::Integer(other))),
                offset: offset.clone(),
                limit_by: limit_by.clone(),
            };
            found.push(edit(Kind::Limit, format!("LIMIT {limit} became LIMIT {other}"), query, |query| {
                query.limit_clause = Some(clause);
            }));
        }
    }
    found.extend(of_body(&query.body).into_iter().map(|change| Change {
        kind: change.kind,
        what: change.what,
        to: Query { body: Box::new(change.to), ..query.clone() },
    }));
    found
}

fn with_keys(query: &mut Query, change: impl FnOnce(&mut Vec<sqlparser::ast::OrderByExpr>)) {
    if let Some(order) = &mut query.order_by
        && let OrderByKind::Expressions(keys) = &mut order.kind
    {
        change(keys);
    }
}

fn of_body(body: &SetExpr) -> Vec<Change<SetExpr>> {
    let SetExpr::SetOperation { left, op, set_quantifier, right } = body else {
        return Vec::new();
    };
    let with = |op, set_quantifier, left: &SetExpr, right: &SetExpr| SetExpr::SetOperation {
        left: Box::new(left.clone()),
        op,
        set_quantifier,
        right: Box::new(right.clone()),
    };
    let mut found = Vec::new();
    for other in [SetOperator::Union, SetOperator::Intersect, SetOperator::Except] {
        if other != *op {
            found.push((format!("{op} became {other}"), with(other, SetQuantifier::None, left, right)));
        }
    }
    match (op, set_quantifier) {
        (SetOperator::Union, SetQuantifier::None) => {
            found.push(("UNION became UNION ALL".into(), with(*op, SetQuantifier::All, left, right)));
        }
        (SetOperator::Union, SetQuantifier::All) => {
            found.push(("UNION ALL became UNION".into(), with(*op, SetQuantifier::None, left, right)));
        }
        (SetOperator::Except, _) => {
            found.push(("the sides of EXCEPT were swapped".into(), with(*op, *set_quantifier, right, left)));
        }
        _ => {}
    }
    found.push((format!("what follows {op} was dropped"), (**left).clone()));
    found.push((format!("what precedes {op} was dropped"), (**right).clone()));
    let mut changes: Vec<_> =
        found.into_iter().map(|(what, to)| Change { kind: Kind::SetOperation, what, to }).collect();
    changes.extend(of_body(left).into_iter().map(|change| Change {
        kind: change.kind,
        what: change.what,
        to: with(*op, *set_quantifier, &change.to, right),
    }));
    changes
}
