//! Starts a command: everything that allocates happens before the fork, everything after it only calls the kernel, since jobs run
//! on other threads meanwhile.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::signal::SigSet;
use nix::unistd::pipe2;

use super::failure::Failure;
use super::keeper;
use super::privilege;
use super::watcher::{self, Watch};
use crate::wire::{Exec, FailureCode, Rlimits, User};

/// Where programs are looked for when the environment does not say.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What a child exits with that became no command.
pub(crate) const NOT_STARTED: i32 = 127;

/// What a command is connected to.
pub(crate) struct Ends {
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    /// Where standard output goes, if left out.
    pub(crate) error: Option<OwnedFd>,
    /// Whether `input` is a terminal, which becomes the command's own.
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
    /// Why the command could not be started; `None` where it was. To be asked once the child ended.
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

/// Where a start can fail.
#[derive(Clone, Copy)]
#[repr(i32)]
pub(crate) enum Step {
    Streams = 1,
    Limits = 2,
    User = 3,
    Folder = 4,
    Program = 5,
}

impl Step {
    const fn of(number: i32) -> Self {
        match number {
            2 => Self::Limits,
            3 => Self::User,
            4 => Self::Folder,
            5 => Self::Program,
            _ => Self::Streams,
        }
    }
}

/// Everything that the child needs, ready to be handed to the kernel.
pub(crate) struct Plan {
    ends: [RawFd; 3],
    terminal: bool,
    folder: CString,
    programs: Vec<CString>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    limits: Vec<(libc::__rlimit_resource_t, u64)>,
    user: Option<User>,
    pub(crate) trouble: RawFd,
    /// A filter that is loaded last.
    filter: Vec<u64>,
}

/// Starts a command as `user`, or as the agent's own where `None`. With `alone` a keeper stands between, which ends all that the
/// command leaves behind; with `watch` one that notes what it does.
pub(crate) fn start(
    exec: &Exec,
    limits: &Rlimits,
    user: Option<User>,
    ends: &Ends,
    watch: Option<&Watch>,
) -> Result<Started, Failure> {
    let exhausted = |errno: Errno| Failure::kernel(errno, "starting a command");
    let (trouble, trouble_end) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).map_err(exhausted)?;
    let output = ends.output.as_raw_fd();
    let plan = Plan {
        ends: [ends.input.as_raw_fd(), output, ends.error.as_ref().map_or(output, AsRawFd::as_raw_fd)],
        terminal: ends.terminal,
        folder: text(exec.folder.as_bytes())?,
        programs: programs(exec)?,
        arguments: exec.argv.iter().map(|argument| text(argument.as_bytes())).collect::<Result<_, _>>()?,
        environment: exec
            .env
            .iter()
            .map(|(name, value)| text(format!("{name}={value}").as_bytes()))
            .collect::<Result<_, _>>()?,
        limits: kernel_limits(limits),
        user,
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

/// The arrays that `execve` takes; they point into a [`Plan`].
pub(crate) struct Pointers {
    arguments: Vec<*const libc::c_char>,
    /// For a script without a first line that names its interpreter; the program goes to place 1.
    script: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

impl Pointers {
    fn of(plan: &Plan) -> Self {
        let list = |texts: &[CString]| -> Vec<*const libc::c_char> {
            texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
        };
        let arguments = list(&plan.arguments);
        let rest = arguments.iter().skip(1).copied();
        let script = [c"/bin/sh".as_ptr(), ptr::null()].into_iter().chain(rest).collect();
        Self { arguments, script, environment: list(&plan.environment) }
    }
}

/// In the child: becomes the command, with its filter where it is `traced`, or says why it cannot.
pub(crate) fn become_command(plan: &Plan, pointers: &Pointers, traced: bool) -> ! {
    let prepared = prepare(plan).and_then(|()| {
        let filtered = !traced || privilege::load_filter(&plan.filter);
        if filtered { Ok(()) } else { Err((Step::Limits, Errno::last())) }
    });
    let (step, errno) = match prepared {
        Ok(()) => (Step::Program, execute(plan, pointers)),
        Err(failed) => failed,
    };
    fail(plan, step, errno)
}

/// In the child: reports a failure and ends.
pub(crate) fn fail(plan: &Plan, step: Step, errno: Errno) -> ! {
    let [a, b, c, d] = (step as i32).to_le_bytes();
    let [e, f, g, h] = (errno as i32).to_le_bytes();
    let record = [a, b, c, d, e, f, g, h];
    // SAFETY: the record is valid for its length; `_exit` runs nothing of this copy of the agent.
    unsafe {
        libc::write(plan.trouble, record.as_ptr().cast(), record.len());
        libc::_exit(NOT_STARTED)
    }
}

fn prepare(plan: &Plan) -> Result<(), (Step, Errno)> {
    // SAFETY: calls of the kernel with numbers, and with pointers into the plan, which outlives them.
    unsafe {
        let check = |result: libc::c_int, step: Step| Errno::result(result).map(drop).map_err(|errno| (step, errno));
        for (end, number) in plan.ends.into_iter().zip(0..) {
            check(libc::dup2(end, number), Step::Streams)?;
        }
        check(libc::setsid(), Step::Streams)?;
        if plan.terminal {
            check(libc::ioctl(0, libc::TIOCSCTTY, 0), Step::Streams)?;
        }
        // Nothing of the agent's stays open, whoever forgot to say so.
        libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int);
        reset_signals();
        offer_to_end_first();
        libc::umask(0o022);
        for (resource, wanted) in &plan.limits {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            check(libc::getrlimit(*resource, &raw mut limit), Step::Limits)?;
            // What is lower already stays: only the host's root could raise it.
            let wanted = (*wanted).min(limit.rlim_max);
            limit = libc::rlimit { rlim_cur: wanted, rlim_max: wanted };
            check(libc::setrlimit(*resource, &raw const limit), Step::Limits)?;
        }
        // Not the library's functions, which would stop threads that this copy does not have.
        if let Some(User { uid, gid }) = plan.user {
            check(libc::syscall(libc::SYS_setgroups, 0, ptr::null::<u32>()) as libc::c_int, Step::User)?;
            check(libc::syscall(libc::SYS_setresgid, gid, gid, gid) as libc::c_int, Step::User)?;
            check(libc::syscall(libc::SYS_setresuid, uid, uid, uid) as libc::c_int, Step::User)?;
        }
        privilege::drop_capabilities().map_err(|errno| (Step::User, errno))?;
        check(libc::chdir(plan.folder.as_ptr()), Step::Folder)
    }
}

/// Where memory runs out, the kernel ends commands before the agent. A command may take this back, but be no safer than the agent.
fn offer_to_end_first() {
    let score = b"1000";
    // SAFETY: the path ends with a zero byte; the text is valid for its length.
    unsafe {
        let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, score.as_ptr().cast(), score.len());
            libc::close(file);
        }
    }
}

