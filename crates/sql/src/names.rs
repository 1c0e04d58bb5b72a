//! Resolution of names in a query, and nodes of its syntax tree that can be found again.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, JoinOperator, ObjectName, ObjectNamePart, Query, Select, SetExpr, TableFactor, TableWithJoins,
    UnaryOperator, Value as Literal, Visitor, VisitorMut,
};

use crate::dataset::{Dataset, Sort, Table};
use crate::value::Value;
use crate::visit;

/// Table of a `FROM`, by the name that columns are qualified with.
#[derive(Debug, Clone)]
pub(crate) struct Binding<'a> {
    /// In lower case.
    pub(crate) name: String,
    /// `None` where it is not a table of the dataset: a subquery, a view, a common table.
    pub(crate) table: Option<&'a Table>,
    /// As it is written where it is bound.
    pub(crate) ident: Ident,
    /// True if an outer join may fill it with NULLs.
    pub(crate) outer: bool,
}

impl<'a> Binding<'a> {
    fn new(ident: Option<Ident>, table: Option<&'a Table>) -> Self {
        let ident = ident.unwrap_or_else(|| Ident::new(""));
        Self { name: ident.value.to_lowercase(), table, ident, outer: false }
    }
}

/// Tables that one `FROM` offers.
pub(crate) type Scope<'a> = Vec<Binding<'a>>;

/// A column that a name means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    /// Number of queries between it and its table.
    pub(crate) out: usize,
    /// Index of the binding in that scope.
    pub(crate) binding: usize,
    /// Its table.
    pub(crate) table: &'a Table,
    /// Its place in the table.
    pub(crate) column: usize,
    /// True if an outer join may make it NULL.
    pub(crate) outer: bool,
}

impl Found<'_> {
    /// True if it can never be NULL.
    pub(crate) fn never_null(&self) -> bool {
        !self.outer && self.table.columns[self.column].not_null
    }

    /// Type of its values.
    pub(crate) fn sort(&self) -> Sort {
        self.table.columns[self.column].sort
    }

    /// True if no two rows hold the same value, NULL left out.
    pub(crate) fn is_key(&self) -> bool {
        let alone =
            |key: &[String]| key.len() == 1 && key[0].eq_ignore_ascii_case(&self.table.columns[self.column].name);
        alone(&self.table.primary_key) || self.table.unique.iter().any(|key| alone(key))
    }
}

/// The dataset and what a query hides of it.
pub(crate) struct Names<'a> {
    dataset: &'a Dataset,
    hidden: BTreeSet<String>,
}

impl<'a> Names<'a> {
    /// For one query: names of its common tables are no tables of the dataset.
    pub(crate) fn new(query: &Query, dataset: &'a Dataset) -> Self {
        struct Common(BTreeSet<String>);
        impl Visitor for Common {
            type Break = ();
            fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
                let tables = query.with.iter().flat_map(|with| &with.cte_tables);
                self.0.extend(tables.map(|table| table.alias.name.value.to_lowercase()));
                ControlFlow::Continue(())
            }
        }
        let mut common = Common(BTreeSet::new());
        let _ = visit::tree(query, &mut common);
        Self { dataset, hidden: common.0 }
    }

    fn table(&self, name: &ObjectName) -> Option<&'a Table> {
        let name = last(name)?.to_lowercase();
        if self.hidden.contains(&name) {
            return None;
        }
        self.dataset.tables.iter().find(|table| table.name.to_lowercase() == name)
    }

    /// Columns that a select's `FROM` offers.
    pub(crate) fn scope(&self, select: &Select) -> Scope<'a> {
        let mut scope = Vec::new();
        for item in &select.from {
            self.bind_joined(item, &mut scope);
        }
        scope
    }

    fn bind_joined(&self, item: &TableWithJoins, scope: &mut Scope<'a>) {
        let first = scope.len();
        self.bind(&item.relation, scope);
        for join in &item.joins {
            let (left_outer, right_outer) = match &join.join_operator {
                JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => (false, true),
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) => (true, false),
                JoinOperator::FullOuter(_) => (true, true),
                _ => (false, false),
            };
            let joined = scope.len();
            self.bind(&join.relation, scope);
            let (left, right) = scope.split_at_mut(joined);
            left[first..].iter_mut().for_each(|binding| binding.outer |= left_outer);
            right.iter_mut().for_each(|binding| binding.outer |= right_outer);
        }
    }

    fn bind(&self, factor: &TableFactor, scope: &mut Scope<'a>) {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let own = name.0.last().and_then(|part| part.as_ident().cloned());
                let ident = alias.as_ref().map(|alias| alias.name.clone()).or(own);
                scope.push(Binding::new(ident, self.table(name)));
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => self.bind_joined(table_with_joins, scope),
            TableFactor::Derived { alias, .. } | TableFactor::NestedJoin { alias, .. } => {
                scope.push(Binding::new(alias.as_ref().map(|alias| alias.name.clone()), None));
            }
            _ => scope.push(Binding::new(None, None)),
        }
    }
}

