//! Constraints of references, as far as rows can be made that satisfy them: which rows must agree, and which tests they meet.

use sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Join, JoinConstraint, JoinOperator, Query, Select, SelectItem, SetExpr,
    TableFactor, TableWithJoins, UnaryOperator,
};

use crate::dataset::Dataset;
use crate::names::{Names, Scope, constant, resolve};
use crate::parse;
use crate::value::{Dialect, Value};

/// A column of one of a constraint's rows: which row, which column.
pub(super) type ColumnRef = (usize, usize);

/// Rows that one reference brings together.
#[derive(Debug, Clone, Default)]
pub(super) struct Constraint {
    /// The table of each row, as its place in the dataset.
    pub(super) tables: Vec<usize>,
    /// Columns that hold the same value.
    pub(super) equal: Vec<(ColumnRef, ColumnRef)>,
    /// Conditions that the rows must satisfy.
    pub(super) conditions: Vec<Condition>,
    /// Keys of its groups.
    pub(super) keys: Vec<ColumnRef>,
    /// A size of groups at which the answer changes.
    pub(super) threshold: Option<i64>,
}

/// A condition.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    /// Every one.
    All(Vec<Condition>),
    /// Any one.
    Any(Vec<Condition>),
    /// A test of a column.
    Test(ColumnRef, Test),
}

/// Right side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    /// `=`, `<>`, `<`, `<=`, `>`, `>=` and a constant.
    Compare(BinaryOperator, Value),
    /// One of several.
    In(Vec<Value>),
    /// A pattern.
    Like(String),
    /// NULL, or anything else.
    Null(bool),
    /// Not so.
    Not(Box<Test>),
}

/// The constraint of a reference in SQLite's dialect; nothing where it is not understood.
pub(super) fn constraint(reference: &str, dataset: &Dataset) -> Option<Constraint> {
    let constraint = parse::reference(reference, Dialect::Sqlite, |query| {
        let names = Names::new(&query, dataset);
        let mut gather =
            Collector { names, dataset, scopes: Vec::new(), rows: Vec::new(), constraint: Constraint::default() };
        gather.query(&query);
        gather.constraint
    });
    constraint.filter(|constraint| !constraint.tables.is_empty())
}

struct Collector<'a> {
    names: Names<'a>,
    dataset: &'a Dataset,
    scopes: Vec<Scope<'a>>,
    /// Row of the constraint for each binding of each scope.
    rows: Vec<Vec<Option<usize>>>,
    constraint: Constraint,
}

