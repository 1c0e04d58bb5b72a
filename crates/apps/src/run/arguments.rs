//! Conversion of the JSON arguments of a call into typed values.

use serde_json::{Map, Value as Json};

use super::raised::stop;
use super::{CallError, Raised, World};
use crate::app::errors;
use crate::app::{Bounds, Parameter, Role};
use crate::expression::{DEFAULT_BUDGET, NoHost};
use crate::json::{Wrong, WrongKind};
use crate::kinds::Type;
use crate::syntax::nearest;
use crate::value::Value;

impl World {
    /// The values of parameters, in their order.
    pub(super) fn arguments(
        &self,
        role: Role,
        parameters: &[Parameter],
        given: &Map<String, Json>,
    ) -> Result<Vec<Value>, CallError> {
        let app = self.app();
        if let Some(unknown) = given.keys().find(|name| !parameters.iter().any(|known| *known.name == ***name)) {
            let unknown: String = unknown.chars().take(60).collect();
            let known = parameters.iter().map(|known| &*known.name);
            let hint = nearest(&unknown, known).map_or_else(String::new, |near| format!(" Did you mean {near}?"));
            let text = format!("There is no parameter {unknown:?}.{hint}");
            return Err(Raised::plain(app, errors::INVALID_ARGUMENT, text).about(&unknown).into());
        }
        parameters.iter().map(|parameter| self.argument(role, parameter, given.get(&*parameter.name))).collect()
    }

    /// The value of one parameter.
    pub(crate) fn argument(&self, role: Role, parameter: &Parameter, given: Option<&Json>) -> Result<Value, CallError> {
        let app = self.app();
        let invalid =
            |text: String| CallError::from(Raised::plain(app, errors::INVALID_ARGUMENT, text).about(&parameter.name));
        let Some(given) = given else {
            return match &parameter.default {
                Some(default) => {
                    let (mut host, mut budget) = (NoHost, DEFAULT_BUDGET);
                    default.evaluate(&mut self.frame(&[], &mut host, &mut budget)).map_err(|error| stop(app, error))
                }
                None if parameter.required() => Err(invalid(format!("{} is missing.", parameter.name))),
                None => Ok(Value::Null),
            };
        };
        // Rows are looked up without regard to who may see them, and then each is looked at.
        let resolve = |table, id: &str| self.data().by_id(table, id);
        let value = self.codec().from_json(given, &parameter.kind, &resolve).map_err(|wrong| {
            let Wrong { pointer, kind, message } = wrong;
            let at = format!("{}{}", parameter.name, pointer.replace('/', "."));
            match kind {
                WrongKind::UnknownRow { table, id } => Raised::no_row(app, table, &id).about(&at),
                _ => Raised::plain(app, errors::INVALID_ARGUMENT, format!("{at}: {message}.")).about(&at),
            }
        })?;
        self.check_seen(role, &value, &parameter.name)?;
        match misfit(parameter, &value) {
            None => Ok(value),
            Some(text) => Err(invalid(text)),
        }
    }

    /// Refuses rows that the caller cannot see, as if they did not exist.
    fn check_seen(&self, role: Role, value: &Value, name: &str) -> Result<(), CallError> {
        match value {
            Value::Row(row) if !self.sees(role, *row)? => {
                let id = self.data().id(*row).map(ToString::to_string).unwrap_or_default();
                Err(Raised::no_row(self.app(), row.table, &id).about(name).into())
            }
            Value::List(values) | Value::Record(values) => {
                values.iter().try_for_each(|value| self.check_seen(role, value, name))
            }
            _ => Ok(()),
        }
    }
}

/// Fault of the size of a value.
fn misfit(parameter: &Parameter, value: &Value) -> Option<String> {
    let name = &parameter.name;
    let measured = match value {
        Value::Int(number) => Some((*number, "")),
        Value::Text(text) if matches!(parameter.kind.present(), Type::Text) => {
            Some((i64::try_from(text.chars().count()).unwrap_or(i64::MAX), " characters"))
        }
        Value::List(values) => Some((i64::try_from(values.len()).unwrap_or(i64::MAX), " entries")),
        _ => None,
    };
    if let Some((size, unit)) = measured
        && let Some(text) = outside(parameter.bounds, size, &|bound| shown(&parameter.kind, bound))
    {
        return Some(format!("{name} must be {text}{unit}."));
    }
    match (value, parameter.inner.as_slice()) {
        (Value::List(values), [element]) => values.iter().find_map(|value| misfit(element, value)),
        (Value::Record(values), fields) => {
            fields.iter().zip(values.iter()).find_map(|(field, value)| misfit(field, value))
        }
        _ => None,
    }
}

fn outside(bounds: Bounds, size: i64, show: &dyn Fn(i64) -> String) -> Option<String> {
    let low = bounds.least.is_some_and(|least| size < least);
    let high = bounds.most.is_some_and(|most| size > most);
    if !low && !high {
        return None;
    }
    Some(match (bounds.least, bounds.most) {
        (Some(least), Some(most)) => format!("{} to {}", show(least), show(most)),
        (Some(least), None) => format!("at least {}", show(least)),
        (None, most) => format!("at most {}", show(most.unwrap_or(0))),
    })
}

fn shown(kind: &Type, bound: i64) -> String {
    match kind.present() {
        Type::Money(currency) => crate::amount::show(bound, crate::amount::minor_digits(currency)),
        Type::Decimal(scale) => crate::amount::show(bound, *scale),
        _ => bound.to_string(),
    }
}
