//! Selects whose joins or groups stand in other clauses and give the same rows.

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Join, JoinConstraint, JoinOperator, Select, SelectItem, TableFactor, TableWithJoins,
};

use super::Kind;
use crate::condition::all_of;
use crate::grouping::has_aggregate;
use crate::names::{Scope, resolve};

/// Equivalents of a select. `ordered` says that something around it refers to what it selects.
pub(super) fn equivalents(select: &Select, ordered: bool, scopes: &[Scope<'_>]) -> Vec<(Kind, Select)> {
    let mut found = Vec::new();
    found.extend(join_in_where(select).map(|other| (Kind::JoinInWhere, other)));
    found.extend(turned(select).map(|other| (Kind::JoinOrder, other)));
    found.extend(distinct_as_groups(select, scopes).map(|other| (Kind::Distinct, other)));
    if !ordered {
        found.extend(groups_as_distinct(select).map(|other| (Kind::Distinct, other)));
    }
    found
}

/// The condition of an inner join.
pub(super) fn inner(join: &Join) -> Option<&Expr> {
    match &join.join_operator {
        JoinOperator::Join(JoinConstraint::On(condition)) | JoinOperator::Inner(JoinConstraint::On(condition)) => {
            Some(condition)
        }
        _ => None,
    }
}

fn join_in_where(select: &Select) -> Option<Select> {
    let joins: Vec<&Join> = select.from.iter().flat_map(|from| &from.joins).collect();
    if joins.is_empty() {
        return None;
    }
    let conditions: Vec<Expr> = joins.into_iter().map(|join| inner(join).cloned()).collect::<Option<_>>()?;
    let mut relations = Vec::new();
    for from in &select.from {
        relations.push(from.relation.clone());
        relations.extend(from.joins.iter().map(|join| join.relation.clone()));
    }
    let from = relations.into_iter().map(|relation| TableWithJoins { relation, joins: Vec::new() }).collect();
    Some(Select { from, selection: all_of(conditions.into_iter().chain(select.selection.clone())), ..select.clone() })
}

/// The first two tables the other way round.
pub(super) fn turned(select: &Select) -> Option<Select> {
    let [from] = select.from.as_slice() else {
        return None;
    };
    let first = from.joins.first()?;
    inner(first)?;
    let plain = |factor: &TableFactor| matches!(factor, TableFactor::Table { .. });
    let stars = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
    let others = from.joins[1..].iter().all(|join| {
        inner(join).is_some()
            || matches!(
                join.join_operator,
                JoinOperator::Left(JoinConstraint::On(_)) | JoinOperator::LeftOuter(JoinConstraint::On(_))
            )
    });
    if stars || !others || !plain(&from.relation) || !plain(&first.relation) {
        return None;
    }
    let mut turned = from.clone();
    std::mem::swap(&mut turned.relation, &mut turned.joins[0].relation);
    Some(Select { from: vec![turned], ..select.clone() })
}

/// The columns that are selected, where nothing else is.
fn columns(select: &Select) -> Option<Vec<Expr>> {
    let plain = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_))) => Some(expr.clone()),
        _ => None,
    };
    select.projection.iter().map(plain).collect()
}

fn groups(select: &Select) -> &[Expr] {
    match &select.group_by {
        GroupByExpr::Expressions(keys, modifiers) if modifiers.is_empty() => keys,
        _ => &[],
    }
}

fn distinct_as_groups(select: &Select, scopes: &[Scope<'_>]) -> Option<Select> {
    let columns = columns(select)?;
    let known = columns.iter().all(|column| resolve(column, scopes).is_some_and(|found| found.out == 0));
    let ungrouped =
        matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty()) && select.having.is_none();
    if select.distinct != Some(Distinct::Distinct) || !known || !ungrouped {
        return None;
    }
    Some(Select { distinct: None, group_by: GroupByExpr::Expressions(columns, Vec::new()), ..select.clone() })
}

fn groups_as_distinct(select: &Select) -> Option<Select> {
    let columns = columns(select)?;
    let keys = groups(select);
    let same = !keys.is_empty()
        && keys.iter().all(|key| columns.contains(key))
        && columns.iter().all(|column| keys.contains(column));
    if !same || select.distinct.is_some() || select.having.is_some() || has_aggregate(&select.projection) {
        return None;
    }
    Some(Select {
        distinct: Some(Distinct::Distinct),
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        ..select.clone()
    })
}
