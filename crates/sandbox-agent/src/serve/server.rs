//! The loop: one thread that waits for the server, for commands and for jobs at the same time, and never for one of them alone.

mod requests;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::{Mode, umask};

use super::Layers;
use super::commands::{Command, set_nonblocking};
use super::inbox::Inbox;
use super::jobs::JobThreads;
use super::outbox::Outbox;
use super::processes::{self, Children, Reaped};
use super::programs::ProgramLauncher;
use crate::wire::{Event, Exec, Rlimits};

/// Interval at which the dead are counted while everything is being killed.
const KILL_LOOK_MS: u16 = 20;

/// Serves until the server hangs up, or has sent no setup for so long, then kills everything.
///
/// # Errors
/// In words, when the server sends nonsense or no setup, or the kernel refuses what the loop needs.
pub(super) fn run(layers: Layers, setup_max: Option<Duration>) -> Result<(), String> {
    let setup_by = setup_max.map(|most| Instant::now() + most);
    let ended = Server::new(layers, setup_by).and_then(|mut server| {
        let ended = server.serve();
        // The last answers may say why.
        let _ = server.outbox.flush();
        ended
    });
    processes::signal_all(libc::SIGKILL);
    ended
}

struct Server {
    inbox: Inbox,
    outbox: Arc<Outbox>,
    signals: SignalFd,
    /// Until the first request, which says how to go on.
    layers: Option<Layers>,
    /// When that request must have come.
    setup_by: Option<Instant>,
    agreed: Option<AgreedSettings>,
    commands: Vec<Command>,
    /// Requests whose data is arriving.
    inputs: HashMap<u32, Input>,
    /// Data that a job has not taken yet; nothing else is read before it has.
    stuck: Option<(u32, Vec<u8>)>,
    frozen: bool,
    /// The stream of a request to kill everything, until everything is dead; no other is read before.
    killing: Option<u32>,
    /// Collects a child that ended.
    reap: fn() -> Result<Option<Reaped>, Errno>,
    /// Children as they were found last.
    children: Children,
}

/// Settings agreed at the start.
struct AgreedSettings {
    rlimits: Rlimits,
    output_bytes_max: u64,
    other_uid: bool,
    owns_files: bool,
    threads: JobThreads,
    upper: Option<OwnedFd>,
}

/// Where the data of a stream goes.
enum Input {
    /// The standard input of a command that starts once it is complete.
    Spool { exec: Box<Exec>, file: File, bytes: u64 },
    /// A job, or a command whose standard input stays open.
    Feed(OwnedFd),
    /// Nowhere: the request failed already.
    Dropped,
}

/// Sources of events.
#[derive(Clone, Copy)]
enum Source {
    Server,
    Sending,
    Jobs,
    Signals,
    Stuck,
    Output(usize),
    Error(usize),
    Keys(usize),
    /// Somebody who asks for programs.
    Programs(usize),
}

