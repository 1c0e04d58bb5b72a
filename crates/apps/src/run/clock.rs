//! The virtual clock: lets time pass, and what is due happen.

use std::sync::Arc;

use rand::RngExt;

use super::agenda::{EventId, Scheduled, ScheduledEvent};
use super::draw::Draws;
use super::effect::Transaction;
use super::{CallCounter, CallError, Chance, Raised, World};
use crate::app::errors;
use crate::app::{Event, Role, Schedule};
use crate::expression::{DEFAULT_BUDGET, EvalError};
use crate::value::Value;

/// Things that happen during one move of the clock.
const HAPPENINGS_PER_MOVE_MAX: usize = 20_000;
/// The furthest that one wait goes, in seconds.
pub(crate) const WAIT_SECONDS_MAX: i64 = 366 * 86_400;

/// An event that took place.
pub(crate) struct Occurrence {
    /// The action.
    pub(crate) action: usize,
    /// Results of its guards.
    pub(crate) guards: Vec<Option<bool>>,
    /// The error that kept it from changing anything.
    pub(crate) raised: Option<Raised>,
}

impl World {
    /// Lets time pass, and what is due happen.
    ///
    /// # Errors
    /// [`CallError::Raised`] for a length that makes no sense or in which too much would happen, and then nothing has;
    /// [`CallError::Crashed`] when the definition is at fault.
    pub fn wait(&mut self, seconds: i64) -> Result<(), CallError> {
        if !(1..=WAIT_SECONDS_MAX).contains(&seconds) {
            let text = "A wait takes a second at least and a year at most.";
            return Err(Raised::plain(self.app(), errors::INVALID_ARGUMENT, text).into());
        }
        let mut after = self.clone();
        after.advance(seconds)?;
        *self = after;
        Ok(())
    }

    /// When something is due next.
    #[must_use]
    pub fn next_due(&self) -> Option<i64> {
        self.agenda.due.get_min().map(|((time, ..), _)| *time)
    }

    pub(super) fn schedule_events(&mut self) -> Result<(), CallError> {
        let beginning = Arc::clone(&self.beginning);
        let app = (0..beginning.app.events.len()).map(EventId::App);
        let task = (0..beginning.events.len()).map(EventId::Task);
        for id in app.chain(task) {
            let event = self.event(id);
            let time = match &event.schedule {
                Schedule::Every { seconds, .. } => self.now + seconds,
                Schedule::At(time) => {
                    let mut host = self.draws(id, 0);
                    let mut budget = DEFAULT_BUDGET;
                    let locals = self.locals(id);
                    match time.evaluate(&mut self.frame(locals, &mut host, &mut budget)).map_err(CallError::Crashed)? {
                        Value::Int(time) => time.max(self.now),
                        _ => continue,
                    }
                }
            };
            let due = ScheduledEvent { run: event.run, arguments: Arc::default(), event: Some((id, 0)), chain: 0 };
            let name = Arc::clone(&event.name);
            self.agenda.add(time, name, due);
        }
        Ok(())
    }

    /// Moves the clock, and lets what it passes happen, each thing as a transaction of its own. After an error the world is
    /// of no use.
    pub(super) fn advance(&mut self, seconds: i64) -> Result<(), CallError> {
        let until = self.now.saturating_add(seconds.max(0));
        let mut happened = 0;
        while let Some(((time, key, sequence), due)) = self.agenda.due.get_min().cloned() {
            if time > until {
                break;
            }
            if happened == HAPPENINGS_PER_MOVE_MAX {
                let text = "Too much would happen in that time.";
                return Err(Raised::plain(self.app(), errors::FULL, text).into());
            }
            happened += 1;
            self.agenda.due.remove(&(time, key, sequence));
            self.now = time.max(self.now);
            self.happen(due)?;
        }
        self.now = until.max(self.now);
        Ok(())
    }

