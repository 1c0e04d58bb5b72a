//! The pieces of an upload in the store, until they become a content.

use std::sync::Arc;

use palestra_protocol::time::Timestamp;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use palestra_store::{Store, StoreError};

/// An upload that is no content yet. Dropped, its pieces are deleted from the store.
pub(super) struct PendingUpload {
    store: Arc<Store>,
    /// Runs the deletion.
    tracker: TaskTracker,
    /// The name under which the pieces are stored.
    name: String,
    kept: bool,
}

impl PendingUpload {
    /// An upload without pieces, under a new name.
    pub(super) fn new(store: &Arc<Store>, tracker: &TaskTracker) -> Self {
        let name = Uuid::now_v7().simple().to_string();
        Self { store: Arc::clone(store), tracker: tracker.clone(), name, kept: false }
    }

    /// Stores a piece with its own time: as long as new pieces come, the sweep leaves the earlier ones.
    pub(super) async fn put(&self, position: u64, at: Timestamp, bytes: &[u8]) -> Result<(), StoreError> {
        self.store.insert_piece(&self.name, position, at, bytes).await
    }

    /// Keeps the pieces for a content; answers their name.
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
        // Without a runtime they are deleted later, as unreferenced.
        let Ok(runtime) = Handle::try_current() else { return };
        let (store, name) = (Arc::clone(&self.store), std::mem::take(&mut self.name));
        let removal = async move {
            if let Err(error) = store.delete_pieces(&name).await {
                tracing::warn!(%error, "pieces of an upload could not be deleted; the sweep deletes them later");
            }
        };
        self.tracker.spawn_on(removal, &runtime);
    }
}
