//! Conditions as syntax: the parts that must all hold, and what they speak of.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Visit, Visitor};

use crate::names::{Scope, constant, resolve};
use crate::visit;

/// Two expressions with an operator between them.
pub(crate) fn binary(left: &Expr, op: BinaryOperator, right: &Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left.clone()), op, right: Box::new(right.clone()) }
}

/// An expression in parentheses where it needs them: a tree is printed without regard to what binds tighter.
pub(crate) fn grouped(expr: &Expr) -> Expr {
    match expr {
        Expr::BinaryOp { .. } | Expr::UnaryOp { .. } | Expr::Between { .. } => Expr::Nested(Box::new(expr.clone())),
        _ => expr.clone(),
    }
}

/// The parts of a condition that must all hold.
pub(crate) fn conjuncts(condition: &Expr) -> Vec<Expr> {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            let mut parts = conjuncts(left);
            parts.extend(conjuncts(right));
            parts
        }
        Expr::Nested(inner) if matches!(**inner, Expr::BinaryOp { op: BinaryOperator::And, .. }) => conjuncts(inner),
        other => vec![other.clone()],
    }
}

/// The condition that all parts hold; `None` without any.
pub(crate) fn all_of(parts: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    let grouped = parts.into_iter().map(|part| match part {
        Expr::BinaryOp { op: BinaryOperator::Or, .. } => Expr::Nested(Box::new(part)),
        other => other,
    });
    grouped.reduce(|left, right| binary(&left, BinaryOperator::And, &right))
}

/// True if every name in a part of the innermost select satisfies `right`; `None` stands for a name that is not certainly a column.
fn names_are(part: &impl Visit, scopes: &[Scope<'_>], right: impl FnMut(Option<(usize, usize)>) -> bool) -> bool {
    struct Look<'s, 'a, F> {
        scopes: &'s [Scope<'a>],
        right: F,
    }
    impl<F: FnMut(Option<(usize, usize)>) -> bool> Visitor for Look<'_, '_, F> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
                || constant(expr, self.scopes).is_some()
            {
                return ControlFlow::Continue(());
            }
            let found = resolve(expr, self.scopes).map(|found| (found.out, found.binding));
            if (self.right)(found) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }
    }
    visit::tree(part, &mut Look { scopes, right }).is_continue()
}

/// True if a part of the innermost select names a column of its binding number `binding`, or a name that is not known.
pub(crate) fn speaks_of(part: &impl Visit, binding: usize, scopes: &[Scope<'_>]) -> bool {
    !names_are(part, scopes, |found| found.is_some_and(|(out, other)| out > 0 || other != binding))
}

/// True if a part of the innermost select names nothing but columns of its binding number `binding`.
pub(crate) fn speaks_only_of(part: &impl Visit, binding: usize, scopes: &[Scope<'_>]) -> bool {
    names_are(part, scopes, |found| found == Some((0, binding)))
}

/// True if a part names nothing but columns of the innermost select.
pub(crate) fn speaks_of_own(part: &impl Visit, scopes: &[Scope<'_>]) -> bool {
    names_are(part, scopes, |found| found.is_some_and(|(out, _)| out == 0))
}

/// True if there is a query within a part of a query.
pub(crate) fn has_query(part: &impl Visit) -> bool {
    struct Any;
    impl Visitor for Any {
        type Break = ();
        fn pre_visit_query(&mut self, _: &sqlparser::ast::Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    visit::tree(part, &mut Any).is_break()
}
