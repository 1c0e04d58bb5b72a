//! Queries: WITH, set operations, and SELECT.

use sqlparser::ast::{
    Expr, GroupByExpr, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, Value,
};

use super::Untranslatable;
use super::build::{cast, fold, last, number_of_literal};
use super::scope::{Output, Scope, Translator, Typed};
use crate::dataset::Sort;

impl<'d> Translator<'d> {
    /// Translates a query in place, and says what columns it gives.
    pub(super) fn query(
        &mut self,
        query: &mut Query,
        outer: Option<&Scope<'_, 'd>>,
    ) -> Result<Vec<Output>, Untranslatable> {
        let sight = self.common.len();
        self.with(query, outer)?;
        associate(&mut query.body);
        let outputs = if let SetExpr::Select(select) = &mut *query.body {
            self.select(select, query.order_by.as_mut(), outer)?
        } else {
            let outputs = self.body(&mut query.body, outer)?;
            if let Some(order_by) = &mut query.order_by {
                self.order_compound(order_by, &outputs)?;
            }
            outputs
        };
        if query.order_by.as_ref().is_some_and(super::order::is_empty) {
            query.order_by = None;
        }
        self.limit(query, outer)?;
        self.common.truncate(sight);
        Ok(outputs)
    }

    fn with(&mut self, query: &mut Query, outer: Option<&Scope<'_, 'd>>) -> Result<(), Untranslatable> {
        let Some(with) = &mut query.with else { return Ok(()) };
        for table in &mut with.cte_tables {
            fold(&mut table.alias.name);
            table.alias.columns.iter_mut().for_each(|column| fold(&mut column.name));
            let name = table.alias.name.value.clone();
            let named = |outputs: &mut Vec<Output>| {
                for (output, column) in outputs.iter_mut().zip(&table.alias.columns) {
                    output.name.clone_from(&column.name.value);
                }
            };
            if with.recursive {
                // Within itself its columns have names, and types that are not known yet.
                let mut itself: Vec<Output> = table
                    .alias
                    .columns
                    .iter()
                    .map(|column| Output { name: column.name.value.clone(), typed: Typed::UNKNOWN })
                    .collect();
                if itself.is_empty() {
                    itself = names_of(&table.query.body);
                }
                self.common.push((name.clone(), itself));
            }
            let mut outputs = self.query(&mut table.query, outer)?;
            if with.recursive {
                self.common.pop();
            }
            named(&mut outputs);
            self.common.push((name, outputs));
        }
        Ok(())
    }

    fn body(&mut self, body: &mut SetExpr, outer: Option<&Scope<'_, 'd>>) -> Result<Vec<Output>, Untranslatable> {
        match body {
            SetExpr::Select(select) => self.select(select, None, outer),
            SetExpr::Query(query) => self.query(query, outer),
            SetExpr::SetOperation { left, right, .. } => {
                let mut outputs = self.body(left, outer)?;
                let others = self.body(right, outer)?;
                for (place, (output, other)) in outputs.iter_mut().zip(&others).enumerate() {
                    if output.typed.is_text() && other.typed.is_number() {
                        cast_output(right, place)?;
                    } else if output.typed.is_number() && other.typed.is_text() {
                        cast_output(left, place)?;
                        output.typed.sort = Some(Sort::Text);
                    }
                    output.typed.nullable |= other.typed.nullable;
                }
                Ok(outputs)
            }
            SetExpr::Values(values) => {
                let scope = Scope { outer, ..Scope::default() };
                let mut outputs = Vec::new();
                for row in &mut values.rows {
                    for (place, value) in row.content.iter_mut().enumerate() {
                        let typed = self.expression(value, &scope)?;
                        if outputs.len() <= place {
                            outputs.push(Output { name: format!("column{}", place + 1), typed });
                        }
                    }
                }
                Ok(outputs)
            }
            other => Err(Untranslatable::Construct(other.to_string())),
        }
    }

    fn select(
        &mut self,
        select: &mut Select,
        order_by: Option<&mut sqlparser::ast::OrderBy>,
        outer: Option<&Scope<'_, 'd>>,
    ) -> Result<Vec<Output>, Untranslatable> {
        let mut scope = Scope { outer, ..Scope::default() };
        let mut conditions = self.from(&mut select.from, &mut scope)?;
        let outputs = self.projection(&mut select.projection, &mut scope)?;
        if let Some(selection) = &mut select.selection {
            self.condition(selection, &scope)?;
            conditions.push(selection.clone());
        }
        let GroupByExpr::Expressions(groups, _) = &mut select.group_by else {
            return Err(Untranslatable::Construct("GROUP BY ALL".into()));
        };
        for group in groups.iter_mut() {
            self.group(group, &scope, &select.projection)?;
        }
        if let Some(having) = &mut select.having {
            self.condition(having, &scope)?;
        }
        let mut unordered = Vec::new();
        let keys = match order_by {
            Some(order_by) => self.order(order_by, &scope)?,
            None => &mut unordered,
        };
        self.settle_groups(select, keys, &scope, &conditions)?;
        super::order::settle_distinct(select, keys, &scope, &conditions)?;
        Ok(outputs)
    }

