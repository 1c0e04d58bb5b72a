//! Runs queries: one pass over the rows of a table, those that an index gives, or the elements of a list.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::ControlFlow;

use super::Machine;
use crate::expression::code::{Code, Query, QueryKind, Source};
use crate::expression::frame::EvalError;
use crate::value::{RowKey, Value};

type Flow = Result<ControlFlow<()>, EvalError>;

const GO_ON: Flow = Ok(ControlFlow::Continue(()));
const STOP: Flow = Ok(ControlFlow::Break(()));

impl Machine<'_, '_> {
    pub(super) fn query(&mut self, query: &Query) -> Result<Value, EvalError> {
        match query.kind {
            QueryKind::Find | QueryKind::Map => self.collect(query),
            QueryKind::Count => self.count(query),
            QueryKind::Any => self.meets(query, true).map(Value::Bool),
            QueryKind::None => self.meets(query, true).map(|found| Value::Bool(!found)),
            QueryKind::All => self.meets(query, false).map(|found| Value::Bool(!found)),
            QueryKind::First => self.pick(query, true),
            QueryKind::Last => self.pick(query, false),
            QueryKind::One => self.one(query),
            QueryKind::Sum => self.sum(query),
            QueryKind::Min => self.extreme(query, Ordering::Less),
            QueryKind::Max => self.extreme(query, Ordering::Greater),
            QueryKind::Sort => self.sort(query, false),
            QueryKind::SortDescending => self.sort(query, true),
            QueryKind::Distinct => self.distinct(query).map(Value::Bool),
        }
    }

    /// Hands over every element, without asking the predicate, until one ends it.
    fn scan(&mut self, query: &Query, mut visit: impl FnMut(&mut Self, &Value) -> Flow) -> Result<(), EvalError> {
        let slot = usize::from(query.variable);
        let mut step = |machine: &mut Self, value: Value| -> Flow {
            machine.spend(1)?;
            let place = machine.variables.get_mut(slot).ok_or(EvalError::Mismatch)?;
            *place = value.clone();
            visit(machine, &value)
        };
        if let Source::List(list) = &query.source {
            let Value::List(list) = self.value(list)? else { return Err(EvalError::Mismatch) };
            for value in list.iter() {
                if step(self, value.clone())?.is_break() {
                    return Ok(());
                }
            }
            return Ok(());
        }
        for row in self.candidates(&query.source)? {
            if step(self, Value::Row(row))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The rows that a source may give. What an index cannot be asked for is found by going through the table.
    fn candidates<'r>(&mut self, source: &Source) -> Result<Box<dyn Iterator<Item = RowKey> + 'r>, EvalError>
    where
        Self: 'r,
    {
        let rows = self.rows;
        match source {
            Source::Table(table) => Ok(rows.rows(*table)),
            Source::Lookup(table, column, key) => {
                let key = match self.value(key) {
                    // Whether the key is needed at all is for the predicate to say, row by row.
                    Err(error) if error != EvalError::Budget => None,
                    key => Some(key?).filter(|key| !key.is_null()),
                };
                Ok(key.and_then(|key| rows.matching(*table, *column, &key)).unwrap_or_else(|| rows.rows(*table)))
            }
            Source::List(_) => Err(EvalError::Mismatch),
        }
    }

    /// Hands over every element that meets the predicate, until one ends it.
    fn each(&mut self, query: &Query, mut visit: impl FnMut(&mut Self, &Value) -> Flow) -> Result<(), EvalError> {
        self.scan(query, |machine, value| match &query.predicate {
            Some(predicate) if !machine.truth(predicate)? => GO_ON,
            _ => visit(machine, value),
        })
    }

    /// Value of the body for an element: the value of the body, or the element.
    fn asked(&mut self, body: Option<&Code>, element: &Value) -> Result<Value, EvalError> {
        match body {
            Some(body) => self.value(body),
            None => Ok(element.clone()),
        }
    }

    fn collect(&mut self, query: &Query) -> Result<Value, EvalError> {
        let mut found = Vec::new();
        self.each(query, |machine, element| {
            found.push(machine.asked(query.body.as_ref(), element)?);
            GO_ON
        })?;
        Ok(Value::List(found.into()))
    }

    fn count(&mut self, query: &Query) -> Result<Value, EvalError> {
        let mut count = 0_usize;
        match (&query.source, &query.predicate) {
            (Source::Table(table), None) => count = self.rows.count(*table),
            _ => self.each(query, |_, _| {
                count += 1;
                GO_ON
            })?,
        }
        i64::try_from(count).map(Value::Int).map_err(|_| EvalError::OutOfRange("a count"))
    }

    /// True if the predicate gives this value for any element.
    fn meets(&mut self, query: &Query, wanted: bool) -> Result<bool, EvalError> {
        let Some(predicate) = &query.predicate else { return Err(EvalError::Mismatch) };
        let mut found = false;
        self.scan(query, |machine, _| {
            found = machine.truth(predicate)? == wanted;
            if found { STOP } else { GO_ON }
        })?;
        Ok(found)
    }

    fn pick(&mut self, query: &Query, first: bool) -> Result<Value, EvalError> {
        let mut picked = Value::Null;
        self.each(query, |_, element| {
            picked = element.clone();
            if first { STOP } else { GO_ON }
        })?;
        Ok(picked)
    }

    fn one(&mut self, query: &Query) -> Result<Value, EvalError> {
        let mut only = None;
        self.each(
            query,
            |_, element| {
                if only.replace(element.clone()).is_some() { Err(EvalError::NotOne) } else { GO_ON }
            },
        )?;
        only.ok_or(EvalError::NotOne)
    }

    fn sum(&mut self, query: &Query) -> Result<Value, EvalError> {
        let mut total = 0_i128;
        self.each(query, |machine, element| {
            let Value::Int(number) = machine.asked(query.body.as_ref(), element)? else {
                return Err(EvalError::Mismatch);
            };
            total += i128::from(number);
            GO_ON
        })?;
        i64::try_from(total).map(Value::Int).map_err(|_| EvalError::OutOfRange("a sum"))
    }

    /// The smallest or greatest value; null of nothing.
    fn extreme(&mut self, query: &Query, wanted: Ordering) -> Result<Value, EvalError> {
        let mut best = Value::Null;
        self.each(query, |machine, element| {
            let value = machine.asked(query.body.as_ref(), element)?;
            if best.is_null() || value.cmp(&best) == wanted {
                best = value;
            }
            GO_ON
        })?;
        Ok(best)
    }

    /// Elements with equal keys stay in their order.
    fn sort(&mut self, query: &Query, descending: bool) -> Result<Value, EvalError> {
        let mut keyed = Vec::new();
        self.each(query, |machine, element| {
            keyed.push((machine.asked(query.body.as_ref(), element)?, element.clone()));
            GO_ON
        })?;
        if descending {
            keyed.sort_by(|left, right| right.0.cmp(&left.0));
        } else {
            keyed.sort_by(|left, right| left.0.cmp(&right.0));
        }
        Ok(Value::List(keyed.into_iter().map(|(_, element)| element).collect()))
    }

    /// True if no value comes twice.
    fn distinct(&mut self, query: &Query) -> Result<bool, EvalError> {
        let (mut seen, mut distinct) = (HashSet::new(), true);
        self.each(query, |machine, element| {
            distinct = seen.insert(machine.asked(query.body.as_ref(), element)?);
            if distinct { GO_ON } else { STOP }
        })?;
        Ok(distinct)
    }
}
