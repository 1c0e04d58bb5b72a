//! Expressions: names, operators, conditions.

use sqlparser::ast::{BinaryOperator, Expr, Ident, Query, UnaryOperator, Value};

use super::Untranslatable;
use super::build::{cast, fold, number_of_literal, string, text_of_literal, wrap};
use super::scope::{Scope, Translator, Typed};
use crate::dataset::Sort;

impl<'d> Translator<'d> {
    /// Translates a condition: what SQLite takes for true by its number.
    pub(super) fn condition(&mut self, expr: &mut Expr, scope: &Scope<'_, 'd>) -> Result<(), Untranslatable> {
        let typed = self.expression(expr, scope)?;
        match typed.sort {
            Some(Sort::Boolean) | None => Ok(()),
            Some(Sort::Integer | Sort::Real | Sort::Decimal) => wrap(expr, |number| format!("({number}) <> 0")),
            _ => Err(Untranslatable::Comparison(format!("{expr} as a condition"))),
        }
    }

    /// Translates a value that SQLite takes for a number.
    fn number(&mut self, expr: &mut Expr, scope: &Scope<'_, 'd>) -> Result<Typed, Untranslatable> {
        let typed = self.expression(expr, scope)?;
        super::coerce::to_number(expr, typed)
    }

    /// Translates a value that SQLite takes for text.
    pub(super) fn text(&mut self, expr: &mut Expr, scope: &Scope<'_, 'd>) -> Result<Typed, Untranslatable> {
        let typed = self.expression(expr, scope)?;
        if typed.sort.is_some() && !typed.is_text() {
            cast(expr, "text")?;
        }
        Ok(Typed::of(Sort::Text, typed.nullable))
    }

