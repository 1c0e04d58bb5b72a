//! Handling of each request, and destination of its data.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SealFlag, fcntl};
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::statvfs::fstatvfs;
use nix::unistd::{pipe2, write};

use super::super::commands::{Command, CommandPolicy, set_nonblocking};
use super::super::failure::Failure;
use super::super::jobs::{Job, JobContext, JobThreads};
use super::super::programs::ProgramLauncher;
use super::super::spawn::CommandUser;
use super::super::watcher::Watch;
use super::super::{file, paths, privilege, processes};
use super::{AgreedSettings, Input, Server};
use crate::wire::{Event, Exec, FailureCode, Header, Kind, PROTOCOL, Programs, Request, Rlimits, Setup, Stats, User};

/// Longest standard input of a command: it lies in memory, which counts as the sandbox's.
const INPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;

impl Server {
    pub(super) fn take_frame(&mut self, header: Header, body: Vec<u8>) -> Result<(), String> {
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
            Kind::Event | Kind::Output | Kind::Error | Kind::Record => {
                return Err(format!("a frame of kind {:?}", header.kind));
            }
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
                let policy = self.policy_for(exec)?;
                let command = Command::start_on_terminal(stream, policy, rows, columns)?;
                self.commands.push(command);
                return Ok(None);
            }
            Request::Pipe { exec } => {
                self.refuse_while_frozen()?;
                let policy = self.policy_for(exec)?;
                let (input, feed) = feed_pipe()?;
                let command = Command::start(stream, CommandPolicy { output_bytes_max: u64::MAX, ..policy }, input)?;
                self.commands.push(command);
                self.inputs.insert(stream, Input::Feed(feed));
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
            self.inputs.insert(stream, Input::Dropped);
            Some(feed_pipe()?)
        } else {
            None
        };
        let (input, feed) = input.unzip();
        self.agreed()?.threads.take_on(Job { stream, request, input })?;
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

    /// Hands data to a job or a command. What it does not take now waits, and all that comes after it.
    pub(super) fn feed(&mut self, stream: u32, mut data: Vec<u8>) {
        let Some(Input::Feed(pipe)) = self.inputs.get(&stream) else { return };
        while !data.is_empty() {
            match write(pipe, &data) {
                Ok(count) => drop(data.drain(..count)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => {
                    self.stuck = Some((stream, data));
                    return;
                }
                // The job is over and has answered, or the command closed its input.
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
        let mut policy = self.policy_for(exec)?;
        if let Some(programs) = policy.exec.programs.take() {
            let launcher = ProgramLauncher::open(stream, programs, policy.limits, policy.user.user)?;
            policy.exec.env.push((Programs::VARIABLE.to_owned(), launcher.program()));
            policy.launcher = Some(launcher);
        }
        let command = Command::start(stream, policy, input)?;
        self.commands.push(command);
        Ok(())
    }

    /// Gives up what is not needed any more; what follows needs less.
    fn set_up(&mut self, setup: Setup) -> Result<Event, String> {
        let layers = self.layers.take().ok_or("a second setup")?;
        let other_uid = privilege::reduce(setup.user, setup.owns_files)?;
        let owner = other_uid.then_some(setup.user);
        for folder in &setup.folders {
            make_folder(folder, owner).map_err(|failure| failure.to_string())?;
        }
        let upper = layers.upper.as_ref().map(OwnedFd::try_clone).transpose().map_err(|error| error.to_string())?;
        let context = JobContext { outbox: Arc::clone(&self.outbox), layers, owners: other_uid };
        let threads = JobThreads::new(context).map_err(|error| error.to_string())?;
        let seccomp = privilege::load_filter(&setup.seccomp);
        let Setup { rlimits, output_bytes_max, owns_files, .. } = setup;
        self.agreed = Some(AgreedSettings { rlimits, output_bytes_max, other_uid, owns_files, threads, upper });
        Ok(Event::Ready { protocol: PROTOCOL, other_uid, seccomp })
    }

    fn policy_for(&mut self, exec: Exec) -> Result<CommandPolicy, Failure> {
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
        let user = CommandUser { user: agreed.other_uid.then_some(exec.user), owns_files: agreed.owns_files };
        let watch = exec.watch.then(|| Watch::new(agreed.upper.as_ref(), agreed.other_uid)).transpose()?;
        Ok(CommandPolicy { exec, limits, user, output_bytes_max, launcher: None, watch })
    }

    fn stats(&mut self) -> Result<Stats, Failure> {
        let upper = match &self.agreed()?.upper {
            Some(upper) => fstatvfs(upper),
            None => fstatvfs(paths::root()?),
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

    fn agreed(&mut self) -> Result<&mut AgreedSettings, Failure> {
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

/// A pipe whose second end takes what it can at once.
fn feed_pipe() -> Result<(File, OwnedFd), Failure> {
    let exhausted = |errno: Errno| Failure::kernel(errno, "a pipe");
    let (input, feed) = pipe2(OFlag::O_CLOEXEC).map_err(exhausted)?;
    set_nonblocking(&feed).map_err(exhausted)?;
    Ok((File::from(input), feed))
}

/// A file without a name, in memory.
fn spool() -> Result<File, Errno> {
    memfd_create("input", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING).map(File::from)
}

/// Makes a folder with those above it; one that is there stays as it is.
fn make_folder(path: &str, owner: Option<User>) -> Result<(), Failure> {
    paths::descend(paths::root()?, &paths::absolute(path)?, Some(owner)).map(drop)
}
