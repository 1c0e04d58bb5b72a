//! Operators: which types they join, and what comparisons prove.

use super::{Checker, Typed, fits, unite};
use crate::expression::code::{Arithmetic, Code, Order, Range};
use crate::expression::functions::{self, is_ordered};
use crate::expression::syntax::{Expr, Node, Operator};
use crate::kinds::Type;
use crate::value::Value;

impl Checker<'_> {
    pub(super) fn binary(
        &mut self,
        offset: usize,
        operator: Operator,
        left: &Expr,
        right: &Expr,
        hint: Option<&Type>,
    ) -> Option<Typed> {
        match operator {
            Operator::Equal | Operator::Unequal => self.equality(offset, operator, left, right),
            Operator::In => self.membership(offset, left, right),
            Operator::Less => self.order(offset, operator, Order::Less, left, right),
            Operator::AtMost => self.order(offset, operator, Order::AtMost, left, right),
            Operator::More => self.order(offset, operator, Order::More, left, right),
            Operator::AtLeast => self.order(offset, operator, Order::AtLeast, left, right),
            Operator::Add => self.sum(offset, operator, Arithmetic::Add, left, right, hint),
            Operator::Subtract => self.sum(offset, operator, Arithmetic::Subtract, left, right, hint),
            Operator::Multiply => self.product(offset, left, right, hint),
            Operator::Divide => self.quotient(offset, operator, Arithmetic::Divide, left, right),
            Operator::Remainder => self.quotient(offset, operator, Arithmetic::Remainder, left, right),
        }
    }

    /// Checks both sides; a literal takes the type of the other one.
    fn pair(&mut self, left: &Expr, right: &Expr, hint: Option<&Type>) -> Option<(Typed, Typed)> {
        if is_flexible(left) && !is_flexible(right) {
            let right = self.infer(right, hint);
            let left = self.infer(left, right.as_ref().map(|right| right.kind.present()).or(hint));
            return Some((left?, right?));
        }
        let left = self.infer(left, hint);
        let right = self.infer(right, left.as_ref().map(|left| left.kind.present()).or(hint));
        Some((left?, right?))
    }

    fn present_pair(&mut self, left: &Expr, right: &Expr, hint: Option<&Type>) -> Option<(Typed, Typed)> {
        let pair = self.pair(left, right, hint)?;
        let null = [(left, &pair.0), (right, &pair.1)].into_iter().find(|(_, side)| side.kind.may_be_null());
        match null {
            Some((side, _)) => self.null_refused(side),
            None => Some(pair),
        }
    }

    fn equality(&mut self, offset: usize, operator: Operator, left: &Expr, right: &Expr) -> Option<Typed> {
        let (one, other) = self.pair(left, right, None)?;
        for (null, side, expr) in [(&one, &other, right), (&other, &one, left)] {
            if null.kind == Type::Null && !side.kind.may_be_null() && !side.narrowed {
                let what = expr.written().map_or_else(|| "this".to_owned(), |path| format!("`{path}`"));
                return self.wrong(expr.start(), format!("{what} is never null: leave the test out"));
            }
        }
        if unite(&one.kind, &other.kind).is_none() {
            return self.mismatch(offset, operator, (&one, left), (&other, right));
        }
        let equal = operator == Operator::Equal;
        let (mut when_equal, mut when_unequal) = (Vec::new(), Vec::new());
        for (expr, side, against) in [(left, &one, &other), (right, &other, &one)] {
            if side.kind.may_be_null() && against.kind == Type::Null {
                when_unequal.extend(self.proofs(expr));
            } else if side.kind.may_be_null() && !against.kind.may_be_null() {
                when_equal.extend(self.proofs(expr));
            }
        }
        let code = match (one.code, other.code) {
            (code, Code::Constant(value)) | (Code::Constant(value), code) => Code::Is(Box::new(code), value, equal),
            (one, other) => Code::Same(Box::new([one, other]), equal),
        };
        let (yes, no) = if equal { (when_equal, when_unequal) } else { (when_unequal, when_equal) };
        Some(Typed { yes, no, ..Typed::new(Type::Bool, code) })
    }

    fn order(&mut self, offset: usize, operator: Operator, order: Order, left: &Expr, right: &Expr) -> Option<Typed> {
        let (one, other) = self.present_pair(left, right, None)?;
        if one.kind != other.kind {
            return self.mismatch(offset, operator, (&one, left), (&other, right));
        }
        if !is_ordered(&one.kind) {
            let (kind, symbol) = (self.show(&one.kind), operator.symbol());
            let message = format!("`{symbol}` cannot compare {kind}, which has no order: use `==` or `!=`");
            return self.wrong(offset, message);
        }
        Some(Typed::new(Type::Bool, Code::Order(order, Box::new([one.code, other.code]))))
    }

    fn membership(&mut self, offset: usize, left: &Expr, right: &Expr) -> Option<Typed> {
        let (one, list) = if is_flexible(left) && !is_flexible(right) {
            let list = self.present(right, None)?;
            let element = match &list.kind {
                Type::List(element) => Some(element.present().clone()),
                _ => None,
            };
            (self.infer(left, element.as_ref())?, list)
        } else {
            let one = self.infer(left, None)?;
            let wish = Type::List(Box::new(one.kind.present().clone()));
            let list = self.present(right, Some(&wish))?;
            (one, list)
        };
        match &list.kind {
            Type::List(element) if unite(&one.kind, element).is_some() => {}
            Type::List(_) => return self.mismatch(offset, Operator::In, (&one, left), (&list, right)),
            other => {
                let other = self.show(other);
                return self.wrong(right.start(), format!("`in` takes a list behind it, and this is {other}"));
            }
        }
        let absent = matches!(&list.kind, Type::List(element) if !element.may_be_null());
        let yes = if absent && one.kind.may_be_null() { self.proofs(left) } else { Vec::new() };
        Some(Typed { yes, ..Typed::new(Type::Bool, Code::In(Box::new([one.code, list.code]))) })
    }

    fn sum(
        &mut self,
        offset: usize,
        operator: Operator,
        arithmetic: Arithmetic,
        left: &Expr,
        right: &Expr,
        hint: Option<&Type>,
    ) -> Option<Typed> {
        let (one, other) = self.present_pair(left, right, hint)?;
        let adds = operator == Operator::Add;
        let (kind, range) = match (&one.kind, &other.kind) {
            (Type::Text, Type::Text) if adds => {
                return Some(Typed::new(Type::Text, Code::Join(Box::new([one.code, other.code]))));
            }
            (Type::Instant, Type::Duration) => (Type::Instant, Range::Instant),
            (Type::Instant, Type::Instant) if !adds => (Type::Duration, Range::Any),
            (Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Duration, same) if *same == one.kind => {
                (one.kind.clone(), Range::Any)
            }
            _ => return self.mismatch(offset, operator, (&one, left), (&other, right)),
        };
        Some(Typed::new(kind, Code::Arithmetic(arithmetic, range, Box::new([one.code, other.code]))))
    }

    fn product(&mut self, offset: usize, left: &Expr, right: &Expr, hint: Option<&Type>) -> Option<Typed> {
        // Only one side has a unit, so that sides give each other no hint.
        let of = |side: &Expr| hint.filter(|_| !matches!(side.node, Node::Int(_)));
        // A written decimal beside an amount is a factor, whatever unit the product is to have: the other side comes first.
        let (one, other) = if is_decimal(left) {
            let other = self.present(right, of(right));
            let unit = other.as_ref().is_none_or(|other| !matches!(other.kind, Type::Money(_)));
            (self.present(left, of(left).filter(|_| unit)), other)
        } else {
            let one = self.present(left, of(left));
            let unit = !is_decimal(right) || one.as_ref().is_none_or(|one| !matches!(one.kind, Type::Money(_)));
            let other = self.present(right, of(right).filter(|_| unit));
            (one, other)
        };
        let (one, other) = (one?, other?);
        let kind = match (&one.kind, &other.kind) {
            (Type::Money(_), Type::Decimal(scale)) => {
                return Self::scaled(one.kind.clone(), one.code, other.code, *scale);
            }
            (Type::Decimal(scale), Type::Money(_)) => {
                return Self::scaled(other.kind.clone(), other.code, one.code, *scale);
            }
            (unit @ (Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Duration), Type::Int)
            | (Type::Int, unit @ (Type::Money(_) | Type::Decimal(_) | Type::Duration)) => unit.clone(),
            _ => return self.mismatch(offset, Operator::Multiply, (&one, left), (&other, right)),
        };
        let pair = Box::new([one.code, other.code]);
        Some(Typed::new(kind, Code::Arithmetic(Arithmetic::Multiply, Range::Any, pair)))
    }

    /// An amount times a decimal, rounded to its minor unit as `mul_div` does.
    fn scaled(kind: Type, amount: Code, factor: Code, scale: u8) -> Option<Typed> {
        let rounded = functions::overloads("mul_div").next()?;
        let unit = 10_i64.checked_pow(u32::from(scale))?;
        let codes = [amount, factor, Code::Constant(Value::Int(unit))];
        Some(Typed::new(kind, Code::Call(rounded.run, codes.into())))
    }

    fn quotient(
        &mut self,
        offset: usize,
        operator: Operator,
        arithmetic: Arithmetic,
        left: &Expr,
        right: &Expr,
    ) -> Option<Typed> {
        let (one, other) = self.present_pair(left, right, None)?;
        if one.kind != Type::Int || other.kind != Type::Int {
            return self.mismatch(offset, operator, (&one, left), (&other, right));
        }
        let pair = Box::new([one.code, other.code]);
        Some(Typed::new(Type::Int, Code::Arithmetic(arithmetic, Range::Any, pair)))
    }

    pub(super) fn negate(&mut self, inner: &Expr, hint: Option<&Type>) -> Option<Typed> {
        let found = self.present(inner, hint)?;
        if matches!(found.kind, Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Duration) {
            return Some(Typed::new(found.kind, Code::Negate(Box::new(found.code))));
        }
        let kind = self.show(&found.kind);
        self.wrong(inner.start(), format!("`-` takes int, money, dec or duration, and this is {kind}"))
    }

    pub(super) fn default(
        &mut self,
        expr: &Expr,
        value: &Expr,
        otherwise: &Expr,
        hint: Option<&Type>,
    ) -> Option<Typed> {
        let value_typed = self.infer(value, hint)?;
        if !value_typed.kind.may_be_null() && !value_typed.narrowed {
            let what = value.written().map_or_else(|| "this".to_owned(), |path| format!("`{path}`"));
            return self.wrong(value.start(), format!("{what} is never null: leave `??` and the default out"));
        }
        let present = value_typed.kind.present().clone();
        let wish = if present == Type::Null { hint } else { Some(&present) };
        let other = self.infer(otherwise, wish)?;
        let kind = match (&present, &other.kind) {
            (Type::Null, other) => other.clone(),
            (present, Type::Null) => present.clone().or_null(),
            (present, other) if fits(present, other) => other.clone(),
            (present, other) => {
                let (left, right) = (self.show(present), self.show(other));
                let message = format!("a default for {left} cannot be {right}: use one of the same type");
                return self.wrong(expr.offset, message);
            }
        };
        Some(Typed::new(kind, Code::Default(Box::new([value_typed.code, other.code]))))
    }

    pub(super) fn choice(&mut self, expr: &Expr, parts: &[Expr; 3], hint: Option<&Type>) -> Option<Typed> {
        let [condition, then, otherwise] = parts;
        let Typed { code, yes, no, .. } = self.condition(condition)?;
        let later = hint.is_none() && is_flexible(then) && !is_flexible(otherwise);
        let (one, other) = if later {
            let other = self.knowing(&no, |checker| checker.infer(otherwise, hint));
            let wish = other.as_ref().map(|other| other.kind.clone());
            (self.knowing(&yes, |checker| checker.infer(then, wish.as_ref())), other)
        } else {
            let one = self.knowing(&yes, |checker| checker.infer(then, hint));
            let wish = one.as_ref().map(|one| one.kind.clone()).filter(|_| hint.is_none());
            (one, self.knowing(&no, |checker| checker.infer(otherwise, wish.as_ref().or(hint))))
        };
        let (one, other) = (one?, other?);
        let Some(kind) = unite(&one.kind, &other.kind) else {
            let (left, right) = (self.show(&one.kind), self.show(&other.kind));
            let message = format!("both results of `? :` must have one type, and these are {left} and {right}");
            return self.wrong(expr.offset, message);
        };
        Some(Typed::new(kind, Code::Choice(Box::new([code, one.code, other.code]))))
    }

    fn mismatch<T>(
        &mut self,
        offset: usize,
        operator: Operator,
        left: (&Typed, &Expr),
        right: (&Typed, &Expr),
    ) -> Option<T> {
        let kinds = (left.0.kind.present(), right.0.kind.present());
        let advice = match (operator, kinds) {
            (Operator::Divide | Operator::Remainder, (Type::Money(_) | Type::Decimal(_), _)) => {
                "use mul_div(x, 1, n) or split(x, n), which say what happens to the rest"
            }
            (Operator::Multiply, (Type::Money(_), _) | (_, Type::Money(_))) => {
                "an amount must be multiplied with int or dec; percent(x, basis points) and mul_div(x, numerator, denominator) say how to round"
            }
            (_, (Type::Date, Type::Int)) => "add days by add_days(date, n)",
            (Operator::Subtract, (Type::Date, Type::Date)) => "use days_between(from, to)",
            (_, (Type::Money(_), Type::Int) | (Type::Int, Type::Money(_))) => {
                "write the amount with its decimals, or cents(n) for a number of minor units"
            }
            (_, (Type::Date, Type::Text)) => "write a date as date('2031-05-05')",
            (_, (Type::Instant, Type::Text)) => "write a point in time as instant('2031-05-05T09:00')",
            (_, (Type::Duration, Type::Text)) => "write a duration as duration('1h30m')",
            (_, (Type::Duration, Type::Int)) => "write a duration as duration('1h30m') or minutes(n)",
            (_, (Type::Row(_), Type::Text)) => "compare its `.id` with a text",
            (_, (Type::Enum(_), Type::Text) | (Type::Text, Type::Enum(_))) => {
                "use text(e), the word of an enum as text"
            }
            (_, (Type::Instant, Type::Date)) => "use date(instant), the day of a point in time",
            (Operator::Add, _) => "use two of one type: int, money, dec, duration or text",
            (Operator::Subtract, _) => "use two of one type: int, money, dec, duration or instant",
            (Operator::Multiply, _) => "use an int on one side",
            (Operator::Divide | Operator::Remainder, _) => "use two ints",
            (Operator::In, _) => "use a list of the same type",
            _ => "compare values of one type",
        };
        self.refuse_pair(offset, operator, kinds, advice)
    }

    fn refuse_pair<T>(&mut self, offset: usize, operator: Operator, kinds: (&Type, &Type), advice: &str) -> Option<T> {
        let verb = match operator {
            Operator::Add => "add",
            Operator::Subtract => "subtract",
            Operator::Multiply => "multiply",
            Operator::Divide | Operator::Remainder => "divide",
            _ => "compare",
        };
        let (symbol, left, right) = (operator.symbol(), self.show(kinds.0), self.show(kinds.1));
        self.wrong(offset, format!("`{symbol}` cannot {verb} {left} with {right}: {advice}"))
    }
}

/// True for a written decimal, with or without a sign.
fn is_decimal(expr: &Expr) -> bool {
    match &expr.node {
        Node::Decimal(..) => true,
        Node::Negate(inner) => is_decimal(inner),
        _ => false,
    }
}

/// True if an expression takes its type from its place.
pub(super) fn is_flexible(expr: &Expr) -> bool {
    match &expr.node {
        Node::Null | Node::Text(_) | Node::Decimal(..) | Node::Int(0) => true,
        Node::Call(name, _) => name == "cents",
        Node::List(parts) => parts.iter().all(is_flexible),
        Node::Negate(inner) => is_flexible(inner),
        Node::Choice(parts) => is_flexible(&parts[1]) && is_flexible(&parts[2]),
        _ => false,
    }
}

/// The value of a constant text.
pub(super) fn literal(expr: &Expr) -> Option<&str> {
    match &expr.node {
        Node::Text(literal) => Some(&literal.text),
        _ => None,
    }
}

/// Value of an `Int` constant within a range.
pub(super) fn small(code: &Code, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    match code {
        Code::Constant(Value::Int(number)) if range.contains(number) => Some(*number),
        _ => None,
    }
}