    /// Translates an expression in place, and says what it is.
    pub(super) fn expression(&mut self, expr: &mut Expr, scope: &Scope<'_, 'd>) -> Result<Typed, Untranslatable> {
        let truth = |nullable| Ok(Typed::of(Sort::Boolean, nullable));
        match expr {
            Expr::Identifier(ident) => {
                let (typed, other) = name(ident, scope)?;
                if let Some(other) = other {
                    *expr = other;
                }
                Ok(typed)
            }
            Expr::CompoundIdentifier(parts) => column(parts, scope),
            Expr::Value(value) => Ok(literal(&mut value.value)?),
            Expr::Nested(inner) => self.expression(inner, scope),
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
                self.expression(inner, scope)?;
                truth(false)
            }
            Expr::IsTrue(inner) | Expr::IsNotTrue(inner) | Expr::IsFalse(inner) | Expr::IsNotFalse(inner) => {
                self.condition(inner, scope)?;
                truth(false)
            }
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.compare(left, None, right, scope)?;
                truth(false)
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr: inner } => {
                self.condition(inner, scope)?;
                truth(true)
            }
            Expr::UnaryOp { op: UnaryOperator::Plus | UnaryOperator::Minus, expr: inner } => self.number(inner, scope),
            Expr::BinaryOp { .. } => self.binary(expr, scope),
            Expr::Between { expr: inner, low, high, .. } => {
                let tested = self.expression(inner, scope)?;
                let mut bounds = Vec::new();
                for bound in [low, high] {
                    let typed = self.expression(bound, scope)?;
                    let mut copy = (**inner).clone();
                    super::coerce::align(&mut copy, tested, bound, typed, &BinaryOperator::LtEq)?;
                    bounds.push(copy);
                }
                if bounds[0] != bounds[1] {
                    return Err(Untranslatable::Comparison(expr.to_string()));
                }
                **inner = bounds.swap_remove(0);
                truth(true)
            }
            Expr::InList { expr: inner, list, .. } => {
                let tested = self.expression(inner, scope)?;
                let before = inner.clone();
                for item in list {
                    let typed = self.expression(item, scope)?;
                    super::coerce::align(inner, tested, item, typed, &BinaryOperator::Eq)?;
                }
                if *inner != before && matches!(*before, Expr::Value(_)) {
                    return Err(Untranslatable::Comparison(expr.to_string()));
                }
                truth(true)
            }
            Expr::InSubquery { expr: inner, subquery, .. } => {
                let tested = self.expression(inner, scope)?;
                let outputs = self.query(subquery, Some(scope))?;
                let [output] = outputs.as_slice() else {
                    return Err(Untranslatable::Construct("IN with several columns".into()));
                };
                if tested.is_number() && output.typed.is_text() {
                    cast(inner, "text")?;
                } else if tested.is_text() && output.typed.is_number() {
                    super::select::cast_output(&mut subquery.body, 0)?;
                }
                truth(true)
            }
            Expr::Exists { subquery, .. } => {
                self.query(subquery, Some(scope))?;
                truth(false)
            }
            Expr::Subquery(query) => self.scalar(query, scope),
            Expr::Like { .. } => self.like(expr, scope),
            Expr::Case { operand, conditions, else_result, .. } => {
                let mut whole = Typed { sort: None, affinity: None, nullable: else_result.is_none() };
                let operand_typed = operand.as_mut().map(|operand| self.expression(operand, scope)).transpose()?;
                for case in conditions {
                    match (operand.as_mut(), operand_typed) {
                        (Some(operand), Some(left)) => {
                            let right = self.expression(&mut case.condition, scope)?;
                            super::coerce::align(operand, left, &mut case.condition, right, &BinaryOperator::Eq)?;
                        }
                        _ => self.condition(&mut case.condition, scope)?,
                    }
                    whole = either(whole, self.value(&mut case.result, scope)?);
                }
                if let Some(otherwise) = else_result {
                    whole = either(whole, self.value(otherwise, scope)?);
                }
                Ok(whole)
            }
            Expr::Cast { .. }
            | Expr::Function(_)
            | Expr::Substring { .. }
            | Expr::Trim { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. } => self.call(expr, scope),
            other => Err(Untranslatable::Construct(other.to_string())),
        }
    }

    /// An expression as a value: true is 1.
    pub(super) fn value(&mut self, expr: &mut Expr, scope: &Scope<'_, 'd>) -> Result<Typed, Untranslatable> {
        let typed = self.expression(expr, scope)?;
        if typed.sort == Some(Sort::Boolean) && typed.affinity.is_none() {
            cast(expr, "integer")?;
            return Ok(Typed::of(Sort::Integer, typed.nullable));
        }
        Ok(typed)
    }

    /// A query whose first row is a value: SQLite takes the first, PostgreSQL wants only one.
    fn scalar(&mut self, query: &mut Query, scope: &Scope<'_, 'd>) -> Result<Typed, Untranslatable> {
        let outputs = self.query(query, Some(scope))?;
        if query.limit_clause.is_none() && !super::functions::gives_one_row(query) {
            query.limit_clause = Some(sqlparser::ast::LimitClause::LimitOffset {
                limit: Some(Expr::value(Value::Number("1".into(), false))),
                offset: None,
                limit_by: Vec::new(),
            });
        }
        match outputs.as_slice() {
            [output] => Ok(Typed { nullable: true, ..output.typed }),
            _ => Err(Untranslatable::Construct("a value of several columns".into())),
        }
    }

    fn compare(
        &mut self,
        left: &mut Expr,
        op: Option<&BinaryOperator>,
        right: &mut Expr,
        scope: &Scope<'_, 'd>,
    ) -> Result<bool, Untranslatable> {
        let (a, b) = (self.expression(left, scope)?, self.expression(right, scope)?);
        super::coerce::align(left, a, right, b, op.unwrap_or(&BinaryOperator::Eq))?;
        Ok(a.nullable || b.nullable)
    }

    fn binary(&mut self, expr: &mut Expr, scope: &Scope<'_, 'd>) -> Result<Typed, Untranslatable> {
        use BinaryOperator as Op;
        let Expr::BinaryOp { left, op, right } = expr else {
            return Err(Untranslatable::Construct(expr.to_string()));
        };
        match op {
            Op::And | Op::Or => {
                self.condition(left, scope)?;
                self.condition(right, scope)?;
                Ok(Typed::of(Sort::Boolean, true))
            }
            Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq => {
                let nullable = self.compare(left, Some(op), right, scope)?;
                Ok(Typed::of(Sort::Boolean, nullable))
            }
            Op::StringConcat => {
                let (a, b) = (self.text(left, scope)?, self.text(right, scope)?);
                Ok(Typed::of(Sort::Text, a.nullable || b.nullable))
            }
            Op::Plus | Op::Minus | Op::Multiply | Op::Divide | Op::Modulo => {
                let mut a = self.number(left, scope)?;
                let mut b = self.number(right, scope)?;
                let whole = |typed: Typed| typed.sort == Some(Sort::Integer);
                let divides = matches!(op, Op::Divide | Op::Modulo);
                if divides && ((whole(a) && whole(b)) || *op == Op::Modulo) {
                    // PostgreSQL's sum of integers is no integer, and would not be divided as one.
                    for side in [&mut *left, &mut *right] {
                        if !matches!(**side, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_)) {
                            cast(side, "bigint")?;
                        }
                    }
                    (a.sort, b.sort) = (Some(Sort::Integer), Some(Sort::Integer));
                }
                let constant = number_of_literal(right)
                    .is_some_and(|digits| digits.parse::<f64>().is_ok_and(|number| number != 0.0));
                if divides && !constant {
                    wrap(right, |divisor| format!("nullif({divisor}, 0)"))?;
                }
                let sort = if whole(a) && whole(b) { Sort::Integer } else { Sort::Real };
                Ok(Typed::of(sort, a.nullable || b.nullable || (divides && !constant)))
            }
            Op::BitwiseAnd | Op::BitwiseOr => {
                self.number(left, scope)?;
                self.number(right, scope)?;
                Ok(Typed::of(Sort::Integer, true))
            }
            other => Err(Untranslatable::Construct(format!("operator {other}"))),
        }
    }

    /// SQLite's LIKE does not mind the case of ASCII letters, and has no escape unless one is named.
    fn like(&mut self, expr: &mut Expr, scope: &Scope<'_, 'd>) -> Result<Typed, Untranslatable> {
        let Expr::Like { negated, expr: tested, pattern, escape_char, any: false } = expr else {
            return Err(Untranslatable::Construct(expr.to_string()));
        };
        let nullable = self.text(tested, scope)?.nullable;
        self.text(pattern, scope)?;
        let has_backslash = text_of_literal(pattern).is_none_or(|text| text.contains('\\'));
        let escape_char = match escape_char.take() {
            None if has_backslash => Some(Box::new(string(""))),
            other => other,
        };
        *expr =
            Expr::ILike { negated: *negated, any: false, expr: tested.clone(), pattern: pattern.clone(), escape_char };
        Ok(Typed::of(Sort::Boolean, nullable))
    }
}

