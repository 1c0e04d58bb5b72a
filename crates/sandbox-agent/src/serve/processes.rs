//! All processes of the sandbox but the agent.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;

/// Longest wait for processes to stop.
const STOP_MAX: Duration = Duration::from_secs(2);
/// Children that ended which are collected at once: where there are always more, what else is to be done comes between.
pub(crate) const COLLECTED_AT_ONCE_MAX: usize = 256;
/// Pause between looks.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// Sends a signal to all at once: the kernel does not let a fork slip through. There may be none.
pub(crate) fn signal_all(signal: i32) {
    // SAFETY: takes numbers only. The agent is process 1, so that -1 means its own namespace and spares itself.
    unsafe { libc::kill(-1, signal) };
}

/// Sends a signal to the process group that a child leads and that was not collected yet. Only calls the kernel, so it may follow a
/// fork.
pub(crate) fn signal_group(leader: i32, signal: i32) {
    // SAFETY: takes numbers only.
    unsafe {
        let nobody = libc::kill(-leader, signal) != 0;
        // It may not lead its group yet; and one that left it must not escape its end.
        if nobody || signal == libc::SIGKILL {
            libc::kill(leader, signal);
        }
    }
}

/// Stops all, and returns once none runs.
pub(crate) fn freeze() -> Result<(), String> {
    let until = Instant::now() + STOP_MAX;
    loop {
        // Again with each look: one that was about to stop may have woken another.
        signal_all(libc::SIGSTOP);
        // One look is no proof, since it takes a while: what it saw first may run again at its end. But where a second look finds that
        // nobody ran since the first, all stood still between the two, and nobody is left to wake anybody.
        if let Some(first) = stopped_threads()
            && stopped_threads() == Some(first)
        {
            return Ok(());
        }
        if Instant::now() > until {
            return Err("a process does not stop".to_owned());
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Number of processes, zombies included: they take up places too.
pub(crate) fn count() -> u64 {
    processes().count() as u64
}

/// A child that ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reaped {
    pub(crate) pid: i32,
    pub(crate) ended: Ended,
}

/// End of a process, with its resource usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Ended {
    /// As `wait4` says.
    pub(crate) status: i32,
    pub(crate) cpu_us: u64,
    pub(crate) memory_bytes: u64,
}

/// Collects a child that ended, without waiting: `Ok(None)` when none ended, `ECHILD` when there is none. Only calls the kernel, so
/// it may follow a fork.
pub(crate) fn reap() -> Result<Option<Reaped>, Errno> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both places are valid for writing.
    let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    if Errno::result(pid)? == 0 {
        return Ok(None);
    }
    // SAFETY: zeroed before, which is a value of this structure of numbers, and filled by the kernel.
    let usage = unsafe { usage.assume_init() };
    Ok(Some(Reaped { pid, ended: Ended::new(status, &usage) }))
}

/// State after some children were collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Children {
    /// None.
    None,
    /// Some, and none of them ended.
    Alive,
    /// Perhaps more that ended.
    Ended,
}

/// Collects children by `reap`, such as [`reap`], and hands each to `take`, which says whether to go on: at most
/// [`COLLECTED_AT_ONCE_MAX`]. Only calls the kernel where both do.
pub(crate) fn collect(
    mut reap: impl FnMut() -> Result<Option<Reaped>, Errno>,
    mut take: impl FnMut(Reaped) -> bool,
) -> Children {
    for _ in 0..COLLECTED_AT_ONCE_MAX {
        match reap() {
            Ok(Some(reaped)) => {
                if !take(reaped) {
                    break;
                }
            }
            Ok(None) => return Children::Alive,
            Err(_) => return Children::None,
        }
    }
    Children::Ended
}

impl Ended {
    /// The end as `wait4` reports it.
    pub(crate) fn new(status: i32, usage: &libc::rusage) -> Self {
        let micros = |time: libc::timeval| {
            u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0)
        };
        Self {
            status,
            cpu_us: micros(usage.ru_utime) + micros(usage.ru_stime),
            memory_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        }
    }
}

/// Number of times that each thread was given or gave up the processor, by id; `None` where one is not stopped. A process whose
/// first thread ended looks like a zombie though others may run, so that every thread counts.
fn stopped_threads() -> Option<BTreeMap<OsString, u64>> {
    let threads = processes().flat_map(|process| fs::read_dir(process.join("task")).into_iter().flatten().flatten());
    let mut found = BTreeMap::new();
    for thread in threads {
        let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
        let values = |name: &'static str| {
            status.lines().filter_map(move |line| line.split_once(':')).filter(move |(key, _)| key.ends_with(name))
        };
        // `T` is stopped, `t` under a tracer. `D` waits inside the kernel, on a disk or for a child that was stopped between `vfork`
        // and `exec`, and takes the signal before it runs code of its own again.
        let state = values("State").next().and_then(|(_, value)| value.trim_start().bytes().next());
        if !state.is_none_or(|state| matches!(state, b'T' | b't' | b'Z' | b'X' | b'D')) {
            return None;
        }
        let switches =
            values("voluntary_ctxt_switches").filter_map(|(_, value)| value.trim().parse::<u64>().ok()).sum();
        found.insert(thread.file_name(), switches);
    }
    Some(found)
}

/// The folder of each process but the agent.
fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let others = entries.filter(|entry| {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        pid.is_some_and(|pid| pid != 1)
    });
    others.map(|entry| entry.path())
}
