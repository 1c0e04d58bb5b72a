//! Results of the guards of an action for a call that is not made.

use serde_json::{Map, Value as Json};

use super::effect::Transaction;
use super::{CallCounter, CallError, World};
use crate::app::{Action, Role};
use crate::value::Value;

impl World {
    /// Results of all guards of an action for a call, also those behind the first that does not hold; none where a guard
    /// cannot be worked out because an earlier one does not hold.
    ///
    /// # Errors
    /// As [`World::call`], for what comes before the guards.
    pub(crate) fn probe(
        &self,
        role: Role,
        action: &Action,
        arguments: &Map<String, Json>,
    ) -> Result<Vec<Option<bool>>, CallError> {
        let values = self.arguments(role, &action.parameters, arguments)?;
        self.truths(action, values)
    }

    /// The same of the values of an action's parameters.
    pub(super) fn truths(&self, action: &Action, values: Vec<Value>) -> Result<Vec<Option<bool>>, CallError> {
        let counts = self.counts.clone();
        let mut host = CallCounter(&counts);
        let mut transaction = Transaction::new(self, values, &mut host);
        for binding in &action.bindings {
            let value = transaction.value(binding)?;
            transaction.push_local(value);
        }
        let mut truth = |check| match transaction.value(check) {
            Ok(Value::Bool(holds)) => Some(holds),
            _ => None,
        };
        Ok(action.guards.iter().map(|guard| truth(&guard.check)).collect())
    }
}
