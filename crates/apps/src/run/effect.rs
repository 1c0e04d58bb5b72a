//! The statements of an action: run on a copy that takes effect as a whole or not at all.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::agenda::{Agenda, ScheduledEvent};
use super::raised::stop;
use super::{Beginning, CallError, Raised, Reply, World};
use crate::app::{Action, App, Argument, Effect, Raise, Target};
use crate::data::Data;
use crate::expression::{Checked, DEFAULT_BUDGET, EvalError, Frame, Host};
use crate::json::Codec;
use crate::kinds::{ColumnId, TableId};
use crate::value::{RowKey, Value};

/// Rounds of all `each` of one action together.
const ROUNDS_MAX: u64 = 10_000;
/// Largest number of scheduled events, those from before included.
const SCHEDULED_MAX: usize = 10_000;
/// Things that happen because of one another at the same time.
const CHAIN_MAX: u32 = 100;

/// A copy of the data while statements run on it.
pub(crate) struct Transaction<'a> {
    app: &'a App,
    data: Data,
    old: &'a Data,
    initial: Option<&'a Data>,
    now: i64,
    initial_now: i64,
    locals: Vec<Value>,
    agenda: Agenda,
    host: &'a mut dyn Host,
    budget: u64,
    rounds: u64,
    /// Number of things that have led to this one at the same time.
    chain: u32,
}

impl<'a> Transaction<'a> {
    /// A transaction on a world, with the values of parameters as its first locals.
    pub(super) fn new(world: &'a World, locals: Vec<Value>, host: &'a mut dyn Host) -> Self {
        Self {
            app: world.app(),
            data: world.data.clone(),
            old: &world.data,
            initial: None,
            now: world.now,
            initial_now: world.app().start,
            locals,
            agenda: world.agenda.clone(),
            host,
            budget: DEFAULT_BUDGET,
            rounds: ROUNDS_MAX,
            chain: 0,
        }
    }

    /// A transaction before the beginning of an episode.
    pub(crate) fn before(app: &'a App, data: &'a Data, locals: Vec<Value>, host: &'a mut dyn Host) -> Self {
        Self {
            app,
            data: data.clone(),
            old: data,
            initial: None,
            now: app.start,
            initial_now: app.start,
            locals,
            agenda: Agenda::default(),
            host,
            budget: DEFAULT_BUDGET,
            rounds: ROUNDS_MAX,
            chain: 0,
        }
    }

    /// With so many steps for all expressions together.
    pub(super) const fn with_budget(mut self, steps: u64) -> Self {
        self.budget = steps;
        self
    }

    /// Steps that are left.
    pub(super) const fn budget(&self) -> u64 {
        self.budget
    }

    /// As something that so many things have led to at the same time.
    pub(super) const fn in_chain(mut self, chain: u32) -> Self {
        self.chain = chain;
        self
    }

    /// The written data, and the agenda.
    pub(super) fn finish(self) -> (Data, Agenda) {
        (self.data, self.agenda)
    }

    /// Goes on from what is scheduled already.
    pub(super) fn schedule(&mut self, agenda: &Agenda) {
        self.agenda = agenda.clone();
    }

    /// The written data.
    pub(crate) fn into_data(self) -> Data {
        self.data
    }

    /// Bindings, guards, effects and returns of an action.
    pub(super) fn run(&mut self, action: &Action) -> Result<Reply, CallError> {
        // Rules come before the bindings; both see the parameters in the same places.
        let parameters = self.locals.len();
        for binding in &action.bindings {
            let value = self.value(binding)?;
            self.locals.push(value);
        }
        debug_assert_eq!(self.locals.len(), parameters + action.bindings.len(), "each binding has a place");
        for guard in &action.guards {
            if self.value(&guard.check)? != Value::Bool(true) {
                return Err(self.raise(&guard.raise));
            }
        }
        self.effects(&action.effects)?;
        self.returns(action)
    }

    fn returns(&mut self, action: &Action) -> Result<Reply, CallError> {
        let mut json = Map::new();
        let mut values = Vec::with_capacity(action.returns.len());
        for (name, checked) in &action.returns {
            let value = self.value(checked)?;
            json.insert(name.to_string(), Codec::new(&self.app.schema).to_json(&value, checked.kind(), &self.data));
            values.push(value);
        }
        let rows = values.iter().filter_map(|value| if let Value::Row(row) = value { Some(*row) } else { None });
        Ok(Reply { rows: rows.collect(), json: Json::Object(json), value: Value::Record(values.into()) })
    }