fn either(a: Typed, b: Typed) -> Typed {
    let sort = match (a.sort, b.sort) {
        (Some(Sort::Integer), Some(Sort::Real | Sort::Decimal)) => b.sort,
        (Some(sort), _) => Some(sort),
        (None, sort) => sort,
    };
    Typed { sort, affinity: None, nullable: a.nullable || b.nullable }
}

/// An unqualified name: a column, a name of a result, or, in double quotes, text.
fn name(ident: &mut Ident, scope: &Scope<'_, '_>) -> Result<(Typed, Option<Expr>), Untranslatable> {
    if let Some(typed) = scope.column(None, &ident.value) {
        fold(ident);
        return Ok((typed, None));
    }
    if let Some((_, expr, typed)) = scope.alias(&ident.value) {
        return Ok((*typed, Some(Expr::Nested(Box::new(expr.clone())))));
    }
    if ident.quote_style == Some('"') {
        return Ok((Typed::of(Sort::Text, false), Some(string(&ident.value))));
    }
    Err(Untranslatable::Name(ident.to_string()))
}

fn column(parts: &mut [Ident], scope: &Scope<'_, '_>) -> Result<Typed, Untranslatable> {
    let [qualifier, name] = parts else {
        let whole: Vec<_> = parts.iter().map(ToString::to_string).collect();
        return Err(Untranslatable::Name(whole.join(".")));
    };
    let typed = scope
        .column(Some(&qualifier.value), &name.value)
        .ok_or_else(|| Untranslatable::Name(format!("{qualifier}.{name}")))?;
    fold(qualifier);
    fold(name);
    Ok(typed)
}

fn literal(value: &mut Value) -> Result<Typed, Untranslatable> {
    match value {
        Value::Number(digits, _) => {
            let whole = digits.parse::<i64>().is_ok();
            Ok(Typed::of(if whole { Sort::Integer } else { Sort::Real }, false))
        }
        Value::SingleQuotedString(_) => Ok(Typed::of(Sort::Text, false)),
        Value::DoubleQuotedString(text) => {
            *value = Value::SingleQuotedString(std::mem::take(text));
            Ok(Typed::of(Sort::Text, false))
        }
        Value::Null => Ok(Typed::UNKNOWN),
        Value::Boolean(truth) => {
            *value = Value::Number(u8::from(*truth).to_string(), false);
            Ok(Typed::of(Sort::Integer, false))
        }
        other => Err(Untranslatable::Construct(other.to_string())),
    }
}
