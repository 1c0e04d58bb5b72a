//! Calls: functions that need literals or rows, functions of values, and functions of the caller.

use super::naming::{near, suggest};
use super::operators::{is_flexible, literal, small};
use super::{Checker, Typed, fits, queries};
use crate::calendar::{DAY_SECONDS, parse_date, parse_duration};
use crate::expression::code::{Arithmetic, Code, Range};
use crate::expression::functions::{self, Builtin, Outcome, Parameter};
use crate::expression::scope::{Function, Signature};
use crate::expression::show::Shape;
use crate::expression::syntax::{Expr, Node};
use crate::kinds::Type;
use crate::value::Value;

/// Functions that are checked in their own way, besides queries.
pub(super) const SPECIAL: [&str; 14] = [
    "has", "exists", "by_id", "today", "text", "tpl", "duration", "cents", "money", "dec", "old", "init", "date",
    "instant",
];

impl Checker<'_> {
    pub(super) fn call(&mut self, expr: &Expr, name: &str, arguments: &[Expr], hint: Option<&Type>) -> Option<Typed> {
        let functions = self.scope.functions;
        if let Some(function) = functions.iter().find(|function| *function.name == *name) {
            return self.added(expr, function, arguments, hint);
        }
        if let Some(kind) = queries::kind(name) {
            return self.query(expr.offset, name, kind, arguments, hint);
        }
        match (name, arguments) {
            ("has", [value]) => self.has(value),
            ("exists", [row]) => self.exists(row),
            ("by_id", [table, id]) => self.by_id(table, id),
            ("today", []) if self.scope.now => Some(Typed::new(Type::Date, Code::Today)),
            ("today", []) => self.no_time(expr.offset),
            ("text", [value]) => self.shown(value),
            ("tpl", [template]) => self.template_call(template),
            ("date", [Expr { offset, node: Node::Text(written), .. }]) => match parse_date(&written.text) {
                Some(date) => Some(Typed::constant(Type::Date, Value::Int(date))),
                None => self.wrong(*offset, format!("'{}' is no date such as 2031-05-05", written.text)),
            },
            ("instant", [Expr { offset, node: Node::Text(written), .. }]) => {
                match self.scope.calendar.parse_instant(&written.text) {
                    Some(instant) => Some(Typed::constant(Type::Instant, Value::Int(instant))),
                    None => self.wrong(*offset, format!("'{}' is no time such as 2031-05-05T09:00", written.text)),
                }
            }
            ("instant", [date, Expr { offset, node: Node::Text(written), .. }]) => {
                self.time_on(expr, date, &written.text, *offset)
            }
            ("duration", [Expr { offset, node: Node::Text(written), .. }]) => match parse_duration(&written.text) {
                Some(seconds) => Some(Typed::constant(Type::Duration, Value::Int(seconds))),
                None => self.wrong(*offset, format!("'{}' is no duration such as 1h30m", written.text)),
            },
            ("cents", [amount]) => self.cents(expr, amount, hint),
            ("money", [amount, currency]) => self.money(amount, currency),
            ("dec", [number, scale]) => self.dec(number, scale),
            ("has", _) => self.wrong(expr.offset, "usage: has(value)"),
            ("exists", _) => self.wrong(expr.offset, "usage: exists(row)"),
            ("by_id", _) => self.wrong(expr.offset, "usage: by_id(table, text)"),
            ("today", _) => self.wrong(expr.offset, "usage: today()"),
            ("text", _) => self.wrong(expr.offset, "usage: text(value)"),
            ("tpl", _) => self.wrong(expr.offset, "usage: tpl('... ${value} ...')"),
            ("duration", _) => self.wrong(expr.offset, "usage: duration('1h30m') with literal text"),
            ("cents", _) => self.wrong(expr.offset, "usage: cents(int)"),
            ("money", _) => self.wrong(expr.offset, "usage: money(int, 'EUR')"),
            ("dec", _) => self.wrong(expr.offset, "usage: dec(int, 2)"),
            _ => self.plain(expr, name, arguments),
        }
    }

    fn plain(&mut self, expr: &Expr, name: &str, arguments: &[Expr]) -> Option<Typed> {
        let overloads: Vec<&'static Builtin> = functions::overloads(name).collect();
        if overloads.is_empty() {
            return self.unknown(expr, name);
        }
        let fitting: Vec<_> =
            overloads.iter().copied().filter(|overload| overload.parameters.len() == arguments.len()).collect();
        let Some((first, others)) = arguments.split_first().filter(|_| !fitting.is_empty()) else {
            return self.usage(expr, &overloads);
        };
        let first_typed = self.first_argument(first, others, &fitting)?;
        let chosen = fitting.iter().find(|overload| overload.parameters[0].takes(&first_typed.kind, &first_typed.kind));
        let Some(chosen) = chosen.copied() else {
            let (kind, wanted) = (self.show(&first_typed.kind), describe_first(&fitting));
            return self.wrong(first.start(), format!("`{name}` takes {wanted} here, and this is {kind}"));
        };
        let kind = first_typed.kind;
        let mut codes = vec![first_typed.code];
        for (argument, parameter) in others.iter().zip(&chosen.parameters[1..]) {
            codes.push(self.argument(name, argument, *parameter, &kind)?);
        }
        let result = match chosen.result {
            Outcome::Is(result) => result.clone(),
            Outcome::First => kind,
            Outcome::ListOfFirst => Type::List(Box::new(kind)),
            Outcome::ListOfText => Type::List(Box::new(Type::Text)),
        };
        Some(Typed::new(result, Code::Call(chosen.run, codes.into())))
    }

    /// A literal as first argument takes the type of a later one that has to be the same.
    fn first_argument(&mut self, first: &Expr, others: &[Expr], fitting: &[&Builtin]) -> Option<Typed> {
        let mut hint = None;
        if is_flexible(first) {
            let mut same = others.iter().zip(&fitting[0].parameters[1..]);
            let model = same.find(|(other, parameter)| **parameter == Parameter::Same && !is_flexible(other));
            hint = match model {
                Some((model, _)) => Some(self.infer(model, None)?.kind),
                None => None,
            };
        }
        self.present(first, hint.as_ref())
    }

    fn argument(&mut self, name: &str, argument: &Expr, parameter: Parameter, first: &Type) -> Option<Code> {
        let words;
        let hint = match (parameter, first) {
            (Parameter::Same, _) => Some(first),
            (Parameter::Element, Type::List(element)) => Some(&**element),
            (Parameter::Word(list), _) => {
                words = Type::Enum(list.iter().map(|word| (*word).into()).collect());
                Some(&words)
            }
            _ => None,
        };
        let found = match parameter {
            Parameter::Element => self.infer(argument, hint)?,
            _ => self.present(argument, hint)?,
        };
        let is_literal = !matches!(parameter, Parameter::Word(_)) || matches!(found.code, Code::Constant(_));
        if is_literal && parameter.takes(&found.kind, first) {
            return Some(found.code);
        }
        let wanted = match parameter {
            Parameter::Same => self.show(first),
            Parameter::Element => {
                first_element(first).map_or_else(|| parameter.describe(), |element| self.show(element))
            }
            _ => parameter.describe(),
        };
        let kind = self.show(&found.kind);
        self.wrong(argument.start(), format!("`{name}` takes {wanted} here, and this is {kind}"))
    }

    fn usage<T>(&mut self, expr: &Expr, overloads: &[&Builtin]) -> Option<T> {
        let usages: Vec<_> = overloads.iter().map(|overload| overload.usage()).collect();
        self.wrong(expr.offset, format!("usage: {}", usages.join(" or ")))
    }

    fn unknown<T>(&mut self, expr: &Expr, name: &str) -> Option<T> {
        let mut known: Vec<&str> = SPECIAL.into_iter().chain(queries::names()).collect();
        known.extend(functions::all().map(|builtin| builtin.name));
        known.extend(self.scope.functions.iter().map(|function| &*function.name));
        let message = match near(name, known) {
            Some(near) => format!("there is no function `{name}`; did you mean `{near}`?"),
            None => format!("there is no function `{name}`: use one of docs/app-expressions.md"),
        };
        self.wrong(expr.offset, message)
    }

    fn added(&mut self, expr: &Expr, function: &Function, arguments: &[Expr], hint: Option<&Type>) -> Option<Typed> {
        let name = &function.name;
        let mut codes = Vec::with_capacity(arguments.len());
        let result = match &function.signature {
            Signature::Fixed { arguments: wanted, result } => {
                if wanted.len() != arguments.len() {
                    let kinds: Vec<_> = wanted.iter().map(|kind| self.show(kind)).collect();
                    return self.wrong(expr.offset, format!("usage: {name}({})", kinds.join(", ")));
                }
                for (argument, wanted) in arguments.iter().zip(wanted) {
                    codes.push(self.expect(argument, Some(wanted))?.code);
                }
                result.clone()
            }
            Signature::Generic { judge, alike } => {
                let mut kinds = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let found = self.infer(argument, hint.filter(|_| *alike))?;
                    kinds.push(found.kind);
                    codes.push(found.code);
                }
                match judge(&kinds, hint) {
                    Ok(result) => result,
                    Err(message) => return self.wrong(expr.offset, format!("{name}: {message}")),
                }
            }
        };
        Some(Typed::new(result, Code::Host(function.id, codes.into())))
    }

    fn has(&mut self, value: &Expr) -> Option<Typed> {
        let found = self.infer(value, None)?;
        if !found.kind.may_be_null() && !found.narrowed {
            let what = value.written().map_or_else(|| "this".to_owned(), |path| format!("`{path}`"));
            return self.wrong(value.start(), format!("{what} is never null: leave the test out"));
        }
        let code = Code::Is(Box::new(found.code), Value::Null, false);
        Some(Typed { yes: self.proofs(value), ..Typed::new(Type::Bool, code) })
    }

    fn exists(&mut self, row: &Expr) -> Option<Typed> {
        let found = self.present(row, None)?;
        if matches!(found.kind, Type::Row(_)) {
            return Some(Typed::new(Type::Bool, Code::Exists(Box::new(found.code))));
        }
        let kind = self.show(&found.kind);
        self.wrong(row.start(), format!("`exists` takes a row, and this is {kind}"))
    }

    fn by_id(&mut self, table: &Expr, id: &Expr) -> Option<Typed> {
        let tables = self.scope.tables;
        let Some(found) = table.as_name().and_then(|name| tables.find(name)) else {
            let near = suggest(table.as_name().unwrap_or(""), tables.names());
            return self.wrong(table.start(), format!("the name of a table is expected{near}"));
        };
        let id = self.expect(id, Some(&Type::Text))?;
        Some(Typed::new(Type::Row(found).or_null(), Code::ById(found, Box::new(id.code))))
    }

    fn shown(&mut self, value: &Expr) -> Option<Typed> {
        let (shape, code) = self.hole(value)?;
        Some(Typed::new(Type::Text, Code::Show(shape, Box::new(code))))
    }

    /// Something that can be written as text.
    pub(in crate::expression) fn hole(&mut self, value: &Expr) -> Option<(Shape, Code)> {
        let found = self.present(value, None)?;
        if let Some(shape) = Shape::of(&found.kind) {
            return Some((shape, found.code));
        }
        let kind = self.show(&found.kind);
        let message = match &found.kind {
            Type::Row(_) => format!("{kind} has no text: name one of its columns, or `.id`"),
            Type::Record(_) => format!("{kind} has no text: name one of its fields"),
            _ => format!("{kind} has no text: use a list whose elements have one and are never null"),
        };
        self.wrong(value.start(), message)
    }

    fn time_on(&mut self, expr: &Expr, date: &Expr, time: &str, offset: usize) -> Option<Typed> {
        let found = self.expect(date, Some(&Type::Date));
        let Some(seconds) = time_of_day(time) else {
            return self.wrong(offset, format!("'{time}' is no time of day such as 09:30"));
        };
        let overload = functions::overloads("instant").next();
        let Some(overload) = overload else { return self.unknown(expr, "instant") };
        let codes = [found?.code, Code::Constant(Value::Int(seconds))];
        Some(Typed::new(Type::Instant, Code::Call(overload.run, codes.into())))
    }

    fn cents(&mut self, expr: &Expr, amount: &Expr, hint: Option<&Type>) -> Option<Typed> {
        let found = self.expect(amount, Some(&Type::Int))?;
        match hint.map(Type::present) {
            Some(kind @ Type::Money(_)) => Some(Typed::new(kind.clone(), found.code)),
            _ => self.wrong(expr.offset, "the currency of cents(n) cannot be known here: write money(n, 'EUR')"),
        }
    }

    fn money(&mut self, amount: &Expr, currency: &Expr) -> Option<Typed> {
        let found = self.expect(amount, Some(&Type::Int));
        let code = literal(currency).filter(|code| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase()));
        match code {
            Some(code) => Some(Typed::new(Type::Money(code.into()), found?.code)),
            None => self.wrong(currency.start(), "a currency is expected by its code, such as 'EUR'"),
        }
    }

    /// A whole number with digits behind the point.
    fn dec(&mut self, number: &Expr, scale: &Expr) -> Option<Typed> {
        let (found, digits) = (self.expect(number, Some(&Type::Int)), self.expect(scale, Some(&Type::Int)));
        let (found, digits) = (found?, digits?);
        let digits = small(&digits.code, 0..=18).and_then(|digits| u8::try_from(digits).ok());
        let factor = digits.and_then(|digits| Some((digits, 10_i64.checked_pow(u32::from(digits))?)));
        let Some((digits, factor)) = factor else {
            return self.wrong(scale.start(), "the number of digits is written out, from 0 to 18");
        };
        let pair = Box::new([found.code, Code::Constant(Value::Int(factor))]);
        Some(Typed::new(Type::Decimal(digits), Code::Arithmetic(Arithmetic::Multiply, Range::Any, pair)))
    }
}

/// Seconds since midnight of `HH:MM`.
fn time_of_day(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let part = |text: &str| (text.len() == 2).then(|| text.parse::<u8>().ok()).flatten().map(i64::from);
    let (hours, minutes) = (part(hours)?, part(minutes).filter(|minutes| *minutes < 60)?);
    Some(hours * 3600 + minutes * 60).filter(|seconds| *seconds < DAY_SECONDS)
}

fn describe_first(overloads: &[&Builtin]) -> String {
    overloads.iter().map(|overload| overload.parameters[0].describe()).collect::<Vec<_>>().join(" or ")
}

fn first_element(kind: &Type) -> Option<&Type> {
    match kind {
        Type::List(element) if fits(element, element) => Some(element),
        _ => None,
    }
}
