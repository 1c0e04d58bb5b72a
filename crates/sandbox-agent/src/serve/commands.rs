//! Running commands: their streams, their time, their end.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::libc;
use nix::pty::{Winsize, openpty};
use nix::unistd::{pipe2, read, write};

use super::child::NOT_STARTED;
use super::failure::Failure;
use super::keeper::{self, REPORT_BYTES, Report};
use super::outbox::Outbox;
use super::paths;
use super::processes::{Ended, signal_all, signal_group};
use super::programs::ProgramLauncher;
use super::spawn::{self, CommandIo, CommandUser, Started};
use super::watcher::Watch;
use crate::wire::{Event, Exec, Exited, Kind, Rlimits};

const READ_BYTES: usize = 64 * 1024;
/// Of output that is not sent, so much of the end is kept.
const TAIL_BYTES_MAX: usize = 64 * 1024;
/// Keys that wait until the program on a terminal reads; more are lost, as on a real one.
const KEYS_BYTES_MAX: usize = 64 * 1024;
/// Time that the last output on a terminal may take to arrive once its command ended.
const LAST_OUTPUT_MAX: Duration = Duration::from_millis(200);
/// Time that a command's end may take once it was killed, before whatever holds it up is killed too.
const KILL_GRACE: Duration = Duration::from_secs(2);

/// Limits that the server sets for a command before it starts.
pub(crate) struct CommandPolicy {
    pub(crate) exec: Exec,
    pub(crate) limits: Rlimits,
    /// User that it runs as; `None` where there is one user only.
    pub(crate) user: CommandUser,
    pub(crate) output_bytes_max: u64,
    /// Launcher of programs for it.
    pub(crate) launcher: Option<ProgramLauncher>,
    /// Where what is seen of it is noted; `None` where nobody watches.
    pub(crate) watch: Option<Watch>,
}

/// A command that runs, or that ended and has output left to send.
pub(crate) struct Command {
    pub(crate) stream: u32,
    exec: Exec,
    started: Started,
    start_ns: u64,
    deadline: Option<Instant>,
    timed_out: bool,
    pub(crate) output: Channel,
    pub(crate) error: Channel,
    terminal: Option<Terminal>,
    ended: Option<(Ended, u64)>,
    pub(crate) launcher: Option<ProgramLauncher>,
    watch: Option<Watch>,
}

/// Output of a command, on its way to the server.
pub(crate) struct Channel {
    file: Option<OwnedFd>,
    kind: Kind,
    /// Bytes that may still be sent as they come.
    head_left: u64,
    /// The last of what was not sent.
    tail: VecDeque<u8>,
    omitted: u64,
    /// Bytes that were there when the command ended: what others write to the same pipe later is not its output.
    rest: Option<usize>,
    /// When to stop waiting for the last output of a terminal.
    until: Option<Instant>,
}

struct Terminal {
    keys: VecDeque<u8>,
}

impl Command {
    /// Starts a command that reads `input`.
    pub(crate) fn start(stream: u32, mut policy: CommandPolicy, input: File) -> Result<Self, Failure> {
        let exhausted = |errno: Errno| Failure::kernel(errno, "starting a command");
        let (output, output_end) = pipe2(OFlag::O_CLOEXEC).map_err(exhausted)?;
        let (error, error_end) = if policy.exec.merge {
            (None, None)
        } else {
            let (error, end) = pipe2(OFlag::O_CLOEXEC).map_err(exhausted)?;
            (Some(error), Some(end))
        };
        // Only these ends: a command expects to wait where it writes.
        set_nonblocking(&output).map_err(exhausted)?;
        if let Some(error) = &error {
            set_nonblocking(error).map_err(exhausted)?;
        }
        let io = CommandIo { input: input.into(), output: output_end, error: error_end, terminal: false };
        if let Some(launcher) = &mut policy.launcher {
            launcher.keep_back([Some(&io.output), io.error.as_ref()])?;
        }
        let channels = (
            Channel::new(Some(output), Kind::Output, policy.output_bytes_max),
            Channel::new(error, Kind::Error, policy.output_bytes_max),
        );
        Self::run(stream, policy, &io, channels, None)
    }

