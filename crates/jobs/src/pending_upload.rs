//! Pieces in the store of a content that is still coming, or that came and is refused.

use std::sync::Arc;

use palestra_protocol::time::Timestamp;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use palestra_store::{Store, StoreError};

/// Pieces that nothing keeps yet; removed from the store when this is dropped.
pub(super) struct PendingUpload {
    store: Arc<dyn Store>,
    /// Holds the removal.
    tracker: TaskTracker,
    /// Under which the pieces lie.
    name: String,
    kept: bool,
}

impl PendingUpload {
    /// None yet, under a name of their own.
    pub(super) fn new(store: &Arc<dyn Store>, tracker: &TaskTracker) -> Self {
        let name = Uuid::now_v7().simple().to_string();
        Self { store: Arc::clone(store), tracker: tracker.clone(), name, kept: false }
    }

    /// Writes a piece down. It has its own time: while pieces come, those before are no leftovers.
    pub(super) async fn put(&self, position: u64, at: Timestamp, bytes: &[u8]) -> Result<(), StoreError> {
        self.store.put_piece(&self.name, position, at, bytes).await
    }

    /// Leaves the pieces to whoever names them; answers their name.
    pub(super) fn keep(mut self) -> String {
        self.kept = true;
        std::mem::take(&mut self.name)
    }
}

impl Drop for PendingUpload {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // Without a runtime they go later, with what nothing names.
        let Ok(runtime) = Handle::try_current() else { return };
        let (store, name) = (Arc::clone(&self.store), std::mem::take(&mut self.name));
        let removal = async move {
            if let Err(error) = store.delete_pieces(&name).await {
                tracing::warn!(%error, "what was not kept stays until the sweep finds that nothing names it");
            }
        };
        self.tracker.spawn_on(removal, &runtime);
    }
}
