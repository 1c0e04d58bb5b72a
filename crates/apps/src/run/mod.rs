//! An app while it runs: its data, its clock, and what happens when somebody calls.

mod agenda;
mod arguments;
mod clock;
pub mod draw;
mod effect;
mod frame;
mod narrow;
mod probe;
mod raised;
mod read;
mod seed;
mod visible;
mod watch;

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use palestra_state::State;
use serde_json::{Map, Value as Json};

use crate::app::task::WatchedCondition;
use crate::app::{Action, App, Callable, Effect, Event, Role, View};
use crate::data::{Change, ChangeKind, Data, changes};
use crate::expression::{DEFAULT_BUDGET, EvalError, Host};
use crate::functions::id;
use crate::json::Codec;
use crate::kinds::ColumnId;
use crate::value::{RowKey, Value};

pub use agenda::Agenda;
pub(crate) use agenda::Scheduled;
pub(crate) use clock::{Occurrence, WAIT_SECONDS_MAX};
use effect::Transaction;
pub use frame::broken_invariants;
use raised::stop;
pub use raised::{CallError, Raised};
pub use read::Page;
pub use seed::{SEED_CELLS_MAX, SEED_ROWS_MAX, SEED_STEPS_MAX, SEED_TEXT_BYTES_MAX, database, initial};

/// The beginning of an episode, shared by all that are forked from it.
#[derive(Debug)]
pub struct Beginning {
    /// The app.
    pub app: Arc<App>,
    /// The data.
    pub data: Data,
    /// Agenda of its preparation.
    pub agenda: Agenda,
    /// Events of the task, with the task's parameters as their locals.
    pub events: Vec<Arc<Event>>,
    /// Those locals.
    pub locals: Vec<Value>,
    /// Milestones and minefields of the task.
    pub watches: Arc<[WatchedCondition]>,
    /// The parameters of the task, as the record that its expressions call `t`.
    pub task: Value,
    /// Randomness of what happens by itself.
    pub seed: u64,
    /// Handling of events of chance.
    pub chance: Chance,
}

/// Handling of events of chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chance {
    /// As often as they should.
    Drawn,
    /// Every time.
    Always,
    /// Never.
    Never,
}

impl Beginning {
    /// An app without a task, from data of its own.
    #[must_use]
    pub fn free(app: Arc<App>, data: Data, seed: u64) -> Self {
        let (events, locals, watches) = (Vec::new(), Vec::new(), Arc::from([]));
        let (agenda, chance) = (Agenda::default(), Chance::Drawn);
        Self { app, data, agenda, events, locals, watches, task: Value::Null, seed, chance }
    }
}

/// An app while it runs. A copy shares all but what either changes later.
#[derive(Debug, Clone)]
pub struct World {
    beginning: Arc<Beginning>,
    data: Data,
    /// The beginning with what the world has changed by itself since.
    baseline: Data,
    now: i64,
    agenda: Agenda,
    counts: OrdMap<Arc<str>, u32>,
    broken: OrdSet<Arc<str>>,
    touched: OrdSet<(RowKey, Option<ColumnId>)>,
    reached: OrdSet<usize>,
    /// Actions of the agent since somebody asked that nothing takes back.
    irreversible: Vec<Arc<str>>,
}

/// Answer to a call.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// For whoever called.
    pub json: Json,
    /// The same with types: of an action the values of `returns`, of a list view the rows of the page and the total, of
    /// another view the row.
    pub value: Value,
    /// Rows that were shown.
    pub rows: Vec<RowKey>,
}

/// Counts successful calls, for `calls('name')`.
struct CallCounter<'a>(&'a OrdMap<Arc<str>, u32>);

impl Host for CallCounter<'_> {
    fn call(&mut self, function: u16, arguments: &[Value]) -> Result<Value, EvalError> {
        match (function, arguments) {
            (id::CALLS, [Value::Text(name)]) => Ok(Value::Int(self.0.get(name).copied().map_or(0, i64::from))),
            _ => Err(EvalError::Mismatch),
        }
    }
}

