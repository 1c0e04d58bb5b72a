//! Runs a command so that nothing it or its descendants run or open goes unseen. The watcher is a copy of the agent, with the agent's
//! user id, and closed to others; it traces all that it started, and they die with it. Threads stop where the [filter] says. What a
//! path in a process's memory says may change under the eyes of whoever reads it, so files are looked at where they were opened.

mod filter;
mod look;
mod notes;
mod target;
mod tracee;

use std::collections::{BTreeSet, HashMap};
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::sys::prctl;

use self::filter::SYS_FCHMODAT2;
use self::look::Found;
pub(crate) use self::notes::Watch;
use self::notes::WatchLog;
use self::target::CallTarget;
use self::tracee::{Call, TraceEvent};
use super::child::{Plan, Pointers, Step, become_command, fail};
use super::keeper::{REPORT_BYTES, Report, now_ns};
use super::privilege;
use crate::watch::{ARGUMENTS_BYTES_MAX, Opened, Ran, WatchEvent};

/// Where the watcher keeps its files once all others are closed.
const REPORT: RawFd = 0;
const NOTES: RawFd = 1;
const UPPER: RawFd = 2;

/// Told to a command that is traced.
const TRACED: u8 = 1;

/// Errors of calls that open what is not there, or is closed.
const OUT_OF_REACH: [i32; 5] = [libc::ENOENT, libc::EACCES, libc::EPERM, libc::ENOTDIR, libc::ELOOP];
/// Errors of calls for which there is no room.
const FULL: [i32; 4] = [libc::ENOSPC, libc::EDQUOT, libc::EMFILE, libc::ENFILE];
/// The kernel's own, with which it makes a call again after a signal: `ERESTARTSYS` to `ERESTART_RESTARTBLOCK`.
const AGAIN: std::ops::RangeInclusive<i32> = 512..=516;

/// In a fork of the agent: starts the command, notes what it does, reports its end, and exits, which ends what is left of it. Both C
/// libraries keep their allocator fit for use in the only thread that a fork leaves.
pub(crate) fn watch(plan: &Plan, pointers: &Pointers, report: RawFd, watch: &Watch) -> ! {
    let traces = watch.upper.is_some() && privilege::take_up_tracing().is_ok();
    let began_ns = notes::next_tick_ns();
    let (command, blind) = match start(plan, pointers, traces) {
        Ok(started) => started,
        Err(errno) => fail(plan, Step::Streams, errno),
    };
    let upper = watch.upper.as_ref().map_or(watch.notes(), std::os::fd::AsRawFd::as_raw_fd);
    // SAFETY: takes numbers only. This process is a copy, in which nobody uses those that are closed any more.
    let notes = unsafe {
        for (from, to) in [(report, REPORT), (watch.notes(), NOTES), (upper, UPPER)] {
            libc::dup2(from, to);
        }
        libc::close_range(3, libc::c_uint::MAX, 0);
        OwnedFd::from_raw_fd(NOTES)
    };
    let mut watcher = Watcher {
        command,
        notes: WatchLog::new(notes, began_ns),
        threads: HashMap::new(),
        failures: BTreeSet::new(),
        over: false,
    };
    watcher.notes.closing.blind = blind;
    watcher.take_in(command, 0);
    watcher.follow();
    // SAFETY: `_exit` runs nothing of this copy of the agent.
    unsafe { libc::_exit(0) }
}

