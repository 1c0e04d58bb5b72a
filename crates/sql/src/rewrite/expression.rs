//! Expressions that have the same value on every row, NULL included.

use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, UnaryOperator,
};

use super::Kind;
use crate::condition::{binary, grouped};
use crate::names::{Scope, constant, last, named, resolve};
use crate::visit;

/// Equivalents of an expression.
pub(super) fn equivalents(expr: &Expr, scopes: &[Scope<'_>]) -> Vec<(Kind, Expr)> {
    let simple = |expr: &Expr| resolve(expr, scopes).is_some() || constant(expr, scopes).is_some();
    match expr {
        Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
            let mut found = Vec::new();
            // What may fail must not be asked before what keeps it from failing.
            if !may_fail(left) && !may_fail(right) {
                found.push((Kind::PredicateOrder, nested(binary(&grouped(right), op.clone(), &grouped(left)))));
            }
            let merged = if *op == BinaryOperator::And {
                as_between(left, right, &simple)
            } else {
                as_list(left, right, &simple)
            };
            found.extend(merged);
            found
        }
        Expr::BinaryOp { left, op, right } if simple(left) && simple(right) => {
            let Some((turned, opposite)) = relatives(op) else {
                return Vec::new();
            };
            vec![
                (Kind::Turned, binary(right, turned, left)),
                (Kind::Not, nested(not(nested(binary(left, opposite, right))))),
            ]
        }
        Expr::Between { expr: value, negated, low, high } if simple(value) => {
            let (below, above, both) = if *negated {
                (BinaryOperator::Lt, BinaryOperator::Gt, BinaryOperator::Or)
            } else {
                (BinaryOperator::GtEq, BinaryOperator::LtEq, BinaryOperator::And)
            };
            vec![(Kind::Between, nested(binary(&binary(value, below, low), both, &binary(value, above, high))))]
        }
        Expr::InList { expr: value, list, negated } if simple(value) && !list.is_empty() && list.iter().all(simple) => {
            let (op, both) = if *negated {
                (BinaryOperator::NotEq, BinaryOperator::And)
            } else {
                (BinaryOperator::Eq, BinaryOperator::Or)
            };
            let parts = list.iter().map(|other| binary(value, op.clone(), other));
            parts
                .reduce(|left, right| binary(&left, both.clone(), &right))
                .map(|all| (Kind::InList, nested(all)))
                .into_iter()
                .collect()
        }
        Expr::Like { negated: true, any, expr: value, pattern, escape_char } => {
            let like = Expr::Like {
                negated: false,
                any: *any,
                expr: value.clone(),
                pattern: pattern.clone(),
                escape_char: escape_char.clone(),
            };
            vec![(Kind::Not, nested(not(nested(like))))]
        }
        Expr::InSubquery { expr: value, subquery, negated: true } => {
            let within = Expr::InSubquery { expr: value.clone(), subquery: subquery.clone(), negated: false };
            vec![(Kind::Not, nested(not(nested(within))))]
        }
        Expr::Function(function) => {
            count(function, scopes).map(|function| (Kind::Count, Expr::Function(function))).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

fn not(expr: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expr) }
}

/// The operator for swapped operands, and the one that holds where this one does not.
fn relatives(op: &BinaryOperator) -> Option<(BinaryOperator, BinaryOperator)> {
    Some(match op {
        BinaryOperator::Lt => (BinaryOperator::Gt, BinaryOperator::GtEq),
        BinaryOperator::LtEq => (BinaryOperator::GtEq, BinaryOperator::Gt),
        BinaryOperator::Gt => (BinaryOperator::Lt, BinaryOperator::LtEq),
        BinaryOperator::GtEq => (BinaryOperator::LtEq, BinaryOperator::Lt),
        BinaryOperator::Eq => (BinaryOperator::Eq, BinaryOperator::NotEq),
        BinaryOperator::NotEq => (BinaryOperator::NotEq, BinaryOperator::Eq),
        _ => return None,
    })
}

/// True if evaluating it may end in an error.
fn may_fail(expr: &Expr) -> bool {
    visit::finds(expr, |expr| {
        matches!(
            expr,
            Expr::BinaryOp { op: BinaryOperator::Divide | BinaryOperator::Modulo, .. }
                | Expr::Cast { .. }
                | Expr::Function(_)
                | Expr::Subquery(_)
        )
    })
}

/// `a >= x AND a <= y`.
fn as_between(left: &Expr, right: &Expr, simple: &impl Fn(&Expr) -> bool) -> Option<(Kind, Expr)> {
    let (
        Expr::BinaryOp { left: value, op: BinaryOperator::GtEq, right: low },
        Expr::BinaryOp { left: same, op: BinaryOperator::LtEq, right: high },
    ) = (left, right)
    else {
        return None;
    };
    let fits = value == same && simple(value) && simple(low) && simple(high);
    fits.then(|| {
        (Kind::Between, Expr::Between { expr: value.clone(), negated: false, low: low.clone(), high: high.clone() })
    })
}

/// `a = x OR a = y`.
fn as_list(left: &Expr, right: &Expr, simple: &impl Fn(&Expr) -> bool) -> Option<(Kind, Expr)> {
    let (
        Expr::BinaryOp { left: value, op: BinaryOperator::Eq, right: one },
        Expr::BinaryOp { left: same, op: BinaryOperator::Eq, right: other },
    ) = (left, right)
    else {
        return None;
    };
    let fits = value == same && simple(value) && is_literal(one) && is_literal(other);
    fits.then(|| {
        (
            Kind::InList,
            Expr::InList { expr: value.clone(), list: vec![(**one).clone(), (**other).clone()], negated: false },
        )
    })
}

/// A column of the other side would bring its affinity along, which `IN` does not heed.
fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(_)) || matches!(expr, Expr::Identifier(ident) if ident.quote_style == Some('"'))
}

/// `COUNT(*)` of rows that have a column which is never NULL, as the count of that column; and the reverse.
fn count(function: &Function, scopes: &[Scope<'_>]) -> Option<Function> {
    if !last(&function.name)?.eq_ignore_ascii_case("count") || function.over.is_some() || function.filter.is_some() {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let [FunctionArg::Unnamed(argument)] = list.args.as_slice() else {
        return None;
    };
    let other = match argument {
        FunctionArgExpr::Wildcard => {
            let bound = scopes.last()?.iter().find(|binding| !binding.outer && binding.table.is_some())?;
            let column = bound.table?.columns.iter().find(|column| column.not_null)?;
            FunctionArgExpr::Expr(Expr::CompoundIdentifier(vec![bound.ident.clone(), named(&column.name)]))
        }
        FunctionArgExpr::Expr(expr) if list.duplicate_treatment != Some(DuplicateTreatment::Distinct) => {
            resolve(expr, scopes)
                .filter(|found| found.out == 0 && found.never_null())
                .map(|_| FunctionArgExpr::Wildcard)?
        }
        _ => return None,
    };
    let list = FunctionArgumentList { args: vec![FunctionArg::Unnamed(other)], ..list.clone() };
    Some(Function { args: FunctionArguments::List(list), ..function.clone() })
}
