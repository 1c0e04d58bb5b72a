//! Joins as subqueries and subqueries as joins, where a key says that no row is counted twice.

use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, Query, Select, SelectItem,
    SetExpr, TableAlias, TableFactor, TableWithJoins, Value as Literal,
};

use super::Kind;
use super::select::{inner, turned};
use crate::condition::{all_of, binary, conjuncts, has_query, speaks_of, speaks_of_own, speaks_only_of};
use crate::names::{Found, Names, Scope, resolve};

/// A name that no table or column has.
const MEMBERS: &str = "members_of_list";
/// Likewise.
const MEMBER: &str = "member_of_list";

/// Equivalents of a select. `ordered` says that an order outside it may speak of its tables.
pub(super) fn equivalents<'a>(
    select: &Select,
    ordered: bool,
    names: &Names<'a>,
    scopes: &[Scope<'a>],
) -> Vec<(Kind, Select)> {
    let mut found = Vec::new();
    if !ordered {
        found.extend(join_as_subquery(select, scopes));
        if let Some(turned) = turned(select) {
            // The scope follows the tables.
            let mut scopes = scopes.to_vec();
            if let Some(scope) = scopes.last_mut() {
                scope.swap(0, 1);
            }
            found.extend(join_as_subquery(&turned, &scopes));
        }
    }
    let parts: Vec<Expr> = select.selection.iter().flat_map(conjuncts).collect();
    for (place, part) in parts.iter().enumerate() {
        let Expr::InSubquery { expr, subquery, negated } = part else {
            continue;
        };
        let Some(list) = List::new(expr, subquery, names, scopes) else {
            continue;
        };
        let others = || parts[..place].iter().chain(&parts[place + 1..]).cloned();
        let never_null = list.value.never_null() && list.member.never_null();
        if !negated || never_null {
            let exists = Expr::Exists { subquery: Box::new(list.matching()), negated: *negated };
            found.push((Kind::Exists, Select { selection: all_of(others().chain([exists])), ..select.clone() }));
        }
        if !negated
            && list.stands_alone
            && let Some(from) = list.joined(select)
        {
            found.push((Kind::JoinForSubquery, Select { from, selection: all_of(others()), ..select.clone() }));
        }
    }
    found
}

fn star(select: &Select) -> bool {
    select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)))
}