    fn projection(
        &mut self,
        projection: &mut [SelectItem],
        scope: &mut Scope<'_, 'd>,
    ) -> Result<Vec<Output>, Untranslatable> {
        let mut outputs = Vec::new();
        for item in projection.iter_mut() {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let typed = self.output(expr, scope)?;
                    let name = match expr {
                        Expr::Identifier(ident) => ident.value.clone(),
                        Expr::CompoundIdentifier(parts) => {
                            parts.last().map(|part| part.value.clone()).unwrap_or_default()
                        }
                        _ => String::new(),
                    };
                    outputs.push(Output { name, typed });
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let typed = self.output(expr, scope)?;
                    fold(alias);
                    outputs.push(Output { name: alias.value.clone(), typed });
                    scope.aliases.push((alias.value.clone(), expr.clone(), typed));
                }
                SelectItem::Wildcard(_) => {
                    outputs.extend(scope.relations.iter().flat_map(|relation| relation.columns.clone()));
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    let qualifier = last(name);
                    for part in &mut name.0 {
                        if let sqlparser::ast::ObjectNamePart::Identifier(ident) = part {
                            fold(ident);
                        }
                    }
                    let relation = scope.relations.iter().find(|relation| relation.name == qualifier);
                    let relation = relation.ok_or(Untranslatable::Name(qualifier))?;
                    outputs.extend(relation.columns.clone());
                }
                other => return Err(Untranslatable::Construct(other.to_string())),
            }
        }
        Ok(outputs)
    }

    /// A column of a result: SQLite has no booleans.
    fn output(&mut self, expr: &mut Expr, scope: &Scope<'_, 'd>) -> Result<Typed, Untranslatable> {
        let typed = self.expression(expr, scope)?;
        if typed.sort == Some(Sort::Boolean) && typed.affinity.is_none() {
            cast(expr, "integer")?;
            return Ok(Typed::of(Sort::Integer, typed.nullable));
        }
        Ok(typed)
    }

    /// A term of GROUP BY: a place in the result, a column, a name of the result, or an expression.
    fn group(
        &mut self,
        group: &mut Expr,
        scope: &Scope<'_, 'd>,
        projection: &[SelectItem],
    ) -> Result<(), Untranslatable> {
        let place = number_of_literal(group).and_then(|digits| digits.parse::<usize>().ok());
        let item = place.and_then(|place| projection.get(place.checked_sub(1)?));
        if let Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item {
            *group = expr.clone();
            return Ok(());
        }
        self.expression(group, scope).map(drop)
    }
}

/// Names of a SELECT's columns as far as they are written.
fn names_of(body: &SetExpr) -> Vec<Output> {
    match body {
        SetExpr::Select(select) => select
            .projection
            .iter()
            .map(|item| {
                let name = match item {
                    SelectItem::ExprWithAlias { alias, .. } => alias.value.to_ascii_lowercase(),
                    SelectItem::UnnamedExpr(Expr::Identifier(ident)) => ident.value.to_ascii_lowercase(),
                    _ => String::new(),
                };
                Output { name, typed: Typed::UNKNOWN }
            })
            .collect(),
        SetExpr::SetOperation { left, .. } => names_of(left),
        SetExpr::Query(query) => names_of(&query.body),
        _ => Vec::new(),
    }
}

/// Turns a column of a result into text.
pub(super) fn cast_output(body: &mut SetExpr, place: usize) -> Result<(), Untranslatable> {
    match body {
        SetExpr::Select(select) => match select.projection.get_mut(place) {
            Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => {
                if matches!(expr, Expr::Value(value) if value.value == Value::Null) {
                    return Ok(());
                }
                cast(expr, "text")?;
                Ok(())
            }
            _ => Err(Untranslatable::Comparison("columns of a set operation".into())),
        },
        SetExpr::Query(query) => cast_output(&mut query.body, place),
        SetExpr::SetOperation { left, right, .. } => {
            cast_output(left, place)?;
            cast_output(right, place)
        }
        _ => Err(Untranslatable::Comparison("columns of a set operation".into())),
    }
}

/// SQLite carries set operations out from left to right; the parser, as PostgreSQL, INTERSECT first.
fn associate(body: &mut SetExpr) {
    let mut terms = Vec::new();
    flatten(std::mem::replace(body, SetExpr::Values(empty())), None, &mut terms);
    let mut terms = terms.into_iter();
    let Some((_, mut whole)) = terms.next() else { return };
    let mut last_op = None;
    for (link, term) in terms {
        let Some((op, set_quantifier)) = link else { continue };
        let binds_tighter = op == SetOperator::Intersect && !matches!(last_op, None | Some(SetOperator::Intersect));
        if binds_tighter {
            whole = SetExpr::Query(Box::new(plain(whole)));
        }
        whole = SetExpr::SetOperation { op, set_quantifier, left: Box::new(whole), right: Box::new(term) };
        last_op = Some(op);
    }
    *body = whole;
}

type Link = Option<(SetOperator, sqlparser::ast::SetQuantifier)>;

fn flatten(body: SetExpr, link: Link, terms: &mut Vec<(Link, SetExpr)>) {
    match body {
        SetExpr::SetOperation { op, set_quantifier, left, right } => {
            flatten(*left, link, terms);
            flatten(*right, Some((op, set_quantifier)), terms);
        }
        other => terms.push((link, other)),
    }
}

fn empty() -> sqlparser::ast::Values {
    sqlparser::ast::Values { explicit_row: false, value_keyword: false, rows: Vec::new() }
}

fn plain(body: SetExpr) -> Query {
    Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}