impl Server {
    fn new(layers: Layers, setup_by: Option<Instant>) -> Result<Self, String> {
        let fail = |errno: Errno| errno.desc().to_owned();
        umask(Mode::empty());
        let mut set = SigSet::empty();
        set.add(Signal::SIGCHLD);
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&set), None).map_err(fail)?;
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map_err(fail)?;
        set_nonblocking(io::stdin()).map_err(fail)?;
        set_nonblocking(io::stdout()).map_err(fail)?;
        // SAFETY: takes numbers only, and closes nothing before a program is started.
        unsafe { libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int) };
        Ok(Self {
            inbox: Inbox::default(),
            outbox: Arc::new(Outbox::new().map_err(fail)?),
            signals,
            layers: Some(layers),
            setup_by,
            agreed: None,
            commands: Vec::new(),
            inputs: HashMap::new(),
            stuck: None,
            frozen: false,
            killing: None,
            reap: processes::reap,
            children: Children::None,
        })
    }

    fn serve(&mut self) -> Result<(), String> {
        let mut piece = Box::new([0; 64 * 1024]);
        while self.turn(&mut piece)? {}
        Ok(())
    }

    /// Waits, and does once what there is to do, none of which can go on without end; `false` when the server hung up.
    fn turn(&mut self, piece: &mut [u8; 64 * 1024]) -> Result<bool, String> {
        let sending = self.outbox.flush().map_err(|error| format!("the server does not listen: {error}"))?;
        for source in self.wait(sending)? {
            match source {
                Source::Server => {
                    if !self.inbox.fill().map_err(|error| format!("the server cannot be heard: {error}"))? {
                        return Ok(false);
                    }
                }
                Source::Jobs => self.outbox.acknowledge(),
                Source::Signals => while let Ok(Some(_)) = self.signals.read_signal() {},
                Source::Output(index) => {
                    let command = &mut self.commands[index];
                    command.output.read(command.stream, &self.outbox, piece);
                }
                Source::Error(index) => {
                    let command = &mut self.commands[index];
                    command.error.read(command.stream, &self.outbox, piece);
                }
                Source::Keys(index) => self.commands[index].type_keys(),
                Source::Programs(index) => {
                    if let Some(launcher) = &mut self.commands[index].launcher {
                        launcher.attend();
                    }
                }
                Source::Sending | Source::Stuck => {}
            }
        }
        self.take_requests()?;
        self.insist_on_setup()?;
        self.collect_dead();
        self.check_time();
        self.finish_commands();
        self.finish_killing();
        Ok(true)
    }

    /// Waits until something can be done, and says what.
    fn wait(&self, sending: bool) -> Result<Vec<Source>, String> {
        let has_room = self.outbox.has_room();
        let (stdin, stdout) = (io::stdin(), io::stdout());
        let mut sources = vec![Source::Jobs, Source::Signals];
        let mut polled = vec![
            PollFd::new(self.outbox.woken(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        let mut add = |source, file, flags| {
            sources.push(source);
            polled.push(PollFd::new(file, flags));
        };
        if self.takes_requests() {
            add(Source::Server, stdin.as_fd(), PollFlags::POLLIN);
        }
        if sending {
            add(Source::Sending, stdout.as_fd(), PollFlags::POLLOUT);
        }
        if let Some(Input::Feed(pipe)) = self.stuck.as_ref().and_then(|(stream, _)| self.inputs.get(stream)) {
            add(Source::Stuck, pipe.as_fd(), PollFlags::POLLOUT);
        }
        for (index, command) in self.commands.iter().enumerate() {
            if let Some(file) = command.output.wants(has_room) {
                add(Source::Output(index), file, PollFlags::POLLIN);
            }
            if let Some(file) = command.error.wants(has_room) {
                add(Source::Error(index), file, PollFlags::POLLIN);
            }
            if let Some(file) = command.waiting_terminal() {
                add(Source::Keys(index), file, PollFlags::POLLOUT);
            }
            for asker in command.launcher.iter().filter(|_| !self.frozen).flat_map(ProgramLauncher::askers) {
                add(Source::Programs(index), asker, PollFlags::POLLIN);
            }
        }
        match poll(&mut polled, self.patience()) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Vec::new()),
            Err(errno) => return Err(format!("poll: {}", errno.desc())),
        }
        let ready = polled.iter().zip(sources).filter(|(file, _)| file.any().unwrap_or(true));
        Ok(ready.map(|(_, source)| source).collect())
    }

    /// Time for which there is nothing to do but to wait.
    fn patience(&self) -> PollTimeout {
        // No signal tells again of children that ended before.
        if self.takes_requests() && self.inbox.has_next() || self.children == Children::Ended {
            return PollTimeout::ZERO;
        }
        if self.killing.is_some() {
            return PollTimeout::from(KILL_LOOK_MS);
        }
        let commands = self.commands.iter().filter_map(Command::next_deadline).min().filter(|_| !self.frozen);
        let Some(deadline) = commands.into_iter().chain(self.awaited_setup()).min() else { return PollTimeout::NONE };
        // A part of a millisecond counts as a whole one, or the loop would turn until it is over.
        let left = deadline.saturating_duration_since(Instant::now()).as_micros().div_ceil(1_000);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    }

    /// When the setup must have come, while it has not.
    fn awaited_setup(&self) -> Option<Instant> {
        self.setup_by.filter(|_| self.agreed.is_none())
    }

    fn insist_on_setup(&self) -> Result<(), String> {
        match self.awaited_setup() {
            Some(by) if by <= Instant::now() => Err("the server sent no setup".to_owned()),
            _ => Ok(()),
        }
    }

    /// Collects children that ended, orphans of the sandbox among them. Those who fork and end all the time must not keep the server
    /// waiting, so that it is some of them at a time.
    fn collect_dead(&mut self) {
        let commands = &mut self.commands;
        self.children = processes::collect(self.reap, |dead| {
            if let Some(command) = commands.iter_mut().find(|command| command.pid() == Some(dead.pid)) {
                command.end(dead.ended);
            } else {
                commands.iter_mut().filter_map(|command| command.launcher.as_mut()).for_each(|launcher| {
                    launcher.take_note(dead);
                });
            }
            true
        });
    }

    fn finish_killing(&mut self) {
        if self.killing.is_some() && self.children != Children::None {
            processes::signal_all(libc::SIGKILL);
        } else if self.commands.is_empty()
            && let Some(stream) = self.killing.take()
        {
            self.frozen = false;
            self.outbox.event(stream, &Event::Done);
        }
    }

    fn check_time(&mut self) {
        if !self.frozen {
            let (now, has_room) = (Instant::now(), self.outbox.has_room());
            self.commands.iter_mut().for_each(|command| command.check_time(now, has_room));
        }
    }

    fn finish_commands(&mut self) {
        let over: Vec<Command> = self.commands.extract_if(.., |command| command.is_over()).collect();
        for command in over {
            self.inputs.remove(&command.stream);
            self.stuck.take_if(|(stream, _)| *stream == command.stream);
            command.finish(&self.outbox);
        }
    }

    fn takes_requests(&self) -> bool {
        self.stuck.is_none() && self.killing.is_none() && self.outbox.has_room_for_answers()
    }

    /// Carries out the requests that have arrived whole.
    fn take_requests(&mut self) -> Result<(), String> {
        if let Some((stream, data)) = self.stuck.take() {
            self.feed(stream, data);
        }
        while self.takes_requests() {
            let Some((header, body)) = self.inbox.next()? else { break };
            self.take_frame(header, body)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::jobs::JobContext;
    use crate::serve::processes::Ended;
    use crate::wire::Kind;

    /// A child that ended, whenever it is asked for.
    fn always_another() -> Result<Option<Reaped>, Errno> {
        Ok(Some(Reaped { pid: i32::MAX, ended: Ended { status: 0, cpu_us: 0, memory_bytes: 0 } }))
    }

    #[test]
    fn a_request_is_answered_while_there_are_always_more_children_to_collect() {
        let mut server = Server::new(Layers::default(), None).expect("a server");
        server.reap = always_another;
        let context = JobContext { outbox: Arc::clone(&server.outbox), layers: Layers::default(), owners: false };
        let threads = JobThreads::new(context).expect("a thread");
        let rlimits = Rlimits::default();
        server.agreed = Some(AgreedSettings {
            rlimits,
            output_bytes_max: 0,
            other_uid: false,
            owns_files: false,
            threads,
            upper: None,
        });
        let mut answers = 0;
        for stream in 1..=3 {
            server.inbox.put(stream, Kind::Request, br#"{"op":"signal","target":9,"signal":99}"#);
            server.take_requests().expect("a request");
            assert!(server.outbox.waiting_bytes() > answers, "request {stream} is answered");
            answers = server.outbox.waiting_bytes();
            server.collect_dead();
            assert_eq!(server.children, Children::Ended);
            // No signal tells of the others, so that the next turn begins at once.
            assert_eq!(server.patience(), PollTimeout::ZERO);
        }
    }
}