    /// Runs statements one after the other.
    pub(crate) fn effects(&mut self, effects: &[Effect]) -> Result<(), CallError> {
        effects.iter().try_for_each(|effect| self.effect(effect))
    }

    /// Runs statements whose locals end with them.
    fn scoped(&mut self, effects: &[Effect]) -> Result<(), CallError> {
        let depth = self.locals.len();
        self.effects(effects)?;
        self.locals.truncate(depth);
        Ok(())
    }

    fn effect(&mut self, effect: &Effect) -> Result<(), CallError> {
        match effect {
            Effect::Insert { table, set, bind } => {
                let row = self.insert(*table, set)?;
                if *bind {
                    self.locals.push(Value::Row(row));
                }
                Ok(())
            }
            Effect::Update { target, set } => match target {
                Target::Row(row) => {
                    let row = self.row(row)?;
                    let cells = self.cells(set)?;
                    self.data.update(row, &cells).map_err(|refusal| Raised::refused(self.app, refusal))
                }
                Target::Rows(rows) => {
                    for row in self.rows(rows)? {
                        self.locals.push(Value::Row(row));
                        let cells = self.cells(set)?;
                        self.locals.pop();
                        self.data.update(row, &cells).map_err(|refusal| Raised::refused(self.app, refusal))?;
                    }
                    Ok(())
                }
            },
            Effect::Delete(target) => {
                let rows = match target {
                    Target::Row(row) => vec![self.row(row)?],
                    Target::Rows(rows) => self.rows(rows)?,
                };
                for row in rows {
                    // A cascade may have taken it along already.
                    if self.data.row(row).is_some() {
                        self.data.delete(row).map_err(|refusal| Raised::refused(self.app, refusal))?;
                    }
                }
                Ok(())
            }
            Effect::Each { of, body } => {
                let Value::List(values) = self.value(of)? else { return Ok(()) };
                for value in values.iter() {
                    self.rounds = self.rounds.checked_sub(1).ok_or_else(|| self.too_much())?;
                    self.locals.push(value.clone());
                    self.scoped(body)?;
                    self.locals.pop();
                }
                Ok(())
            }
            Effect::If { condition, then, otherwise } => match self.value(condition)? {
                Value::Bool(true) => self.scoped(then),
                _ => self.scoped(otherwise),
            },
            Effect::Let(value) => {
                let value = self.value(value)?;
                self.locals.push(value);
                Ok(())
            }
            Effect::Block(body) => self.scoped(body),
            Effect::At { time, run, arguments, key } => {
                let Value::Int(time) = self.value(time)? else { return Ok(()) };
                let key = match key {
                    Some(key) => self.text(key)?,
                    None => Arc::from(""),
                };
                let arguments = self.passed(*run, arguments)?;
                if self.agenda.len() >= SCHEDULED_MAX {
                    return Err(self.too_much());
                }
                // What is due in the past happens at once, by the next move of the clock.
                let chain = if time > self.now { 0 } else { self.chain + 1 };
                if chain > CHAIN_MAX {
                    let action = &self.app.actions[*run].name;
                    let message = format!("{action} schedules itself at the same time again and again");
                    return Err(CallError::Crashed(EvalError::Host(message.into())));
                }
                let due = ScheduledEvent { run: *run, arguments: arguments.into(), event: None, chain };
                self.agenda.add(time.max(self.now), key, due);
                Ok(())
            }
            Effect::Cancel(key) => {
                let key = self.text(key)?;
                self.agenda.cancel(&key);
                Ok(())
            }
            Effect::Fail(raise) => Err(self.raise(raise)),
        }
    }

    /// Adds a row, with defaults for columns that are not set.
    fn insert(&mut self, table: TableId, set: &[(ColumnId, Checked)]) -> Result<RowKey, CallError> {
        let given = self.cells(set)?;
        self.insert_cells(table, given)
    }

