//! Keys and tokens that were verified a moment ago, so that a busy caller costs no query per request.

use std::collections::HashMap;
use std::sync::Arc;

use palestra_protocol::id::{JobId, KeyId};
use palestra_protocol::time::Timestamp;
use parking_lot::Mutex;

use super::{Grant, Principal};

/// Milliseconds that a verified credential is believed without a look into the store.
pub(super) const KEPT_MS: u64 = 10_000;
/// Credentials that are kept.
const KEPT_MAX: usize = 100_000;

/// Bounded and expiring; holds digests of credentials, never the credentials.
#[derive(Default)]
pub(super) struct Cache(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    entries: HashMap<[u8; 32], Entry>,
    /// Rises with every revocation, that of a lease included.
    revocations: u64,
}

struct Entry {
    principal: Arc<Principal>,
    until: Timestamp,
}

/// How many revocations there were when a look into the store began.
pub(super) struct Watch(u64);

impl Cache {
    pub(super) fn get(&self, digest: &[u8; 32], now: Timestamp) -> Option<Arc<Principal>> {
        let kept = self.0.lock();
        let entry = kept.entries.get(digest)?;
        let expired = entry.until <= now || entry.principal.expires_at.is_some_and(|end| end <= now);
        (!expired).then(|| Arc::clone(&entry.principal))
    }

    /// To be taken before the store is asked.
    pub(super) fn watch(&self) -> Watch {
        Watch(self.0.lock().revocations)
    }

    /// Keeps what the store said, unless a key was revoked meanwhile: the row may have been read before that.
    pub(super) fn insert(&self, digest: [u8; 32], principal: Arc<Principal>, now: Timestamp, watch: &Watch) {
        let mut kept = self.0.lock();
        if kept.revocations != watch.0 {
            return;
        }
        if kept.entries.len() >= KEPT_MAX {
            kept.entries.retain(|_, entry| entry.until > now);
        }
        if kept.entries.len() < KEPT_MAX {
            kept.entries.insert(digest, Entry { principal, until: now.plus_ms(KEPT_MS) });
        }
    }

    pub(super) fn forget(&self, id: KeyId) {
        let mut kept = self.0.lock();
        kept.revocations += 1;
        kept.entries.retain(|_, entry| entry.principal.key != Some(id));
    }

    pub(super) fn forget_job(&self, id: JobId) {
        let mut kept = self.0.lock();
        kept.revocations += 1;
        kept.entries.retain(|_, entry| !matches!(entry.principal.grant, Grant::Job { job, .. } if job == id));
    }
}
