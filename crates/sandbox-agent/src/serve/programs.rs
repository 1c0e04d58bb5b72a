//! Starts programs for a command as another user: a judge's driver and what it tries share neither a user nor a descriptor. Only the
//! command's user can ask, over a socket that only that user reaches. Each program has a keeper, so that nothing of it is left when it
//! ends, when whoever asked for it ends, or when the command ends.

mod call;

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept4, bind, getsockopt, listen, socket,
};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmodat, fstat};
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};

use self::call::{Call, Shared};
use super::failure::Failure;
use super::paths::{self, Owner};
use super::processes::Reaped;
use crate::handover::{PROGRAM, SOCKET};
use crate::wire::{Programs, Rlimits};

/// Programs of one command that run or are asked for at the same time; more wait.
const CALLS_MAX: usize = 256;
/// Askers that wait.
const WAITING_MAX: i32 = 128;
/// Time that the end of programs may take once their command ended, before their keepers are killed too.
const KILL_GRACE: Duration = Duration::from_secs(4);

/// Launcher of programs for one command.
pub(crate) struct ProgramLauncher {
    shared: Shared,
    asker: u32,
    /// Where the folder of the socket lies, its name there, and its path.
    parent: OwnedFd,
    name: String,
    path: String,
    listener: Option<OwnedFd>,
    calls: Vec<Call>,
    kill_by: Option<Instant>,
}

impl ProgramLauncher {
    /// Makes the folder with the socket and the program that asks over it, for `asker` alone; `None` where there is one user only.
    pub(crate) fn open(stream: u32, programs: Programs, limits: Rlimits, asker: Owner) -> Result<Self, Failure> {
        let parent = paths::descend(paths::root()?, &paths::absolute(&programs.place)?, Some(asker))?;
        paths::refuse_kernel_files(&parent)?;
        let name = format!("starter-{stream}");
        let path = format!("{}/{name}", programs.place.trim_end_matches('/'));
        let user = asker.is_some().then_some(programs.user);
        let asker_uid = asker.map_or_else(|| geteuid().as_raw(), |asker| asker.uid);
        let shared = Shared { programs, limits, user, kept_back: Vec::new() };
        let mut launcher =
            Self { shared, asker: asker_uid, parent, name, path, listener: None, calls: Vec::new(), kill_by: None };
        launcher.furnish(asker)?;
        Ok(launcher)
    }