    /// Adds a row of given cells, with defaults for the other columns.
    pub(crate) fn insert_cells(&mut self, table: TableId, given: Vec<(ColumnId, Value)>) -> Result<RowKey, CallError> {
        let app = self.app;
        let defaults = &app.defaults[usize::from(table.0)];
        let mut cells = vec![Value::Null; defaults.len()];
        let mut set = vec![false; defaults.len()];
        for (column, value) in given {
            cells[usize::from(column.0)] = value;
            set[usize::from(column.0)] = true;
        }
        for (place, default) in defaults.iter().enumerate() {
            if let (false, Some(default)) = (set[place], default) {
                cells[place] = self.value(default)?;
            }
        }
        self.data.insert(table, cells).map_err(|refusal| Raised::refused(app, refusal))
    }

    /// Arguments of an action of the system.
    pub(super) fn passed(&mut self, run: usize, arguments: &[Argument]) -> Result<Vec<Value>, CallError> {
        let app = self.app;
        arguments
            .iter()
            .zip(&app.actions[run].parameters)
            .map(|(argument, parameter)| match (argument, &parameter.default) {
                (Argument::Given(value), _) => self.value(value),
                (Argument::Default, Some(default)) => self.value(default),
                (Argument::Default, None) => Ok(Value::Null),
            })
            .collect()
    }

    fn too_much(&self) -> CallError {
        Raised::plain(self.app, crate::app::errors::FULL, "That is too much at once.").into()
    }

    fn cells(&mut self, set: &[(ColumnId, Checked)]) -> Result<Vec<(ColumnId, Value)>, CallError> {
        set.iter().map(|(column, checked)| Ok((*column, self.value(checked)?))).collect()
    }

    fn row(&mut self, checked: &Checked) -> Result<RowKey, CallError> {
        match self.value(checked)? {
            Value::Row(row) => Ok(row),
            _ => Err(CallError::Crashed(EvalError::Mismatch)),
        }
    }

    /// Rows of a list, fixed before any of them changes.
    fn rows(&mut self, checked: &Checked) -> Result<Vec<RowKey>, CallError> {
        let Value::List(values) = self.value(checked)? else {
            return Err(CallError::Crashed(EvalError::Mismatch));
        };
        Ok(values.iter().filter_map(|value| if let Value::Row(row) = value { Some(*row) } else { None }).collect())
    }

    fn text(&mut self, checked: &Checked) -> Result<Arc<str>, CallError> {
        match self.value(checked)? {
            Value::Text(text) => Ok(text),
            _ => Err(CallError::Crashed(EvalError::Mismatch)),
        }
    }

    /// Puts other values in the places of locals.
    pub(crate) fn set_locals(&mut self, locals: Vec<Value>) {
        self.locals = locals;
    }

    /// Adds a local.
    pub(crate) fn push_local(&mut self, value: Value) {
        self.locals.push(value);
    }

    /// Calls a function of the host.
    pub(super) fn call_host(&mut self, function: u16, arguments: &[Value]) -> Result<Value, CallError> {
        let app = self.app;
        self.host.call(function, arguments).map_err(|error| stop(app, error))
    }

    /// The value of an expression here.
    pub(crate) fn value(&mut self, checked: &Checked) -> Result<Value, CallError> {
        let app = self.app;
        checked.evaluate(&mut self.frame()).map_err(|error| stop(app, error))
    }

    fn frame(&mut self) -> Frame<'_> {
        Frame {
            rows: &self.data,
            old: Some(self.old),
            init: self.initial.map(|initial| initial as _),
            locals: &self.locals,
            now: self.now,
            init_now: self.initial_now,
            calendar: &self.app.calendar,
            host: self.host,
            budget: &mut self.budget,
        }
    }

    fn raise(&mut self, raise: &Raise) -> CallError {
        match raise.text.render(&mut self.frame()) {
            Ok(text) => Raised::plain(self.app, raise.error, text).into(),
            Err(error) => stop(self.app, error),
        }
    }
}

impl Beginning {
    /// Arguments of an event's action, by its own random numbers.
    pub(super) fn event_arguments(
        &self,
        world: &World,
        event: &crate::app::Event,
        host: &mut dyn Host,
        locals: &[Value],
    ) -> Result<Vec<Value>, CallError> {
        Transaction::new(world, locals.to_vec(), host).passed(event.run, &event.arguments)
    }
}

/// True if statements schedule anything.
pub(super) fn schedules(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::At { .. } => true,
        Effect::Each { body, .. } | Effect::Block(body) => schedules(body),
        Effect::If { then, otherwise, .. } => schedules(then) || schedules(otherwise),
        _ => false,
    })
}
