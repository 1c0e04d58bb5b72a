//! The clock and the chance of pages: a script that runs before every other one.

/// The script, with places for the values of a session.
const SCRIPT: &str = include_str!("clock.js");
/// Timers that one advance of the clock runs in one document.
pub(crate) const TIMERS_MAX: u32 = 10_000;

/// Time and chance in the pages of a session.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    /// The property under which pages keep it. A page that looks for it finds it, and moves its own clock alone.
    key: String,
    /// Milliseconds since 1970.
    pub(crate) now_ms: i64,
    seed: u32,
    /// Documents that were given a seed of their own.
    documents: u32,
}

impl Clock {
    /// A clock that stands at a time.
    pub(crate) const fn new(key: String, now_ms: i64, seed: u32) -> Self {
        Self { key, now_ms, seed, documents: 0 }
    }

    /// The script for documents that begin now.
    pub(crate) fn script(&mut self) -> String {
        self.documents = self.documents.wrapping_add(1);
        let seed = self.seed.wrapping_add(self.documents.wrapping_mul(0x9e37_79b9));
        SCRIPT.replace("$KEY", &self.key).replace("$NOW", &self.now_ms.to_string()).replace("$SEED", &seed.to_string())
    }

    /// Its time, and the documents that were given chance of their own.
    pub(crate) const fn moment(&self) -> (i64, u32) {
        (self.now_ms, self.documents)
    }

    /// Goes on from such a moment.
    pub(crate) const fn go_on_at(&mut self, now_ms: i64, documents: u32) {
        self.now_ms = now_ms;
        self.documents = documents;
    }

    /// An expression that lets what a document has queued run, at the time that it has, and waits for no frame.
    pub(crate) fn breathe(&self) -> String {
        format!("self[{:?}]?.advance(0, {TIMERS_MAX}, false)", self.key)
    }

    /// An expression that moves the clock of a document on to a time.
    pub(crate) fn advance_to(&self, now_ms: i64) -> String {
        format!("self[{:?}]?.advanceTo({now_ms}, {TIMERS_MAX})", self.key)
    }
}