    fn furnish(&mut self, owner: Owner) -> Result<(), Failure> {
        let failed = |errno: Errno| Failure::kernel(errno, "the place where programs are asked for");
        let folder = paths::make_folder(&self.parent, OsStr::new(&self.name), 0o700, owner).map_err(failed)?;
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mode = Mode::from_bits_truncate(0o500);
        let copy = nix::fcntl::openat(&folder, PROGRAM, flags, mode).map_err(failed)?;
        paths::give(&copy, OsStr::new(""), owner).map_err(failed)?;
        let own = File::open("/proc/self/exe").map_err(|error| Failure::io(&error, "the agent's own program"))?;
        std::io::copy(&mut &own, &mut File::from(copy)).map_err(|error| Failure::io(&error, "the agent's copy"))?;

        let listener =
            socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)
                .map_err(failed)?;
        // Through the open folder: no link on the way can lead elsewhere, and no path is too long.
        let at = format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd());
        bind(listener.as_raw_fd(), &UnixAddr::new(at.as_str()).map_err(failed)?).map_err(failed)?;
        fchmodat(&folder, SOCKET, Mode::from_bits_truncate(0o600), FchmodatFlags::FollowSymlink).map_err(failed)?;
        paths::give(&folder, OsStr::new(SOCKET), owner).map_err(failed)?;
        listen(&listener, Backlog::new(WAITING_MAX).map_err(failed)?).map_err(failed)?;
        self.listener = Some(listener);
        Ok(())
    }

    /// The path of the program that asks.
    pub(crate) fn program(&self) -> String {
        format!("{}/{PROGRAM}", self.path)
    }

    /// Notes pipes that no program may ever have: those by which the command gives its results.
    pub(crate) fn keep_back<'a>(
        &mut self,
        pipes: impl IntoIterator<Item = Option<&'a OwnedFd>>,
    ) -> Result<(), Failure> {
        for pipe in pipes.into_iter().flatten() {
            let stat = fstat(pipe).map_err(|errno| Failure::kernel(errno, "a pipe"))?;
            self.shared.kept_back.push((stat.st_dev, stat.st_ino));
        }
        Ok(())
    }

    /// Descriptors to wait for: that somebody asks, says more or hangs up.
    pub(crate) fn askers(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let clears = self.clears();
        let calls = self.calls.iter().filter(move |call| !clears || call.is_running()).filter_map(Call::link);
        self.open_listener().map(AsFd::as_fd).into_iter().chain(calls)
    }

    /// Takes what askers say. Whoever hung up is heard first, so that a program that was given up is gone before another starts.
    pub(crate) fn attend(&mut self) {
        for call in self.calls.iter_mut().filter(|call| call.is_running()) {
            call.attend(&self.shared);
        }
        while let Some(listener) = self.open_listener() {
            let Ok(link) = accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK) else {
                break;
            };
            // SAFETY: the kernel just made it, and nobody else in this process knows of it.
            let link = unsafe { OwnedFd::from_raw_fd(link) };
            // The folder and the socket are closed to others already.
            if getsockopt(&link, PeerCredentials).is_ok_and(|peer| peer.uid() == self.asker) {
                self.calls.push(Call::new(link));
            }
        }
        if !self.clears() {
            for call in self.calls.iter_mut().filter(|call| !call.is_running()) {
                call.attend(&self.shared);
            }
        }
        self.calls.retain(|call| !call.is_over());
    }

    /// True if a program that was given up is not gone yet.
    fn clears(&self) -> bool {
        self.calls.iter().any(Call::is_given_up)
    }

    fn open_listener(&self) -> Option<&OwnedFd> {
        self.listener.as_ref().filter(|_| self.calls.len() < CALLS_MAX && !self.clears())
    }

    /// Takes note of a child that ended.
    pub(crate) fn take_note(&mut self, dead: Reaped) {
        for call in &mut self.calls {
            call.take_note(dead);
        }
        self.calls.retain(|call| !call.is_over());
    }

    /// Ends all programs, since their command ended.
    pub(crate) fn close(&mut self) {
        self.listener = None;
        for call in &mut self.calls {
            call.hang_up();
        }
        self.calls.retain(|call| !call.is_over());
        self.kill_by = Instant::now().checked_add(KILL_GRACE);
        self.clear_away();
    }

    fn clear_away(&self) {
        if let Ok(folder) = paths::open(&self.parent, &self.name, OFlag::O_PATH | OFlag::O_DIRECTORY) {
            for name in [PROGRAM, SOCKET] {
                let _ = unlinkat(&folder, name, UnlinkatFlags::NoRemoveDir);
            }
        }
        // What the command's user left in it stays, as all else does that it made.
        let _ = unlinkat(&self.parent, self.name.as_str(), UnlinkatFlags::RemoveDir);
    }

    /// True if the command ended and all programs did.
    pub(crate) fn is_over(&self) -> bool {
        self.kill_by.is_some() && self.calls.is_empty()
    }

    /// When to call [`ProgramLauncher::check_time`] again.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.kill_by.filter(|_| !self.calls.is_empty())
    }

    /// Kills keepers that do not do their duty.
    pub(crate) fn check_time(&mut self, now: Instant) {
        if self.next_deadline().is_some_and(|deadline| now >= deadline) {
            for call in &self.calls {
                call.kill_keeper();
            }
            self.kill_by = now.checked_add(KILL_GRACE);
        }
    }
}

impl Drop for ProgramLauncher {
    /// A command that could not be started leaves nothing behind either.
    fn drop(&mut self) {
        if self.listener.is_some() {
            self.clear_away();
        }
    }
}

/// True if something open is a pipe that was kept back.
fn is_kept_back(file: &OwnedFd, kept_back: &[(u64, u64)]) -> bool {
    // What cannot be looked at is not handed on either.
    let Ok(stat) = fstat(file) else { return true };
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFIFO
        && kept_back.contains(&(stat.st_dev, stat.st_ino))
}
