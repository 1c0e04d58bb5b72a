//! The filter of a command that is watched: it stops where the watcher looks, and takes away what would hide something from it.

use nix::libc;

const LOAD_WORD: u64 = 0x20;
const JUMP_IF_EQUAL: u64 = 0x15;
const JUMP_IF_SET: u64 = 0x45;
const RETURN: u64 = 0x06;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const STOP: u32 = libc::SECCOMP_RET_TRACE;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// Where the kernel puts the number of a call, and the lower half of its first arguments.
const NUMBER_AT: u32 = 0;
const FIRST_AT: u32 = 16;
const SECOND_AT: u32 = 24;

/// Calls at which the watcher looks. No process can trace another that is traced already, so `ptrace` only needs to be seen.
#[cfg(target_arch = "x86_64")]
const OLDER: [libc::c_long; 9] = [
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_rename,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_mknod,
    libc::SYS_chmod,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: [libc::c_long; 0] = [];
const SEEN: [libc::c_long; 13] = [
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_mknodat,
    libc::SYS_truncate,
    libc::SYS_fchmodat,
    libc::SYS_ptrace,
];

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
    for number in REFUSED {
        program.extend(answered(number, REFUSE));
    }
    // A process that its tracer is not told of.
    program.extend(refused_with(libc::SYS_clone, FIRST_AT, libc::CLONE_UNTRACED as u32));
    // Somebody else who is asked before the tracer.
    program.extend(refused_with(libc::SYS_seccomp, SECOND_AT, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as u32));
    program.push(line(RETURN, 0, 0, ALLOW));
    program
}

fn answered(number: libc::c_long, answer: u32) -> [u64; 2] {
    [line(JUMP_IF_EQUAL, 0, 1, number as u32), line(RETURN, 0, 0, answer)]
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
