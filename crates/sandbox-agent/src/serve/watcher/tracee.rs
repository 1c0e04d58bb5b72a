//! The kernel's calls for tracing, on one thread that stands still.

use std::mem::MaybeUninit;
use std::ptr;

use nix::errno::Errno;
use nix::libc;

use super::super::processes::Ended;

const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_EXITKILL;
/// Bytes of the kernel's description of a call.
const INFO_BYTES: usize = 88;
const PAGE: usize = 4_096;

/// Reason why a thread stopped, or its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum TraceEvent {
    Ended(Ended),
    /// It is about to make a call.
    Call,
    /// It made the call that it was let into.
    Made,
    /// It started a thread or process.
    Born(i32),
    /// It became another program; with the thread that asked for that.
    Ran(i32),
    /// All its process is stopped by a signal.
    Halted,
    /// A signal is about to reach it; 0 for none.
    Signal(i32),
}

/// A call that a thread is about to make.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) number: libc::c_long,
    pub(super) arguments: [u64; 6],
}

/// Becomes the tracer of a process and of all that descends from it. They die with this process.
pub(super) fn seize(pid: i32) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0_usize, OPTIONS as usize) };
    Errno::result(seized).map(drop)
}

/// Waits for news of any thread.
pub(super) fn wait(patient: bool) -> Result<Option<(i32, TraceEvent)>, Errno> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let flags = libc::__WALL | if patient { 0 } else { libc::WNOHANG };
    // SAFETY: both places are valid for writing.
    let pid = Errno::result(unsafe { libc::wait4(-1, &raw mut status, flags, usage.as_mut_ptr()) })?;
    if pid == 0 {
        return Ok(None);
    }
    if !libc::WIFSTOPPED(status) {
        // SAFETY: zeroed before, which is a value of this structure of numbers, and filled by the kernel.
        let usage = unsafe { usage.assume_init() };
        return Ok(Some((pid, TraceEvent::Ended(Ended::new(status, &usage)))));
    }
    let signal = libc::WSTOPSIG(status);
    let news = match status >> 16 {
        libc::PTRACE_EVENT_SECCOMP => TraceEvent::Call,
        libc::PTRACE_EVENT_EXEC => TraceEvent::Ran(message(pid)),
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => TraceEvent::Born(message(pid)),
        libc::PTRACE_EVENT_STOP if matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) => {
            TraceEvent::Halted
        }
        0 if signal == libc::SIGTRAP | 0x80 => TraceEvent::Made,
        0 => TraceEvent::Signal(signal),
        _ => TraceEvent::Signal(0),
    };
    Ok(Some((pid, news)))
}

fn message(pid: i32) -> i32 {
    let mut told: libc::c_ulong = 0;
    // SAFETY: the place is valid for writing.
    unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, pid, 0_usize, &raw mut told) };
    i32::try_from(told).unwrap_or(0)
}

/// Lets it go on, with a signal or without.
pub(super) fn go_on(pid: i32, signal: i32) {
    resume(libc::PTRACE_CONT, pid, signal);
}

/// Lets it make its call, and stop after it.
pub(super) fn let_in(pid: i32) {
    resume(libc::PTRACE_SYSCALL, pid, 0);
}

/// Leaves it stopped, as whoever stopped it wants it.
pub(super) fn leave_stopped(pid: i32) {
    resume(libc::PTRACE_LISTEN, pid, 0);
}

fn resume(how: libc::c_uint, pid: i32, signal: i32) {
    // SAFETY: takes numbers only. It fails where the thread was killed meanwhile, of which the next wait tells.
    unsafe { libc::ptrace(how, pid, 0_usize, signal as usize) };
}

/// The call that it is about to make.
pub(super) fn call(pid: i32) -> Option<Call> {
    let words = info(pid, libc::PTRACE_SYSCALL_INFO_SECCOMP)?;
    let [number, arguments @ ..] = words;
    Some(Call { number: number as libc::c_long, arguments })
}

/// Return value of its call.
pub(super) fn returned(pid: i32) -> Option<i64> {
    info(pid, libc::PTRACE_SYSCALL_INFO_EXIT).map(|[value, ..]| value as i64)
}

/// The numbers that follow the head of the kernel's description, where it is of the kind `wanted`.
fn info(pid: i32, wanted: u8) -> Option<[u64; 7]> {
    let mut info = [0_u64; INFO_BYTES / 8];
    // SAFETY: the place is valid for writing so many bytes.
    let told =
        unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO as libc::c_uint, pid, INFO_BYTES, info.as_mut_ptr()) };
    let [kind, _, _, words @ ..] = info;
    let words = words.first_chunk::<7>().copied();
    words.filter(|_| told > 0 && kind.to_ne_bytes()[0] == wanted)
}

/// A text in its memory, up to the zero byte; `None` where it is none or longer than any path.
pub(super) fn text(pid: i32, at: u64) -> Option<String> {
    let mut read = Vec::new();
    while read.len() < PAGE {
        let from = usize::try_from(at).ok()?.checked_add(read.len())?;
        let mut piece = [0_u8; 256];
        let length = piece.len().min(PAGE - from % PAGE);
        let count = memory(pid, from, &mut piece[..length])?;
        let piece = &piece[..count];
        if let Some(end) = piece.iter().position(|byte| *byte == 0) {
            read.extend_from_slice(&piece[..end]);
            return Some(String::from_utf8_lossy(&read).into_owned());
        }
        read.extend_from_slice(piece);
    }
    None
}

/// A number in its memory.
pub(super) fn word(pid: i32, at: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    let count = memory(pid, usize::try_from(at).ok()?, &mut bytes)?;
    (count == bytes.len()).then(|| u64::from_ne_bytes(bytes))
}

fn memory(pid: i32, at: usize, to: &mut [u8]) -> Option<usize> {
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let remote = libc::iovec { iov_base: ptr::without_provenance_mut(at), iov_len: to.len() };
    // SAFETY: the local place is valid for its length; the other is another process's, where the kernel checks it.
    let count = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(count).ok().filter(|count| *count > 0)
}