/// Starts the command, which waits until it is traced; with why it is not.
fn start(plan: &Plan, pointers: &Pointers, traces: bool) -> Result<(i32, Option<String>), Errno> {
    let mut go = [0; 2];
    // SAFETY: the place is valid for writing.
    Errno::result(unsafe { libc::pipe2(go.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // The memory of this program may belong to a namespace around this one, whose rights would be needed to trace a copy that is
    // closed. One that is open can be traced by its own user alone, who is no command's, until it gives that user up.
    let _ = prctl::set_dumpable(true);
    // SAFETY: the child calls the kernel and never returns.
    let command = Errno::result(unsafe { libc::fork() });
    if command != Ok(0) {
        let _ = prctl::set_dumpable(false);
    }
    let command = command?;
    if command == 0 {
        let mut byte = [0_u8];
        // SAFETY: the place is valid for writing. The other end of the pipe is closed, or the watcher's death would not be noticed.
        let told = unsafe {
            libc::close(go[1]);
            libc::read(go[0], byte.as_mut_ptr().cast(), 1)
        };
        if told == 1 {
            become_command(plan, pointers, byte == [TRACED]);
        }
        fail(plan, Step::Streams, Errno::ECHILD);
    }
    let blind = match if traces { tracee::seize(command) } else { Err(Errno::EPERM) } {
        Ok(()) => None,
        Err(errno) => Some(format!("the command cannot be traced here: {}", errno.desc())),
    };
    let word = if blind.is_none() { TRACED } else { 0 };
    // SAFETY: the byte is valid for reading.
    unsafe { libc::write(go[1], ptr::from_ref(&word).cast(), 1) };
    Ok((command, blind))
}

struct Watcher {
    command: i32,
    notes: WatchLog,
    /// Threads by their id.
    threads: HashMap<i32, Thread>,
    /// Failures that were noted, each once for a process.
    failures: BTreeSet<(i32, String, bool, bool)>,
    over: bool,
}

struct Thread {
    process: i32,
    /// The call that it is in.
    call: Option<Pending>,
}

/// A call that was let in.
struct Pending {
    call: Call,
    /// The path that it names, absolute.
    given: String,
    /// The path that gets another name by it.
    of: Option<String>,
    flags: i32,
}

impl Watcher {
    /// Follows all until the command itself ended.
    fn follow(&mut self) {
        while let Ok(Some((tid, news))) = tracee::wait(!self.over) {
            self.take(tid, news);
        }
        let left = self.threads.iter().filter(|(tid, thread)| **tid == thread.process).count();
        self.notes.closing.left = left as u64;
        self.notes.close();
        self.report_end();
    }

    /// The report is written last: the agent reads the notes once this process ended.
    fn report_end(&mut self) {
        if let Some(report) = self.notes.ended.take() {
            // SAFETY: the report is valid for its length.
            unsafe { libc::write(REPORT, ptr::from_ref(&report).cast(), REPORT_BYTES) };
        }
    }

    fn take(&mut self, tid: i32, news: TraceEvent) {
        if let TraceEvent::Ended(ended) = news {
            let thread = self.threads.remove(&tid);
            if thread.is_some_and(|thread| thread.process == tid) {
                self.failures.retain(|(pid, ..)| *pid != tid);
                self.notes.saw(&WatchEvent::Ended { pid: tid });
            }
            if tid == self.command {
                self.notes.ended = Some(Report { ended, at_ns: now_ns() });
                self.over = true;
            }
            return;
        }
        if !self.threads.contains_key(&tid) {
            self.take_in(tid, look::status(tid, "PPid").unwrap_or(0));
        }
        match news {
            TraceEvent::Call => self.enter(tid),
            TraceEvent::Made => {
                self.leave(tid);
                tracee::go_on(tid, 0);
            }
            TraceEvent::Born(child) => {
                let parent = self.process(tid);
                if !self.threads.contains_key(&child) {
                    self.take_in(child, parent);
                }
                tracee::go_on(tid, 0);
            }
            TraceEvent::Ran(former) => {
                self.ran(tid, former);
                tracee::go_on(tid, 0);
            }
            TraceEvent::Halted => tracee::leave_stopped(tid),
            TraceEvent::Signal(signal) => tracee::go_on(tid, signal),
            TraceEvent::Ended(_) => {}
        }
    }

    fn process(&self, tid: i32) -> i32 {
        self.threads.get(&tid).map_or(tid, |thread| thread.process)
    }

    /// Takes a new thread in. One that is gone already, or of which nobody knows where it comes from, is a gap.
    fn take_in(&mut self, tid: i32, parent: i32) {
        let process = look::status(tid, "Tgid").unwrap_or(tid);
        self.threads.insert(tid, Thread { process, call: None });
        if process != tid {
            return;
        }
        if parent == 0 && tid != self.command {
            self.notes.closing.dropped += 1;
        }
        self.notes.saw(&WatchEvent::Born { pid: tid, of: self.process(parent) });
    }

    /// A thread is about to make a call.
    fn enter(&mut self, tid: i32) {
        let Some(call) = tracee::call(tid) else { return tracee::go_on(tid, 0) };
        if target::is_aimed(call.number) {
            self.aimed(tid, &call);
            return tracee::go_on(tid, 0);
        }
        if matches!(call.number, libc::SYS_fchmod | libc::SYS_fsetxattr) {
            let given = look::behind(tid, call.arguments[0]).unwrap_or_default();
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.call = Some(Pending { call, given, of: None, flags: 0 });
            }
            return tracee::let_in(tid);
        }
        let Some((from, path, flags)) = named(&call) else {
            if call.number == libc::SYS_ptrace {
                self.notes.closing.refused += 1;
            }
            return tracee::go_on(tid, 0);
        };
        let at = |from, path| tracee::text(tid, path).and_then(|text| look::absolute(tid, from, &text));
        let given = at(from, path).unwrap_or_default();
        let of = source(&call).and_then(|(from, path)| at(from, path));
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.call = Some(Pending { call, given, of, flags });
        }
        tracee::let_in(tid);
    }

    /// A thread is about to act upon processes.
    fn aimed(&mut self, tid: i32, call: &Call) {
        let own = self.process(tid);
        let all = || self.threads.values().map(|thread| thread.process).collect::<BTreeSet<_>>();
        let of: BTreeSet<i32> = match target::of(tid, call) {
            None => return,
            Some(CallTarget::One(id)) => all().into_iter().filter(|process| *process == self.process(id)).collect(),
            Some(CallTarget::Group(group)) => {
                let group = if group == 0 { look::group(own) } else { Some(group) };
                all().into_iter().filter(|process| look::group(*process) == group).collect()
            }
            Some(CallTarget::All) => all(),
        };
        let of: Vec<i32> = of.into_iter().filter(|process| *process != own).collect();
        if !of.is_empty() {
            self.notes.saw(&WatchEvent::Reached { pid: own, of });
        }
    }

    /// A thread made a call.
    fn leave(&mut self, tid: i32) {
        let Some(pending) = self.threads.get_mut(&tid).and_then(|thread| thread.call.take()) else { return };
        let (Some(returned), pid) = (tracee::returned(tid), self.process(tid)) else {
            self.notes.closing.dropped += 1;
            return;
        };
        match pending.call.number {
            libc::SYS_execve | libc::SYS_execveat => self.failed(pid, pending, errno(returned)),
            _ if is_naming(pending.call.number) && returned == 0 => {
                let (file, target) = look::standing(&pending.given).unzip();
                self.notes.saw(&WatchEvent::Placed {
                    pid,
                    path: pending.given,
                    of: pending.of,
                    file,
                    target: target.flatten(),
                });
            }
            _ if is_naming(pending.call.number) => {}
            _ => {
                // What Python looks for first tells an import from a source that is read as text, whatever stands there.
                if pending.given.ends_with(".pyc") {
                    self.notes.saw(&WatchEvent::Missed { pid, path: pending.given.clone() });
                }
                if returned >= 0 {
                    self.opened(tid, returned, pending);
                } else if writes(pending.flags) || OUT_OF_REACH.contains(&errno(returned)) {
                    self.failed(pid, pending, errno(returned));
                }
            }
        }
    }

    /// A process could not open or run what is, or was, of the image, or could not write what it was to.
    fn failed(&mut self, pid: i32, pending: Pending, errno: i32) {
        let Pending { call, given: path, flags, .. } = pending;
        let runs = matches!(call.number, libc::SYS_execve | libc::SYS_execveat);
        let full = writes(flags) && FULL.contains(&errno);
        let is_due = full || (!AGAIN.contains(&errno) && look::is_affected(&path, errno == libc::EACCES, UPPER));
        if is_due && self.failures.insert((pid, path.clone(), runs, writes(flags))) {
            self.notes.saw(&WatchEvent::Failed { pid, path, runs, flags, full });
        }
    }

    fn opened(&mut self, tid: i32, descriptor: i64, pending: Pending) {
        if pending.flags & libc::O_PATH != 0 {
            return;
        }
        let pid = self.process(tid);
        let at = std::path::PathBuf::from(format!("/proc/{tid}/fd/{descriptor}"));
        let Some(found) = Found::behind(tid, descriptor) else {
            // The descriptor was closed by another thread, which nobody does who has nothing to hide.
            self.notes.closing.dropped += u64::from(std::fs::symlink_metadata(at).is_err());
            return;
        };
        let writes = writes(pending.flags);
        let foreign = !found.path.starts_with('/') && !look::holds(tid, &found.path, descriptor);
        let links = if found.path == pending.given { Vec::new() } else { look::changed_links(&pending.given, UPPER) };
        let worth = if let Some(below) = found.path.strip_prefix("/proc/") {
            let of = below.split('/').next().unwrap_or_default();
            of.parse::<i32>().is_ok_and(|of| of != pid)
        } else if found.path.starts_with('/') {
            // What was asked for counts as well: another thread may have put another file behind the descriptor.
            let is_changed = look::is_changed(&found.path, UPPER) || look::is_changed(&pending.given, UPPER);
            !found.is_folder && !found.is_device && (writes || is_changed)
        } else {
            foreign || found.path.starts_with("/memfd:")
        };
        if !worth && links.is_empty() {
            return;
        }
        // Where nothing but links led elsewhere: what another thread put behind the descriptor counts as what was asked for.
        let by_links = found.path == pending.given || !links.is_empty();
        let of_image = by_links && found.path.starts_with('/') && !writes && !look::is_changed(&found.path, UPPER);
        let found = if pending.flags & libc::O_ACCMODE == libc::O_WRONLY { found } else { found.with_head() };
        let Found { path, file, .. } = found;
        let Pending { given, flags, .. } = pending;
        let at_ns = notes::now_ns();
        self.notes.saw(&WatchEvent::Opened(Opened { pid, given, path, flags, file, links, of_image, foreign, at_ns }));
    }

    /// A process became another program, by the call of its thread `former`.
    fn ran(&mut self, pid: i32, former: i32) {
        let pending = [former, pid].iter().find_map(|tid| self.threads.get_mut(tid)?.call.take());
        // Its other threads ended without a word.
        self.threads.retain(|tid, thread| thread.process != pid || *tid == pid);
        self.threads.insert(pid, Thread { process: pid, call: None });
        let read = |name: &str| {
            let link = std::fs::read_link(format!("/proc/{pid}/{name}")).ok();
            link.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let given = pending.map(|pending| pending.given).unwrap_or_default();
        let (argv, cut) = look::arguments(pid, ARGUMENTS_BYTES_MAX);
        let (exe, folder) = (read("exe"), read("cwd"));
        let links = look::changed_links(&given, UPPER);
        let files = look::mapped(pid).into_iter().chain(std::fs::canonicalize(&given).ok().map(look::shown));
        let mut changed: Vec<_> = files.filter(|path| look::is_changed(path, UPPER)).map(look::dated).collect();
        changed.sort();
        changed.dedup();
        let shared = look::status(pid, "PPid").map_or_else(Vec::new, |parent| look::shared(pid, parent, UPPER));
        let at_ns = notes::now_ns();
        self.notes.saw(&WatchEvent::Ran(Ran { pid, given, exe, folder, argv, cut, changed, links, shared, at_ns }));
    }
}

/// The number of the error that a call returned.
fn errno(returned: i64) -> i32 {
    i32::try_from(returned.saturating_neg()).unwrap_or(0)
}

/// True if a file is opened for writing by these flags.
fn writes(flags: i32) -> bool {
    flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0
}

/// Where the path of a call starts and lies, and the flags with which it opens; `None` for a call that names none.
fn named(call: &Call) -> Option<(u64, u64, i32)> {
    let here = libc::AT_FDCWD as u32 as u64;
    let [a, b, c, d, ..] = call.arguments;
    #[cfg(target_arch = "x86_64")]
    match call.number {
        libc::SYS_open => return Some((here, a, b as i32)),
        libc::SYS_creat => return Some((here, a, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC)),
        libc::SYS_rename | libc::SYS_link | libc::SYS_symlink => return Some((here, b, 0)),
        libc::SYS_unlink | libc::SYS_rmdir | libc::SYS_mknod | libc::SYS_mkdir | libc::SYS_chmod => {
            return Some((here, a, 0));
        }
        _ => {}
    }
    Some(match call.number {
        libc::SYS_openat => (a, b, c as i32),
        libc::SYS_execve => (here, a, 0),
        libc::SYS_execveat => (a, b, 0),
        libc::SYS_renameat | libc::SYS_renameat2 | libc::SYS_linkat => (c, d, 0),
        libc::SYS_symlinkat => (b, c, 0),
        libc::SYS_unlinkat | libc::SYS_mknodat | libc::SYS_mkdirat | libc::SYS_fchmodat | SYS_FCHMODAT2 => (a, b, 0),
        libc::SYS_truncate | libc::SYS_setxattr | libc::SYS_lsetxattr => (here, a, 0),
        _ => return None,
    })
}

/// Where the path that a call gives another name starts and lies.
fn source(call: &Call) -> Option<(u64, u64)> {
    let here = libc::AT_FDCWD as u32 as u64;
    let [a, b, ..] = call.arguments;
    #[cfg(target_arch = "x86_64")]
    if matches!(call.number, libc::SYS_rename | libc::SYS_link) {
        return Some((here, a));
    }
    matches!(call.number, libc::SYS_renameat | libc::SYS_renameat2 | libc::SYS_linkat).then_some((a, b))
}

/// True if a call makes, changes or takes away what stands at a path, without opening it.
fn is_naming(number: libc::c_long) -> bool {
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_rename | libc::SYS_link | libc::SYS_symlink => return true,
        libc::SYS_unlink | libc::SYS_rmdir | libc::SYS_mknod | libc::SYS_mkdir | libc::SYS_chmod => return true,
        _ => {}
    }
    matches!(
        number,
        libc::SYS_renameat
            | libc::SYS_renameat2
            | libc::SYS_linkat
            | libc::SYS_symlinkat
            | libc::SYS_unlinkat
            | libc::SYS_mknodat
            | libc::SYS_mkdirat
            | libc::SYS_truncate
            | libc::SYS_fchmodat
            | SYS_FCHMODAT2
            | libc::SYS_fchmod
            | libc::SYS_setxattr
            | libc::SYS_lsetxattr
            | libc::SYS_fsetxattr
    )
}
