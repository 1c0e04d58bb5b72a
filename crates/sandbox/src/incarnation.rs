//! The run of a server to which something belongs, told from its name alone: the process, when it started, and in which namespace of
//! process ids, since a number means nothing in another.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// A run of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Incarnation {
    namespace: u64,
    process: u32,
    /// In ticks after the machine's start.
    started: u64,
    /// Number of the back end in the process.
    number: u64,
}

impl Incarnation {
    /// A new one of this process.
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let process = std::process::id();
        Self {
            namespace: std::fs::metadata("/proc/self/ns/pid").map_or(0, |metadata| metadata.ino()),
            process,
            started: started(process).unwrap_or_default(),
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Reads a name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('-').map(str::parse::<u64>);
        let mut next = || parts.next()?.ok();
        let found =
            Self { namespace: next()?, process: u32::try_from(next()?).ok()?, started: next()?, number: next()? };
        parts.next().is_none().then_some(found)
    }

    /// True if it is over, as far as `own` can tell: of another namespace nothing is known.
    pub(crate) fn ended(&self, own: &Self) -> bool {
        self.namespace == own.namespace && started(self.process) != Some(self.started)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}-{}", self.namespace, self.process, self.started, self.number)
    }
}

/// When a process started; `None` where there is none.
fn started(process: u32) -> Option<u64> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program stands in brackets and may hold anything.
    let (_, after) = line.rsplit_once(')')?;
    after.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_others_of_its_number_have_ended() {
        let own = Incarnation::new();
        assert_eq!(Incarnation::parse(&own.to_string()), Some(own.clone()));
        assert!(!own.ended(&Incarnation::new()));
        assert!(Incarnation { started: own.started + 1, ..own.clone() }.ended(&own));
        assert!(!Incarnation { started: 0, namespace: 1, ..own.clone() }.ended(&own), "of another namespace");
        for other in ["", "a-b-c-d", "1-2-3", "1-2-3-4-5", "docker"] {
            assert_eq!(Incarnation::parse(other), None, "{other}");
        }
    }
}
