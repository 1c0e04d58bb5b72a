//! Permits for databases: how many there may be, and on which worker the next one goes.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::engine::EngineError;

/// After which time a permit may be free again.
const RETRY_AFTER_MS: u64 = 250;

/// Numbers of databases of the workers.
pub(super) struct Capacity {
    taken: Mutex<Vec<usize>>,
    max: usize,
}

/// A database's permit; free again when it is dropped.
pub(super) struct Permit {
    capacity: Arc<Capacity>,
    slot: usize,
}

impl Capacity {
    /// Permits for `max` databases on so many workers together.
    pub(super) fn new(workers: usize, max: usize) -> Arc<Self> {
        Arc::new(Self { taken: Mutex::new(vec![0; workers]), max })
    }

    /// A permit on the worker with the fewest databases.
    pub(super) fn take(self: &Arc<Self>) -> Result<Permit, EngineError> {
        self.take_where(|taken| (0..taken.len()).min_by_key(|slot| taken[*slot]).unwrap_or(0))
    }

    /// A permit on a certain worker.
    pub(super) fn take_at(self: &Arc<Self>, slot: usize) -> Result<Permit, EngineError> {
        self.take_where(|_| slot)
    }

    fn take_where(self: &Arc<Self>, choose: impl FnOnce(&[usize]) -> usize) -> Result<Permit, EngineError> {
        let mut taken = self.taken.lock();
        if taken.iter().sum::<usize>() >= self.max {
            return Err(EngineError::Busy { retry_after_ms: RETRY_AFTER_MS });
        }
        let slot = choose(&taken);
        taken[slot] += 1;
        Ok(Permit { capacity: Arc::clone(self), slot })
    }
}

impl Permit {
    /// The number of the worker.
    pub(super) const fn slot(&self) -> usize {
        self.slot
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.capacity.taken.lock()[self.slot] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_go_to_the_worker_with_the_fewest_until_none_is_left() {
        let capacity = Capacity::new(3, 4);
        let first: Vec<Permit> = (0..3).map(|_| capacity.take().expect("a permit")).collect();
        assert_eq!(first.iter().map(Permit::slot).collect::<Vec<_>>(), [0, 1, 2]);
        let beside = capacity.take_at(1).expect("the last permit");
        assert_eq!(capacity.take().err(), Some(EngineError::Busy { retry_after_ms: RETRY_AFTER_MS }));
        assert!(capacity.take_at(0).is_err());
        drop(first);
        assert_eq!(capacity.take().expect("a permit").slot(), 0, "worker 1 still has one");
        drop(beside);
        assert_eq!(*capacity.taken.lock(), [0, 0, 0]);
    }
}
