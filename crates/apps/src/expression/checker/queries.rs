//! Queries: functions of the rows of a table or the elements of a list, with a variable that stands for each.

use super::naming::near;
use super::{Checker, Typed};
use crate::expression::code::{Code, Query, QueryKind, Source};
use crate::expression::functions::is_ordered;
use crate::expression::syntax::{Expr, Node};
use crate::kinds::{TableId, Type};

const QUERIES: [(&str, QueryKind, &str); 15] = [
    ("find", QueryKind::Find, "find(source) or find(source, x, condition)"),
    ("count", QueryKind::Count, "count(source) or count(source, x, condition)"),
    ("any", QueryKind::Any, "any(source, x, condition)"),
    ("all", QueryKind::All, "all(source, x, condition)"),
    ("none", QueryKind::None, "none(source, x, condition)"),
    ("first", QueryKind::First, "first(source) or first(source, x, condition)"),
    ("last", QueryKind::Last, "last(source) or last(source, x, condition)"),
    ("one", QueryKind::One, "one(source) or one(source, x, condition)"),
    ("sum", QueryKind::Sum, "sum(list), sum(source, x, value) or sum(source, x, condition, value)"),
    ("min", QueryKind::Min, "min(list), min(source, x, value) or min(source, x, condition, value)"),
    ("max", QueryKind::Max, "max(list), max(source, x, value) or max(source, x, condition, value)"),
    ("map", QueryKind::Map, "map(source, x, value) or map(source, x, condition, value)"),
    ("sort", QueryKind::Sort, "sort(source, x, key)"),
    ("sort_desc", QueryKind::SortDescending, "sort_desc(source, x, key)"),
    ("distinct", QueryKind::Distinct, "distinct(source, x, value)"),
];

pub(super) fn kind(name: &str) -> Option<QueryKind> {
    QUERIES.iter().find(|(known, ..)| *known == name).map(|(_, kind, _)| *kind)
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    QUERIES.into_iter().map(|(name, ..)| name)
}

/// Meaning of the arguments behind the variable.
struct Shape<'e> {
    variable: Option<&'e Expr>,
    predicate: Option<&'e Expr>,
    body: Option<&'e Expr>,
}

impl<'e> Shape<'e> {
    fn of(kind: QueryKind, arguments: &'e [Expr]) -> Option<Self> {
        use QueryKind as Q;
        let (variable, predicate, body) = match (kind, arguments) {
            (Q::Find | Q::Count | Q::First | Q::Last | Q::One | Q::Sum | Q::Min | Q::Max, []) => (None, None, None),
            (Q::Find | Q::Count | Q::First | Q::Last | Q::One | Q::Any | Q::All | Q::None, [variable, predicate]) => {
                (Some(variable), Some(predicate), None)
            }
            (Q::Sum | Q::Min | Q::Max | Q::Map | Q::Sort | Q::SortDescending | Q::Distinct, [variable, body]) => {
                (Some(variable), None, Some(body))
            }
            (Q::Sum | Q::Min | Q::Max | Q::Map, [variable, predicate, body]) => {
                (Some(variable), Some(predicate), Some(body))
            }
            _ => return None,
        };
        Some(Self { variable, predicate, body })
    }
}

