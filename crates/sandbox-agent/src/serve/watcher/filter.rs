//! The filter of a command that is watched: it stops where the watcher looks, and takes away what would hide something from it.

use nix::libc;

const LOAD_WORD: u64 = 0x20;
const JUMP_IF_EQUAL: u64 = 0x15;
const JUMP_IF_SET: u64 = 0x45;
const RETURN: u64 = 0x06;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const STOP: u32 = libc::SECCOMP_RET_TRACE;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const ABSENT: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// Where the kernel puts the number of a call, and the lower half of its first arguments.
const NUMBER_AT: u32 = 0;
const FIRST_AT: u32 = 16;
const SECOND_AT: u32 = 24;

/// Calls at which the watcher looks. No process can trace another that is traced already, so `ptrace` only needs to be seen.
#[cfg(target_arch = "x86_64")]
const OLDER: [libc::c_long; 10] = [
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_rename,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_mknod,
    libc::SYS_mkdir,
    libc::SYS_chmod,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: [libc::c_long; 0] = [];
const SEEN: [libc::c_long; 18] = [
    libc::SYS_openat,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_mknodat,
    libc::SYS_mkdirat,
    libc::SYS_truncate,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_fchmod,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_ptrace,
];
/// As the kernel's `unistd.h` has it for all architectures.
pub(super) const SYS_FCHMODAT2: libc::c_long = 452;

/// Calls that act on other processes: signals, limits and scheduling.
pub(super) const AIMED: [libc::c_long; 8] = [
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
];
/// The same where the first argument is 0 for the caller itself.
pub(super) const AIMED_UNLESS_ZERO: [libc::c_long; 5] = [
    libc::SYS_prlimit64,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
];
/// Requests that name who gets the signals of a descriptor.
pub(super) const OWNERS: [(libc::c_long, [u32; 2]); 2] =
    [(libc::SYS_fcntl, [libc::F_SETOWN as u32, F_SETOWN_EX]), (libc::SYS_ioctl, [FIOSETOWN, SIOCSPGRP])];
/// As the kernel's `asm-generic` headers have them.
pub(super) const F_SETOWN_EX: u32 = 15;
const FIOSETOWN: u32 = 0x8901;
const SIOCSPGRP: u32 = 0x8902;

/// Calls that reach into other processes past everything that is seen.
const REFUSED: [libc::c_long; 4] =
    [libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_pidfd_getfd, libc::SYS_kcmp];

/// The program, as [`crate::wire::Setup::seccomp`] has it. Calls of other architectures never get here: the sandbox's own filter ends
/// whoever makes one.
pub(super) fn program() -> Vec<u64> {
    let mut program = vec![line(LOAD_WORD, 0, 0, NUMBER_AT)];
    for number in OLDER.into_iter().chain(SEEN) {
        program.extend(answered(number, STOP));
    }
    for number in AIMED {
        program.extend(answered(number, STOP));
    }
    for number in AIMED_UNLESS_ZERO {
        program.extend(stopped_unless_zero(number));
    }
    for (number, requests) in OWNERS {
        program.extend(stopped_at(number, requests));
    }
    for number in REFUSED {
        program.extend(answered(number, REFUSE));
    }
    // Its flags lie where another thread can change them after they were looked at; libraries use `openat` then.
    program.extend(answered(libc::SYS_openat2, ABSENT));
    // It reads as ended before the tracer has let go of the process, so that its parent is told of an end and then finds none.
    // Runtimes wait for SIGCHLD where the call is absent, which the parent only gets afterwards.
    program.extend(answered(libc::SYS_pidfd_open, ABSENT));
    // A process that its tracer is not told of, and one that takes another for its parent than its maker.
    program.extend(refused_with(libc::SYS_clone, FIRST_AT, (libc::CLONE_UNTRACED | libc::CLONE_PARENT) as u32));
    // Somebody else who is asked before the tracer.
    program.extend(refused_with(libc::SYS_seccomp, SECOND_AT, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as u32));
    program.push(line(RETURN, 0, 0, ALLOW));
    program
}

fn answered(number: libc::c_long, answer: u32) -> [u64; 2] {
    [line(JUMP_IF_EQUAL, 0, 1, number as u32), line(RETURN, 0, 0, answer)]
}

/// Stops at a call where its first argument is not 0.
fn stopped_unless_zero(number: libc::c_long) -> [u64; 5] {
    [
        line(JUMP_IF_EQUAL, 0, 4, number as u32),
        line(LOAD_WORD, 0, 0, FIRST_AT),
        line(JUMP_IF_EQUAL, 0, 1, 0),
        line(RETURN, 0, 0, ALLOW),
        line(RETURN, 0, 0, STOP),
    ]
}

/// Stops at a call where its second argument is one of two.
fn stopped_at(number: libc::c_long, [one, other]: [u32; 2]) -> [u64; 6] {
    [
        line(JUMP_IF_EQUAL, 0, 5, number as u32),
        line(LOAD_WORD, 0, 0, SECOND_AT),
        line(JUMP_IF_EQUAL, 1, 0, one),
        line(JUMP_IF_EQUAL, 0, 1, other),
        line(RETURN, 0, 0, STOP),
        line(RETURN, 0, 0, ALLOW),
    ]
}

/// Refuses a call where an argument has one of some bits.
fn refused_with(number: libc::c_long, argument_at: u32, bits: u32) -> [u64; 5] {
    [
        line(JUMP_IF_EQUAL, 0, 4, number as u32),
        line(LOAD_WORD, 0, 0, argument_at),
        line(JUMP_IF_SET, 0, 1, bits),
        line(RETURN, 0, 0, REFUSE),
        line(RETURN, 0, 0, ALLOW),
    ]
}

fn line(code: u64, jump_true: u64, jump_false: u64, value: u32) -> u64 {
    code << 48 | jump_true << 40 | jump_false << 32 | u64::from(value)
}
