//! Starts a command: everything that allocates happens before the fork, everything after it ([child](super::child)) only calls the
//! kernel, since jobs run on other threads meanwhile.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::signal::SigSet;
use nix::unistd::pipe2;

use super::child::{Plan, Pointers, Step, become_command};
use super::failure::Failure;
use super::keeper;
use super::watcher::{self, Watch};
use crate::wire::{Exec, FailureCode, Rlimits, User};

/// Where programs are looked for when the environment does not say.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Descriptors that a command is connected to.
pub(crate) struct CommandIo {
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    /// Where standard output goes, if left out.
    pub(crate) error: Option<OwnedFd>,
    /// True if `input` is a terminal, which becomes the command's own.
    pub(crate) terminal: bool,
}

/// A command that is starting.
pub(crate) struct Started {
    /// The child: the command, or its keeper.
    pub(crate) pid: i32,
    trouble: File,
    /// Where the keeper says how the command ended.
    pub(crate) report: Option<File>,
}

impl Started {
    /// Reason why the command could not be started; `None` where it was. To be asked once the child ended.
    pub(crate) fn trouble(&mut self, exec: &Exec) -> Option<Failure> {
        let mut record = [0; 8];
        self.trouble.read_exact(&mut record).ok()?;
        let [a, b, c, d, number @ ..] = record;
        let errno = Errno::from_raw(i32::from_le_bytes(number));
        let program = exec.argv.first().map_or("", String::as_str);
        let what = match Step::of(i32::from_le_bytes([a, b, c, d])) {
            Step::Folder => format!("folder {}", exec.folder),
            Step::Program => format!("program {program}"),
            Step::Limits => "resource limits".to_owned(),
            Step::User => format!("user {}", exec.user.uid),
            Step::Streams => "standard streams".to_owned(),
        };
        let code = match errno {
            Errno::EAGAIN | Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE => FailureCode::Exhausted,
            _ => FailureCode::NotStarted,
        };
        Some(Failure::new(code, format!("{what}: {}", errno.desc())))
    }
}

/// User of a command, with its rights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandUser {
    /// The user; the agent's own where `None`.
    pub(crate) user: Option<User>,
    /// True if user 0 keeps its rights over files and users.
    pub(crate) owns_files: bool,
}

/// Starts a command as a user. With `alone` a keeper stands between, which ends all that the
/// command leaves behind; with `watch` one that notes what it does.
pub(crate) fn start(
    exec: &Exec,
    limits: &Rlimits,
    user: CommandUser,
    io: &CommandIo,
    watch: Option<&Watch>,
) -> Result<Started, Failure> {
    let exhausted = |errno: Errno| Failure::kernel(errno, "starting a command");
    let (trouble, trouble_end) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).map_err(exhausted)?;
    let output = io.output.as_raw_fd();
    let plan = Plan {
        io: [io.input.as_raw_fd(), output, io.error.as_ref().map_or(output, AsRawFd::as_raw_fd)],
        terminal: io.terminal,
        folder: text(exec.folder.as_bytes())?,
        programs: programs(exec)?,
        arguments: exec.argv.iter().map(|argument| text(argument.as_bytes())).collect::<Result<_, _>>()?,
        environment: exec
            .env
            .iter()
            .map(|(name, value)| text(format!("{name}={value}").as_bytes()))
            .collect::<Result<_, _>>()?,
        limits: kernel_limits(limits),
        user: user.user,
        owns_files: user.owns_files,
        trouble: trouble_end.as_raw_fd(),
        filter: watch.map(|_| Watch::filter()).unwrap_or_default(),
    };
    let pointers = Pointers::of(&plan);
    let (report, report_end) = if exec.alone || watch.is_some() {
        let (report, end) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).map_err(exhausted)?;
        (Some(File::from(report)), Some(end))
    } else {
        (None, None)
    };
    // A signal that comes before the child can take it waits until then.
    let before = SigSet::thread_get_mask().map_err(exhausted)?;
    SigSet::all().thread_set_mask().map_err(exhausted)?;
    // SAFETY: the child only calls the kernel and reads memory that was made before, and never returns.
    let pid = unsafe { libc::fork() };
    if pid != 0 {
        before.thread_set_mask().map_err(exhausted)?;
    }
    match Errno::result(pid).map_err(exhausted)? {
        0 => match (watch, &report_end) {
            (Some(watch), Some(report)) => watcher::watch(&plan, &pointers, report.as_raw_fd(), watch),
            (None, Some(report)) => keeper::keep(&plan, &pointers, report.as_raw_fd()),
            (_, None) => become_command(&plan, &pointers, false),
        },
        pid => Ok(Started { pid, trouble: trouble.into(), report }),
    }
}

/// The files that may be meant.
fn programs(exec: &Exec) -> Result<Vec<CString>, Failure> {
    let program = exec.argv.first().ok_or_else(|| Failure::invalid("a command without a program"))?;
    if program.contains('/') {
        return Ok(vec![text(program.as_bytes())?]);
    }
    let path = exec.env.iter().find(|(name, _)| name == "PATH").map_or(PATH, |(_, value)| value.as_str());
    path.split(':').map(|folder| text(format!("{folder}/{program}").as_bytes())).collect()
}

fn text(bytes: &[u8]) -> Result<CString, Failure> {
    let quoted = || Failure::invalid(format!("a zero byte in {}", OsStr::from_bytes(bytes).display()));
    CString::new(bytes).map_err(|_| quoted())
}

fn kernel_limits(limits: &Rlimits) -> Vec<(libc::__rlimit_resource_t, u64)> {
    let named = [
        (libc::RLIMIT_CPU, limits.cpu_s),
        (libc::RLIMIT_FSIZE, limits.file_bytes),
        (libc::RLIMIT_AS, limits.address_bytes),
        (libc::RLIMIT_NOFILE, limits.open_files),
        (libc::RLIMIT_NPROC, limits.processes),
        (libc::RLIMIT_STACK, limits.stack_bytes),
        // A core file would only fill the disk.
        (libc::RLIMIT_CORE, Some(0)),
    ];
    named.into_iter().filter_map(|(resource, value)| Some((resource, value?))).collect()
}
