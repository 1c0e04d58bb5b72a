//! One program that was asked for, from the asking to its end.

use std::io::IoSliceMut;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, send};

use super::super::child::NOT_STARTED;
use super::super::failure::Failure;
use super::super::keeper::{self, FIRST_ALONE, REPORT_BYTES, Report};
use super::super::processes::{Ended, Reaped, signal_all};
use super::super::spawn::{self, CommandIo, CommandUser, Started};
use super::is_kept_back;
use crate::handover::{ASK_BYTES_MAX, Answer, Ask, STREAMS};
use crate::wire::{Exec, Programs, Rlimits, User};

/// Bytes of the length before an [`Ask`].
const LENGTH_BYTES: usize = 4;
const READ_BYTES: usize = 64 * 1024;

/// State that all programs of a command share.
pub(super) struct Shared {
    pub(super) programs: Programs,
    pub(super) limits: Rlimits,
    /// User that they run as; `None` where there is one user only.
    pub(super) user: Option<User>,
    /// Pipes that none of them may have.
    pub(super) kept_back: Vec<(u64, u64)>,
}

/// A program that was asked for.
pub(super) struct Call {
    /// `None` once whoever asked hung up or was answered.
    link: Option<OwnedFd>,
    received: Vec<u8>,
    streams: Vec<OwnedFd>,
    running: Option<(Started, Exec)>,
}

impl Call {
    pub(super) fn new(link: OwnedFd) -> Self {
        Self { link: Some(link), received: Vec::new(), streams: Vec::new(), running: None }
    }