    /// Starts a command on a terminal of its own.
    pub(crate) fn start_on_terminal(
        stream: u32,
        policy: CommandPolicy,
        rows: u16,
        columns: u16,
    ) -> Result<Self, Failure> {
        let exhausted = |errno: Errno| Failure::kernel(errno, "opening a terminal");
        let pair = openpty(Some(&size(rows, columns)), None).map_err(exhausted)?;
        for end in [&pair.master, &pair.slave] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).map_err(exhausted)?;
        }
        set_nonblocking(&pair.master).map_err(exhausted)?;
        // Programs open their terminal again by its name.
        paths::give(&pair.slave, "".as_ref(), policy.user.user).map_err(exhausted)?;
        let output = pair.slave.try_clone().map_err(|error| Failure::io(&error, "opening a terminal"))?;
        let io = CommandIo { input: pair.slave, output, error: None, terminal: true };
        let channels = (Channel::new(Some(pair.master), Kind::Output, u64::MAX), Channel::new(None, Kind::Error, 0));
        Self::run(stream, policy, &io, channels, Some(Terminal { keys: VecDeque::new() }))
    }

    fn run(
        stream: u32,
        policy: CommandPolicy,
        io: &CommandIo,
        (output, error): (Channel, Channel),
        terminal: Option<Terminal>,
    ) -> Result<Self, Failure> {
        let (start, start_ns) = (Instant::now(), keeper::now_ns());
        let started = spawn::start(&policy.exec, &policy.limits, policy.user, io, policy.watch.as_ref())?;
        let deadline = policy.exec.wall_ms.and_then(|wall| start.checked_add(Duration::from_millis(wall)));
        let CommandPolicy { exec, launcher, watch, .. } = policy;
        let (timed_out, ended) = (false, None);
        Ok(Self {
            stream,
            exec,
            started,
            start_ns,
            deadline,
            timed_out,
            output,
            error,
            terminal,
            ended,
            launcher,
            watch,
        })
    }

    /// The child to wait for; `None` once it ended.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.ended.is_none().then_some(self.started.pid)
    }

    /// Sends a signal to the command's process group.
    pub(crate) fn signal(&self, signal: i32) {
        let Some(pid) = self.pid() else { return };
        if self.started.report.is_none() {
            return signal_group(pid, signal);
        }
        if self.watch.is_some() {
            // Its end is the end of all that it watches.
            // SAFETY: takes numbers only; the watcher was not collected yet.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            return;
        }
        keeper::order(pid, signal as usize);
    }

    /// When to call [`Command::check_time`] again.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let deadline = self.deadline.filter(|_| self.ended.is_none());
        let programs = self.launcher.as_ref().and_then(ProgramLauncher::next_deadline);
        [deadline, self.output.until, programs].into_iter().flatten().min()
    }

    /// Kills a command whose time is over.
    pub(crate) fn check_time(&mut self, now: Instant, has_room: bool) {
        if self.ended.is_none() && self.deadline.is_some_and(|deadline| now >= deadline) {
            if self.timed_out
                && let Some(pid) = self.pid()
            {
                // A keeper that does not do its duty was stopped by what it keeps.
                // SAFETY: takes numbers only; the child was not collected yet.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
            self.timed_out = true;
            self.signal(libc::SIGKILL);
            self.deadline = now.checked_add(KILL_GRACE);
        }
        self.output.give_up(now, has_room);
        if let Some(launcher) = &mut self.launcher {
            launcher.check_time(now);
        }
    }

    /// Takes note of the child's end.
    pub(crate) fn end(&mut self, ended: Ended) {
        let mut report = [0; REPORT_BYTES];
        let report = match &mut self.started.report {
            Some(pipe) => pipe.read_exact(&mut report).is_ok().then(|| Report::of(report)),
            None => Some(Report { ended, at_ns: keeper::now_ns() }),
        };
        let is_keeper = self.started.report.is_some();
        let never_started = libc::WIFEXITED(ended.status) && libc::WEXITSTATUS(ended.status) == NOT_STARTED;
        let swept = !is_keeper || ended.status == 0 || never_started;
        if !swept {
            // The keeper did not end by itself, so nobody can tell what it kept from the rest.
            signal_all(libc::SIGKILL);
        }
        let Report { ended, at_ns } = report.unwrap_or(Report { ended, at_ns: keeper::now_ns() });
        self.ended = Some((ended, at_ns.saturating_sub(self.start_ns) / 1_000));
        let terminal = self.terminal.is_some();
        self.output.drain(terminal);
        self.error.drain(false);
        if let Some(launcher) = &mut self.launcher {
            launcher.close();
        }
    }

    /// True if there is nothing more to come.
    pub(crate) fn is_over(&self) -> bool {
        let programs_are_gone = self.launcher.as_ref().is_none_or(ProgramLauncher::is_over);
        self.ended.is_some() && self.output.file.is_none() && self.error.file.is_none() && programs_are_gone
    }

    /// Sends what is left to say. To be called once, when it [is over](Command::is_over).
    pub(crate) fn finish(mut self, outbox: &Outbox) {
        if let Some(failure) = self.started.trouble(&self.exec) {
            return outbox.event(self.stream, &failure.event());
        }
        if let Some(watch) = &self.watch {
            watch.send(self.stream, outbox);
        }
        let (ended, wall_us) = self.ended.unwrap_or((Ended { status: 0, cpu_us: 0, memory_bytes: 0 }, 0));
        let event = Event::Exited(Exited {
            code: libc::WIFEXITED(ended.status).then(|| libc::WEXITSTATUS(ended.status)),
            signal: libc::WIFSIGNALED(ended.status).then(|| libc::WTERMSIG(ended.status)),
            timed_out: self.timed_out,
            wall_us,
            cpu_us: ended.cpu_us,
            memory_bytes: ended.memory_bytes,
            output_omitted_bytes: self.output.finish(self.stream, outbox),
            error_omitted_bytes: self.error.finish(self.stream, outbox),
        });
        outbox.event(self.stream, &event);
    }

    /// Takes keys for the terminal; `false` where there is none.
    pub(crate) fn take_keys(&mut self, keys: &[u8]) -> bool {
        let Some(terminal) = &mut self.terminal else { return false };
        let room = KEYS_BYTES_MAX - terminal.keys.len();
        terminal.keys.extend(&keys[..keys.len().min(room)]);
        self.type_keys();
        true
    }

    /// The terminal, while keys wait for it.
    pub(crate) fn waiting_terminal(&self) -> Option<BorrowedFd<'_>> {
        let terminal = self.terminal.as_ref().filter(|terminal| !terminal.keys.is_empty());
        terminal.and(self.output.file.as_ref()).map(AsFd::as_fd)
    }

    /// Types what the terminal takes now.
    pub(crate) fn type_keys(&mut self) {
        let (Some(terminal), Some(file)) = (&mut self.terminal, &self.output.file) else { return };
        while !terminal.keys.is_empty() {
            match write(file, terminal.keys.as_slices().0) {
                Ok(count) => drop(terminal.keys.drain(..count)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(_) => terminal.keys.clear(),
            }
        }
    }

    /// Changes the size of the terminal; `false` where there is none.
    pub(crate) fn resize(&self, rows: u16, columns: u16) -> bool {
        let (Some(_), Some(file)) = (&self.terminal, &self.output.file) else { return false };
        let size = size(rows, columns);
        // SAFETY: the size is what this call reads.
        unsafe { libc::ioctl(file.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) == 0 }
    }
}

