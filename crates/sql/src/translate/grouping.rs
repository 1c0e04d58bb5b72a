//! Columns beside GROUP BY and aggregates: SQLite takes them from one row of the group. Where the group determines them, grouping
//! by them as well changes nothing; beside a single `min` or `max` they come from the row that has it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArguments, GroupByExpr, OrderByExpr, Query, Select, SelectItem, Visitor, VisitorMut,
};

use super::Untranslatable;
use super::build::parsed;
use super::scope::{Found, Scope, Translator};
use crate::dataset::Table;
use crate::visit;

/// A column of FROM: place of the relation, place of the column.
type ColumnRef = (usize, usize);

impl Translator<'_> {
    /// Adds to GROUP BY what its columns determine, and takes the rest from the row that a single `min` or `max` names.
    pub(super) fn settle_groups(
        &mut self,
        select: &mut Select,
        keys: &mut [OrderByExpr],
        scope: &Scope<'_, '_>,
        conditions: &[Expr],
    ) -> Result<(), Untranslatable> {
        let GroupByExpr::Expressions(groups, _) = &mut select.group_by else { return Ok(()) };
        let mut seen = Bare { scope, groups, inside: 0, columns: BTreeMap::new(), aggregates: BTreeSet::new() };
        for item in &select.projection {
            let _ = visit::tree(item, &mut seen);
        }
        let _ = visit::tree(&select.having, &mut seen);
        for key in keys.iter() {
            let _ = visit::tree(key, &mut seen);
        }
        let (mut bare, aggregates) = (seen.columns, seen.aggregates);
        if groups.is_empty() && aggregates.is_empty() {
            return Ok(());
        }
        add_wildcards(&select.projection, scope, &mut bare)?;
        let grouped: Vec<Found> = groups.iter().filter_map(|group| scope.own_column(group)).collect();
        bare.retain(|place, _| !grouped.iter().any(|found| (found.relation, found.column) == *place));
        bare.retain(|place, _| !follows_from_key(scope, &grouped, place.0));
        if bare.is_empty() {
            return Ok(());
        }
        let known = determined(scope, conditions, grouped.into_iter());
        let (determined, any): (Vec<_>, Vec<_>) =
            bare.into_iter().partition(|(place, _)| !groups.is_empty() && known.contains(place));
        groups.extend(determined.into_iter().map(|(_, expr)| expr));
        if any.is_empty() {
            return Ok(());
        }
        let order = extreme(&aggregates).ok_or_else(|| Untranslatable::AnyRow(any[0].1.to_string()))?;
        let mut taken =
            Take { scope, inside: 0, places: any.iter().map(|(place, _)| *place).collect(), order, fault: None };
        for item in &mut select.projection {
            let _ = visit::tree_mut(item, &mut taken);
        }
        let _ = visit::tree_mut(&mut select.having, &mut taken);
        for key in keys {
            let _ = visit::tree_mut(key, &mut taken);
        }
        taken.fault.map_or(Ok(()), Err)
    }
}

/// `*` means every column.
fn add_wildcards(
    projection: &[SelectItem],
    scope: &Scope<'_, '_>,
    bare: &mut BTreeMap<ColumnRef, Expr>,
) -> Result<(), Untranslatable> {
    for item in projection {
        if matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)) {
            for (relation, of) in scope.relations.iter().enumerate() {
                for (column, output) in of.columns.iter().enumerate() {
                    use crate::dataset::quoted;
                    use crate::value::Dialect::Postgres;
                    let name = format!("{}.{}", quoted(&of.name, Postgres), quoted(&output.name, Postgres));
                    bare.insert((relation, column), parsed(&name)?);
                }
            }
        }
    }
    Ok(())
}

/// True if PostgreSQL itself sees that the relation's columns follow from those that are grouped.
fn follows_from_key(scope: &Scope<'_, '_>, grouped: &[Found], relation: usize) -> bool {
    scope.relations[relation].table.is_some_and(|table| {
        !table.primary_key.is_empty()
            && table.primary_key.iter().all(|name| {
                let place = table.position(name);
                grouped.iter().any(|found| found.relation == relation && Some(found.column) == place)
            })
    })
}

/// The order in which the row of the only aggregate comes first, if that is `min` or `max`.
fn extreme(aggregates: &BTreeSet<(String, String)>) -> Option<String> {
    let mut aggregates = aggregates.iter();
    let (Some((name, argument)), None) = (aggregates.next(), aggregates.next()) else { return None };
    match name.as_str() {
        "min" => Some(format!("{argument} NULLS LAST")),
        "max" => Some(format!("{argument} DESC NULLS LAST")),
        _ => None,
    }
}

