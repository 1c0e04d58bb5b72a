//! Slips within an expression.

use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, UnaryOperator,
};

use super::{Change, Kind, became};
use crate::condition::{binary, grouped};
use crate::dataset::Sort;
use crate::names::{Found, Scope, constant, last, literal, named, resolve};
use crate::value::Value;

/// Mutants of an expression by one slip; slips within its parts are theirs.
pub(super) fn changes(expr: &Expr, scopes: &[Scope<'_>]) -> Vec<Change<Expr>> {
    let alternatives = match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => vec![
            (Kind::Condition, (**right).clone()),
            (Kind::Condition, (**left).clone()),
            (Kind::Connective, Expr::Nested(Box::new(binary(left, BinaryOperator::Or, right)))),
        ],
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => vec![
            (Kind::Condition, (**right).clone()),
            (Kind::Condition, (**left).clone()),
            (Kind::Connective, Expr::Nested(Box::new(binary(&grouped(left), BinaryOperator::And, &grouped(right))))),
        ],
        Expr::BinaryOp { left, op, right } => comparison(left, op, right, scopes),
        Expr::Between { expr: value, negated, low, high } => {
            let between = |negated, low: &Expr, high: &Expr| Expr::Between {
                expr: value.clone(),
                negated,
                low: Box::new(low.clone()),
                high: Box::new(high.clone()),
            };
            let mut found = vec![(Kind::Negation, between(!negated, low, high))];
            found.extend(
                shifted(low, None, scopes).into_iter().map(|low| (Kind::Constant, between(*negated, &low, high))),
            );
            found.extend(
                shifted(high, None, scopes).into_iter().map(|high| (Kind::Constant, between(*negated, low, &high))),
            );
            found
        }
        Expr::InList { expr: value, list, negated } => {
            let within = |negated, list: Vec<Expr>| Expr::InList { expr: value.clone(), list, negated };
            let mut found = vec![(Kind::Negation, within(!negated, list.clone()))];
            if list.len() > 1 {
                found.push((Kind::Constant, within(*negated, list[1..].to_vec())));
                found.push((Kind::Constant, within(*negated, list[..list.len() - 1].to_vec())));
            }
            found
        }
        Expr::InSubquery { expr: value, subquery, negated } => {
            vec![(
                Kind::Negation,
                Expr::InSubquery { expr: value.clone(), subquery: subquery.clone(), negated: !negated },
            )]
        }
        Expr::Exists { subquery, negated } => {
            vec![(Kind::Negation, Expr::Exists { subquery: subquery.clone(), negated: !negated })]
        }
        Expr::Like { negated, any, expr: value, pattern, escape_char } => {
            let like = |negated, pattern| Expr::Like {
                negated,
                any: *any,
                expr: value.clone(),
                pattern,
                escape_char: escape_char.clone(),
            };
            let mut found = vec![(Kind::Negation, like(!negated, pattern.clone()))];
            let patterns = patterns(pattern, scopes).into_iter();
            found.extend(patterns.map(|text| (Kind::Constant, like(*negated, Box::new(literal(&Value::Text(text)))))));
            found
        }
        Expr::IsNull(value) => vec![(Kind::Negation, Expr::IsNotNull(value.clone()))],
        Expr::IsNotNull(value) => vec![(Kind::Negation, Expr::IsNull(value.clone()))],
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => vec![(Kind::Negation, (**expr).clone())],
        Expr::Function(function) => {
            aggregates(function, scopes).into_iter().map(|(kind, function)| (kind, Expr::Function(function))).collect()
        }
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => resolve(expr, scopes)
            .and_then(|found| neighbour(expr, &found, scopes))
            .map(|other| (Kind::Column, other))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    };
    alternatives.into_iter().map(|(kind, to)| Change { kind, what: became(expr, &to), to }).collect()
}

fn comparison(left: &Expr, op: &BinaryOperator, right: &Expr, scopes: &[Scope<'_>]) -> Vec<(Kind, Expr)> {
    let ops: &[BinaryOperator] = match op {
        BinaryOperator::Lt => &[BinaryOperator::LtEq, BinaryOperator::Gt],
        BinaryOperator::LtEq => &[BinaryOperator::Lt, BinaryOperator::GtEq],
        BinaryOperator::Gt => &[BinaryOperator::GtEq, BinaryOperator::Lt],
        BinaryOperator::GtEq => &[BinaryOperator::Gt, BinaryOperator::LtEq],
        BinaryOperator::Eq => &[BinaryOperator::NotEq],
        BinaryOperator::NotEq => &[BinaryOperator::Eq],
        _ => return Vec::new(),
    };
    let (here, there) = (resolve(left, scopes), resolve(right, scopes));
    if let (BinaryOperator::Eq, Some(here), Some(there)) = (op, &here, &there)
        && (here.out, here.binding) != (there.out, there.binding)
    {
        let left_changed = neighbour(left, here, scopes).map(|left| binary(&left, op.clone(), right));
        let right_changed = neighbour(right, there, scopes).map(|right| binary(left, op.clone(), &right));
        return left_changed.into_iter().chain(right_changed).map(|to| (Kind::JoinColumn, to)).collect();
    }
    let mut found: Vec<_> = ops.iter().map(|op| (Kind::Comparison, binary(left, op.clone(), right))).collect();
    found.extend(
        shifted(right, here.as_ref(), scopes)
            .into_iter()
            .map(|right| (Kind::Constant, binary(left, op.clone(), &right))),
    );
    found.extend(
        shifted(left, there.as_ref(), scopes)
            .into_iter()
            .map(|left| (Kind::Constant, binary(&left, op.clone(), right))),
    );
    found
}

/// Constants near a constant: numbers one off; for text another value of the column that it is compared with.
fn shifted(expr: &Expr, column: Option<&Found<'_>>, scopes: &[Scope<'_>]) -> Vec<Expr> {
    let Some(value) = constant(expr, scopes) else {
        return Vec::new();
    };
    let near = match &value {
        Value::Integer(number) => {
            vec![Value::Integer(number.saturating_add(1)), Value::Integer(number.saturating_sub(1))]
        }
        Value::Real(number) => vec![Value::Real(number + 1.0), Value::Real(number - 1.0)],
        Value::Text(text) => match text.parse::<i64>() {
            Ok(number) => vec![Value::Text(number.saturating_add(1).to_string())],
            Err(_) => column.and_then(|column| other_value(column, &value)).into_iter().collect(),
        },
        _ => Vec::new(),
    };
    near.iter().map(literal).collect()
}

