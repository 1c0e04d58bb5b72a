//! Gives every part of an expression its type and turns it into code, or says what is wrong.
//!
//! Null is followed through conditions: what `x != null && ...` proves holds in the rest of it. A proof is known by the path
//! that it is about, rooted in the place of a local or variable, so that equal names of different things are not confused.

mod calls;
mod members;
mod naming;
mod operators;
mod queries;
mod records;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Wrong;
use super::code::Code;
use super::scope::Scope;
use super::syntax::{Expr, Literal, Logic, Node, Root};
use crate::amount::minor_digits;
use crate::kinds::Type;
use crate::value::Value;

pub(super) struct Checker<'a> {
    scope: &'a Scope<'a>,
    /// Variables of the queries around what is being checked.
    variables: Vec<(String, Type)>,
    /// Largest number of variables alive.
    pub(super) most_variables: usize,
    /// Paths that are known not to be null.
    facts: Vec<Arc<str>>,
    root: Option<Root>,
    pub(super) used: BTreeSet<u16>,
    pub(super) errors: Vec<Wrong>,
    /// Number of templates nested around the checked part.
    pub(super) templates: usize,
}

/// A checked part.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    pub(super) kind: Type,
    pub(super) code: Code,
    /// Paths that are not null if this is true.
    pub(super) yes: Vec<Arc<str>>,
    /// Paths that are not null if this is false.
    pub(super) no: Vec<Arc<str>>,
    /// True if null is possible by type and was ruled out by a proof.
    narrowed: bool,
}

impl Typed {
    pub(super) const fn new(kind: Type, code: Code) -> Self {
        Self { kind, code, yes: Vec::new(), no: Vec::new(), narrowed: false }
    }

    const fn constant(kind: Type, value: Value) -> Self {
        Self::new(kind, Code::Constant(value))
    }
}

impl<'a> Checker<'a> {
    pub(super) fn new(scope: &'a Scope<'a>) -> Self {
        let facts = scope.assume.iter().flat_map(|known| known.proves.iter().cloned()).collect();
        Self {
            scope,
            variables: Vec::new(),
            most_variables: 0,
            facts,
            root: None,
            used: BTreeSet::new(),
            errors: Vec::new(),
            templates: 0,
        }
    }

    /// Notes what is wrong. The checks of other parts go on, so that one look finds several mistakes.
    pub(super) fn wrong<T>(&mut self, offset: usize, message: impl Into<String>) -> Option<T> {
        self.errors.push(Wrong { offset, message: message.into() });
        None
    }

    /// Checks a whole expression against what its place demands.
    pub(super) fn expect(&mut self, expr: &Expr, wanted: Option<&Type>) -> Option<Typed> {
        let found = self.infer(expr, wanted)?;
        let Some(wanted) = wanted else { return Some(found) };
        if fits(&found.kind, wanted) {
            return Some(found);
        }
        if fits(found.kind.present(), wanted) {
            return self.null_refused(expr);
        }
        let (found, wanted) = (self.show(&found.kind), self.show(wanted));
        self.wrong(expr.start(), format!("the value is {found}, and {wanted} is expected here"))
    }

    /// Checks a part that may not be null.
    pub(super) fn present(&mut self, expr: &Expr, hint: Option<&Type>) -> Option<Typed> {
        let found = self.infer(expr, hint)?;
        if found.kind.may_be_null() { self.null_refused(expr) } else { Some(found) }
    }

    fn null_refused<T>(&mut self, expr: &Expr) -> Option<T> {
        let message = if expr.node == Node::Null {
            "null means nothing here: write a value".to_owned()
        } else {
            let what = expr.written().map_or_else(|| "this".to_owned(), |path| format!("`{path}`"));
            let name = expr.written().unwrap_or_else(|| "x".to_owned());
            format!(
                "{what} may be null: test it first (`{name} != null && ...`), give a default (`{name} ?? ...`), or reach \
                 its members with `{name}?.`"
            )
        };
        self.wrong(expr.start(), message)
    }

