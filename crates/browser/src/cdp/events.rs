//! Events on their way to who listens, in a bounded queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use serde_json::Value;
use tokio::sync::mpsc;

/// Events of one session that wait.
const EVENTS_WAITING_MAX: usize = 4_096;
/// Events that a page can make without end, and that may be left out and counted where more come than are taken.
const CHATTER: [&str; 3] = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
/// Bytes of one such event.
const CHATTER_BYTES_MAX: usize = 64 << 10;
/// Bytes of all events of one session that wait.
const BYTES_WAITING_MAX: usize = 64 << 20;

/// Something that happened.
#[derive(Debug)]
pub(crate) struct Event {
    /// `Domain.event`.
    pub(crate) method: String,
    /// Its data.
    pub(crate) params: Value,
    /// Length of its message.
    pub(crate) bytes: usize,
}

/// The end of a queue where events are put in.
#[derive(Clone)]
pub(crate) struct Events {
    queue: mpsc::Sender<Event>,
    left_out: Arc<AtomicU64>,
    overrun: Arc<AtomicBool>,
    bytes: Arc<AtomicUsize>,
    arrivals: Arrivals,
}

/// Number of the events that a queue took in so far. An answer is handed out once those are in that were told before it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrivals(Arc<AtomicU64>);

impl Arrivals {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// The end of a queue where events are taken out.
pub(crate) struct EventQueue {
    queue: mpsc::Receiver<Event>,
    left_out: Arc<AtomicU64>,
    overrun: Arc<AtomicBool>,
    bytes: Arc<AtomicUsize>,
}

impl Events {
    /// A queue.
    pub(crate) fn queue() -> (Self, EventQueue) {
        let (sender, receiver) = mpsc::channel(EVENTS_WAITING_MAX);
        let events = Self {
            queue: sender,
            left_out: Arc::default(),
            overrun: Arc::default(),
            bytes: Arc::default(),
            arrivals: Arrivals::default(),
        };
        let Self { left_out, overrun, bytes, .. } = events.clone();
        (events, EventQueue { queue: receiver, left_out, overrun, bytes })
    }

    /// Counts what is put in.
    pub(crate) fn arrivals(&self) -> Arrivals {
        self.arrivals.clone()
    }

    /// Puts an event in. Where there is no room, chatter is left out, and a session that misses anything else is given up.
    pub(super) fn put(&self, event: Event) {
        // Chatter leaves room to what matters.
        let room = self.queue.capacity() > EVENTS_WAITING_MAX / 2;
        let chatter = CHATTER.contains(&event.method.as_str());
        let length = event.bytes;
        if chatter && (!room || length > CHATTER_BYTES_MAX) {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let waiting = self.bytes.fetch_add(length, Ordering::Relaxed);
        if waiting + length > BYTES_WAITING_MAX {
            self.overrun.store(true, Ordering::Relaxed);
        } else {
            match self.queue.try_send(event) {
                Ok(()) => drop(self.arrivals.0.fetch_add(1, Ordering::Release)),
                Err(mpsc::error::TrySendError::Full(_)) => self.overrun.store(true, Ordering::Relaxed),
                // Nobody listens any more.
                Err(mpsc::error::TrySendError::Closed(_)) => {}
            }
        }
    }
}

impl EventQueue {
    /// The next event; `None` once the session is over, or when events had to be left out that cannot be.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        if self.overrun.load(Ordering::Relaxed) {
            return None;
        }
        let event = self.queue.recv().await?;
        self.bytes.fetch_sub(event.bytes, Ordering::Relaxed);
        Some(event)
    }

    /// Number of messages of the page that were left out.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(method: &str) -> Event {
        Event { method: method.to_owned(), params: Value::Null, bytes: 100 }
    }

    #[tokio::test]
    async fn long_chatter_is_left_out_and_waiting_bytes_are_bounded() {
        let (events, mut queue) = Events::queue();
        events.put(Event { bytes: CHATTER_BYTES_MAX + 1, ..event("Runtime.consoleAPICalled") });
        assert_eq!(queue.left_out(), 1);
        for _ in 0..8 {
            events.put(Event { bytes: BYTES_WAITING_MAX / 2, ..event("Fetch.requestPaused") });
            assert!(queue.next().await.is_some(), "what was taken does not wait any more");
        }
        for _ in 0..3 {
            events.put(Event { bytes: BYTES_WAITING_MAX / 2, ..event("Fetch.requestPaused") });
        }
        assert!(queue.next().await.is_none(), "a session whose events take too much is given up");
    }

    #[tokio::test]
    async fn chatter_is_left_out_and_counted_and_what_matters_is_not() {
        let (events, mut queue) = Events::queue();
        for _ in 0..2 * EVENTS_WAITING_MAX {
            events.put(event("Runtime.consoleAPICalled"));
        }
        events.put(event("Fetch.requestPaused"));
        assert!(queue.left_out() >= EVENTS_WAITING_MAX as u64);
        assert_eq!(events.arrivals().count() + queue.left_out(), 2 * EVENTS_WAITING_MAX as u64 + 1);
        let mut taken = 0;
        loop {
            let next = queue.next().await.expect("an event");
            taken += 1;
            if next.method == "Fetch.requestPaused" {
                break;
            }
        }
        assert!(taken <= EVENTS_WAITING_MAX, "{taken} were kept");
    }

    #[tokio::test]
    async fn a_session_that_misses_what_matters_is_given_up() {
        let (events, mut queue) = Events::queue();
        for _ in 0..=EVENTS_WAITING_MAX {
            events.put(event("Fetch.requestPaused"));
        }
        assert!(queue.next().await.is_none());
    }
}
