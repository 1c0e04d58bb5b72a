//! ORDER BY and LIMIT: where NULLs stand, names of results, and order beside DISTINCT.

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, LimitClause, Offset, OffsetRows, OrderBy, OrderByExpr, OrderByKind, OrderBySort,
    Query, Select, SelectItem, Value,
};

use super::Untranslatable;
use super::build::{fold, number_of_literal, wrap};
use super::scope::{Output, Scope, Translator};

impl<'d> Translator<'d> {
    /// Translates the terms of a SELECT's own ORDER BY, and gives them back.
    pub(super) fn order<'o>(
        &mut self,
        order_by: &'o mut OrderBy,
        scope: &Scope<'_, 'd>,
    ) -> Result<&'o mut Vec<OrderByExpr>, Untranslatable> {
        let OrderByKind::Expressions(keys) = &mut order_by.kind else {
            return Err(Untranslatable::Construct("ORDER BY ALL".into()));
        };
        self.keys(keys, scope)?;
        Ok(keys)
    }

    /// Translates terms of any ORDER BY. Constants, which order nothing, are dropped.
    pub(super) fn keys(&mut self, keys: &mut Vec<OrderByExpr>, scope: &Scope<'_, 'd>) -> Result<(), Untranslatable> {
        for key in keys.iter_mut() {
            let alias = match &key.expr {
                Expr::Identifier(ident) => scope.alias(&ident.value),
                _ => None,
            };
            let nullable = if let Some((_, expr, typed)) = alias {
                key.expr = expr.clone();
                typed.nullable
            } else if number_of_literal(&key.expr).is_some() {
                true
            } else {
                self.expression(&mut key.expr, scope)?.nullable
            };
            place_nulls(key, nullable);
        }
        keys.retain(|key| !matches!(&key.expr, Expr::Value(value) if !matches!(value.value, Value::Number(..))));
        Ok(())
    }

    /// ORDER BY of a set operation: names and places of its columns.
    pub(super) fn order_compound(&mut self, order_by: &mut OrderBy, outputs: &[Output]) -> Result<(), Untranslatable> {
        let OrderByKind::Expressions(keys) = &mut order_by.kind else {
            return Err(Untranslatable::Construct("ORDER BY ALL".into()));
        };
        for key in keys {
            let place = match &mut key.expr {
                Expr::Identifier(ident) => {
                    fold(ident);
                    outputs.iter().position(|output| output.name == ident.value)
                }
                Expr::CompoundIdentifier(parts) => parts
                    .last()
                    .and_then(|part| outputs.iter().position(|output| output.name.eq_ignore_ascii_case(&part.value))),
                other => number_of_literal(other)
                    .and_then(|digits| digits.parse::<usize>().ok())
                    .and_then(|place| place.checked_sub(1)),
            };
            let place = place.filter(|place| *place < outputs.len());
            let place =
                place.ok_or_else(|| Untranslatable::Construct(format!("ORDER BY {} of a set operation", key.expr)))?;
            key.expr = Expr::value(Value::Number((place + 1).to_string(), false));
            place_nulls(key, outputs[place].typed.nullable);
        }
        Ok(())
    }

    /// LIMIT: a negative one is none, and `LIMIT a, b` is `LIMIT b OFFSET a`.
    pub(super) fn limit(&mut self, query: &mut Query, outer: Option<&Scope<'_, 'd>>) -> Result<(), Untranslatable> {
        let (mut limit, mut offset) = match query.limit_clause.take() {
            None => return Ok(()),
            Some(LimitClause::LimitOffset { limit, offset, .. }) => (limit, offset.map(|offset| offset.value)),
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
        };
        let scope = Scope { outer, ..Scope::default() };
        for expr in limit.iter_mut().chain(offset.iter_mut()) {
            self.expression(expr, &scope)?;
        }
        let negative = |expr: &Expr| number_of_literal(expr).is_some_and(|digits| digits.starts_with('-'));
        let limit = limit.filter(|limit| !negative(limit));
        let offset = offset.filter(|offset| !negative(offset));
        if limit.is_some() || offset.is_some() {
            let offset = offset.map(|value| Offset { value, rows: OffsetRows::None });
            query.limit_clause = Some(LimitClause::LimitOffset { limit, offset, limit_by: Vec::new() });
        }
        Ok(())
    }
}

/// True if no term is left.
pub(super) fn is_empty(order_by: &OrderBy) -> bool {
    matches!(&order_by.kind, OrderByKind::Expressions(keys) if keys.is_empty())
}

/// In SQLite NULL is the least of values.
fn place_nulls(key: &mut OrderByExpr, nullable: bool) {
    if nullable && key.options.nulls_first.is_none() {
        key.options.nulls_first = Some(!matches!(key.options.sort, Some(OrderBySort::Desc)));
    }
}

/// PostgreSQL orders distinct rows only by what they hold. Groups are distinct rows that can be ordered by more.
pub(super) fn settle_distinct(
    select: &mut Select,
    keys: &mut [OrderByExpr],
    scope: &Scope<'_, '_>,
    conditions: &[Expr],
) -> Result<(), Untranslatable> {
    if !matches!(select.distinct, Some(Distinct::Distinct)) {
        return Ok(());
    }
    let mut shown = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => shown.push(expr.clone()),
            _ => return Ok(()),
        }
    }
    let same = |a: &Expr, b: &Expr| {
        a == b || matches!((scope.own_column(a), scope.own_column(b)), (Some(a), Some(b)) if a == b)
    };
    let hidden: Vec<_> = (0..keys.len())
        .filter(|&place| {
            number_of_literal(&keys[place].expr).is_none() && !shown.iter().any(|expr| same(expr, &keys[place].expr))
        })
        .collect();
    let Some(&first) = hidden.first() else { return Ok(()) };
    let GroupByExpr::Expressions(groups, _) = &mut select.group_by else { return Ok(()) };
    let of_any_row = || Untranslatable::AnyRow(keys[first].expr.to_string());
    if !groups.is_empty() {
        // One row per group, and every group shows what it is grouped by: there are no duplicates.
        if groups.iter().all(|group| shown.iter().any(|expr| same(expr, group))) {
            select.distinct = None;
            return Ok(());
        }
        return Err(of_any_row());
    }
    let wanted: Vec<_> = hidden.iter().filter_map(|&place| scope.own_column(&keys[place].expr)).collect();
    let known = super::grouping::determined(scope, conditions, shown.iter().filter_map(|expr| scope.own_column(expr)));
    if wanted.len() < hidden.len() || wanted.iter().any(|found| !known.contains(&(found.relation, found.column))) {
        return Err(of_any_row());
    }
    select.distinct = None;
    *groups = shown;
    for place in hidden {
        wrap(&mut keys[place].expr, |key| format!("min({key})"))?;
    }
    Ok(())
}