impl Channel {
    fn new(file: Option<OwnedFd>, kind: Kind, head_left: u64) -> Self {
        Self { file, kind, head_left, tail: VecDeque::new(), omitted: 0, rest: None, until: None }
    }

    /// Descriptor to poll: nothing while the server has not taken what came before.
    pub(crate) fn wants(&self, has_room: bool) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().filter(|_| has_room || self.head_left == 0).map(AsFd::as_fd)
    }

    /// Reads once.
    pub(crate) fn read(&mut self, stream: u32, outbox: &Outbox, piece: &mut [u8; READ_BYTES]) {
        let Some(file) = &self.file else { return };
        let length = self.rest.map_or(piece.len(), |rest| rest.min(piece.len()));
        match read(file, &mut piece[..length]) {
            Ok(count) if count > 0 => {
                self.take(&piece[..count], stream, outbox);
                self.rest = self.rest.map(|rest| rest - count);
                if self.rest == Some(0) {
                    self.file = None;
                }
            }
            Err(Errno::EINTR) => {}
            // A terminal's last output may still be on its way.
            Err(Errno::EAGAIN) if self.rest.is_none() => {}
            // All ends are closed; terminals say so by an error.
            Ok(_) | Err(_) => self.close(),
        }
    }

    fn take(&mut self, bytes: &[u8], stream: u32, outbox: &Outbox) {
        let head = usize::try_from(self.head_left).unwrap_or(usize::MAX).min(bytes.len());
        if head > 0 {
            outbox.put(stream, self.kind, &bytes[..head]);
            self.head_left -= head as u64;
        }
        self.tail.extend(&bytes[head..]);
        let surplus = self.tail.len().saturating_sub(TAIL_BYTES_MAX);
        self.tail.drain(..surplus);
        self.omitted += surplus as u64;
    }

    /// The command ended: takes what is there, and no more.
    fn drain(&mut self, terminal: bool) {
        let Some(file) = &self.file else { return };
        if terminal {
            self.until = Instant::now().checked_add(LAST_OUTPUT_MAX);
            return;
        }
        let mut count: libc::c_int = 0;
        // SAFETY: the place is valid for writing.
        let asked = unsafe { libc::ioctl(file.as_raw_fd(), libc::FIONREAD, &raw mut count) };
        let rest = usize::try_from(count).unwrap_or(0);
        if asked != 0 || rest == 0 { self.close() } else { self.rest = Some(rest) }
    }

    fn give_up(&mut self, now: Instant, has_room: bool) {
        if self.until.is_some_and(|until| now >= until) {
            if has_room {
                self.close();
            } else {
                self.until = now.checked_add(LAST_OUTPUT_MAX);
            }
        }
    }

    fn close(&mut self) {
        self.file = None;
        self.until = None;
    }

    /// Sends the end of what was not sent; how many bytes are missing before it.
    fn finish(&mut self, stream: u32, outbox: &Outbox) -> u64 {
        if !self.tail.is_empty() {
            outbox.put(stream, self.kind, self.tail.make_contiguous());
        }
        self.omitted
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// A call that would wait fails instead.
pub(crate) fn set_nonblocking(file: impl AsFd) -> Result<(), Errno> {
    let flags = OFlag::from_bits_truncate(fcntl(&file, FcntlArg::F_GETFL)?);
    fcntl(&file, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK)).map(drop)
}
