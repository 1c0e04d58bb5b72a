//! The server's clock, with a stand-in that tests move by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use palestra_protocol::time::Timestamp;

/// Tells the time.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The system's clock.
    System,
    /// A clock that stands still until it is moved; milliseconds since 1970.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that starts now and is moved by [`Clock::advance_ms`] alone.
    #[must_use]
    pub fn manual() -> Self {
        Self::Manual(Arc::new(AtomicI64::new(Self::System.now().milliseconds())))
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Timestamp::from_milliseconds(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
            }
            Self::Manual(milliseconds) => Timestamp::from_milliseconds(milliseconds.load(Ordering::Relaxed)),
        }
    }

    /// Moves a manual clock on; the system's clock is left alone.
    pub fn advance_ms(&self, milliseconds: i64) {
        if let Self::Manual(now) = self {
            now.fetch_add(milliseconds, Ordering::Relaxed);
        }
    }
}
