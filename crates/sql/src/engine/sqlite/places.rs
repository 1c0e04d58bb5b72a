//! Places for databases: how many there may be, and on which worker the next one goes.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::engine::EngineError;

/// After which time a place may be free again.
const RETRY_AFTER_MS: u64 = 250;

/// How many databases each worker has.
pub(super) struct Places {
    taken: Mutex<Vec<usize>>,
    max: usize,
}

/// A database's place; free again when it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    slot: usize,
}

impl Places {
    /// Places for `max` databases on so many workers together.
    pub(super) fn new(workers: usize, max: usize) -> Arc<Self> {
        Arc::new(Self { taken: Mutex::new(vec![0; workers]), max })
    }

    /// A place on the worker with the fewest databases.
    pub(super) fn take(self: &Arc<Self>) -> Result<Place, EngineError> {
        self.take_where(|taken| (0..taken.len()).min_by_key(|slot| taken[*slot]).unwrap_or(0))
    }

    /// A place on a certain worker.
    pub(super) fn take_at(self: &Arc<Self>, slot: usize) -> Result<Place, EngineError> {
        self.take_where(|_| slot)
    }

    fn take_where(self: &Arc<Self>, choose: impl FnOnce(&[usize]) -> usize) -> Result<Place, EngineError> {
        let mut taken = self.taken.lock();
        if taken.iter().sum::<usize>() >= self.max {
            return Err(EngineError::Busy { retry_after_ms: RETRY_AFTER_MS });
        }
        let slot = choose(&taken);
        taken[slot] += 1;
        Ok(Place { places: Arc::clone(self), slot })
    }
}

impl Place {
    /// The number of the worker.
    pub(super) const fn slot(&self) -> usize {
        self.slot
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken.lock()[self.slot] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_go_to_the_worker_with_the_fewest_until_none_is_left() {
        let places = Places::new(3, 4);
        let first: Vec<Place> = (0..3).map(|_| places.take().expect("a place")).collect();
        assert_eq!(first.iter().map(Place::slot).collect::<Vec<_>>(), [0, 1, 2]);
        let beside = places.take_at(1).expect("the last place");
        assert_eq!(places.take().err(), Some(EngineError::Busy { retry_after_ms: RETRY_AFTER_MS }));
        assert!(places.take_at(0).is_err());
        drop(first);
        assert_eq!(places.take().expect("a place").slot(), 0, "worker 1 still has one");
        drop(beside);
        assert_eq!(*places.taken.lock(), [0, 0, 0]);
    }
}
