//! Check that everything selected beside aggregates follows from `GROUP BY`. SQLite takes any row of the group where it
//! does not; PostgreSQL refuses it.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function, GroupByExpr, OrderByKind, Query, Select, SelectItem, Visit, Visitor};

use crate::dataset::Dataset;
use crate::names::{Found, Names, Node, Scope, head, last, resolve, walk};
use crate::visit;

/// True if every select of a query is so.
pub(crate) fn is_portable(query: &Query, dataset: &Dataset) -> bool {
    let names = Names::new(query, dataset);
    let mut portable = true;
    walk(query, &names, |_, place, scopes| match place {
        Node::Select(select) => portable &= select_is_portable(select, &[], scopes),
        Node::Query(query) => {
            if let (Some(order), Some(select)) = (&query.order_by, query.body.as_select())
                && let OrderByKind::Expressions(keys) = &order.kind
            {
                let keys: Vec<Expr> = keys.iter().map(|key| key.expr.clone()).collect();
                portable &= select_is_portable(select, &keys, scopes);
                portable &= select.distinct.is_none() || keys.iter().all(|key| is_projected(key, select));
            }
        }
        Node::Expression(_) => {}
    });
    portable && head(query).is_some()
}

/// True if every table that a name is qualified with stands in a `FROM` around it.
pub(crate) fn is_bound(query: &Query, dataset: &Dataset) -> bool {
    let names = Names::new(query, dataset);
    let mut bound = true;
    walk(query, &names, |_, place, scopes| {
        if let Node::Expression(Expr::CompoundIdentifier(parts)) = place
            && let [.., table, _] = parts.as_slice()
        {
            bound &= scopes.iter().flatten().any(|binding| binding.name == table.value.to_lowercase());
        }
    });
    bound
}

/// With DISTINCT, rows can be ordered only by what is selected.
fn is_projected(key: &Expr, select: &Select) -> bool {
    select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) => expr == key,
        SelectItem::ExprWithAlias { expr, alias } => expr == key || *key == Expr::Identifier(alias.clone()),
        _ => true,
    }) || matches!(key, Expr::Value(_))
}

fn select_is_portable(select: &Select, order: &[Expr], scopes: &[Scope<'_>]) -> bool {
    let GroupByExpr::Expressions(keys, _) = &select.group_by else {
        return true;
    };
    let aliases: Vec<&str> = select
        .projection
        .iter()
        .filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.as_str()),
            _ => None,
        })
        .collect();
    let mut loose = UngroupedColumns { keys, aliases, scopes, aggregated: false, bare: false, within: 0 };
    let _ = visit::tree(&select.projection, &mut loose);
    let _ = visit::tree(&select.having, &mut loose);
    let _ = visit::tree(&order.to_vec(), &mut loose);
    let star = select
        .projection
        .iter()
        .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
    let grouped = !keys.is_empty() || loose.aggregated || select.having.is_some();
    !grouped || !(loose.bare || star)
}

/// Looks for columns outside aggregates that do not follow from the keys.
struct UngroupedColumns<'s, 'a> {
    keys: &'s [Expr],
    aliases: Vec<&'s str>,
    scopes: &'s [Scope<'a>],
    aggregated: bool,
    bare: bool,
    /// Number of enclosing keys, aggregates and subqueries.
    within: usize,
}

impl UngroupedColumns<'_, '_> {
    fn shields(&self, expr: &Expr) -> bool {
        self.keys.contains(expr) || matches!(expr, Expr::Function(function) if is_aggregate(function))
    }

    /// A column that is a key, or of a table whose primary key is among the keys.
    fn follows(&self, found: &Found<'_>) -> bool {
        let among = |column: &str| {
            self.keys.iter().filter_map(|key| resolve(key, self.scopes)).any(|key| {
                (key.out, key.binding) == (found.out, found.binding)
                    && key.table.columns[key.column].name.eq_ignore_ascii_case(column)
            })
        };
        let table = found.table;
        found.out > 1
            || among(&table.columns[found.column].name)
            || (!table.primary_key.is_empty() && table.primary_key.iter().all(|column| among(column)))
    }
}

impl Visitor for UngroupedColumns<'_, '_> {
    type Break = ();
    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.within += 1;
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.within -= 1;
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.aggregated |= self.within == 0 && matches!(expr, Expr::Function(function) if is_aggregate(function));
        if self.within == 0
            && matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
            && !self.keys.contains(expr)
        {
            let alias = matches!(expr, Expr::Identifier(name) if self.aliases.contains(&name.value.as_str()));
            let constant = crate::names::constant(expr, self.scopes).is_some();
            self.bare |= !alias && !constant && !resolve(expr, self.scopes).is_some_and(|found| self.follows(&found));
        }
        self.within += usize::from(self.shields(expr));
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.within -= usize::from(self.shields(expr));
        ControlFlow::Continue(())
    }
}

/// True if there is an aggregate in a part of a query.
pub(crate) fn has_aggregate(part: &impl Visit) -> bool {
    visit::finds(part, |expr| matches!(expr, Expr::Function(function) if is_aggregate(function)))
}

/// True if a function makes one value of many rows.
pub(crate) fn is_aggregate(function: &Function) -> bool {
    const NAMES: [&str; 14] = [
        "count",
        "sum",
        "avg",
        "total",
        "group_concat",
        "string_agg",
        "array_agg",
        "bool_and",
        "bool_or",
        "every",
        "stddev",
        "variance",
        "max",
        "min",
    ];
    let arguments = match &function.args {
        sqlparser::ast::FunctionArguments::List(list) => list.args.len(),
        _ => 0,
    };
    let name = last(&function.name).unwrap_or_default().to_lowercase();
    // SQLite's min and max of several values are no aggregates.
    function.over.is_none()
        && NAMES.contains(&name.as_str())
        && (arguments == 1 || !matches!(name.as_str(), "min" | "max"))
}
