//! Stands between the agent and a command that must leave nothing behind. As a subreaper it becomes the parent of every descendant
//! whose own parent ended, however it was detached, so that its children are all there is to end. It is a copy of the agent, with
//! the agent's user id, and closed to others; where there is only one user id a command can end it, which the agent notices.

use std::os::fd::RawFd;
use std::ptr;

use nix::errno::Errno;
use nix::libc;

use super::child::{Plan, Pointers, Step, become_command, fail};
use super::processes::{Children, Ended, collect, reap, signal_group};

/// Queued to a keeper with the number of a signal for the command's process group.
pub(crate) const SIGNAL_COMMAND: i32 = libc::SIGUSR1;
/// Beside that number: the signal is for the command's first process alone.
pub(crate) const FIRST_ALONE: usize = 0x100;
/// Bytes of [`Report`].
pub(crate) const REPORT_BYTES: usize = size_of::<Report>();
/// Nanoseconds after which the keeper gives up on what is left.
const SWEEP_NS_MAX: u64 = 30_000_000_000;
/// Rounds of [`collect`] between two passes over the children.
const ROUNDS_PER_PASS: usize = 256;
const LIST_BYTES: usize = 64 * 1024;

/// End of the command, from the keeper to the agent.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Report {
    pub(crate) ended: Ended,
    /// Nanoseconds of the monotonic clock at its end.
    pub(crate) at_ns: u64,
}

impl Report {
    /// Reads what a keeper wrote.
    pub(crate) fn of(bytes: [u8; REPORT_BYTES]) -> Self {
        // SAFETY: a structure of numbers, for which all bytes are valid, written by a copy of this program.
        unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) }
    }
}

/// Asks a keeper that was not collected yet to send a signal: to the command's process group, or with [`FIRST_ALONE`] not.
pub(crate) fn order(keeper: i32, value: usize) {
    let value = libc::sigval { sival_ptr: value as *mut libc::c_void };
    // SAFETY: takes numbers only.
    unsafe { libc::sigqueue(keeper, SIGNAL_COMMAND, value) };
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is valid for writing.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// In a fork of the agent: starts the command, waits for its end, reports it, ends what is left, and exits: with 0 when nothing is.
pub(crate) fn keep(plan: &Plan, pointers: &Pointers, report: RawFd) -> ! {
    // SAFETY: calls of the kernel with numbers and with places on this stack; nothing here allocates.
    unsafe {
        if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 {
            fail(plan, Step::Streams, Errno::last());
        }
        let mut signals = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(signals.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, signals.as_ptr(), ptr::null_mut());
        let signals = signals.assume_init();
        let command = libc::fork();
        if command == 0 {
            become_command(plan, pointers, false);
        }
        if command < 0 {
            fail(plan, Step::Streams, Errno::last());
        }
        // Its copies of the command's streams would keep them open.
        libc::dup2(report, 0);
        libc::close_range(1, libc::c_uint::MAX, 0);
        wait_for(command, &signals);
        let left = sweep(&signals);
        libc::_exit(i32::from(left));
    }
}

/// Returns once the command ended and its end was reported.
fn wait_for(command: i32, signals: &libc::sigset_t) {
    loop {
        let mut own = None;
        let children = collect(reap, |reaped| {
            if reaped.pid == command {
                own = Some(reaped.ended);
            }
            own.is_none()
        });
        if let Some(ended) = own {
            let report = Report { ended, at_ns: now_ns() };
            // SAFETY: the report is valid for its length.
            unsafe { libc::write(0, ptr::from_ref(&report).cast(), REPORT_BYTES) };
            return;
        }
        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the set is a valid one, the places valid for writing and reading; zeroes are a value of that structure. Where more
        // children ended, there is only a look whether a signal came.
        let (signal, value) = unsafe {
            let signal = match children {
                Children::Ended => libc::sigtimedwait(signals, info.as_mut_ptr(), &raw const at_once),
                Children::None | Children::Alive => libc::sigwaitinfo(signals, info.as_mut_ptr()),
            };
            (signal, info.assume_init().si_value().sival_ptr as usize)
        };
        if signal == SIGNAL_COMMAND {
            let number = i32::try_from(value & 0xff).unwrap_or(libc::SIGKILL);
            // Nobody but this process collects the command, so its id is still its own.
            if value & FIRST_ALONE == 0 {
                signal_group(command, number);
            } else {
                // SAFETY: takes numbers only.
                unsafe { libc::kill(command, number) };
            }
        }
    }
}

/// Kills children until there are none; whether some are left all the same.
fn sweep(signals: &libc::sigset_t) -> bool {
    let millisecond = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    let until = now_ns() + SWEEP_NS_MAX;
    while kill_children() && now_ns() < until {
        // All that ended, or the next list is long with them; but not for ever where others keep ending.
        for _ in 0..ROUNDS_PER_PASS {
            match collect(reap, |_| true) {
                Children::None => return false,
                Children::Alive => break,
                Children::Ended => {}
            }
        }
        // SAFETY: both are valid, and nothing is written. A child's end cuts the wait short, or came before.
        unsafe { libc::sigtimedwait(signals, ptr::null_mut(), &raw const millisecond) };
    }
    true
}

/// Kills every child, also those that become its children meanwhile, which come last in the kernel's list: whoever forks and ends is
/// followed until nobody is ahead. `false` when they cannot be listed. None of their ids can be another's, as only this process
/// collects them.
fn kill_children() -> bool {
    // SAFETY: the path ends with a zero byte.
    let file = unsafe { libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return false;
    }
    let mut list = [0_u8; LIST_BYTES];
    let mut pid: i32 = 0;
    let read = loop {
        // SAFETY: the list is valid for its length.
        let Ok(count) = usize::try_from(unsafe { libc::read(file, list.as_mut_ptr().cast(), list.len()) }) else {
            break false;
        };
        if count == 0 {
            break true;
        }
        for byte in list.iter().take(count) {
            if byte.is_ascii_digit() {
                pid = pid * 10 + i32::from(byte - b'0');
            } else if pid > 0 {
                // SAFETY: takes numbers only.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                pid = 0;
            }
        }
    };
    // SAFETY: takes numbers only.
    unsafe { libc::close(file) };
    read
}
