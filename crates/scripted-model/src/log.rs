//! The log: what the model read and produced, call by call, in bounded memory.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Serialize, Serializer};

/// Most calls that are kept.
const CALLS_MAX: usize = 100_000;
/// Most bytes of them.
const BYTES_MAX: usize = 256 << 20;
/// Bytes of an entry beside its lists and texts, roughly.
const ENTRY_BYTES: usize = 256;

/// A call.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    /// From 1, in the order in which calls came.
    pub(crate) number: u64,
    pub(crate) path: String,
    pub(crate) model: String,
    pub(crate) prompt_token_ids: Vec<u32>,
    pub(crate) completion_token_ids: Vec<u32>,
    #[serde(serialize_with = "exact")]
    pub(crate) logprobs: Vec<f32>,
    pub(crate) text: String,
    /// The fault by which the answer was not sent, or not to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fault: Option<&'static str>,
}

/// The calls that are kept, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Log {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    calls: VecDeque<Arc<Entry>>,
    bytes: usize,
    last: u64,
    dropped: u64,
}

/// Writes all digits: the shortest text of single precision is another number in double precision.
#[expect(clippy::ptr_arg, reason = "the signature is serde's")]
fn exact<S: Serializer>(logprobs: &Vec<f32>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(logprobs.iter().map(|logprob| f64::from(*logprob)))
}

impl Entry {
    fn bytes(&self) -> usize {
        let numbers = self.prompt_token_ids.len() + self.completion_token_ids.len() + self.logprobs.len();
        ENTRY_BYTES + 4 * numbers + self.path.len() + self.model.len() + self.text.len()
    }
}

impl Log {
    /// Keeps a call under the next number; drops the oldest where there is no room.
    pub(crate) fn add(&self, mut entry: Entry) {
        let mut kept = self.kept.lock();
        kept.last += 1;
        entry.number = kept.last;
        kept.bytes += entry.bytes();
        kept.calls.push_back(Arc::new(entry));
        while kept.calls.len() > CALLS_MAX || kept.bytes > BYTES_MAX {
            let Some(oldest) = kept.calls.pop_front() else { break };
            kept.bytes -= oldest.bytes();
            kept.dropped += 1;
        }
    }

    /// The calls that are kept, and how many were dropped.
    pub(crate) fn read(&self) -> (Vec<Arc<Entry>>, u64) {
        let kept = self.kept.lock();
        (kept.calls.iter().cloned().collect(), kept.dropped)
    }

    /// Forgets all calls; numbers begin again.
    pub(crate) fn clear(&self) {
        *self.kept.lock() = Kept::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(prompt: usize) -> Entry {
        Entry {
            number: 0,
            path: String::new(),
            model: String::new(),
            prompt_token_ids: vec![0; prompt],
            completion_token_ids: Vec::new(),
            logprobs: Vec::new(),
            text: String::new(),
            fault: None,
        }
    }

    #[test]
    fn memory_is_bounded_and_what_was_dropped_is_counted() {
        let log = Log::default();
        for _ in 0..6 {
            log.add(entry(12 << 20));
        }
        let (calls, dropped) = log.read();
        assert_eq!((calls.iter().map(|call| call.number).collect::<Vec<_>>(), dropped), (vec![2, 3, 4, 5, 6], 1));
        log.add(entry(BYTES_MAX));
        assert_eq!((log.read().0.len(), log.read().1), (0, 7));
        log.clear();
        for _ in 0..=CALLS_MAX {
            log.add(entry(0));
        }
        let (calls, dropped) = log.read();
        assert_eq!((calls.len(), calls[0].number, dropped), (CALLS_MAX, 2, 1));
    }
}
