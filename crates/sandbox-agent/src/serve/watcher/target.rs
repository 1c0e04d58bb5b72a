//! Processes that a call acts upon: by a signal, a limit or its place in the schedule.

use nix::libc;

use super::filter::{AIMED, AIMED_UNLESS_ZERO, F_SETOWN_EX, OWNERS};
use super::look;
use super::tracee::{self, Call};

/// Target of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallTarget {
    /// A thread or process.
    One(i32),
    /// A process group; 0 for the caller's own.
    Group(i32),
    /// All that it may.
    All,
}

/// True if a call is of this kind.
pub(super) fn is_aimed(number: libc::c_long) -> bool {
    AIMED.contains(&number) || AIMED_UNLESS_ZERO.contains(&number) || OWNERS.iter().any(|(owner, _)| *owner == number)
}

/// Target of the call; `None` where it changes nothing.
pub(super) fn of(tid: i32, call: &Call) -> Option<CallTarget> {
    let [first, second, third, ..] = call.arguments;
    let (one, two) = (first as i32, second as i32);
    match call.number {
        libc::SYS_kill | libc::SYS_rt_sigqueueinfo => (two != 0).then(|| signalled(one)),
        libc::SYS_tkill => (two != 0).then_some(CallTarget::One(one)),
        libc::SYS_tgkill | libc::SYS_rt_tgsigqueueinfo => (third as i32 != 0).then_some(CallTarget::One(two)),
        libc::SYS_pidfd_send_signal if two == 0 => None,
        // What cannot be found out may be anybody.
        libc::SYS_pidfd_send_signal => Some(look::behind_pidfd(tid, one).map_or(CallTarget::All, CallTarget::One)),
        // Without new limits it only asks.
        libc::SYS_prlimit64 => (third != 0).then_some(CallTarget::One(one)),
        libc::SYS_setpriority => Some(scheduled(one, two)),
        // Its kinds are numbered from 1, in the same order.
        libc::SYS_ioprio_set => Some(scheduled(one - 1, two)),
        libc::SYS_fcntl if second as u32 == F_SETOWN_EX => {
            let owner = tracee::word(tid, third)?;
            let id = (owner >> 32) as i32;
            Some(if owner as u32 == F_OWNER_GROUP { CallTarget::Group(id) } else { CallTarget::One(id) })
        }
        libc::SYS_fcntl => owner(third as i32),
        libc::SYS_ioctl => owner(tracee::word(tid, third)? as i32),
        _ => Some(CallTarget::One(one)),
    }
}

/// The kind of a process group, by `fcntl`.
const F_OWNER_GROUP: u32 = 2;

fn signalled(id: i32) -> CallTarget {
    match id {
        -1 => CallTarget::All,
        id if id <= 0 => CallTarget::Group(id.saturating_neg()),
        id => CallTarget::One(id),
    }
}

fn scheduled(kind: i32, id: i32) -> CallTarget {
    match kind {
        0 => CallTarget::One(id),
        1 => CallTarget::Group(id),
        _ => CallTarget::All,
    }
}

fn owner(id: i32) -> Option<CallTarget> {
    (id != 0).then(|| signalled(id))
}
