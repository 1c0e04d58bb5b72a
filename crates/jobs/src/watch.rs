//! Subscriptions to changes of a job. A notification is only a hint to read the store.

use std::sync::Arc;

use dashmap::DashMap;
use palestra_protocol::id::JobId;
use tokio::sync::Notify;

/// Subscribers by job.
#[derive(Default)]
pub(super) struct Watches(DashMap<JobId, Arc<Notify>>);

impl Watches {
    /// Subscribes to a job. Call this before reading the store.
    pub(super) fn subscribe(self: &Arc<Self>, id: JobId) -> Watch {
        let notify = Arc::clone(&self.0.entry(id).or_default());
        Watch { notify, _guard: Guard { watches: Arc::clone(self), id } }
    }

    /// Notifies all subscribers of a job.
    pub(super) fn notify(&self, id: JobId) {
        if let Some(notify) = self.0.get(&id) {
            notify.notify_waiters();
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A subscription to a job, until it is dropped.
pub(super) struct Watch {
    // Dropped before the guard, which counts the references.
    notify: Arc<Notify>,
    _guard: Guard,
}

impl Watch {
    /// The notification of the job.
    pub(super) fn changed(&self) -> &Notify {
        &self.notify
    }
}

struct Guard {
    watches: Arc<Watches>,
    id: JobId,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.watches.0.remove_if(&self.id, |_, notify| Arc::strong_count(notify) == 1);
    }
}
