//! Visits of syntax trees.
//!
//! The library makes the code that walks over a tree, hundreds of functions, once for each type of visitor. Here there is one type, which
//! calls the visitor that it was given.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, ObjectName, OrderBy, OrderByExpr, Query, Select, Statement, TableFactor, ValueWithSpan,
    Visit, VisitMut, Visitor, VisitorMut,
};

/// Walks over a part of a tree until the visitor breaks off.
pub(crate) fn tree(part: &impl Visit, visitor: &mut dyn Visitor<Break = ()>) -> ControlFlow<()> {
    part.visit(&mut Caller(visitor))
}

/// As [`tree`], for a visitor that changes what it meets.
pub(crate) fn tree_mut(part: &mut impl VisitMut, visitor: &mut dyn VisitorMut<Break = ()>) -> ControlFlow<()> {
    part.visit(&mut CallerMut(visitor))
}

/// True if something holds for an expression in a part of a tree.
pub(crate) fn finds(part: &impl Visit, holds: impl Fn(&Expr) -> bool) -> bool {
    struct Any<'h>(&'h dyn Fn(&Expr) -> bool);
    impl Visitor for Any<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if (self.0)(expr) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    tree(part, &mut Any(&holds)).is_break()
}

struct Caller<'v>(&'v mut dyn Visitor<Break = ()>);

struct CallerMut<'v>(&'v mut dyn VisitorMut<Break = ()>);

macro_rules! call {
    ($($pre:ident $post:ident $node:ty;)*) => {
        impl Visitor for Caller<'_> {
            type Break = ();
            $(
                fn $pre(&mut self, node: &$node) -> ControlFlow<()> {
                    self.0.$pre(node)
                }
                fn $post(&mut self, node: &$node) -> ControlFlow<()> {
                    self.0.$post(node)
                }
            )*
        }

        impl VisitorMut for CallerMut<'_> {
            type Break = ();
            $(
                fn $pre(&mut self, node: &mut $node) -> ControlFlow<()> {
                    self.0.$pre(node)
                }
                fn $post(&mut self, node: &mut $node) -> ControlFlow<()> {
                    self.0.$post(node)
                }
            )*
        }
    };
}

call! {
    pre_visit_statement post_visit_statement Statement;
    pre_visit_query post_visit_query Query;
    pre_visit_select post_visit_select Select;
    pre_visit_relation post_visit_relation ObjectName;
    pre_visit_table_factor post_visit_table_factor TableFactor;
    pre_visit_expr post_visit_expr Expr;
    pre_visit_value post_visit_value ValueWithSpan;
    pre_visit_ident post_visit_ident Ident;
    pre_visit_order_by post_visit_order_by OrderBy;
    pre_visit_order_by_expr post_visit_order_by_expr OrderByExpr;
    pre_visit_group_by post_visit_group_by GroupByExpr;
}
