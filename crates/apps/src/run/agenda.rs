//! Scheduled events in their order.

use std::sync::Arc;

use imbl::OrdMap;
use palestra_state::{Array, State};
use serde_json::json;

use super::World;
use crate::value::Value;

/// Scheduled events in the order of time, then key, then scheduling.
#[derive(Debug, Clone, Default)]
pub struct Agenda {
    pub(super) due: OrdMap<(i64, Arc<str>, u64), ScheduledEvent>,
    sequence: u64,
}

/// A scheduled event.
#[derive(Debug, Clone)]
pub(super) struct ScheduledEvent {
    /// The action of the system; that of the event where there is one.
    pub(super) run: usize,
    /// Its arguments; those of an event are worked out when it happens.
    pub(super) arguments: Arc<[Value]>,
    /// The event, with how often it has been due before.
    pub(super) event: Option<(EventId, u64)>,
    /// Number of things at the same time that have led to it, one by one.
    pub(super) chain: u32,
}

/// Something that is scheduled, as others see it.
pub(crate) struct Scheduled<'a> {
    /// The time.
    pub(crate) time: i64,
    /// Key by which it can be cancelled, or the event's name.
    pub(crate) key: &'a str,
    /// The action.
    pub(crate) action: usize,
    /// Its arguments; none for an event.
    pub(crate) arguments: &'a [Value],
}

/// An event of the app or of the task, by its place.
#[derive(Debug, Clone, Copy)]
pub(super) enum EventId {
    App(usize),
    Task(usize),
}

impl Agenda {
    pub(super) fn add(&mut self, time: i64, key: Arc<str>, due: ScheduledEvent) {
        self.due.insert((time, key, self.sequence), due);
        self.sequence += 1;
    }

    pub(super) fn cancel(&mut self, key: &str) {
        let meant = |known: &Arc<str>, due: &ScheduledEvent| **known == *key && due.event.is_none();
        let cancelled: Vec<(i64, Arc<str>, u64)> =
            self.due.iter().filter(|((_, known, _), due)| meant(known, due)).map(|(place, _)| place.clone()).collect();
        for place in cancelled {
            self.due.remove(&place);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.due.len()
    }

    pub(super) fn document(&self, world: &World) -> State {
        let mut list = Array::default();
        for ((time, key, sequence), due) in &self.due {
            let app = world.app();
            let action = &app.actions[due.run];
            let arguments: serde_json::Map<String, serde_json::Value> = action
                .parameters
                .iter()
                .zip(due.arguments.iter())
                .map(|(parameter, value)| {
                    (parameter.name.to_string(), world.codec().to_json(value, &parameter.kind, world.data()))
                })
                .collect();
            list.elements_mut().push_back(State::from(json!({
                "at": app.calendar.show_instant(*time), "run": &*action.name, "args": arguments, "key": &**key,
                "number": sequence, "times": due.event.map(|(_, times)| times),
            })));
        }
        State::Array(Arc::new(list))
    }
}