impl World {
    /// The world at a beginning.
    ///
    /// # Errors
    /// When an event's time cannot be worked out.
    pub fn begin(beginning: Arc<Beginning>) -> Result<Self, CallError> {
        let now = beginning.app.start;
        let mut world = Self {
            data: beginning.data.clone(),
            baseline: beginning.data.clone(),
            now,
            agenda: beginning.agenda.clone(),
            counts: OrdMap::new(),
            broken: OrdSet::new(),
            touched: OrdSet::new(),
            reached: OrdSet::new(),
            irreversible: Vec::new(),
            beginning,
        };
        world.schedule_events()?;
        Ok(world)
    }

    /// Beginning of the episode.
    #[must_use]
    pub const fn beginning(&self) -> &Arc<Beginning> {
        &self.beginning
    }

    /// The app.
    #[must_use]
    pub fn app(&self) -> &Arc<App> {
        &self.beginning.app
    }

    /// The data now.
    #[must_use]
    pub const fn data(&self) -> &Data {
        &self.data
    }

    /// The data at the beginning, with what the world has changed by itself since.
    #[must_use]
    pub const fn baseline(&self) -> &Data {
        &self.baseline
    }

    /// Seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn now(&self) -> i64 {
        self.now
    }

    /// Successful calls by name.
    #[must_use]
    pub const fn counts(&self) -> &OrdMap<Arc<str>, u32> {
        &self.counts
    }

    /// Graded rules that were broken.
    #[must_use]
    pub const fn broken(&self) -> &OrdSet<Arc<str>> {
        &self.broken
    }

    /// Rows and columns that the agent or the user ever changed; no column for a row that was created or deleted.
    #[must_use]
    pub const fn touched(&self) -> &OrdSet<(RowKey, Option<ColumnId>)> {
        &self.touched
    }

    /// Milestones and minefields that were reached, by their place in [`Beginning::watches`].
    #[must_use]
    pub const fn reached(&self) -> &OrdSet<usize> {
        &self.reached
    }

    /// Agenda as JSON, in order.
    #[must_use]
    pub fn agenda(&self) -> State {
        self.agenda.document(self)
    }

    /// True if anything may happen without the agent, now or later.
    #[must_use]
    pub fn is_living(app: &App) -> bool {
        !app.events.is_empty()
            || app.templates.iter().any(|template| !template.events.is_empty())
            || app.actions.iter().any(|action| effect::schedules(&action.effects))
    }

    /// Calls an action or a view by its name.
    ///
    /// # Errors
    /// [`CallError::Raised`] for whoever called, and nothing has changed; [`CallError::Crashed`] when the definition is at fault.
    pub fn call(&mut self, role: Role, name: &str, arguments: &Map<String, Json>) -> Result<Reply, CallError> {
        let result = self.call_unwatched(role, name, arguments);
        if role == Role::AGENT && !self.beginning.watches.is_empty() {
            watch::look(self, name, arguments, &result)?;
        }
        result
    }

    fn call_unwatched(&mut self, role: Role, name: &str, arguments: &Map<String, Json>) -> Result<Reply, CallError> {
        // The session's own: what all sessions of an app count on would be fought for by their threads.
        let beginning = Arc::clone(&self.beginning);
        let app = &beginning.app;
        let Some((name, callable)) = app.calls.get_key_value(name) else {
            return Err(Raised::unknown_call(app, name).into());
        };
        match *callable {
            Callable::Action(place) => {
                let action = &app.actions[place];
                if !action.who.contains(&role) {
                    return Err(Raised::denied(app, name).into());
                }
                let values = self.arguments(role, &action.parameters, arguments)?;
                let broken = self.broken_rules(place, &values)?;
                // What follows while the clock moves is part of the call: it happens along with it or not at all.
                let mut after = self.clone();
                let reply = after.act(role, action, values, arguments)?;
                after.broken.extend(broken);
                *after.counts.entry(Arc::clone(name)).or_insert(0) += 1;
                after.advance(action.cost)?;
                if action.irreversible && role == Role::AGENT {
                    after.irreversible.push(Arc::clone(name));
                }
                *self = after;
                Ok(reply)
            }
            Callable::View(place) => {
                let view: &View = &app.views[place];
                if !view.who.contains(&role) {
                    return Err(Raised::denied(app, name).into());
                }
                let reply = self.read(role, view, arguments)?;
                *self.counts.entry(Arc::clone(name)).or_insert(0) += 1;
                Ok(reply)
            }
        }
    }

    /// Names of the agent's actions that nothing takes back, in order, since this was asked for the last time.
    pub fn take_irreversible(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.irreversible)
    }

    /// Runs an action as one transaction.
    fn act(
        &mut self,
        role: Role,
        action: &Action,
        values: Vec<Value>,
        arguments: &Map<String, Json>,
    ) -> Result<Reply, CallError> {
        let mut host = CallCounter(&self.counts);
        let mut transaction = Transaction::new(self, values, &mut host);
        let mut reply = transaction.run(action)?;
        let (data, agenda) = transaction.finish();
        if let Some(native) = action.native {
            reply.json = (native.run)(arguments).map_err(|failure| Raised::of_native(self.app(), failure))?;
        }
        if action.writes() {
            self.commit(role, data);
            self.agenda = agenda;
        }
        Ok(reply)
    }

    /// Takes over what a transaction wrote, and notes who did it.
    fn commit(&mut self, role: Role, data: Data) {
        let written = changes(&self.data, &data);
        if role == Role::SYSTEM {
            for change in &written {
                follow(&mut self.baseline, change, &data);
            }
        } else {
            for change in &written {
                match &change.kind {
                    ChangeKind::Updated { columns } => {
                        self.touched.extend(columns.iter().map(|(column, ..)| (change.row, Some(*column))));
                    }
                    _ => {
                        self.touched.insert((change.row, None));
                    }
                }
            }
        }
        self.data = data;
    }

    /// Graded rules that a call of an action would break.
    fn broken_rules(&self, action: usize, values: &[Value]) -> Result<Vec<Arc<str>>, CallError> {
        let app = self.app();
        let mut broken = Vec::new();
        for rule in &app.rules {
            for (_, check) in rule.graded.iter().filter(|(applies, _)| *applies == action) {
                let mut host = CallCounter(&self.counts);
                let mut budget = DEFAULT_BUDGET;
                let held = check.holds(&mut self.frame(values, &mut host, &mut budget));
                if !held.map_err(|error| stop(app, error))? {
                    broken.push(Arc::clone(&rule.id));
                }
            }
        }
        Ok(broken)
    }

    /// Values to and from JSON.
    pub(crate) fn codec(&self) -> Codec<'_> {
        Codec::new(&self.beginning.app.schema)
    }
}