/// Every signal as a new process expects it: the agent blocks some and ignores one.
fn reset_signals() {
    // SAFETY: the kernel refuses those that cannot be set; an empty set is a valid one.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
    }
}

/// Returns only when no candidate can be run: the error of the first that is there, or that none is.
fn execute(plan: &Plan, pointers: &Pointers) -> Errno {
    let mut told = Errno::ENOENT;
    for program in &plan.programs {
        // SAFETY: arrays of pointers into the plan, each ended by a null pointer.
        unsafe { libc::execve(program.as_ptr(), pointers.arguments.as_ptr(), pointers.environment.as_ptr()) };
        match Errno::last() {
            Errno::ENOENT | Errno::ENOTDIR => {}
            Errno::ENOEXEC => return interpret(program, pointers),
            Errno::EACCES => told = Errno::EACCES,
            errno => return errno,
        }
    }
    told
}

/// As shells do with a file that is no program.
fn interpret(program: &CString, pointers: &Pointers) -> Errno {
    // SAFETY: the array belongs to this process alone, has at least two places and outlives the call.
    unsafe {
        pointers.script.as_ptr().cast_mut().add(1).write(program.as_ptr());
        libc::execve(c"/bin/sh".as_ptr(), pointers.script.as_ptr(), pointers.environment.as_ptr());
    }
    Errno::last()
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