    pub(super) fn link(&self) -> Option<BorrowedFd<'_>> {
        self.link.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn is_over(&self) -> bool {
        self.link.is_none() && self.running.is_none()
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// True if nobody waits for a program that still runs.
    pub(super) fn is_given_up(&self) -> bool {
        self.link.is_none() && self.running.is_some()
    }

    /// Takes what was said: the question, then signals.
    pub(super) fn attend(&mut self, shared: &Shared) {
        while let Some(link) = &self.link {
            match receive(link, &mut self.received, &mut self.streams) {
                Ok(0) => self.hang_up(),
                Ok(_) => {
                    if let Err(why) = self.go_on(shared) {
                        self.answer(&Answer::Refused(why));
                    }
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(_) => self.hang_up(),
            }
        }
    }

    fn go_on(&mut self, shared: &Shared) -> Result<(), String> {
        if self.streams.len() > STREAMS {
            return Err("more descriptors than the standard streams".to_owned());
        }
        if self.running.is_none() {
            let Some(length) = self.received.first_chunk::<LENGTH_BYTES>() else { return Ok(()) };
            let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
            if length > ASK_BYTES_MAX {
                return Err(format!("a question of {length} bytes"));
            }
            let Some(ask) = self.received.get(LENGTH_BYTES..LENGTH_BYTES + length) else { return Ok(()) };
            let ask = serde_json::from_slice(ask).map_err(|error| format!("no question: {error}"))?;
            self.received.drain(..LENGTH_BYTES + length);
            self.start(ask, shared).map_err(|failure| failure.to_string())?;
        }
        if let Some((started, _)) = &self.running {
            for signal in self.received.drain(..).filter(|signal| (1..=64).contains(signal)) {
                keeper::order(started.pid, usize::from(signal) | FIRST_ALONE);
            }
        }
        Ok(())
    }

    fn start(&mut self, ask: Ask, shared: &Shared) -> Result<(), Failure> {
        let streams: [OwnedFd; STREAMS] = mem::take(&mut self.streams)
            .try_into()
            .map_err(|_| Failure::invalid("a program is started with its three standard streams"))?;
        if streams.iter().any(|stream| is_kept_back(stream, &shared.kept_back)) {
            return Err(Failure::invalid(
                "a standard stream is the check's own output, which the program that is tried may never have: give it a \
                 pipe (`| cat`), a file or /dev/null instead",
            ));
        }
        let own: &[(String, Option<String>)] = &shared.programs.env;
        let mut env: Vec<(String, String)> = ask.env;
        env.retain(|(name, _)| name != Programs::VARIABLE && own.iter().all(|(other, _)| other != name));
        env.extend(own.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?))));
        let exec = Exec {
            argv: ask.argv,
            folder: ask.folder.unwrap_or_else(|| shared.programs.folder.clone()),
            env,
            user: shared.programs.user,
            wall_ms: None,
            rlimits: shared.limits,
            output_bytes_max: None,
            merge: false,
            alone: true,
            programs: None,
            watch: false,
        };
        let [input, output, error] = streams;
        let io = CommandIo { input, output, error: Some(error), terminal: false };
        let user = CommandUser { user: shared.user, owns_files: false };
        self.running = Some((spawn::start(&exec, &shared.limits, user, &io, None)?, exec));
        Ok(())
    }

    /// Takes note of a child that ended: of the program's keeper, if it is that.
    pub(super) fn take_note(&mut self, dead: Reaped) {
        let Some((mut started, exec)) = self.running.take_if(|(started, _)| started.pid == dead.pid) else { return };
        let never_started = libc::WIFEXITED(dead.ended.status) && libc::WEXITSTATUS(dead.ended.status) == NOT_STARTED;
        if dead.ended.status != 0 && !never_started {
            // The keeper did not end by itself, so nobody can tell what it kept from the rest.
            signal_all(libc::SIGKILL);
        }
        let answer = match started.trouble(&exec) {
            Some(failure) => Answer::Refused(failure.to_string()),
            None => answer(reported(&mut started)),
        };
        self.answer(&answer);
    }

    fn answer(&mut self, answer: &Answer) {
        if let Some(link) = self.link.take()
            && let Ok(answer) = serde_json::to_vec(answer)
        {
            // It is short, and the first that is sent. Who hung up meanwhile needs none.
            let _ = send(link.as_raw_fd(), &answer, MsgFlags::MSG_NOSIGNAL);
        }
    }

    /// Ends the program with all that it started, since nobody waits for it.
    pub(super) fn hang_up(&mut self) {
        self.link = None;
        self.streams.clear();
        if let Some((started, _)) = &self.running {
            keeper::order(started.pid, libc::SIGKILL as usize);
        }
    }

    pub(super) fn kill_keeper(&self) {
        if let Some((started, _)) = &self.running {
            // SAFETY: takes numbers only; the keeper was not collected yet.
            unsafe { libc::kill(started.pid, libc::SIGKILL) };
        }
    }
}

fn reported(started: &mut Started) -> Option<Ended> {
    use std::io::Read as _;
    let mut report = [0; REPORT_BYTES];
    started.report.as_mut()?.read_exact(&mut report).ok()?;
    Some(Report::of(report).ended)
}

fn answer(ended: Option<Ended>) -> Answer {
    match ended.map(|ended| ended.status) {
        Some(status) if libc::WIFEXITED(status) => Answer::Exited(libc::WEXITSTATUS(status)),
        Some(status) => Answer::Signalled(libc::WTERMSIG(status)),
        None => Answer::Signalled(libc::SIGKILL),
    }
}

/// Reads what there is; how many bytes it was.
fn receive(link: &OwnedFd, received: &mut Vec<u8>, streams: &mut Vec<OwnedFd>) -> Result<usize, Errno> {
    let mut piece = [0; READ_BYTES];
    let mut room = cmsg_space!([std::os::fd::RawFd; STREAMS]);
    let mut pieces = [IoSliceMut::new(&mut piece)];
    let message = recvmsg::<()>(link.as_raw_fd(), &mut pieces, Some(&mut room), MsgFlags::MSG_CMSG_CLOEXEC)?;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(files) = control {
            // SAFETY: the kernel just made them, and nobody else in this process knows of them.
            streams.extend(files.into_iter().map(|file| unsafe { OwnedFd::from_raw_fd(file) }));
        }
    }
    let count = message.bytes;
    received.extend_from_slice(&piece[..count]);
    Ok(count)
}