/// Runs statements before the beginning of an episode, with random functions.
///
/// # Errors
/// As a call.
pub fn transact(
    app: &Arc<App>,
    (data, agenda): (&Data, &Agenda),
    locals: Vec<Value>,
    draws: &mut draw::Draws,
    effects: &[Effect],
) -> Result<(Data, Agenda), CallError> {
    let mut transaction = Transaction::before(app, data, locals, draws);
    transaction.schedule(agenda);
    transaction.effects(effects)?;
    Ok(transaction.finish())
}

/// Does to the baseline what the world did to the data, where the baseline has the row too.
fn follow(baseline: &mut Data, change: &Change, after: &Data) {
    // The baseline may have parted from the data by what the agent did, and then a change cannot be followed: it is left
    // out, and the goal sees it as a difference.
    match &change.kind {
        ChangeKind::Created => {
            if let Some(row) = after.row(change.row) {
                let _parted = baseline.insert_as(change.row, &row.id, row.cells.to_vec());
            }
        }
        ChangeKind::Updated { columns } => {
            let cells: Vec<(ColumnId, Value)> =
                columns.iter().map(|(column, _, value)| (*column, value.clone())).collect();
            let _parted = baseline.update(change.row, &cells);
        }
        ChangeKind::Deleted => {
            let _parted = baseline.delete(change.row);
        }
    }
}
