//! Drawing the value of a parameter, and the values that it could have had instead.

use std::sync::Arc;

use super::outcome::{Flaw, Redraw, Unfit};
use crate::app::App;
use crate::app::task::{Draw, Param};
use crate::data::Data;
use crate::expression::{Checked, DEFAULT_BUDGET, EvalError};
use crate::reading::Reversed;
use crate::run::CallError;
use crate::run::draw::Draws;
use crate::value::Value;

/// Number of times that a number of a range is drawn again if it is the unwanted one.
const RANGE_ATTEMPTS_MAX: u32 = 50;
/// Numbers of a range that are all looked at.
pub(crate) const STEPS_LISTED_MAX: u64 = 16;
/// Values that a random `let` is asked for.
const LETS_TRIED: usize = 4;

/// One parameter's draw. What goes wrong with an expression here is a fault, unless it is that there is no such row: then
/// another draw may have one.
pub(crate) struct Drawing<'a> {
    pub(crate) app: &'a App,
    pub(crate) data: &'a Data,
    /// Those of the parameters before it.
    pub(crate) values: &'a [Value],
    pub(crate) draws: &'a mut Draws,
}

impl Drawing<'_> {
    pub(crate) fn value(mut self, param: &Param) -> Result<Value, Unfit> {
        let not = self.not(param)?;
        let subject = |value: &Value| not.as_ref() != Some(value);
        match &param.draw {
            Draw::Choice(values) => {
                self.one_of(param, &values.iter().filter(|value| subject(value)).cloned().collect::<Vec<_>>())
            }
            Draw::Range(low, high, step) => self.range(param, (*low, *high, *step), &subject),
            Draw::Days(from, to) => {
                let days = self.days(param, from, to)?;
                self.range(param, (days.0, days.1, 1), &subject)
            }
            Draw::Pick(list) => {
                let values = self.list(param, list)?;
                self.one_of(param, &values.iter().filter(|value| subject(value)).cloned().collect::<Vec<_>>())
            }
            Draw::First { of, by, descending, gap } => self.first(param, of, by, *descending, gap.as_ref(), &subject),
            Draw::Let(value) => {
                let value = self.evaluate(param, value, self.values)?;
                if subject(&value) { Ok(value) } else { Err(Unfit::Again(Redraw::Unwanted(Arc::clone(&param.name)))) }
            }
        }
    }

    /// Values that the parameter could have in place of one that it has: all of a short list, some of a long one, half of them
    /// like it where there are so many. A value that follows from others has none but the one that another order of rows gives,
    /// for that order is no one's business.
    pub(crate) fn others(
        &mut self,
        param: &Param,
        has: &Value,
        most: usize,
        like: &dyn Fn(&Value) -> bool,
    ) -> Result<Vec<Value>, Unfit> {
        let not = self.not(param)?;
        let subject = |value: &Value| not.as_ref() != Some(value) && value != has;
        let listed: Vec<Value> = match &param.draw {
            Draw::Choice(values) => values.clone(),
            Draw::Range(low, high, step) => self.some_of_range(*low, *high, *step, most),
            Draw::Days(from, to) => {
                let (from, to) = self.days(param, from, to)?;
                self.some_of_range(from, to, 1, most)
            }
            Draw::Pick(list) => self.list(param, list)?.to_vec(),
            Draw::First { .. } => Vec::new(),
            Draw::Let(value) => self.lets(param, value),
        };
        let mut others: Vec<Value> = Vec::new();
        for value in listed.into_iter().filter(|value| subject(value)) {
            if !others.contains(&value) {
                others.push(value);
            }
        }
        if others.len() <= most {
            return Ok(others);
        }
        let (mut alike, mut unlike): (Vec<_>, Vec<_>) = others.into_iter().partition(like);
        self.thin(&mut alike, most / 2);
        self.thin(&mut unlike, most - alike.len());
        alike.append(&mut unlike);
        Ok(alike)
    }

    /// Leaves some of a list, by chance.
    fn thin(&mut self, values: &mut Vec<Value>, most: usize) {
        while values.len() > most {
            let place = rand::RngExt::random_range(self.draws.random(), 0..values.len());
            values.swap_remove(place);
        }
    }

    /// Checks that the parameter could have this value.
    pub(crate) fn allows(&mut self, param: &Param, value: &Value) -> Result<bool, Unfit> {
        if self.not(param)?.as_ref() == Some(value) {
            return Ok(false);
        }
        Ok(match (&param.draw, value) {
            (Draw::Choice(values), _) => values.contains(value),
            (Draw::Range(low, high, _), Value::Int(number)) => (*low..=*high).contains(number),
            (Draw::Days(from, to), Value::Int(day)) => {
                let (from, to) = self.days(param, from, to)?;
                (from..=to).contains(day)
            }
            (Draw::Pick(list), _) => self.list(param, list)?.contains(value),
            _ => false,
        })
    }

    fn lets(&mut self, param: &Param, value: &Checked) -> Vec<Value> {
        let mut found = Vec::new();
        let (mut draws, mut budget) = (self.draws.clone(), DEFAULT_BUDGET);
        let reversed = Reversed(self.data);
        found.extend(value.evaluate(&mut self.app.frame(&reversed, self.values, &mut draws, &mut budget)));
        if !value.asks().is_empty() {
            for number in 0..LETS_TRIED {
                let mut draws = Draws::of(&[b"another", param.name.as_bytes(), &number.to_be_bytes()]);
                std::mem::swap(self.draws, &mut draws);
                found.extend(self.evaluate(param, value, self.values));
                std::mem::swap(self.draws, &mut draws);
            }
        }
        found
    }

    fn some_of_range(&mut self, low: i64, high: i64, step: i64, most: usize) -> Vec<Value> {
        let steps = high.abs_diff(low) / step.unsigned_abs().max(1);
        let value =
            |offset: u64| Value::Int(low.saturating_add(step.saturating_mul(i64::try_from(offset).unwrap_or(0))));
        if steps < STEPS_LISTED_MAX {
            return (0..=steps).map(value).collect();
        }
        let random = self.draws.random();
        (0..most).map(|_| value(rand::RngExt::random_range(random, 0..=steps))).collect()
    }

    fn not(&self, param: &Param) -> Result<Option<Value>, Unfit> {
        param.not.as_ref().map(|not| self.evaluate(param, not, self.values)).transpose()
    }

    fn days(&self, param: &Param, from: &Checked, to: &Checked) -> Result<(i64, i64), Unfit> {
        match (self.evaluate(param, from, self.values)?, self.evaluate(param, to, self.values)?) {
            (Value::Int(from), Value::Int(to)) if from <= to => Ok((from, to)),
            _ => Err(nothing(param)),
        }
    }

    fn first(
        &mut self,
        param: &Param,
        of: &Checked,
        by: &Checked,
        descending: bool,
        gap: Option<&Checked>,
        subject: &dyn Fn(&Value) -> bool,
    ) -> Result<Value, Unfit> {
        let gap = match gap {
            None => 1,
            Some(gap) => number(&self.evaluate(param, gap, self.values)?)?,
        };
        let mut ranked = Vec::new();
        for value in self.list(param, of)?.iter().filter(|value| subject(value)) {
            let mut locals = self.values.to_vec();
            locals.push(value.clone());
            ranked.push((number(&self.evaluate(param, by, &locals)?)?, value.clone()));
        }
        ranked.sort_by(|(left, _), (right, _)| if descending { right.cmp(left) } else { left.cmp(right) });
        match ranked.as_slice() {
            [] => Err(nothing(param)),
            [(_, only)] => Ok(only.clone()),
            [(first, value), (second, _), ..] if first.abs_diff(*second) >= gap.unsigned_abs().max(1) => {
                Ok(value.clone())
            }
            _ => Err(Unfit::Again(Redraw::TooClose(Arc::clone(&param.name)))),
        }
    }

    fn one_of(&mut self, param: &Param, values: &[Value]) -> Result<Value, Unfit> {
        self.draws.pick(values).map_err(|_| nothing(param))
    }

    fn range(
        &mut self,
        param: &Param,
        (low, high, step): (i64, i64, i64),
        subject: &dyn Fn(&Value) -> bool,
    ) -> Result<Value, Unfit> {
        let steps = high.abs_diff(low) / step.unsigned_abs().max(1);
        for _ in 0..RANGE_ATTEMPTS_MAX {
            let offset = rand::RngExt::random_range(self.draws.random(), 0..=steps);
            let value = Value::Int(low.saturating_add(step.saturating_mul(i64::try_from(offset).unwrap_or(0))));
            if subject(&value) {
                return Ok(value);
            }
        }
        Err(nothing(param))
    }

    fn list(&mut self, param: &Param, list: &Checked) -> Result<Arc<[Value]>, Unfit> {
        let mut budget = DEFAULT_BUDGET;
        match list.evaluate(&mut self.app.frame(self.data, self.values, self.draws, &mut budget)) {
            Ok(Value::List(values)) => Ok(values),
            Ok(_) => Err(Unfit::Flawed(Flaw::Breaks("a list was expected".to_owned()))),
            Err(error) => Err(unfit(param, error)),
        }
    }

    fn evaluate(&self, param: &Param, checked: &Checked, locals: &[Value]) -> Result<Value, Unfit> {
        let (mut draws, mut budget) = (self.draws.clone(), DEFAULT_BUDGET);
        let value = checked.evaluate(&mut self.app.frame(self.data, locals, &mut draws, &mut budget));
        value.map_err(|error| unfit(param, error))
    }
}

/// Where `one` or `pick` finds no row, another draw may have one; all else that breaks off is a fault.
fn unfit(param: &Param, error: EvalError) -> Unfit {
    match error {
        EvalError::Index(_) | EvalError::NotOne => nothing(param),
        error => Unfit::Flawed(Flaw::Breaks(CallError::Crashed(error).to_string())),
    }
}

fn nothing(param: &Param) -> Unfit {
    Unfit::Again(Redraw::Nothing(Arc::clone(&param.name)))
}

fn number(value: &Value) -> Result<i64, Unfit> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(Unfit::Flawed(Flaw::Breaks("a number was expected".to_owned()))),
    }
}