/// The first value of a column, in its own order, after this one; the first of all after the last.
fn other_value(column: &Found<'_>, value: &Value) -> Option<Value> {
    let Value::Text(text) = value else {
        return None;
    };
    let mut texts: Vec<&String> = column
        .table
        .rows
        .iter()
        .filter_map(|row| match row.get(column.column)? {
            Value::Text(other) if other != text => Some(other),
            _ => None,
        })
        .collect();
    texts.sort();
    texts.iter().find(|other| **other > text).or(texts.first()).map(|other| Value::Text((*other).clone()))
}

fn patterns(pattern: &Expr, scopes: &[Scope<'_>]) -> Vec<String> {
    let Some(Value::Text(text)) = constant(pattern, scopes) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    found.push(text.strip_prefix('%').map_or_else(|| format!("%{text}"), str::to_string));
    found.push(text.strip_suffix('%').map_or_else(|| format!("{text}%"), str::to_string));
    found.retain(|pattern| !pattern.is_empty());
    found
}

/// Another column of the same table that holds the same sort of values, written as the one at hand.
fn neighbour(expr: &Expr, found: &Found<'_>, scopes: &[Scope<'_>]) -> Option<Expr> {
    let columns = &found.table.columns;
    let sort = columns[found.column].sort;
    let place = (1..columns.len())
        .map(|step| (found.column + step) % columns.len())
        .find(|place| columns[*place].sort == sort)?;
    let name = named(&columns[place].name);
    let other = match expr {
        Expr::CompoundIdentifier(parts) => {
            let mut parts = parts.clone();
            *parts.last_mut()? = name;
            Expr::CompoundIdentifier(parts)
        }
        _ => Expr::Identifier(name),
    };
    // Without a qualifier the name may be that of another table's column too.
    resolve(&other, scopes)
        .is_some_and(|other| (other.out, other.binding) == (found.out, found.binding))
        .then_some(other)
}

/// An aggregate with another name, or with `DISTINCT` where there was none.
fn aggregates(function: &Function, scopes: &[Scope<'_>]) -> Vec<(Kind, Function)> {
    let FunctionArguments::List(list) = &function.args else {
        return Vec::new();
    };
    let [FunctionArg::Unnamed(argument)] = list.args.as_slice() else {
        return Vec::new();
    };
    let Some(name) = last(&function.name).map(str::to_lowercase) else {
        return Vec::new();
    };
    let numeric = match argument {
        FunctionArgExpr::Expr(expr) => resolve(expr, scopes).is_some_and(|found| {
            matches!(found.table.columns[found.column].sort, Sort::Integer | Sort::Real | Sort::Decimal)
        }),
        _ => false,
    };
    let renamed = |name: &str| Function { name: ObjectName::from(vec![Ident::new(name)]), ..function.clone() };
    let with_distinct = |distinct: bool| {
        let mut list = list.clone();
        list.duplicate_treatment = distinct.then_some(DuplicateTreatment::Distinct);
        Function { args: FunctionArguments::List(list), ..function.clone() }
    };
    let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    match name.as_str() {
        "count" if matches!(argument, FunctionArgExpr::Expr(_)) => {
            let mut found = vec![(Kind::Distinct, with_distinct(!distinct))];
            if numeric {
                found.push((Kind::Aggregate, renamed("SUM")));
            }
            found
        }
        "sum" if numeric => vec![
            (Kind::Aggregate, renamed("AVG")),
            (Kind::Aggregate, renamed("COUNT")),
            (Kind::Distinct, with_distinct(!distinct)),
        ],
        "avg" if numeric => vec![
            (Kind::Aggregate, renamed("SUM")),
            (Kind::Aggregate, renamed("MAX")),
            (Kind::Distinct, with_distinct(!distinct)),
        ],
        "min" => vec![(Kind::Aggregate, renamed("MAX"))],
        "max" => vec![(Kind::Aggregate, renamed("MIN"))],
        _ => Vec::new(),
    }
}