impl Checker<'_> {
    pub(super) fn query(
        &mut self,
        offset: usize,
        name: &str,
        kind: QueryKind,
        arguments: &[Expr],
        hint: Option<&Type>,
    ) -> Option<Typed> {
        let shape = arguments.split_first().and_then(|(source, rest)| Some((source, Shape::of(kind, rest)?)));
        let Some((source, shape)) = shape else {
            let usage = QUERIES.iter().find(|(known, ..)| *known == name).map_or("", |(.., usage)| usage);
            return self.wrong(offset, format!("usage: {usage}"));
        };
        let source = self.source(source)?;
        self.over(offset, kind, source, &shape, hint)
    }

    /// The rows of a table for which a condition holds.
    pub(in crate::expression) fn filter(&mut self, table: TableId, variable: &str, condition: &Expr) -> Option<Typed> {
        let named = Expr { offset: 0, depth: 1, node: Node::Name(variable.to_owned()) };
        let shape = Shape { variable: Some(&named), predicate: Some(condition), body: None };
        self.over(0, QueryKind::Find, (Source::Table(table), Type::Row(table)), &shape, None)
    }

    fn over(
        &mut self,
        offset: usize,
        kind: QueryKind,
        (source, element): (Source, Type),
        shape: &Shape<'_>,
        hint: Option<&Type>,
    ) -> Option<Typed> {
        let depth = self.variables.len();
        let variable = u16::try_from(depth).ok()?;
        if let Some(named) = shape.variable {
            let name = self.variable(named)?;
            self.variables.push((name, element.clone()));
        } else {
            self.variables.push((String::new(), element.clone()));
        }
        self.most_variables = self.most_variables.max(self.variables.len());
        let checked = self.within(kind, &element, shape, hint, offset);
        self.variables.truncate(depth);
        let (result, predicate, body) = checked?;
        let source = match (source, &predicate) {
            // Of `all` the rows matter for which the condition does not hold, and an index gives the others.
            (Source::Table(table), Some(predicate)) if kind != QueryKind::All => {
                let tables = self.scope.tables;
                match predicate.lookup(variable, &|column| tables.is_indexed(table, column)) {
                    Some((column, key)) => Source::Lookup(table, column, Box::new(key)),
                    None => Source::Table(table),
                }
            }
            (source, _) => source,
        };
        let query = Query { kind, source, variable, predicate, body };
        Some(Typed::new(result, Code::Query(Box::new(query))))
    }

    /// Iterated value, and the type of its elements. A local list hides a table of its name.
    fn source(&mut self, source: &Expr) -> Option<(Source, Type)> {
        if let Some(name) = source.as_name() {
            let local = self.local(name);
            if !matches!(local.as_ref().map(Type::present), Some(Type::List(_))) {
                let tables = self.scope.tables;
                if let Some(table) = tables.find(name) {
                    return Some((Source::Table(table), Type::Row(table)));
                }
                if local.is_none() {
                    let message = match near(name, tables.names()) {
                        Some(near) => format!("there is no table or list `{name}`; did you mean `{near}`?"),
                        None => format!("there is no table or list `{name}`: name one of `tables`, or a list"),
                    };
                    return self.wrong(source.offset, message);
                }
            }
        }
        let found = self.present(source, None)?;
        match found.kind {
            Type::List(element) => Some((Source::List(Box::new(found.code)), *element)),
            other => {
                let other = self.show(&other);
                self.wrong(source.start(), format!("a query takes a table or a list, and this is {other}"))
            }
        }
    }

    fn variable(&mut self, named: &Expr) -> Option<String> {
        let Some(name) = named.as_name() else {
            return self.wrong(named.start(), "the name of a variable is expected, such as x in find(table, x, ...)");
        };
        if self.local(name).is_some() {
            return self
                .wrong(named.offset, format!("`{name}` is something else already: give the variable another name"));
        }
        Some(name.to_owned())
    }

    /// Checks what is asked of each element.
    fn within(
        &mut self,
        kind: QueryKind,
        element: &Type,
        shape: &Shape<'_>,
        hint: Option<&Type>,
        offset: usize,
    ) -> Option<(Type, Option<Code>, Option<Code>)> {
        use QueryKind as Q;
        let (mut predicate, mut facts) = (None, Vec::new());
        if let Some(condition) = shape.predicate {
            let found = self.condition(condition)?;
            facts = found.yes;
            predicate = Some(found.code);
        }
        let wish = match (kind, hint.map(Type::present)) {
            (Q::Map, Some(Type::List(element))) => Some(&**element),
            (Q::Sum | Q::Min | Q::Max, other) => other,
            _ => None,
        };
        let body = match shape.body {
            Some(body) => Some(self.knowing(&facts, |checker| checker.infer(body, wish))?),
            None => None,
        };
        let (value, at) = match (&body, shape.body) {
            (Some(body), Some(expr)) => (body.kind.clone(), expr.start()),
            _ => (element.clone(), offset),
        };
        let result = match kind {
            Q::Find => Type::List(Box::new(element.clone())),
            Q::Sort | Q::SortDescending if is_ordered(&value) || matches!(value, Type::Enum(_) | Type::Bool) => {
                Type::List(Box::new(element.clone()))
            }
            Q::Count => Type::Int,
            Q::Any | Q::All | Q::None | Q::Distinct => Type::Bool,
            Q::First | Q::Last => element.clone().or_null(),
            Q::One => element.clone(),
            Q::Sum if matches!(value, Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Duration) => value,
            Q::Min | Q::Max if is_ordered(&value) => value.or_null(),
            Q::Map => Type::List(Box::new(value)),
            Q::Sum | Q::Min | Q::Max | Q::Sort | Q::SortDescending => {
                if value.may_be_null() {
                    return match shape.body {
                        Some(body) => self.null_refused(body),
                        None => self.wrong(
                            at,
                            "the elements of this list may be null: give them a default, as in sum(list, x, x ?? 0)",
                        ),
                    };
                }
                let found = self.show(&value);
                let wanted = if kind == Q::Sum { "int, money, dec or duration" } else { "something that has an order" };
                return self.wrong(at, format!("each element must be {wanted}, and this is {found}"));
            }
        };
        let body = body.map(|body| match body.kind {
            // Words of an enum are sorted as they are declared.
            Type::Enum(words) if matches!(kind, Q::Sort | Q::SortDescending) => Code::Rank(words, Box::new(body.code)),
            _ => body.code,
        });
        Some((result, predicate, body))
    }
}
