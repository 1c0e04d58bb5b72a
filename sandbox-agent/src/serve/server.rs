//! The loop: one thread that waits for the server, for commands and for jobs at the same time, and never for one of them alone.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SealFlag, fcntl};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::{Mode, umask};
use nix::sys::statvfs::fstatvfs;
use nix::unistd::{pipe2, write};

use super::Layers;
use super::commands::{Command, Terms, set_nonblocking};
use super::failure::Failure;
use super::inbox::Inbox;
use super::jobs::{Crew, Desk, Job};
use super::outbox::Outbox;
use super::{file, place, privilege, processes};
use crate::wire::{Event, Exec, FailureCode, Header, Kind, PROTOCOL, Request, Rlimits, Setup, Stats, User};

/// Longest standard input of a command: it lies in memory, which counts as the sandbox's.
const INPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How often the dead are counted while everything is being killed.
const KILL_LOOK_MS: u16 = 20;

/// Serves until the server hangs up, then kills everything.
///
/// # Errors
/// In words, when the server sends nonsense or the kernel refuses what the loop needs.
pub(super) fn run(layers: Layers) -> Result<(), String> {
    let ended = Server::new(layers).and_then(|mut server| {
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
    agreed: Option<Agreed>,
    commands: Vec<Command>,
    /// Requests whose data is arriving.
    inputs: HashMap<u32, Input>,
    /// Data that a job has not taken yet; nothing else is read before it has.
    stuck: Option<(u32, Vec<u8>)>,
    frozen: bool,
    /// The stream of a request to kill everything, until everything is dead; no other is read before.
    killing: Option<u32>,
}

/// What was agreed at the start.
struct Agreed {
    rlimits: Rlimits,
    output_bytes_max: u64,
    other_uid: bool,
    crew: Crew,
    upper: Option<OwnedFd>,
}

/// Where the data of a stream goes.
enum Input {
    /// The standard input of a command that starts once it is complete.
    Spool { exec: Box<Exec>, file: File, bytes: u64 },
    /// A job.
    Feed(OwnedFd),
    /// Nowhere: the request failed already.
    Dropped,
}

/// What there is to wait for.
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
}

impl Server {
    fn new(layers: Layers) -> Result<Self, String> {
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
            agreed: None,
            commands: Vec::new(),
            inputs: HashMap::new(),
            stuck: None,
            frozen: false,
            killing: None,
        })
    }

    fn serve(&mut self) -> Result<(), String> {
        let mut piece = Box::new([0; 64 * 1024]);
        loop {
            let sending = self.outbox.flush().map_err(|error| format!("the server does not listen: {error}"))?;
            for source in self.wait(sending)? {
                match source {
                    Source::Server => {
                        if !self.inbox.fill().map_err(|error| format!("the server cannot be heard: {error}"))? {
                            return Ok(());
                        }
                    }
                    Source::Jobs => self.outbox.acknowledge(),
                    Source::Signals => while let Ok(Some(_)) = self.signals.read_signal() {},
                    Source::Output(index) => {
                        let command = &mut self.commands[index];
                        command.output.read(command.stream, &self.outbox, &mut piece);
                    }
                    Source::Error(index) => {
                        let command = &mut self.commands[index];
                        command.error.read(command.stream, &self.outbox, &mut piece);
                    }
                    Source::Keys(index) => self.commands[index].type_keys(),
                    Source::Sending | Source::Stuck => {}
                }
            }
            self.take_requests()?;
            let has_children = self.collect_dead();
            self.check_time();
            self.finish_commands();
            self.finish_killing(has_children);
        }
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
        }
        match poll(&mut polled, self.patience()) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Vec::new()),
            Err(errno) => return Err(format!("poll: {}", errno.desc())),
        }
        let ready = polled.iter().zip(sources).filter(|(file, _)| file.any().unwrap_or(true));
        Ok(ready.map(|(_, source)| source).collect())
    }

    /// How long there is nothing to do but to wait.
    fn patience(&self) -> PollTimeout {
        if self.takes_requests() && self.inbox.has_next() {
            return PollTimeout::ZERO;
        }
        if self.killing.is_some() {
            return PollTimeout::from(KILL_LOOK_MS);
        }
        let deadline = self.commands.iter().filter_map(Command::next_deadline).min().filter(|_| !self.frozen);
        let Some(deadline) = deadline else { return PollTimeout::NONE };
        // A part of a millisecond counts as a whole one, or the loop would turn until it is over.
        let left = deadline.saturating_duration_since(Instant::now()).as_micros().div_ceil(1_000);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    }

    /// Collects all children that ended, orphans of the sandbox among them; whether there are others.
    fn collect_dead(&mut self) -> bool {
        loop {
            match processes::reap() {
                Ok(Some(dead)) => {
                    if let Some(command) = self.commands.iter_mut().find(|command| command.pid() == Some(dead.pid)) {
                        command.end(dead.ended);
                    }
                }
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn finish_killing(&mut self, has_children: bool) {
        if self.killing.is_some() && has_children {
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
        let outbox = &self.outbox;
        self.commands.extract_if(.., |command| command.is_over()).for_each(|command| command.finish(outbox));
    }

    fn takes_requests(&self) -> bool {
        self.stuck.is_none() && self.killing.is_none() && self.outbox.has_room()
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

    fn take_frame(&mut self, header: Header, body: Vec<u8>) -> Result<(), String> {
        let stream = header.stream;
        match header.kind {
            Kind::Request => {
                let request = serde_json::from_slice(&body).map_err(|error| format!("no request: {error}"))?;
                let taken =
                    self.inputs.contains_key(&stream) || self.commands.iter().any(|command| command.stream == stream);
                if stream == 0 || taken {
                    return Err(format!("a second request on stream {stream}"));
                }
                self.take_request(stream, request)?;
            }
            Kind::Data => self.take_data(stream, body),
            Kind::End => self.take_end(stream),
            Kind::Event | Kind::Output | Kind::Error => return Err(format!("a frame of kind {:?}", header.kind)),
        }
        Ok(())
    }

    fn take_request(&mut self, stream: u32, request: Request) -> Result<(), String> {
        let answer = match request {
            Request::Setup(setup) => self.set_up(setup).map(Some)?,
            _ if self.agreed.is_none() => return Err("a request before the setup".to_owned()),
            request => match self.carry_out(stream, request) {
                Ok(answer) => answer,
                Err(failure) => Some(failure.event()),
            },
        };
        if let Some(answer) = answer {
            self.outbox.event(stream, &answer);
        }
        Ok(())
    }

    /// The answer, where there is one at once.
    fn carry_out(&mut self, stream: u32, request: Request) -> Result<Option<Event>, Failure> {
        match request {
            Request::Exec(exec) => {
                let spool = spool().map_err(|errno| Failure::kernel(errno, "standard input"))?;
                self.inputs.insert(stream, Input::Spool { exec: Box::new(exec), file: spool, bytes: 0 });
                return Ok(None);
            }
            Request::Pty { exec, rows, columns } => {
                self.refuse_while_frozen()?;
                let terms = self.terms_for(exec)?;
                let command = Command::start_on_terminal(stream, terms, rows, columns)?;
                self.commands.push(command);
                return Ok(None);
            }
            Request::Resize { target, rows, columns } => {
                if !self.command(target)?.resize(rows, columns) {
                    return Err(Failure::invalid(format!("stream {target} has no terminal")));
                }
            }
            Request::Signal { target, signal } => {
                if !(1..=64).contains(&signal) {
                    return Err(Failure::invalid(format!("there is no signal {signal}")));
                }
                if signal == libc::SIGCONT {
                    self.refuse_while_frozen()?;
                }
                self.command(target)?.signal(signal);
            }
            Request::Stat { path } => return Ok(Some(Event::Found { entry: file::stat(&path)? })),
            Request::Freeze => {
                self.frozen = true;
                processes::freeze().map_err(|why| Failure::new(FailureCode::Failed, why))?;
            }
            Request::Thaw => {
                processes::signal_all(libc::SIGCONT);
                self.frozen = false;
            }
            Request::Kill => {
                processes::signal_all(libc::SIGKILL);
                self.killing = Some(stream);
                return Ok(None);
            }
            Request::Stats => return Ok(Some(Event::Stats(self.stats()?))),
            request => {
                self.employ(stream, request)?;
                return Ok(None);
            }
        }
        Ok(Some(Event::Done))
    }

    /// Hands a request to a thread.
    fn employ(&mut self, stream: u32, request: Request) -> Result<(), Failure> {
        let takes_data = matches!(request, Request::Write { .. } | Request::Unpack { .. } | Request::Apply);
        let input = if takes_data {
            let exhausted = |errno: Errno| Failure::kernel(errno, "a pipe");
            self.inputs.insert(stream, Input::Dropped);
            let (input, feed) = pipe2(OFlag::O_CLOEXEC).map_err(exhausted)?;
            set_nonblocking(&feed).map_err(exhausted)?;
            Some((input, feed))
        } else {
            None
        };
        let (input, feed) = input.unzip();
        self.agreed()?.crew.take_on(Job { stream, request, input: input.map(File::from) })?;
        if let Some(feed) = feed {
            self.inputs.insert(stream, Input::Feed(feed));
        }
        Ok(())
    }

    fn take_data(&mut self, stream: u32, data: Vec<u8>) {
        let dropped = match self.inputs.get_mut(&stream) {
            Some(Input::Spool { file, bytes, .. }) => {
                *bytes += data.len() as u64;
                if *bytes > INPUT_BYTES_MAX {
                    Some(Failure::too_large(format!("standard input is longer than {INPUT_BYTES_MAX} bytes")))
                } else {
                    file.write_all(&data).err().map(|error| Failure::io(&error, "standard input"))
                }
            }
            Some(Input::Feed(_)) => return self.feed(stream, data),
            Some(Input::Dropped) => return,
            None => {
                // Or the stream is over, which the server could not know yet.
                let _ = self
                    .commands
                    .iter_mut()
                    .find(|command| command.stream == stream)
                    .map(|command| command.take_keys(&data));
                return;
            }
        };
        if let Some(failure) = dropped {
            self.inputs.insert(stream, Input::Dropped);
            self.outbox.event(stream, &failure.event());
        }
    }

    /// Hands data to a job. What it does not take now waits, and all that comes after it.
    fn feed(&mut self, stream: u32, mut data: Vec<u8>) {
        let Some(Input::Feed(pipe)) = self.inputs.get(&stream) else { return };
        while !data.is_empty() {
            match write(pipe, &data) {
                Ok(count) => drop(data.drain(..count)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => {
                    self.stuck = Some((stream, data));
                    return;
                }
                // The job is over and has answered.
                Err(_) => {
                    self.inputs.insert(stream, Input::Dropped);
                    return;
                }
            }
        }
    }

    fn take_end(&mut self, stream: u32) {
        if let Some(Input::Spool { exec, file, .. }) = self.inputs.remove(&stream)
            && let Err(failure) = self.start(stream, *exec, file)
        {
            self.outbox.event(stream, &failure.event());
        }
    }

    fn start(&mut self, stream: u32, exec: Exec, mut input: File) -> Result<(), Failure> {
        self.refuse_while_frozen()?;
        // Several programs may read it, none may change it.
        let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_SEAL;
        fcntl(&input, FcntlArg::F_ADD_SEALS(seals)).map_err(|errno| Failure::kernel(errno, "standard input"))?;
        input.rewind().map_err(|error| Failure::io(&error, "standard input"))?;
        let command = Command::start(stream, self.terms_for(exec)?, input)?;
        self.commands.push(command);
        Ok(())
    }

    /// Gives up what is not needed any more; what follows needs less.
    fn set_up(&mut self, setup: Setup) -> Result<Event, String> {
        let layers = self.layers.take().ok_or("a second setup")?;
        let other_uid = privilege::reduce(setup.user)?;
        let owner = other_uid.then_some(setup.user);
        for folder in &setup.folders {
            make_folder(folder, owner).map_err(|failure| failure.to_string())?;
        }
        let upper = layers.upper.as_ref().map(OwnedFd::try_clone).transpose().map_err(|error| error.to_string())?;
        let desk = Desk { outbox: Arc::clone(&self.outbox), layers, owners: other_uid };
        let crew = Crew::new(desk).map_err(|error| error.to_string())?;
        let seccomp = privilege::load_filter(&setup.seccomp);
        let Setup { rlimits, output_bytes_max, .. } = setup;
        self.agreed = Some(Agreed { rlimits, output_bytes_max, other_uid, crew, upper });
        Ok(Event::Ready { protocol: PROTOCOL, other_uid, seccomp })
    }

    fn terms_for(&mut self, exec: Exec) -> Result<Terms, Failure> {
        let agreed = self.agreed()?;
        let (own, all) = (exec.rlimits, agreed.rlimits);
        let limits = Rlimits {
            cpu_s: own.cpu_s.or(all.cpu_s),
            file_bytes: own.file_bytes.or(all.file_bytes),
            address_bytes: own.address_bytes.or(all.address_bytes),
            open_files: own.open_files.or(all.open_files),
            processes: own.processes.or(all.processes),
            stack_bytes: own.stack_bytes.or(all.stack_bytes),
        };
        let output_bytes_max = exec.output_bytes_max.unwrap_or(agreed.output_bytes_max);
        let user: Option<User> = agreed.other_uid.then_some(exec.user);
        Ok(Terms { exec, limits, user, output_bytes_max })
    }

    fn stats(&mut self) -> Result<Stats, Failure> {
        let upper = match &self.agreed()?.upper {
            Some(upper) => fstatvfs(upper),
            None => fstatvfs(place::root()?),
        };
        let disk = upper.map_err(|errno| Failure::kernel(errno, "the disk"))?;
        let block = disk.fragment_size();
        Ok(Stats {
            processes: processes::count(),
            disk_used_bytes: (disk.blocks() - disk.blocks_free()) * block,
            disk_bytes: disk.blocks() * block,
            inodes_used: disk.files() - disk.files_free(),
            inodes: disk.files(),
        })
    }

    fn agreed(&mut self) -> Result<&mut Agreed, Failure> {
        self.agreed.as_mut().ok_or_else(|| Failure::invalid("a request before the setup"))
    }

    fn command(&self, stream: u32) -> Result<&Command, Failure> {
        let command = self.commands.iter().find(|command| command.stream == stream);
        command.ok_or_else(|| Failure::invalid(format!("no command runs on stream {stream}")))
    }

    fn refuse_while_frozen(&self) -> Result<(), Failure> {
        if self.frozen { Err(Failure::invalid("everything is frozen")) } else { Ok(()) }
    }
}

/// A file without a name, in memory.
fn spool() -> Result<File, Errno> {
    memfd_create("input", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING).map(File::from)
}

/// Makes a folder with those above it; one that is there stays as it is.
fn make_folder(path: &str, owner: Option<User>) -> Result<(), Failure> {
    place::descend(place::root()?, &place::absolute(path)?, Some(owner)).map(drop)
}