    fn condition(&mut self, expr: &Expr) -> Option<Typed> {
        let found = self.present(expr, Some(&Type::Bool))?;
        if found.kind == Type::Bool {
            return Some(found);
        }
        let kind = self.show(&found.kind);
        self.wrong(expr.start(), format!("a condition is expected, and this is {kind}"))
    }

    /// Checks a part. The hint says which type its place would like, which only literals heed; the caller compares.
    pub(super) fn infer(&mut self, expr: &Expr, hint: Option<&Type>) -> Option<Typed> {
        let wish = hint.map(Type::present);
        Some(match &expr.node {
            Node::Null => Typed::constant(Type::Null, Value::Null),
            Node::Bool(value) => Typed::constant(Type::Bool, Value::Bool(*value)),
            Node::Int(number) => match wish {
                Some(kind @ (Type::Money(_) | Type::Decimal(_) | Type::Duration)) if *number == 0 => {
                    Typed::constant(kind.clone(), Value::Int(0))
                }
                _ => Typed::constant(Type::Int, Value::Int(*number)),
            },
            Node::Decimal(digits, scale) => self.decimal(expr, *digits, *scale, wish)?,
            Node::Text(literal) => self.text(expr, literal, wish)?,
            Node::Name(name) => self.name(expr, name)?,
            Node::Member(base, name, optional) => self.member(expr, base, name, *optional)?,
            Node::Index(list, index) => self.index(list, index)?,
            Node::Root(root, inner) => self.earlier(expr, *root, inner, hint)?,
            Node::Call(name, arguments) => self.call(expr, name, arguments, hint)?,
            Node::List(parts) => self.list(expr, parts, wish)?,
            Node::Record(fields) => self.record(expr, fields, wish)?,
            Node::Not(inner) => {
                let Typed { code, yes, no, .. } = self.condition(inner)?;
                Typed { yes: no, no: yes, ..Typed::new(Type::Bool, Code::Not(Box::new(code))) }
            }
            Node::Negate(inner) => self.negate(inner, hint)?,
            Node::Logic(logic, parts) => self.logic(*logic, parts)?,
            Node::Binary(operator, left, right) => self.binary(expr.offset, *operator, left, right, hint)?,
            Node::Default(value, otherwise) => self.default(expr, value, otherwise, hint)?,
            Node::Choice(parts) => self.choice(expr, parts, hint)?,
        })
    }

    fn decimal(&mut self, expr: &Expr, digits: i64, scale: u8, wish: Option<&Type>) -> Option<Typed> {
        let (kind, wanted) = match wish {
            Some(kind @ Type::Money(currency)) => (kind.clone(), minor_digits(currency)),
            Some(kind @ Type::Decimal(wanted)) => (kind.clone(), *wanted),
            _ => (Type::Decimal(scale), scale),
        };
        let Some(missing) = wanted.checked_sub(scale) else {
            let shown = self.show(&kind);
            let message = format!("{shown} has {wanted} digits behind the point, and this has {scale}: round it");
            return self.wrong(expr.offset, message);
        };
        match 10_i64.checked_pow(u32::from(missing)).and_then(|factor| digits.checked_mul(factor)) {
            Some(number) => Some(Typed::constant(kind, Value::Int(number))),
            None => self.wrong(expr.offset, "this number needs more than 64 bits: use a smaller one"),
        }
    }

    fn text(&mut self, expr: &Expr, literal: &Literal, wish: Option<&Type>) -> Option<Typed> {
        let value = Value::text(&literal.text);
        let Some(kind @ Type::Enum(words)) = wish else { return Some(Typed::constant(Type::Text, value)) };
        if words.iter().any(|word| **word == *literal.text) {
            return Some(Typed::constant(kind.clone(), value));
        }
        let list: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
        let (text, list) = (&literal.text, list.join(", "));
        let message = match naming::near(text, words.iter().map(|word| &**word)) {
            Some(near) => format!("'{text}' is none of the words {list}; did you mean '{near}'?"),
            None => format!("'{text}' is none of the words {list}: write one of them"),
        };
        self.wrong(expr.offset, message)
    }

