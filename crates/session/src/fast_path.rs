//! The synchronous fast path of a step: no future, no task, no place in the session's queue. docs/PERFORMANCE.md ("The way of a
//! step") has its gain.

use std::sync::Arc;

use futures::FutureExt;
use palestra_protocol::id::SessionId;
use palestra_protocol::step::Step;

use super::cell::Slot;
use super::command::Begun;
use super::step::{Request, is_next, meta_of};
use super::{Answer, SessionError, Sessions};
use palestra_store::Tenant;

impl Sessions {
    /// Takes a step that has to wait for nothing: the session is in memory and free, the step is its next one, its environment is
    /// pure and light, and the recorder has a free slot. Any other step is given back untouched.
    pub(super) fn step_now(&self, tenant: &Tenant, id: SessionId, step: Box<Step>) -> Result<Begun, Box<Step>> {
        let Some(cell) = self.0.table.get(&id).map(|cell| Arc::clone(&cell)) else { return Err(step) };
        let Some(mut turn) = cell.turn_now() else { return Err(step) };
        let Slot::Live(live) = &mut *turn else { return Err(step) };
        let plain = *live.row.tenant == **tenant && !live.ledger.failed() && is_next(live, &step) && !live.needs_task();
        // A step that does not fit is refused where its turn comes.
        let (true, Ok(meta), Some(permit)) = (plain, meta_of(&step), self.0.recorder.try_reserve()) else {
            return Err(step);
        };
        cell.touch(self.0.clock.now());
        let taken = self.act(live, Request::new(live, *step, meta, 0.0), permit).now_or_never();
        let waited = || Err(SessionError::Internal("a pure environment waited".to_owned()));
        Ok(match taken.unwrap_or_else(waited).map(super::TakenStep::committed) {
            Ok(Ok(answer)) => Begun::Done(Ok(Answer::Stepped(answer))),
            Ok(Err(taken)) => Begun::Recording(taken),
            Err(error) => Begun::Done(Err(error)),
        })
    }
}