impl Collector<'_> {
    /// Takes a query in and gives the columns that it selects.
    fn query(&mut self, query: &Query) -> Vec<Option<ColumnRef>> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.query(&table.query);
        }
        self.body(&query.body)
    }

    fn body(&mut self, body: &SetExpr) -> Vec<Option<ColumnRef>> {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, right, .. } => {
                let left = self.body(left);
                let right = self.body(right);
                let both = left.iter().zip(&right).filter_map(|(left, right)| Some(((*left)?, (*right)?)));
                self.constraint.equal.extend(both);
                left
            }
            _ => Vec::new(),
        }
    }

    fn select(&mut self, select: &Select) -> Vec<Option<ColumnRef>> {
        let scope = self.names.scope(select);
        let mut rows = Vec::new();
        for binding in &scope {
            let place =
                binding.table.and_then(|table| self.dataset.tables.iter().position(|other| other.name == table.name));
            rows.push(place.map(|place| {
                self.constraint.tables.push(place);
                self.constraint.tables.len() - 1
            }));
        }
        self.scopes.push(scope);
        self.rows.push(rows);
        for from in &select.from {
            self.from(from);
        }
        if let Some(condition) = &select.selection {
            self.require(condition);
        }
        if let Some(condition) = &select.having {
            self.having(condition);
        }
        if let GroupByExpr::Expressions(keys, _) = &select.group_by {
            let keys: Vec<ColumnRef> = keys.iter().filter_map(|key| self.spot(key)).collect();
            self.constraint.keys.extend(keys);
        }
        let selected = select.projection.iter().map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => self.spot(expr),
            _ => None,
        });
        let selected = selected.collect();
        self.scopes.pop();
        self.rows.pop();
        selected
    }

    fn from(&mut self, from: &TableWithJoins) {
        self.factor(&from.relation);
        for Join { relation, join_operator, .. } in &from.joins {
            self.factor(relation);
            if let JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint) = join_operator
                && let JoinConstraint::On(condition) = constraint
            {
                self.require(condition);
            }
        }
    }

    fn factor(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Derived { subquery, .. } => {
                self.query(subquery);
            }
            TableFactor::NestedJoin { table_with_joins, .. } => self.from(table_with_joins),
            _ => {}
        }
    }

    fn spot(&self, expr: &Expr) -> Option<ColumnRef> {
        let found = resolve(expr, &self.scopes)?;
        let row = self.rows[self.scopes.len() - 1 - found.out][found.binding]?;
        Some((row, found.column))
    }

    fn require(&mut self, condition: &Expr) {
        if let Some(condition) = self.condition(condition) {
            self.constraint.conditions.push(condition);
        }
    }

    fn condition(&mut self, expr: &Expr) -> Option<Condition> {
        match expr {
            Expr::Nested(inner) => self.condition(inner),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => match self.condition(expr)? {
                Condition::Test(spot, test) => Some(Condition::Test(spot, Test::Not(Box::new(test)))),
                other => Some(other),
            },
            Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
                let parts: Vec<Condition> = [left, right].into_iter().filter_map(|part| self.condition(part)).collect();
                Some(if *op == BinaryOperator::And { Condition::All(parts) } else { Condition::Any(parts) })
            }
            Expr::BinaryOp { left, op, right } => self.comparison(left, op, right),
            Expr::Between { expr, negated, low, high } => {
                let spot = self.spot(expr)?;
                let (low, high) = (constant(low, &self.scopes)?, constant(high, &self.scopes)?);
                let low = Condition::Test(spot, negate(*negated, Test::Compare(BinaryOperator::GtEq, low)));
                let high = Condition::Test(spot, negate(*negated, Test::Compare(BinaryOperator::LtEq, high)));
                Some(if *negated { Condition::Any(vec![low, high]) } else { Condition::All(vec![low, high]) })
            }
            Expr::InList { expr, list, negated } => {
                let values = list.iter().filter_map(|value| constant(value, &self.scopes)).collect();
                Some(Condition::Test(self.spot(expr)?, negate(*negated, Test::In(values))))
            }
            Expr::Like { expr, pattern, negated, .. } => match constant(pattern, &self.scopes)? {
                Value::Text(pattern) => Some(Condition::Test(self.spot(expr)?, negate(*negated, Test::Like(pattern)))),
                _ => None,
            },
            Expr::IsNull(expr) => Some(Condition::Test(self.spot(expr)?, Test::Null(true))),
            Expr::IsNotNull(expr) => Some(Condition::Test(self.spot(expr)?, Test::Null(false))),
            // `IN` and `NOT IN` of a subquery differ by rows that agree.
            Expr::InSubquery { expr, subquery, .. } => {
                let here = self.spot(expr);
                let there = self.query(subquery).into_iter().next().flatten();
                self.constraint.equal.extend(here.zip(there));
                None
            }
            Expr::Exists { subquery, .. } => {
                self.query(subquery);
                None
            }
            _ => None,
        }
    }

    fn comparison(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Condition> {
        let mirrored = match op {
            BinaryOperator::Lt => BinaryOperator::Gt,
            BinaryOperator::LtEq => BinaryOperator::GtEq,
            BinaryOperator::Gt => BinaryOperator::Lt,
            BinaryOperator::GtEq => BinaryOperator::LtEq,
            BinaryOperator::Eq | BinaryOperator::NotEq => op.clone(),
            _ => return None,
        };
        for side in [left, right] {
            if let Expr::Subquery(query) = side {
                self.query(query);
            }
        }
        match (self.spot(left), self.spot(right)) {
            (Some(left), Some(right)) => {
                if *op == BinaryOperator::Eq {
                    self.constraint.equal.push((left, right));
                }
                None
            }
            (Some(left), None) => {
                Some(Condition::Test(left, Test::Compare(op.clone(), constant(right, &self.scopes)?)))
            }
            (None, Some(right)) => Some(Condition::Test(right, Test::Compare(mirrored, constant(left, &self.scopes)?))),
            (None, None) => None,
        }
    }

    /// Only group sizes are understood: a comparison with a small number counts as one.
    fn having(&mut self, condition: &Expr) {
        if let Expr::BinaryOp { left, op, right } = condition {
            if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
                self.having(left);
                self.having(right);
            } else if let Some(Value::Integer(size @ 0..=12)) = constant(right, &self.scopes) {
                self.constraint.threshold = Some(size);
            }
        }
    }
}

fn negate(negated: bool, test: Test) -> Test {
    if negated { Test::Not(Box::new(test)) } else { test }
}