/// The last part of a name.
pub(crate) fn last(name: &ObjectName) -> Option<&str> {
    match name.0.last()? {
        ObjectNamePart::Identifier(ident) => Some(&ident.value),
        ObjectNamePart::Function(_) => None,
    }
}

/// The column of a table that an expression names; `None` where it names none, or not certainly one. `scopes` begin with the
/// outermost.
pub(crate) fn resolve<'a>(expr: &Expr, scopes: &[Scope<'a>]) -> Option<Found<'a>> {
    let (qualifier, column) = match expr {
        Expr::Identifier(column) => (None, column),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., table, column] => (Some(table.value.to_lowercase()), column),
            _ => return None,
        },
        _ => return None,
    };
    for (out, scope) in scopes.iter().rev().enumerate() {
        let mut found = None;
        for (binding, bound) in scope.iter().enumerate() {
            if qualifier.as_ref().is_some_and(|qualifier| *qualifier != bound.name) {
                continue;
            }
            // What a subquery offers is not known here: any name may be one of its columns.
            let table = bound.table?;
            let Some(node) = table.columns.iter().position(|other| same(column, &other.name)) else {
                continue;
            };
            if found.is_some() {
                return None;
            }
            found = Some(Found { out, binding, table, column: node, outer: bound.outer });
        }
        if found.is_some() {
            return found;
        }
    }
    None
}

fn same(ident: &Ident, name: &str) -> bool {
    ident.value.to_lowercase() == name.to_lowercase()
}

