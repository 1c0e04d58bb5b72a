//! The wait before the next attempt, and the time to give up.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

use super::Options;
use crate::error::ClientError;

/// A connection that held this long counts as a success even when nothing was answered over it, in milliseconds.
const STABLE_MS: u64 = 5_000;
/// Doublings after which the wait is at its cap for every sensible setting.
const DOUBLINGS_MAX: u32 = 20;

/// Counts failures in a row.
pub(super) struct Backoff {
    base_ms: u64,
    cap_ms: u64,
    give_up: Duration,
    failures: u32,
    since: Instant,
}

impl Backoff {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            base_ms: options.backoff_ms,
            cap_ms: options.backoff_max_ms,
            give_up: Duration::from_millis(options.give_up_ms),
            failures: 0,
            since: Instant::now(),
        }
    }

    /// Notes how a connection ended that was made at `made_at`. Only one that brought something ends the row of failures, so
    /// that a frame which kills every connection cannot keep the stream busy for ever.
    pub(super) fn lost(&mut self, made_at: Instant, progress: bool) {
        if progress || made_at.elapsed() >= Duration::from_millis(STABLE_MS) {
            self.failures = 0;
            self.since = Instant::now();
        }
    }

    /// Notes a failure, and answers how long to wait: a random part, at least half, of base · 2^failures up to the cap.
    pub(super) fn failed(&mut self, last: String) -> Result<Duration, ClientError> {
        let elapsed = self.since.elapsed();
        if elapsed >= self.give_up {
            return Err(ClientError::GaveUp { seconds: elapsed.as_secs_f64(), last });
        }
        let full_ms = self.base_ms.saturating_mul(1 << self.failures.min(DOUBLINGS_MAX)).min(self.cap_ms);
        self.failures = self.failures.saturating_add(1);
        let half_ms = full_ms / 2;
        // Every RandomState hashes differently, which is random enough to keep clients from coming back in step.
        let wait_ms = half_ms + RandomState::new().hash_one(self.failures) % (full_ms - half_ms + 1);
        Ok(Duration::from_millis(wait_ms).min(self.give_up.saturating_sub(elapsed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff() -> Backoff {
        Backoff::new(&Options { backoff_ms: 100, backoff_max_ms: 1_000, give_up_ms: 60_000, ..Options::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn waits_double_up_to_the_cap() {
        let mut backoff = backoff();
        for full_ms in [100, 200, 400, 800, 1_000, 1_000] {
            let wait = backoff.failed(String::new()).unwrap().as_millis();
            assert!((full_ms / 2..=full_ms).contains(&wait), "{wait} of {full_ms}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_gives_up_after_the_limit_unless_there_was_progress() {
        let mut backoff = backoff();
        let made_at = Instant::now();
        tokio::time::advance(Duration::from_secs(59)).await;
        assert!(backoff.failed(String::new()).unwrap() <= Duration::from_secs(1));
        backoff.lost(made_at, true);
        tokio::time::advance(Duration::from_secs(59)).await;
        assert!(backoff.failed(String::new()).is_ok());
        backoff.lost(Instant::now(), false);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(matches!(backoff.failed("refused".to_owned()), Err(ClientError::GaveUp { .. })));
    }
}