    /// Scheduled events in their order.
    pub(crate) fn scheduled(&self) -> impl Iterator<Item = Scheduled<'_>> {
        self.agenda.due.iter().map(|((time, key, _), due)| Scheduled {
            time: *time,
            key,
            action: due.run,
            arguments: &due.arguments,
        })
    }

    /// Lets the next thing that is due happen, and nothing else; gives the action with what its guards say. None where
    /// nothing is due, or where what is due does not take place.
    ///
    /// # Errors
    /// When the definition is at fault.
    pub(crate) fn occur(&mut self) -> Result<Option<Occurrence>, CallError> {
        let Some(((time, key, sequence), due)) = self.agenda.due.get_min().cloned() else { return Ok(None) };
        self.agenda.due.remove(&(time, key, sequence));
        self.now = time.max(self.now);
        let (action, chain) = (due.run, due.chain);
        let Some(arguments) = self.worked_out(due)? else { return Ok(None) };
        let app = Arc::clone(self.app());
        let guards = self.truths(&app.actions[action], arguments.clone()).unwrap_or_default();
        let raised = self.take_place(action, chain, arguments)?;
        Ok(Some(Occurrence { action, guards, raised }))
    }

    fn happen(&mut self, due: ScheduledEvent) -> Result<(), CallError> {
        let (action, chain) = (due.run, due.chain);
        if let Some(arguments) = self.worked_out(due)? {
            // An error that the system's own action raises says that it does not happen.
            let _raised = self.take_place(action, chain, arguments)?;
        }
        Ok(())
    }

    /// The arguments of what is due; none where it does not take place. What comes again is scheduled anew.
    fn worked_out(&mut self, due: ScheduledEvent) -> Result<Option<Vec<Value>>, CallError> {
        let Some((id, times)) = due.event else { return Ok(Some(due.arguments.to_vec())) };
        let event = self.event(id);
        if let Schedule::Every { seconds, .. } = event.schedule {
            let name = Arc::clone(&event.name);
            let next = ScheduledEvent { event: Some((id, times + 1)), ..due };
            self.agenda.add(self.now + seconds, name, next);
        }
        let mut host = self.draws(id, times);
        if let Schedule::Every { chance: (part, whole), .. } = self.event(id).schedule {
            let drawn = host.random().random_range(0..whole) < part;
            let takes_place = match self.beginning.chance {
                Chance::Drawn => drawn,
                Chance::Always => true,
                Chance::Never => part == whole,
            };
            if !takes_place {
                return Ok(None);
            }
        }
        match self.beginning.event_arguments(self, self.event(id), &mut host, self.locals(id)) {
            Ok(worked_out) => Ok(Some(worked_out)),
            // Nothing to pick from is a world in which the event does not happen.
            Err(stop) if is_missing(&stop) => Ok(None),
            Err(crashed) => Err(crashed),
        }
    }

    /// Runs an action of the system as a transaction of its own; gives the error that it raised.
    fn take_place(&mut self, action: usize, chain: u32, arguments: Vec<Value>) -> Result<Option<Raised>, CallError> {
        if !arguments.iter().all(|value| self.is_there(value)) {
            // What it was about has gone meanwhile.
            return Ok(None);
        }
        let mut host = CallCounter(&self.counts);
        let mut transaction = Transaction::new(self, arguments, &mut host).in_chain(chain);
        match transaction.run(&self.app().actions[action]) {
            Ok(_) => {
                let (data, agenda) = transaction.finish();
                self.commit(Role::SYSTEM, data);
                self.agenda = agenda;
                Ok(None)
            }
            Err(CallError::Raised(raised)) => Ok(Some(raised)),
            Err(stop) if is_missing(&stop) => Ok(None),
            Err(crashed) => Err(crashed),
        }
    }

    fn is_there(&self, value: &Value) -> bool {
        match value {
            Value::Row(row) => self.data.row(*row).is_some(),
            Value::List(values) | Value::Record(values) => values.iter().all(|value| self.is_there(value)),
            _ => true,
        }
    }

    fn event(&self, id: EventId) -> &Event {
        match id {
            EventId::App(place) => &self.beginning.app.events[place],
            EventId::Task(place) => &self.beginning.events[place],
        }
    }

    fn locals(&self, id: EventId) -> &[Value] {
        match id {
            EventId::App(_) => &[],
            EventId::Task(_) => &self.beginning.locals,
        }
    }

    fn draws(&self, id: EventId, times: u64) -> Draws {
        Draws::of(&[&self.beginning.seed.to_be_bytes(), b"event", self.event(id).name.as_bytes(), &times.to_be_bytes()])
    }
}

/// True if something does not happen because what it asks for is not there, or not one: an agent may have taken it away.
const fn is_missing(stop: &CallError) -> bool {
    matches!(stop, CallError::Raised(_) | CallError::Crashed(EvalError::Index(_) | EvalError::NotOne))
}