/// The value that an expression writes out. SQLite takes a name in double quotes that means no column for text.
pub(crate) fn constant(expr: &Expr, scopes: &[Scope<'_>]) -> Option<Value> {
    match expr {
        Expr::Nested(inner) => constant(inner, scopes),
        Expr::Value(value) => match &value.value {
            Literal::Number(digits, _) => {
                digits.parse().map(Value::Integer).or_else(|_| digits.parse().map(Value::Real)).ok()
            }
            Literal::SingleQuotedString(text) | Literal::DoubleQuotedString(text) => Some(Value::Text(text.clone())),
            Literal::Boolean(truth) => Some(Value::Boolean(*truth)),
            Literal::Null => Some(Value::Null),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match constant(expr, scopes)? {
            Value::Integer(number) => number.checked_neg().map(Value::Integer),
            Value::Real(number) => Some(Value::Real(-number)),
            _ => None,
        },
        Expr::Identifier(ident) if ident.quote_style == Some('"') => {
            let known = scopes.iter().flatten().all(|binding| binding.table.is_some());
            let column = scopes
                .iter()
                .flatten()
                .filter_map(|binding| binding.table)
                .any(|table| table.columns.iter().any(|column| same(ident, &column.name)));
            (known && !column).then(|| Value::Text(ident.value.clone()))
        }
        _ => None,
    }
}

/// A value written out.
pub(crate) fn literal(value: &Value) -> Expr {
    let value = match value {
        Value::Null => Literal::Null,
        Value::Boolean(truth) => Literal::Boolean(*truth),
        Value::Integer(number) => Literal::Number(number.to_string(), false),
        Value::Real(number) => Literal::Number(format!("{number:?}"), false),
        Value::Decimal(digits) => Literal::Number(digits.clone(), false),
        Value::Text(text) => Literal::SingleQuotedString(text.clone()),
        Value::Blob(bytes) => Literal::HexStringLiteral(hex::encode(bytes)),
    };
    Expr::Value(value.into())
}

/// A name, quoted where it must be: PostgreSQL folds what is not.
pub(crate) fn named(name: &str) -> Ident {
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if plain { Ident::new(name) } else { Ident::with_quote('"', name) }
}

/// The outermost select that a query's own clauses speak of; the leftmost of a set operation.
pub(crate) fn head(query: &Query) -> Option<&Select> {
    fn leftmost(body: &SetExpr) -> Option<&Select> {
        match body {
            SetExpr::Select(select) => Some(select),
            SetExpr::Query(query) => leftmost(&query.body),
            SetExpr::SetOperation { left, .. } => leftmost(left),
            _ => None,
        }
    }
    leftmost(&query.body)
}

/// A place in a query: the first expression, the second, ... in the order of a visit; so with selects and queries.
pub(crate) enum Node<'q> {
    /// An expression.
    Expression(&'q Expr),
    /// A select.
    Select(&'q Select),
    /// A query, the outermost or one within.
    Query(&'q Query),
}

/// Calls `see` with each place, its number among places of its sort, and the scopes that names there are looked up in.
pub(crate) fn walk<'a>(query: &Query, names: &Names<'a>, mut see: impl FnMut(usize, Node<'_>, &[Scope<'a>])) {
    struct Walk<'n, 'a, F> {
        names: &'n Names<'a>,
        scopes: Vec<Scope<'a>>,
        counts: [usize; 3],
        see: F,
    }
    impl<'a, F: FnMut(usize, Node<'_>, &[Scope<'a>])> Walk<'_, 'a, F> {
        fn meet(&mut self, sort: usize, node: Node<'_>) {
            (self.see)(self.counts[sort], node, &self.scopes);
            self.counts[sort] += 1;
        }
    }
    impl<'a, F: FnMut(usize, Node<'_>, &[Scope<'a>])> Visitor for Walk<'_, 'a, F> {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            // ORDER BY sees what the select sees, and stands outside it in the tree.
            self.scopes.push(match &*query.body {
                SetExpr::Select(select) => self.names.scope(select),
                _ => Vec::new(),
            });
            self.meet(0, Node::Query(query));
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.scopes.pop();
            ControlFlow::Continue(())
        }
        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            self.scopes.push(self.names.scope(select));
            self.meet(1, Node::Select(select));
            ControlFlow::Continue(())
        }
        fn post_visit_select(&mut self, _: &Select) -> ControlFlow<()> {
            self.scopes.pop();
            ControlFlow::Continue(())
        }
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            self.meet(2, Node::Expression(expr));
            ControlFlow::Continue(())
        }
    }
    let mut walk = Walk { names, scopes: Vec::new(), counts: [0; 3], see: &mut see };
    let _ = visit::tree(query, &mut walk);
}

/// Replacement of a part of a query.
#[derive(Clone)]
pub(crate) enum Part {
    /// An expression.
    Expression(Box<Expr>),
    /// A select.
    Select(Box<Select>),
    /// A query.
    Query(Box<Query>),
}

/// A copy of a query in which the part with this number, among those of its sort as [`walk`] counts them, is another one.
pub(crate) fn replaced(query: &Query, number: usize, part: Part) -> Query {
    let mut copy = query.clone();
    let _ = visit::tree_mut(&mut copy, &mut Replace { left: number, part: Some(part) });
    copy
}

/// Counts down to the part that is replaced and stops there.
struct Replace {
    left: usize,
    part: Option<Part>,
}

impl Replace {
    fn due(&mut self) -> ControlFlow<()> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        }
    }
}

impl VisitorMut for Replace {
    type Break = ();
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(Part::Query(_)) = self.part {
            self.due().map_break(|()| {
                if let Some(Part::Query(part)) = self.part.take() {
                    *query = *part;
                }
            })?;
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if let Some(Part::Select(_)) = self.part {
            self.due().map_break(|()| {
                if let Some(Part::Select(part)) = self.part.take() {
                    *select = *part;
                }
            })?;
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(Part::Expression(_)) = self.part {
            self.due().map_break(|()| {
                if let Some(Part::Expression(part)) = self.part.take() {
                    *expr = *part;
                }
            })?;
        }
        ControlFlow::Continue(())
    }
}