fn as_query(select: Select) -> Query {
    Query {
        with: None,
        body: Box::new(SetExpr::Select(Box::new(select))),
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

/// A select of one column from one table, with everything else that `like` has left out.
fn bare(like: &Select, item: Expr, from: Vec<TableWithJoins>, selection: Option<Expr>) -> Select {
    Select {
        distinct: None,
        projection: vec![SelectItem::UnnamedExpr(item)],
        from,
        selection,
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        having: None,
        ..like.clone()
    }
}

/// The last table of a join, where it only says which rows of the others count.
fn join_as_subquery(select: &Select, scopes: &[Scope<'_>]) -> Vec<(Kind, Select)> {
    subqueries(select, scopes).unwrap_or_default()
}

fn subqueries(select: &Select, scopes: &[Scope<'_>]) -> Option<Vec<(Kind, Select)>> {
    let [from] = select.from.as_slice() else {
        return None;
    };
    let join = from.joins.last()?;
    let dropped = from.joins.len();
    let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = inner(join)? else {
        return None;
    };
    let plain = matches!(join.relation, TableFactor::Table { .. }) && scopes.last()?.len() == dropped + 1;
    if star(select) || !plain || select.selection.as_ref().is_some_and(has_query) {
        return None;
    }
    let (left_found, right_found) = (resolve(left, scopes)?, resolve(right, scopes)?);
    let (value, member, found, key) = match (left_found.binding == dropped, right_found.binding == dropped) {
        (true, false) => (right, left, right_found, left_found),
        (false, true) => (left, right, left_found, right_found),
        _ => return None,
    };
    let once = key.is_key()
        || (select.distinct == Some(Distinct::Distinct) && !crate::grouping::has_aggregate(&select.projection));
    let parts: Vec<Expr> = select.selection.iter().flat_map(conjuncts).collect();
    let (own, others): (Vec<Expr>, Vec<Expr>) = parts.into_iter().partition(|part| speaks_of(part, dropped, scopes));
    let apart = own.iter().all(|part| speaks_only_of(part, dropped, scopes))
        && !speaks_of(&select.projection, dropped, scopes)
        && !speaks_of(&select.group_by, dropped, scopes)
        && !speaks_of(&select.having, dropped, scopes);
    if !once || !apart || found.out > 0 || key.out > 0 || found.sort() != key.sort() {
        return None;
    }
    let mut kept = from.clone();
    kept.joins.pop();
    let table = vec![TableWithJoins { relation: join.relation.clone(), joins: Vec::new() }];
    let members = as_query(bare(select, (**member).clone(), table.clone(), all_of(own.clone())));
    let within = Expr::InSubquery { expr: value.clone(), subquery: Box::new(members), negated: false };
    let mut rewritten = vec![(Kind::SubqueryForJoin, with(select, &kept, &others, within))];
    // Within EXISTS, a name without a qualifier would be looked up in the inner table first.
    if matches!(**value, Expr::CompoundIdentifier(_)) && matches!(**member, Expr::CompoundIdentifier(_)) {
        let matching = all_of(own.into_iter().chain([binary(member, BinaryOperator::Eq, value)]));
        let one = Expr::Value(Literal::Number("1".into(), false).into());
        let exists = Expr::Exists { subquery: Box::new(as_query(bare(select, one, table, matching))), negated: false };
        rewritten.push((Kind::SubqueryForJoin, with(select, &kept, &others, exists)));
    }
    Some(rewritten)
}

fn with(select: &Select, from: &TableWithJoins, others: &[Expr], condition: Expr) -> Select {
    Select { from: vec![from.clone()], selection: all_of(others.iter().cloned().chain([condition])), ..select.clone() }
}

/// `value IN (SELECT member FROM ... WHERE ...)`, in parts.
struct List<'a> {
    value: Found<'a>,
    /// The value with its table's name.
    qualified: Expr,
    member: Found<'a>,
    item: Expr,
    select: Select,
    /// True if nothing in it refers to what is around it.
    stands_alone: bool,
}

impl<'a> List<'a> {
    fn new(value: &Expr, subquery: &Query, names: &Names<'a>, scopes: &[Scope<'a>]) -> Option<Self> {
        let SetExpr::Select(select) = &*subquery.body else {
            return None;
        };
        let [SelectItem::UnnamedExpr(item)] = select.projection.as_slice() else {
            return None;
        };
        let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty())
            || select.having.is_some();
        let mut inside = scopes.to_vec();
        inside.push(names.scope(select));
        let found = resolve(value, scopes).filter(|found| found.out == 0)?;
        let member = resolve(item, &inside).filter(|found| found.out == 0)?;
        let outer = &scopes.last()?[found.binding];
        let hidden = inside.last()?.iter().any(|binding| binding.name == outer.name);
        let nested = has_query(&select.selection)
            || select.from.iter().any(|from| from.joins.iter().any(|join| inner(join).is_none()));
        if grouped || hidden || nested || found.sort() != member.sort() {
            return None;
        }
        let column = match value {
            Expr::Identifier(column) => column,
            Expr::CompoundIdentifier(parts) => parts.last()?,
            _ => return None,
        };
        let alone = [inside.last()?.clone()];
        Some(Self {
            value: found,
            qualified: Expr::CompoundIdentifier(vec![outer.ident.clone(), column.clone()]),
            member,
            item: item.clone(),
            stands_alone: speaks_of_own(&select.selection, &alone) && speaks_of_own(&select.from, &alone),
            select: (**select).clone(),
        })
    }

    /// The rows of the list that have the value.
    fn matching(&self) -> Query {
        let same = binary(&self.item, BinaryOperator::Eq, &self.qualified);
        let one = Expr::Value(Literal::Number("1".into(), false).into());
        let selection = all_of(self.select.selection.iter().flat_map(conjuncts).chain([same]));
        as_query(bare(&self.select, one, self.select.from.clone(), selection))
    }

    /// The tables of a select, joined with the list, in which each member stands once.
    fn joined(&self, select: &Select) -> Option<Vec<TableWithJoins>> {
        let [from] = select.from.as_slice() else {
            return None;
        };
        if star(select) {
            return None;
        }
        let mut members = self.select.clone();
        members.distinct = Some(Distinct::Distinct);
        members.projection = vec![SelectItem::ExprWithAlias { expr: self.item.clone(), alias: Ident::new(MEMBER) }];
        let alias = TableAlias { explicit: true, name: Ident::new(MEMBERS), columns: Vec::new(), at: None };
        let member = Expr::CompoundIdentifier(vec![Ident::new(MEMBERS), Ident::new(MEMBER)]);
        let relation = TableFactor::Derived {
            lateral: false,
            subquery: Box::new(as_query(members)),
            alias: Some(alias),
            sample: None,
        };
        let condition = binary(&self.qualified, BinaryOperator::Eq, &member);
        let mut from = from.clone();
        from.joins.push(Join {
            relation,
            global: false,
            join_operator: JoinOperator::Join(JoinConstraint::On(condition)),
        });
        Some(vec![from])
    }
}
