//! Confinement of the process, before it looks at the first request: its environment, files, privileges, and every system call but
//! those that memory, threads and two pipes need.

use std::collections::BTreeMap;

use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use crate::{heap, machine, pages, raw};

/// Largest share of all memory for SQLite's memory and the pages of databases, in all workers together: the rest is for the server,
/// for requests and answers under way, and for what the machine needs itself.
const TAKEN: (u64, u64) = (3, 4);
/// Bytes of addresses beyond that: stacks, and what allocators set aside without using it.
const ADDRESSES: u64 = 16 << 30;
/// Descriptors: the three that there are, and none to spare that would matter.
const DESCRIPTORS: u64 = 16;

/// Gives up what can be given up before SQLite is set up. So many workers share the machine.
///
/// # Errors
/// In words.
pub fn begin(workers: u64) -> Result<(), String> {
    raw::clear_environment();
    let memory = machine::memory_bytes() / TAKEN.1 * TAKEN.0 / workers.max(1);
    heap::set_max(usize::try_from(memory / 2).unwrap_or(usize::MAX));
    pages::set_max(memory / 2);
    let to_file = std::fs::metadata("/proc/self/fd/2").is_ok_and(|error| error.is_file());
    close_descriptors();
    let mut limits = vec![
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_NOFILE, DESCRIPTORS),
        (Resource::RLIMIT_AS, memory.saturating_add(ADDRESSES)),
        (Resource::RLIMIT_MEMLOCK, 0),
        (Resource::RLIMIT_MSGQUEUE, 0),
    ];
    // Messages of a panic may go to a log.
    if !to_file {
        limits.push((Resource::RLIMIT_FSIZE, 0));
    }
    for (resource, limit) in limits {
        setrlimit(resource, limit, limit).map_err(|error| format!("setrlimit: {error}"))?;
    }
    prctl::set_no_new_privs().map_err(|error| format!("no_new_privs: {error}"))?;
    prctl::set_dumpable(false).map_err(|error| format!("dumpable: {error}"))
}

/// Gives up system calls, for all threads and for good.
///
/// # Errors
/// In words.
pub fn filter_calls() -> Result<(), String> {
    let process = u64::from(std::process::id());
    for program in [program(absent(), true)?, program(allowed(process)?, false)?] {
        seccompiler::apply_filter_all_threads(&program).map_err(|error| format!("seccomp: {error}"))?;
    }
    Ok(())
}

fn close_descriptors() {
    let listed = std::fs::read_dir("/proc/self/fd").map(|entries| {
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).collect::<Vec<_>>()
    });
    for descriptor in listed.unwrap_or_else(|_| (3..1_024).collect()) {
        if descriptor > 2 {
            // The one that listed them is closed already.
            let _ = nix::unistd::close(descriptor);
        }
    }
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Allowed system calls. Anything else is answered with EPERM: libraries try more than they need, and go on without.
fn allowed(process: u64) -> Result<Rules, String> {
    let mut rules = Rules::new();
    for call in [
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_ppoll,
        libc::SYS_futex,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_gettimeofday,
        libc::SYS_getrandom,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_restart_syscall,
        libc::SYS_rt_sigreturn,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigaction,
        libc::SYS_sigaltstack,
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_gettid,
        libc::SYS_getpid,
        // The other filter says that it does not exist.
        libc::SYS_clone3,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll,
    ] {
        rules.insert(call, Vec::new());
    }
    // Memory that is not executable.
    let executable = masked(2, libc::PROT_EXEC, 0)?;
    rules.insert(libc::SYS_mmap, vec![executable.clone()]);
    rules.insert(libc::SYS_mprotect, vec![executable]);
    // Threads, but no processes.
    rules.insert(libc::SYS_clone, vec![masked(0, libc::CLONE_THREAD, libc::CLONE_THREAD)?]);
    rules.insert(libc::SYS_prctl, vec![equal(0, u64::from(libc::PR_SET_NAME.unsigned_abs()))?]);
    rules.insert(libc::SYS_setpriority, vec![equal(0, u64::from(libc::PRIO_PROCESS))?]);
    // To abort.
    rules.insert(libc::SYS_tgkill, vec![equal(0, process)?]);
    Ok(rules)
}

/// System calls that are said not to exist: the flags of `clone3` lie where a filter cannot look, and libraries use `clone` then.
fn absent() -> Rules {
    Rules::from([(libc::SYS_clone3, Vec::new())])
}

fn masked(argument: u8, mask: i32, value: i32) -> Result<SeccompRule, String> {
    let (mask, value) = (u64::from(mask.cast_unsigned()), u64::from(value.cast_unsigned()));
    rule(argument, SeccompCmpOp::MaskedEq(mask), value)
}

fn equal(argument: u8, value: u64) -> Result<SeccompRule, String> {
    rule(argument, SeccompCmpOp::Eq, value)
}

fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(|error| error.to_string())
}

/// `absent` says whether the listed calls are those that do not exist, or those that are allowed.
fn program(rules: Rules, absent: bool) -> Result<BpfProgram, String> {
    let errno = |number: i32| SeccompAction::Errno(number.unsigned_abs());
    let (other, listed) =
        if absent { (SeccompAction::Allow, errno(libc::ENOSYS)) } else { (errno(libc::EPERM), SeccompAction::Allow) };
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let filter = SeccompFilter::new(rules, other, listed, architecture).map_err(|error| error.to_string())?;
    filter.try_into().map_err(|error: seccompiler::BackendError| error.to_string())
}