/// Columns that the given ones determine: by keys, by equalities of the query, and by the rows as they are.
pub(super) fn determined(
    scope: &Scope<'_, '_>,
    conditions: &[Expr],
    start: impl Iterator<Item = Found>,
) -> BTreeSet<ColumnRef> {
    let mut known: BTreeSet<ColumnRef> = start.map(|found| (found.relation, found.column)).collect();
    let mut equal = Vec::new();
    for condition in conditions {
        equalities(condition, scope, &mut equal, &mut known);
    }
    loop {
        let before = known.len();
        for (a, b) in &equal {
            if known.contains(a) || known.contains(b) {
                known.extend([*a, *b]);
            }
        }
        for (relation, of) in scope.relations.iter().enumerate() {
            let Some(table) = of.table else { continue };
            let here: Vec<usize> = known.iter().filter(|place| place.0 == relation).map(|place| place.1).collect();
            if here.is_empty() {
                continue;
            }
            for column in 0..of.columns.len() {
                if !known.contains(&(relation, column)) && follows(table, &here, column) {
                    known.insert((relation, column));
                }
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

/// True if rows that agree on some columns agree on another.
fn follows(table: &Table, from: &[usize], column: usize) -> bool {
    let mut seen = HashMap::new();
    table.rows.iter().all(|row| {
        let key: Vec<String> = from.iter().map(|&place| format!("{:?}", row[place])).collect();
        *seen.entry(key).or_insert(&row[column]) == &row[column]
    })
}

fn equalities(
    condition: &Expr,
    scope: &Scope<'_, '_>,
    equal: &mut Vec<(ColumnRef, ColumnRef)>,
    known: &mut BTreeSet<ColumnRef>,
) {
    let place = |expr: &Expr| scope.own_column(expr).map(|found| (found.relation, found.column));
    match condition {
        Expr::Nested(inner) => equalities(inner, scope, equal, known),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            equalities(left, scope, equal, known);
            equalities(right, scope, equal, known);
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => match (place(left), place(right)) {
            (Some(left), Some(right)) => equal.push((left, right)),
            (Some(column), None) if matches!(**right, Expr::Value(_)) => {
                known.insert(column);
            }
            (None, Some(column)) if matches!(**left, Expr::Value(_)) => {
                known.insert(column);
            }
            _ => {}
        },
        _ => {}
    }
}

/// The name and argument of an aggregate.
fn aggregate(expr: &Expr) -> Option<(String, String)> {
    let Expr::Function(function) = expr else { return None };
    let name = super::build::last(&function.name);
    let one = matches!(&function.args, FunctionArguments::List(list) if list.args.len() == 1);
    let is = match name.as_str() {
        "min" | "max" => one,
        "count" | "sum" | "avg" | "string_agg" | "array_agg" => true,
        _ => false,
    };
    let argument = match &function.args {
        FunctionArguments::List(list) => list.args.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        _ => String::new(),
    };
    (is && function.over.is_none()).then_some((name, argument))
}

/// Finds columns of the SELECT itself outside aggregates and outside what is grouped.
struct Bare<'a, 's, 'd> {
    scope: &'a Scope<'s, 'd>,
    groups: &'a [Expr],
    inside: usize,
    columns: BTreeMap<ColumnRef, Expr>,
    aggregates: BTreeSet<(String, String)>,
}

impl Bare<'_, '_, '_> {
    fn encloses(&self, expr: &Expr) -> bool {
        aggregate(expr).is_some() || self.groups.contains(expr)
    }
}

impl Visitor for Bare<'_, '_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.inside += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.inside -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.inside == 0 {
            self.aggregates.extend(aggregate(expr));
            if !self.groups.contains(expr)
                && let Some(found) = self.scope.own_column(expr)
            {
                self.columns.entry((found.relation, found.column)).or_insert_with(|| expr.clone());
            }
        }
        if self.encloses(expr) {
            self.inside += 1;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.encloses(expr) {
            self.inside -= 1;
        }
        ControlFlow::Continue(())
    }
}

/// Takes columns from the row that comes first in an order.
struct Take<'a, 's, 'd> {
    scope: &'a Scope<'s, 'd>,
    inside: usize,
    places: BTreeSet<ColumnRef>,
    order: String,
    fault: Option<Untranslatable>,
}

impl VisitorMut for Take<'_, '_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.inside += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.inside -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if aggregate(expr).is_some() {
            self.inside += 1;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if aggregate(expr).is_some() {
            self.inside -= 1;
        } else if self.inside == 0 {
            let found = self.scope.own_column(expr).map(|found| (found.relation, found.column));
            if found.is_some_and(|place| self.places.contains(&place)) {
                match parsed(&format!("(array_agg({expr} ORDER BY {}))[1]", self.order)) {
                    Ok(taken) => *expr = taken,
                    Err(fault) => self.fault = Some(fault),
                }
            }
        }
        ControlFlow::Continue(())
    }
}
