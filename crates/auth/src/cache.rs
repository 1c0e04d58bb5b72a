//! Cache of verified keys and tokens, so that a busy caller costs no query per request.

use std::collections::HashMap;
use std::sync::Arc;

use palestra_protocol::id::{JobId, KeyId};
use palestra_protocol::time::Timestamp;
use parking_lot::Mutex;

use super::{Grant, Principal};

/// Milliseconds for which a verified credential is accepted without reading the store.
pub(super) const CACHED_MS: u64 = 10_000;
/// Credentials that are cached.
const CACHED_MAX: usize = 100_000;

/// Bounded and expiring; holds digests of credentials, never the credentials.
#[derive(Default)]
pub(super) struct Cache(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    entries: HashMap<[u8; 32], Entry>,
    /// The number of revocations of keys and leases.
    revocations: u64,
}

struct Entry {
    principal: Arc<Principal>,
    until: Timestamp,
}

/// The number of revocations before a read of the store.
pub(super) struct Revision(u64);

impl Cache {
    pub(super) fn get(&self, digest: &[u8; 32], now: Timestamp) -> Option<Arc<Principal>> {
        let inner = self.0.lock();
        let entry = inner.entries.get(digest)?;
        let expired = entry.until <= now || entry.principal.expires_at.is_some_and(|end| end <= now);
        (!expired).then(|| Arc::clone(&entry.principal))
    }

    /// The present revision. Take it before reading the store.
    pub(super) fn revision(&self) -> Revision {
        Revision(self.0.lock().revocations)
    }

    /// Caches a principal, unless a credential was revoked since `revision`: the row may have been read before that.
    pub(super) fn insert(&self, digest: [u8; 32], principal: Arc<Principal>, now: Timestamp, revision: &Revision) {
        let mut inner = self.0.lock();
        if inner.revocations != revision.0 {
            return;
        }
        if inner.entries.len() >= CACHED_MAX {
            inner.entries.retain(|_, entry| entry.until > now);
        }
        if inner.entries.len() < CACHED_MAX {
            inner.entries.insert(digest, Entry { principal, until: now.plus_ms(CACHED_MS) });
        }
    }

    pub(super) fn forget(&self, id: KeyId) {
        let mut inner = self.0.lock();
        inner.revocations += 1;
        inner.entries.retain(|_, entry| entry.principal.key != Some(id));
    }

    pub(super) fn forget_job(&self, id: JobId) {
        let mut inner = self.0.lock();
        inner.revocations += 1;
        inner.entries.retain(|_, entry| !matches!(entry.principal.grant, Grant::Job { job, .. } if job == id));
    }
}
