//! The server's clock, and a manual one for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use palestra_protocol::time::Timestamp;

/// A clock.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The system's clock.
    System,
    /// A clock that tests advance; milliseconds since 1970.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that starts at the present time and is advanced by [`Clock::advance_ms`] alone.
    #[must_use]
    pub fn manual() -> Self {
        Self::Manual(Arc::new(AtomicI64::new(Self::System.now().milliseconds())))
    }

    /// The current time.
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

    /// Advances a manual clock; the system's clock is not affected.
    pub fn advance_ms(&self, milliseconds: i64) {
        if let Self::Manual(now) = self {
            now.fetch_add(milliseconds, Ordering::Relaxed);
        }
    }
}
