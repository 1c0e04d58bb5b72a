//! Who waits for news of a job. A wake-up is no more than a hint to look into the store, where everything is.

use std::sync::Arc;

use dashmap::DashMap;
use palestra_protocol::id::JobId;
use tokio::sync::Notify;

/// Listeners by job.
#[derive(Default)]
pub(super) struct Watches(DashMap<JobId, Arc<Notify>>);

impl Watches {
    /// Begins to listen. To be called before the look into the store.
    pub(super) fn listen(self: &Arc<Self>, id: JobId) -> Watch {
        let notify = Arc::clone(&self.0.entry(id).or_default());
        Watch { notify, _end: End { watches: Arc::clone(self), id } }
    }

    /// Wakes everybody who listens to a job.
    pub(super) fn wake(&self, id: JobId) {
        if let Some(notify) = self.0.get(&id) {
            notify.notify_waiters();
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Listens to a job until it is dropped.
pub(super) struct Watch {
    // Dropped before what looks whether anybody is left.
    notify: Arc<Notify>,
    _end: End,
}

impl Watch {
    /// What wakes up.
    pub(super) fn notify(&self) -> &Notify {
        &self.notify
    }
}

struct End {
    watches: Arc<Watches>,
    id: JobId,
}

impl Drop for End {
    fn drop(&mut self) {
        self.watches.0.remove_if(&self.id, |_, notify| Arc::strong_count(notify) == 1);
    }
}
