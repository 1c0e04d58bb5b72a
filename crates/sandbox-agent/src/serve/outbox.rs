//! Frames that wait to be sent on standard output. Bounded: who has bytes to send waits, or does not read them from where they
//! come, until the server took what is here.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::unistd::write;

use crate::wire::{BODY_BYTES_MAX, Event, Header, Kind};

/// So many bytes may wait before jobs wait for room: fewer than for commands, or a large archive would leave none to others.
const JOBS_BYTES_MAX: usize = 256 * 1024;
/// So many may wait before what commands print stays where it is.
const COMMANDS_BYTES_MAX: usize = 512 * 1024;
/// So many may wait before no more requests are taken: whoever does not read needs no more answers.
const REQUESTS_BYTES_MAX: usize = 1024 * 1024;
/// Memory that is kept while nothing waits.
const IDLE_BYTES: usize = 64 * 1024;

/// Shared by the loop, which never waits here, and the jobs, which do.
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    room: Condvar,
    /// Tells the loop that something waits.
    wake: EventFd,
}

#[derive(Default)]
struct Queue {
    bytes: VecDeque<u8>,
    /// Nobody reads any more.
    broken: bool,
}

impl Outbox {
    pub(crate) fn new() -> Result<Self, Errno> {
        let wake = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self { queue: Mutex::default(), room: Condvar::new(), wake })
    }

    /// Takes in an event, whatever waits: there is one for each request, and no request is read while there is no room.
    pub(crate) fn event(&self, stream: u32, event: &Event) {
        // Events hold nothing that JSON cannot express.
        let body = serde_json::to_vec(event).unwrap_or_default();
        self.put(stream, Kind::Event, &body);
    }

    /// Takes in bytes, whatever waits: ask [`Outbox::has_room`] first.
    pub(crate) fn put(&self, stream: u32, kind: Kind, bytes: &[u8]) {
        self.lock().put(stream, kind, bytes);
    }

    /// Number of bytes that wait.
    #[cfg(test)]
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.lock().bytes.len()
    }

    /// True if there is room for what commands print.
    pub(crate) fn has_room(&self) -> bool {
        self.lock().bytes.len() < COMMANDS_BYTES_MAX
    }

    /// True if there is room for the answers to more requests.
    pub(crate) fn has_room_for_answers(&self) -> bool {
        self.lock().bytes.len() < REQUESTS_BYTES_MAX
    }

    /// Sends bytes from a job, once there is room.
    ///
    /// # Errors
    /// When nobody reads any more.
    pub(crate) fn send(&self, stream: u32, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(BODY_BYTES_MAX) {
            let full = |queue: &mut Queue| !queue.broken && queue.bytes.len() >= JOBS_BYTES_MAX;
            let mut queue = self.room.wait_while(self.lock(), full).unwrap_or_else(PoisonError::into_inner);
            if queue.broken {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            queue.put(stream, Kind::Output, part);
            drop(queue);
            self.wake();
        }
        Ok(())
    }

    /// Sends an event from a job.
    pub(crate) fn send_event(&self, stream: u32, event: &Event) {
        self.event(stream, event);
        self.wake();
    }

    /// Writes what the server takes now; whether something is left.
    ///
    /// # Errors
    /// When nobody reads any more.
    pub(crate) fn flush(&self) -> io::Result<bool> {
        let mut queue = self.lock();
        while !queue.bytes.is_empty() {
            match write(io::stdout(), queue.bytes.as_slices().0) {
                Ok(count) => drop(queue.bytes.drain(..count)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                Err(errno) => {
                    queue.broken = true;
                    self.room.notify_all();
                    return Err(errno.into());
                }
            }
        }
        if queue.bytes.len() < JOBS_BYTES_MAX {
            self.room.notify_all();
        }
        if queue.bytes.is_empty() {
            queue.bytes.shrink_to(IDLE_BYTES);
        }
        Ok(!queue.bytes.is_empty())
    }

    /// Readable when a job has put something here.
    pub(crate) fn woken(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Makes [`Outbox::woken`] unreadable again.
    pub(crate) fn acknowledge(&self) {
        // Nothing to read is as good.
        let _ = self.wake.read();
    }

    fn wake(&self) {
        // A counter that cannot be raised is readable already.
        let _ = self.wake.write(1);
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn put(&mut self, stream: u32, kind: Kind, bytes: &[u8]) {
        self.bytes.extend(Header { length: bytes.len(), stream, kind }.encode());
        self.bytes.extend(bytes);
    }
}
