//! The way of a step that has to wait for nothing, as nearly all are: no future, no task, no place in a queue.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::FutureExt;
use palestra_protocol::id::SessionId;
use palestra_protocol::step::Step;

use super::cell::Slot;
use super::step::{Request, is_next, meta_of};
use super::taken::Taken;
use super::{SessionError, Sessions};
use palestra_store::Tenant;

/// What came of a step that was not to wait.
pub enum AtOnce {
    /// It was taken.
    Taken(Taken),
    /// It was refused.
    Refused(SessionError),
    /// It has to wait, or is no plain next step; nothing has happened yet.
    Waits(Box<Step>),
}

impl Sessions {
    /// Takes a step where nothing has to be waited for: the session is in memory and free, the step is its next one, its
    /// environment is pure and light, and the recorder has room. This is how nearly all steps are taken.
    pub fn step_at_once(&self, tenant: &Tenant, id: SessionId, step: Box<Step>) -> AtOnce {
        if self.0.draining.load(Ordering::Relaxed) {
            return AtOnce::Waits(step);
        }
        let Some(cell) = self.0.table.get(&id).map(|cell| Arc::clone(&cell)) else { return AtOnce::Waits(step) };
        let Some(mut turn) = cell.turn_now() else { return AtOnce::Waits(step) };
        let Slot::Live(live) = &mut *turn else { return AtOnce::Waits(step) };
        let plain = *live.row.tenant == **tenant && !live.ledger.failed() && is_next(live, &step) && !live.needs_task();
        // Where something is wrong with a step, the way of those that wait says what.
        let (true, Ok(meta), Some(room)) = (plain, meta_of(&step), self.0.recorder.room()) else {
            return AtOnce::Waits(step);
        };
        let now = self.0.clock.now();
        cell.touch(now);
        let step = *step;
        let taken = self.act(live, Request::new(live, step, meta, 0.0), room).now_or_never();
        match taken {
            Some(Ok(taken)) => AtOnce::Taken(taken),
            Some(Err(error)) => AtOnce::Refused(error),
            None => AtOnce::Refused(SessionError::Internal("a pure environment waited".to_owned())),
        }
    }
}