    fn list(&mut self, expr: &Expr, parts: &[Expr], wish: Option<&Type>) -> Option<Typed> {
        let hint = match wish {
            Some(Type::List(element)) => Some(&**element),
            _ => None,
        };
        let Some((first, others)) = parts.split_first() else {
            return match hint {
                Some(element) => {
                    Some(Typed::constant(Type::List(Box::new(element.clone())), Value::List([].as_slice().into())))
                }
                None => {
                    self.wrong(expr.offset, "the type of the elements of `[]` cannot be known here: write an element")
                }
            };
        };
        let first = self.infer(first, hint)?;
        let (mut kind, mut codes) = (first.kind, vec![first.code]);
        for part in others {
            let element = self.infer(part, Some(hint.unwrap_or(&kind)))?;
            let Some(both) = unite(&kind, &element.kind) else {
                let (left, right) = (self.show(&kind), self.show(&element.kind));
                let message = format!("the elements of a list must have one type, and this is {right}, not {left}");
                return self.wrong(part.start(), message);
            };
            kind = both;
            codes.push(element.code);
        }
        let constants = codes.iter().map(|code| match code {
            Code::Constant(value) => Some(value.clone()),
            _ => None,
        });
        let constants: Option<Arc<[Value]>> = constants.collect();
        let code = constants.map_or_else(|| Code::List(codes.into()), |values| Code::Constant(Value::List(values)));
        Some(Typed::new(Type::List(Box::new(kind)), code))
    }

    fn logic(&mut self, logic: Logic, parts: &[Expr]) -> Option<Typed> {
        let known = self.facts.len();
        // What each part proves for those behind it, and what the end proves if every part or just one decides.
        let (mut codes, mut every, mut one) = (Vec::with_capacity(parts.len()), Vec::new(), None::<Vec<Arc<str>>>);
        let mut complete = true;
        for part in parts {
            let Some(Typed { code, yes, no, .. }) = self.condition(part) else {
                complete = false;
                continue;
            };
            let (proven, decided) = if logic == Logic::All { (yes, no) } else { (no, yes) };
            codes.push(code);
            self.facts.extend(proven.iter().cloned());
            every.extend(proven);
            one = Some(match one {
                None => decided,
                Some(one) => one.into_iter().filter(|path| decided.contains(path)).collect(),
            });
        }
        self.facts.truncate(known);
        let one = one.unwrap_or_default();
        complete.then(|| match logic {
            Logic::All => Typed { yes: every, no: one, ..Typed::new(Type::Bool, Code::All(codes.into())) },
            Logic::Any => Typed { yes: one, no: every, ..Typed::new(Type::Bool, Code::Any(codes.into())) },
        })
    }

    /// Checks a part with more proofs.
    fn knowing<T>(&mut self, facts: &[Arc<str>], check: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let known = self.facts.len();
        self.facts.extend(facts.iter().cloned());
        let result = check(self);
        self.facts.truncate(known);
        result
    }
}

/// True if every value of one type is a value of another.
pub(super) fn fits(found: &Type, wanted: &Type) -> bool {
    match (found, wanted) {
        (Type::Null, Type::Opt(_)) => true,
        (Type::Opt(found), Type::Opt(wanted)) | (Type::List(found), Type::List(wanted)) => fits(found, wanted),
        (found, Type::Opt(wanted)) => fits(found, wanted),
        (Type::Record(found), Type::Record(wanted)) => {
            found.len() == wanted.len()
                && found
                    .iter()
                    .zip(wanted.iter())
                    .all(|(found, wanted)| found.0 == wanted.0 && fits(&found.1, &wanted.1))
        }
        (found, wanted) => found == wanted,
    }
}

/// The type that has the values of both.
fn unite(left: &Type, right: &Type) -> Option<Type> {
    if fits(left, right) {
        return Some(right.clone());
    }
    if fits(right, left) {
        return Some(left.clone());
    }
    if *left == Type::Null || *right == Type::Null {
        let other = if *left == Type::Null { right } else { left };
        return Some(other.clone().or_null());
    }
    (left.present() == right.present()).then(|| left.present().clone().or_null())
}
