//! Log of a watcher, in memory that nobody else in the sandbox can reach.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};

use super::super::failure::Failure;
use super::super::keeper::Report;
use super::super::outbox::Outbox;
use super::filter;
use crate::watch::{Closing, RECORD_BYTES_MAX, WatchEvent};
use crate::wire::{BODY_BYTES_MAX, Kind};

/// Number and interval of the looks at the clock. A tick takes 10 ms at most.
const TICK_LOOKS_MAX: usize = 1_000;
const TICK_LOOK: Duration = Duration::from_micros(250);

/// Watch of a command, with its events.
pub(crate) struct Watch {
    /// Changes from the image; `None` where nothing can be watched.
    pub(super) upper: Option<OwnedFd>,
    notes: File,
}

impl Watch {
    /// A watch over changes of `upper`. Without another user id than the commands' nobody could be kept from the watcher.
    pub(crate) fn new(upper: Option<&OwnedFd>, other_uid: bool) -> Result<Self, Failure> {
        let notes = memfd_create("record", MFdFlags::MFD_CLOEXEC)
            .map_err(|errno| Failure::kernel(errno, "the record of a command"))?;
        let upper = upper.filter(|_| other_uid).map(OwnedFd::try_clone).transpose();
        let upper = upper.map_err(|error| Failure::io(&error, "the record of a command"))?;
        Ok(Self { upper, notes: notes.into() })
    }

    /// The filter of a command that is traced.
    pub(crate) fn filter() -> Vec<u64> {
        filter::program()
    }

    pub(super) fn notes(&self) -> RawFd {
        self.notes.as_raw_fd()
    }

    /// Sends what was seen.
    pub(crate) fn send(&self, stream: u32, outbox: &Outbox) {
        let mut bytes = Vec::new();
        let mut notes = &self.notes;
        let read = notes.rewind().and_then(|()| notes.take(2 * RECORD_BYTES_MAX as u64).read_to_end(&mut bytes));
        if read.is_ok() {
            bytes.chunks(BODY_BYTES_MAX).for_each(|piece| outbox.put(stream, Kind::Record, piece));
        }
    }
}

/// Nanoseconds since 1970 by the clock of the times of files, which a file may be ahead of by a tick.
pub(super) fn now_ns() -> i64 {
    clock_ns(libc::CLOCK_REALTIME_COARSE)
}

/// The beginning of the next tick of the clock of the times of files, once it is there: what was changed before this call has an
/// earlier time, what is changed after it this time or a later one. `i64::MAX` where the clock does not go on.
pub(super) fn next_tick_ns() -> i64 {
    let before = clock_ns(libc::CLOCK_REALTIME);
    for _ in 0..TICK_LOOKS_MAX {
        let now = now_ns();
        if now > before {
            return now;
        }
        std::thread::sleep(TICK_LOOK);
    }
    i64::MAX
}

fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is valid for writing.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}

/// The watcher's end.
pub(super) struct WatchLog {
    file: File,
    bytes: usize,
    pub(super) closing: Closing,
    /// End of the command, once it ended.
    pub(super) ended: Option<Report>,
}

impl WatchLog {
    pub(super) fn new(file: OwnedFd, began_ns: i64) -> Self {
        let closing = Closing { began_ns, ..Closing::default() };
        Self { file: file.into(), bytes: 0, closing, ended: None }
    }

    /// Notes something, or that there was no room for it.
    pub(super) fn saw(&mut self, sight: &WatchEvent) {
        let line = serde_json::to_vec(sight).unwrap_or_default();
        if line.is_empty() || self.bytes + line.len() >= RECORD_BYTES_MAX || self.write(line).is_err() {
            self.closing.dropped += 1;
        }
    }

    /// Notes the last.
    pub(super) fn close(&mut self) {
        let line = serde_json::to_vec(&self.closing).unwrap_or_default();
        // A record without its closing is believed in nothing.
        let _ = self.write(line);
    }

    fn write(&mut self, mut line: Vec<u8>) -> Result<(), Errno> {
        line.push(b'\n');
        self.bytes += line.len();
        self.file.write_all(&line).map_err(|_| Errno::ENOSPC)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_tick_parts_what_was_changed_before_it_from_what_is_changed_after() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        let changed_ns = |text: &str| {
            fs::write(&path, text).expect("written");
            let data = fs::metadata(&path).expect("there");
            data.ctime() * 1_000_000_000 + data.ctime_nsec()
        };
        for round in 0..50 {
            let before = changed_ns("before");
            let tick = next_tick_ns();
            let after = changed_ns("after");
            assert!(before < tick && tick <= after, "round {round}: {before}, {tick}, {after}");
        }
    }
}
