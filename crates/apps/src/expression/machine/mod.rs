//! Runs code against a frame.

mod queries;

use std::sync::Arc;

use super::code::{Arithmetic, Code, Member, OnNull, Order, Part, Range};
use super::frame::{EvalError, Frame, Rows};
use super::functions::{Context, INSTANTS};
use super::syntax::Root;
use crate::value::{RowKey, Value};

/// Arguments of a call that need no room of their own.
const FEW: usize = 4;

pub(super) struct Machine<'f, 'a> {
    frame: &'f mut Frame<'a>,
    /// The data that is read now: that of the frame, or of an earlier time.
    rows: &'a dyn Rows,
    now: i64,
    variables: Vec<Value>,
}

impl<'f, 'a> Machine<'f, 'a> {
    /// `variables` is how many queries are nested at most.
    pub(super) fn new(frame: &'f mut Frame<'a>, variables: usize) -> Self {
        let (rows, now) = (frame.rows, frame.now);
        Self { frame, rows, now, variables: vec![Value::Null; variables] }
    }

    fn context(&mut self) -> Context<'_> {
        Context { calendar: self.frame.calendar, budget: self.frame.budget }
    }

    /// Takes steps from the budget.
    fn spend(&mut self, steps: usize) -> Result<(), EvalError> {
        self.context().spend(steps)
    }

    pub(super) fn value(&mut self, code: &Code) -> Result<Value, EvalError> {
        Ok(match code {
            Code::Constant(value) => value.clone(),
            Code::Local(_) | Code::Variable(_) => self.place(code)?.clone(),
            Code::Single(table) => Value::Row(self.rows.single(*table).ok_or(EvalError::NotOne)?),
            Code::Now => Value::Int(self.now),
            Code::Today => Value::Int(self.frame.calendar.date(self.now)),
            Code::Member(base, member, on_null) => self.member(base, *member, *on_null)?,
            Code::Index(pair) => self.index(&pair[0], &pair[1])?,
            Code::Within(root, inner) => self.within(*root, inner)?,
            Code::List(parts) => {
                self.spend(parts.len())?;
                Value::List(parts.iter().map(|part| self.value(part)).collect::<Result<_, _>>()?)
            }
            Code::Record(fields) => {
                self.spend(fields.len())?;
                Value::Record(fields.iter().map(|field| self.value(field)).collect::<Result<_, _>>()?)
            }
            Code::Not(_)
            | Code::All(_)
            | Code::Any(_)
            | Code::Is(..)
            | Code::Same(..)
            | Code::Order(..)
            | Code::In(_)
            | Code::Exists(_) => Value::Bool(self.truth(code)?),
            Code::Negate(inner) => Value::Int(self.int(inner)?.checked_neg().ok_or(EvalError::OutOfRange("a number"))?),
            Code::Arithmetic(arithmetic, range, pair) => {
                let (left, right) = (self.int(&pair[0])?, self.int(&pair[1])?);
                Value::Int(calculate(*arithmetic, *range, left, right)?)
            }
            Code::Join(pair) => self.join(&pair[0], &pair[1])?,
            Code::Default(pair) => match self.value(&pair[0])? {
                Value::Null => self.value(&pair[1])?,
                value => value,
            },
            Code::Choice(parts) => {
                let chosen = if self.truth(&parts[0])? { &parts[1] } else { &parts[2] };
                self.value(chosen)?
            }
            Code::Query(query) => self.query(query)?,
            Code::Call(run, arguments) => {
                self.with_arguments(arguments, |machine, given| run(&mut machine.context(), given))?
            }
            Code::Host(id, arguments) => {
                self.with_arguments(arguments, |machine, given| machine.frame.host.call(*id, given))?
            }
            Code::ById(table, id) => match self.value(id)? {
                Value::Text(id) => self.rows.by_id(*table, &id).map_or(Value::Null, Value::Row),
                _ => return Err(EvalError::Mismatch),
            },
            Code::Rank(words, inner) => {
                let word = self.value(inner)?;
                let at = words.iter().position(|known| matches!(&word, Value::Text(word) if word == known));
                Value::Int(at.and_then(|at| i64::try_from(at).ok()).ok_or(EvalError::Mismatch)?)
            }
            Code::Show(shape, inner) => {
                let (value, mut text) = (self.value(inner)?, String::new());
                shape.write(&value, self.frame.calendar, &mut text)?;
                self.context().spend_text(text.len())?;
                Value::Text(text.into())
            }
            Code::Template(parts) => Value::Text(self.text(parts)?.into()),
        })
    }

    /// The value of a condition, without making a value of it.
    pub(super) fn truth(&mut self, code: &Code) -> Result<bool, EvalError> {
        Ok(match code {
            Code::Not(inner) => !self.truth(inner)?,
            Code::All(parts) => {
                for part in parts {
                    if !self.truth(part)? {
                        return Ok(false);
                    }
                }
                true
            }
            Code::Any(parts) => {
                for part in parts {
                    if self.truth(part)? {
                        return Ok(true);
                    }
                }
                false
            }
            Code::Is(inner, constant, wanted) => match (&**inner, constant) {
                // A cell is compared where it is.
                (Code::Member(base, Member::Column(column), OnNull::Fail), _) => {
                    let row = self.row(base)?;
                    let cell = self.rows.cell(row, *column).ok_or(EvalError::Dangling(row))?;
                    (cell == constant) == *wanted
                }
                _ => (self.value(inner)? == *constant) == *wanted,
            },
            Code::Same(pair, wanted) => {
                let (left, right) = (self.value(&pair[0])?, self.value(&pair[1])?);
                self.spend(weight(&left))?;
                (left == right) == *wanted
            }
            Code::Order(order, pair) => {
                let (left, right) = (self.value(&pair[0])?, self.value(&pair[1])?);
                if left.is_null() || right.is_null() {
                    return Err(EvalError::Mismatch);
                }
                match order {
                    Order::Less => left < right,
                    Order::AtMost => left <= right,
                    Order::More => left > right,
                    Order::AtLeast => left >= right,
                }
            }
            Code::In(pair) => {
                let value = self.value(&pair[0])?;
                let Value::List(list) = self.value(&pair[1])? else { return Err(EvalError::Mismatch) };
                self.spend(list.len())?;
                list.contains(&value)
            }
            Code::Exists(row) => {
                let row = self.row(row)?;
                self.rows.exists(row)
            }
            other => match self.value(other)? {
                Value::Bool(value) => value,
                _ => return Err(EvalError::Mismatch),
            },
        })
    }

    /// Fills the holes of a template.
    pub(super) fn text(&mut self, parts: &[Part]) -> Result<String, EvalError> {
        let mut text = String::new();
        for part in parts {
            let before = text.len();
            match part {
                Part::Text(literal) => text.push_str(literal),
                Part::Hole(shape, code) => {
                    let value = self.value(code)?;
                    shape.write(&value, self.frame.calendar, &mut text)?;
                }
            }
            self.context().spend_text(text.len() - before)?;
        }
        Ok(text)
    }

    /// A local or variable where it is.
    fn place(&self, code: &Code) -> Result<&Value, EvalError> {
        match code {
            Code::Local(slot) => self.frame.locals.get(usize::from(*slot)),
            Code::Variable(slot) => self.variables.get(usize::from(*slot)),
            _ => None,
        }
        .ok_or(EvalError::Mismatch)
    }

    fn int(&mut self, code: &Code) -> Result<i64, EvalError> {
        match self.value(code)? {
            Value::Int(number) => Ok(number),
            _ => Err(EvalError::Mismatch),
        }
    }

    fn row(&mut self, code: &Code) -> Result<RowKey, EvalError> {
        let found = match code {
            Code::Local(_) | Code::Variable(_) => match self.place(code)? {
                Value::Row(row) => return Ok(*row),
                _ => return Err(EvalError::Mismatch),
            },
            _ => self.value(code)?,
        };
        if let Value::Row(row) = found { Ok(row) } else { Err(EvalError::Mismatch) }
    }

    fn member(&mut self, base: &Code, member: Member, on_null: OnNull) -> Result<Value, EvalError> {
        let owner = match base {
            Code::Local(_) | Code::Variable(_) => return self.part(self.place(base)?, member, on_null),
            _ => self.value(base)?,
        };
        self.part(&owner, member, on_null)
    }

    fn part(&self, owner: &Value, member: Member, on_null: OnNull) -> Result<Value, EvalError> {
        match (owner, member) {
            (Value::Null, _) if on_null == OnNull::Null => Ok(Value::Null),
            (Value::Row(row), Member::Column(column)) => {
                self.rows.cell(*row, column).cloned().ok_or(EvalError::Dangling(*row))
            }
            (Value::Row(row), Member::Id) => self.rows.id(*row).map(Value::Text).ok_or(EvalError::Dangling(*row)),
            (Value::Record(fields), Member::Field(at)) => {
                fields.get(usize::from(at)).cloned().ok_or(EvalError::Mismatch)
            }
            _ => Err(EvalError::Mismatch),
        }
    }

    fn index(&mut self, list: &Code, index: &Code) -> Result<Value, EvalError> {
        let (list, index) = (self.value(list)?, self.int(index)?);
        let Value::List(list) = list else { return Err(EvalError::Mismatch) };
        let found = usize::try_from(index).ok().and_then(|at| list.get(at));
        found.cloned().ok_or(EvalError::Index(index))
    }

    fn within(&mut self, root: Root, inner: &Code) -> Result<Value, EvalError> {
        let (rows, now) = match root {
            Root::Old => (self.frame.old, self.frame.now),
            Root::Init => (self.frame.init, self.frame.init_now),
        };
        let rows = rows.ok_or_else(|| EvalError::Host("no earlier data is kept here".into()))?;
        let (rows, now) = (std::mem::replace(&mut self.rows, rows), std::mem::replace(&mut self.now, now));
        let result = self.value(inner);
        (self.rows, self.now) = (rows, now);
        result
    }

    fn join(&mut self, left: &Code, right: &Code) -> Result<Value, EvalError> {
        let (Value::Text(left), Value::Text(right)) = (self.value(left)?, self.value(right)?) else {
            return Err(EvalError::Mismatch);
        };
        self.context().spend_text(left.len() + right.len())?;
        Ok(Value::Text(Arc::from([&*left, &*right].concat())))
    }

    fn with_arguments(
        &mut self,
        codes: &[Code],
        call: impl FnOnce(&mut Self, &[Value]) -> Result<Value, EvalError>,
    ) -> Result<Value, EvalError> {
        if codes.len() > FEW {
            let values = codes.iter().map(|code| self.value(code)).collect::<Result<Vec<_>, _>>()?;
            return call(self, &values);
        }
        let mut values: [Value; FEW] = Default::default();
        for (value, code) in values.iter_mut().zip(codes) {
            *value = self.value(code)?;
        }
        call(self, &values[..codes.len()])
    }
}

/// Steps that comparing a value takes.
fn weight(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len() / super::functions::TEXT_STEP,
        Value::List(values) => values.len(),
        _ => 0,
    }
}

fn calculate(arithmetic: Arithmetic, range: Range, left: i64, right: i64) -> Result<i64, EvalError> {
    let (result, what) = match arithmetic {
        Arithmetic::Add => (left.checked_add(right), "a sum"),
        Arithmetic::Subtract => (left.checked_sub(right), "a difference"),
        Arithmetic::Multiply => (left.checked_mul(right), "a product"),
        Arithmetic::Divide | Arithmetic::Remainder if right == 0 => (None, "a division by zero"),
        Arithmetic::Divide => (left.checked_div(right), "a quotient"),
        Arithmetic::Remainder => (left.checked_rem(right), "a remainder"),
    };
    let possible = |result: &i64| match range {
        Range::Any => true,
        Range::Instant => INSTANTS.contains(result),
    };
    result.filter(possible).ok_or(EvalError::OutOfRange(what))
}
