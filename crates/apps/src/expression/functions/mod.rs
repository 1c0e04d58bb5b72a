//! Functions of values alone: their signatures and what they do. Those that read rows or need literals are known to the checker.

mod dates;
mod lists;
mod numbers;
mod text;

pub(super) use self::dates::INSTANTS;
use super::frame::EvalError;
use crate::calendar::Calendar;
use crate::kinds::Type;
use crate::value::Value;

/// Context of a function besides its arguments.
pub(super) struct Context<'a> {
    pub(super) calendar: &'a Calendar,
    pub(super) budget: &'a mut u64,
}

impl Context<'_> {
    /// Takes steps from the budget, before the work that they stand for.
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), EvalError> {
        let left = u64::try_from(steps).ok().and_then(|steps| self.budget.checked_sub(steps));
        *self.budget = left.unwrap_or(0);
        left.map(|_| ()).ok_or(EvalError::Budget)
    }

    /// Takes the steps for as many bytes of text.
    pub(super) fn spend_text(&mut self, bytes: usize) -> Result<(), EvalError> {
        self.spend(bytes / TEXT_STEP)
    }
}

/// Bytes of text made for one step.
pub(super) const TEXT_STEP: usize = 64;

pub(super) type Run = fn(&mut Context<'_>, &[Value]) -> Result<Value, EvalError>;

/// One overload of a function.
pub(super) struct Builtin {
    pub(super) name: &'static str,
    pub(super) parameters: &'static [Parameter],
    pub(super) result: Outcome,
    pub(super) run: Run,
}

/// Required type of an argument; never null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameter {
    Int,
    Text,
    Date,
    Instant,
    Duration,
    Money,
    /// int, money or dec
    Number,
    /// `Number`, or duration
    Signed,
    /// Types that `<` compares.
    Ordered,
    List,
    TextList,
    /// Of the type of the first argument.
    Same,
    /// Of the type of the elements of the first argument.
    Element,
    /// A literal: one of these words.
    Word(&'static [&'static str]),
}

/// The type of a result.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outcome {
    Is(&'static Type),
    /// That of the first argument.
    First,
    /// A list of the first argument's type.
    ListOfFirst,
    ListOfText,
}

impl Parameter {
    /// True if a type will do, where `first` is that of the first argument.
    pub(super) fn takes(self, kind: &Type, first: &Type) -> bool {
        match self {
            Self::Int => *kind == Type::Int,
            Self::Text => *kind == Type::Text,
            Self::Date => *kind == Type::Date,
            Self::Instant => *kind == Type::Instant,
            Self::Duration => *kind == Type::Duration,
            Self::Money => matches!(kind, Type::Money(_)),
            Self::Number => matches!(kind, Type::Int | Type::Money(_) | Type::Decimal(_)),
            Self::Signed => matches!(kind, Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Duration),
            Self::Ordered => is_ordered(kind),
            Self::List => matches!(kind, Type::List(_)),
            Self::TextList => matches!(kind, Type::List(element) if matches!(**element, Type::Text | Type::Enum(_))),
            Self::Same => kind == first,
            Self::Element => matches!(first, Type::List(element) if element.present() == kind.present()
                || (element.may_be_null() && *kind == Type::Null)),
            Self::Word(_) => matches!(kind, Type::Enum(_)),
        }
    }

    /// Name in messages.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Int => "int".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Date => "date".to_owned(),
            Self::Instant => "instant".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Money => "money".to_owned(),
            Self::Number => "int, money or dec".to_owned(),
            Self::Signed => "int, money, dec or duration".to_owned(),
            Self::Ordered => "int, money, dec, date, instant, duration or text".to_owned(),
            Self::List => "list".to_owned(),
            Self::TextList => "list of text".to_owned(),
            Self::Same => "the same type".to_owned(),
            Self::Element => "an element".to_owned(),
            Self::Word(words) => words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" or "),
        }
    }
}

impl Builtin {
    /// `add_days(date, int)`
    pub(super) fn usage(&self) -> String {
        let parameters: Vec<_> = self.parameters.iter().map(|parameter| parameter.describe()).collect();
        format!("{}({})", self.name, parameters.join(", "))
    }
}

/// True if `<` compares values of a type.
pub(super) const fn is_ordered(kind: &Type) -> bool {
    matches!(
        kind,
        Type::Int | Type::Text | Type::Date | Type::Instant | Type::Duration | Type::Money(_) | Type::Decimal(_)
    )
}

/// The overloads of a function; none if there is no such one.
pub(super) fn overloads(name: &str) -> impl Iterator<Item = &'static Builtin> + use<'_> {
    all().filter(move |builtin| builtin.name == name)
}

/// Every overload of every function.
pub(super) fn all() -> impl Iterator<Item = &'static Builtin> {
    [text::ALL, numbers::ALL, dates::ALL, lists::ALL].into_iter().flatten()
}

fn int(value: &Value) -> Result<i64, EvalError> {
    if let Value::Int(number) = value { Ok(*number) } else { Err(EvalError::Mismatch) }
}

fn words(value: &Value) -> Result<&str, EvalError> {
    if let Value::Text(text) = value { Ok(text) } else { Err(EvalError::Mismatch) }
}

fn list(value: &Value) -> Result<&[Value], EvalError> {
    if let Value::List(values) = value { Ok(values) } else { Err(EvalError::Mismatch) }
}
