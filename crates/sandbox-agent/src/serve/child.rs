//! In the child, between the fork and the command: it only calls the kernel and reads what was made before, since jobs run on other
//! threads of the agent meanwhile.

use std::ffi::CString;
use std::os::fd::RawFd;
use std::ptr;

use nix::errno::Errno;
use nix::libc;

use super::privilege;
use crate::wire::User;

/// Exit code of a child that became no command.
pub(crate) const NOT_STARTED: i32 = 127;

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
    pub(super) const fn of(number: i32) -> Self {
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
    pub(super) io: [RawFd; 3],
    pub(super) terminal: bool,
    pub(super) folder: CString,
    pub(super) programs: Vec<CString>,
    pub(super) arguments: Vec<CString>,
    pub(super) environment: Vec<CString>,
    pub(super) limits: Vec<(libc::__rlimit_resource_t, u64)>,
    pub(super) user: Option<User>,
    /// True if user 0 keeps its rights over files and users.
    pub(super) owns_files: bool,
    pub(crate) trouble: RawFd,
    /// A filter that is loaded last.
    pub(super) filter: Vec<u64>,
}

/// The arrays that `execve` takes; they point into a [`Plan`].
pub(crate) struct Pointers {
    arguments: Vec<*const libc::c_char>,
    /// For a script without a first line that names its interpreter; the program goes to place 1.
    script: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

impl Pointers {
    pub(super) fn of(plan: &Plan) -> Self {
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
        for (end, number) in plan.io.into_iter().zip(0..) {
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
        let owns_files = plan.owns_files && plan.user.is_none_or(|user| user.uid == 0);
        privilege::drop_capabilities(owns_files).map_err(|errno| (Step::User, errno))?;
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
