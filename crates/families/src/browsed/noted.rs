//! Requests of pages, noted on their way.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use palestra_browser::{Answer, Request, Site};
use parking_lot::Mutex;
use serde_json::Value;

use super::har::Log;

/// Requests since the last look.
#[derive(Default)]
pub(super) struct Noted {
    log: Mutex<Log>,
    /// Time of the pages, in milliseconds since 1970.
    now_ms: AtomicI64,
}

/// A site whose requests are noted.
struct Listened {
    site: Arc<dyn Site>,
    noted: Arc<Noted>,
}

impl Noted {
    /// The same site, whose requests are noted from now on.
    pub(super) fn listen(self: &Arc<Self>, site: Arc<dyn Site>) -> Arc<dyn Site> {
        Arc::new(Listened { site, noted: Arc::clone(self) })
    }

    /// Sets the time that requests have from now on.
    pub(super) fn set_clock(&self, now_ms: i64) {
        self.now_ms.store(now_ms, Ordering::Relaxed);
    }

    /// The requests so far as HAR 1.2; they are not told again.
    pub(super) fn take(&self) -> Value {
        std::mem::take(&mut *self.log.lock()).har()
    }
}

#[async_trait]
impl Site for Listened {
    async fn answer(&self, request: Request) -> Answer {
        let answer = self.site.answer(request.clone()).await;
        self.noted.log.lock().add(&request, &answer, self.noted.now_ms.load(Ordering::Relaxed));
        answer
    }

    fn waits(&self, request: &Request) -> bool {
        self.site.waits(request)
    }
}
