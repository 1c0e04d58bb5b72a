//! Privileges that the agent keeps once commands run beside it: change owners, step over permissions and signal, as a user
//! that no command has; nothing that commands could take over.

use std::fs;

use nix::errno::Errno;
use nix::libc;
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};

use crate::wire::User;

/// The user of the agent, where there is more than one.
const AGENT_ID: u32 = 65_533;

const CAP_CHOWN: u32 = 0;
const CAP_DAC_OVERRIDE: u32 = 1;
const CAP_DAC_READ_SEARCH: u32 = 2;
const CAP_FOWNER: u32 = 3;
const CAP_FSETID: u32 = 4;
const CAP_KILL: u32 = 5;
const CAP_SETGID: u32 = 6;
const CAP_SETUID: u32 = 7;
const CAP_SETPCAP: u32 = 8;
const CAP_SYS_PTRACE: u32 = 19;

/// Signals in queues, of which timers are the most part. The kernel counts them with whoever made the namespace of users too, the
/// server, so that without a bound of its own one sandbox could take those of all others and of the host.
const SIGNALS_MAX: u64 = 512;

/// Bytes of POSIX message queues, which the kernel counts in the same way: with the usual limit one sandbox leaves none to others, and
/// hardly any program uses them.
const QUEUES_BYTES_MAX: u64 = 0;

/// Privileges that the agent may take up again in a copy of itself that watches a command; it holds it unused.
const ASIDE: u32 = 1 << CAP_SYS_PTRACE;

/// All that the agent uses.
const KEPT: u32 = 1 << CAP_CHOWN
    | 1 << CAP_DAC_OVERRIDE
    | 1 << CAP_DAC_READ_SEARCH
    | 1 << CAP_FOWNER
    | 1 << CAP_FSETID
    | 1 << CAP_KILL
    | 1 << CAP_SETGID
    | 1 << CAP_SETUID;

/// Version 3 of the kernel's structure: two words of 32 capabilities each.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityWord {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Rights of user 0 over files and users of the sandbox, which set-ups of packages need.
const OF_FILES: u32 = 1 << CAP_CHOWN
    | 1 << CAP_DAC_OVERRIDE
    | 1 << CAP_FOWNER
    | 1 << CAP_FSETID
    | 1 << CAP_KILL
    | 1 << CAP_SETGID
    | 1 << CAP_SETUID;

/// Gives up all that is not needed any more. Whether commands run under other user ids than the agent. With `owns_files`, commands of
/// user 0 can have [`OF_FILES`].
///
/// # Errors
/// When something could not be given up.
pub(crate) fn reduce(user: User, owns_files: bool) -> Result<bool, String> {
    let fail = |what: &'static str| move |errno: Errno| format!("{what}: {}", errno.desc());
    let other_uid = [user.uid, AGENT_ID].iter().all(|id| is_mapped("uid", *id))
        && [user.gid, AGENT_ID].iter().all(|id| is_mapped("gid", *id));
    setrlimit(Resource::RLIMIT_SIGPENDING, SIGNALS_MAX, SIGNALS_MAX).map_err(fail("signals in queues"))?;
    setrlimit(Resource::RLIMIT_MSGQUEUE, QUEUES_BYTES_MAX, QUEUES_BYTES_MAX).map_err(fail("message queues"))?;
    prctl::set_no_new_privs().map_err(fail("no_new_privs"))?;
    let mut held = capabilities().map_err(fail("capget"))?;
    if held[0].effective & (1 << CAP_SETPCAP) != 0 {
        drop_bounding_set(if owns_files { OF_FILES } else { 0 });
        if !owns_files {
            lock_securebits().map_err(fail("securebits"))?;
        }
    }
    if other_uid {
        if owns_files {
            // Where the bits are not locked, leaving user 0 would lose all.
            prctl::set_keepcaps(true).map_err(fail("keepcaps"))?;
        }
        setgroups(&[]).map_err(fail("setgroups"))?;
        let (uid, gid) = (Uid::from_raw(AGENT_ID), Gid::from_raw(AGENT_ID));
        setresgid(gid, gid, gid).map_err(fail("setresgid"))?;
        setresuid(uid, uid, uid).map_err(fail("setresuid"))?;
    }
    held[0].permitted &= if other_uid { KEPT | ASIDE } else { KEPT };
    held[1].permitted = 0;
    for word in &mut held {
        word.effective = word.permitted & KEPT;
        word.inheritable = 0;
    }
    set_capabilities(&held).map_err(fail("capset"))?;
    prctl::set_dumpable(false).map_err(fail("dumpable"))?;
    Ok(other_uid)
}

/// Loads a program of the kernel's packet filter, one `sock_filter` for each number; `false` where there is none or the kernel
/// refuses it.
pub(crate) fn load_filter(program: &[u64]) -> bool {
    let filter: Vec<libc::sock_filter> = program
        .iter()
        .map(|word| {
            let [code_high, code_low, jt, jf, k @ ..] = word.to_be_bytes();
            libc::sock_filter { code: u16::from_be_bytes([code_high, code_low]), jt, jf, k: u32::from_be_bytes(k) }
        })
        .collect();
    let Ok(len) = u16::try_from(filter.len()) else { return false };
    if len == 0 {
        return false;
    }
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program and its `len` instructions outlive the call, which only reads them.
    let loaded = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            std::ptr::from_ref(&program),
        )
    };
    loaded == 0
}

/// Takes up what the agent holds aside: looking into other processes.
pub(crate) fn take_up_tracing() -> Result<(), Errno> {
    let mut held = capabilities()?;
    held[0].effective = held[0].permitted;
    set_capabilities(&held)
}

/// Gives up every capability but [`OF_FILES`], where those are to be kept. Only calls the kernel, so it may follow a fork.
pub(crate) fn drop_capabilities(owns_files: bool) -> Result<(), Errno> {
    let kept = if owns_files { OF_FILES } else { 0 };
    let held = CapabilityWord { effective: kept, permitted: kept, inheritable: 0 };
    set_capabilities(&[held, CapabilityWord::default()])
}

/// True if an id of this namespace stands for one of the host.
fn is_mapped(kind: &str, id: u32) -> bool {
    let map = fs::read_to_string(format!("/proc/self/{kind}_map")).unwrap_or_default();
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>().unwrap_or(0));
        let (first, _, count) = (numbers.next(), numbers.next(), numbers.next());
        first.zip(count).is_some_and(|(first, count)| (first..first + count).contains(&u64::from(id)))
    })
}

fn drop_bounding_set(kept: u32) {
    for capability in (0..64).filter(|capability| kept.checked_shr(*capability).unwrap_or(0) & 1 == 0) {
        // SAFETY: takes numbers only. Those that the kernel does not know are refused, which is as good.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
}

/// User 0 gains nothing by being it, and changing users loses and wins nothing.
fn lock_securebits() -> Result<(), Errno> {
    let bits = libc::SECBIT_NOROOT
        | libc::SECBIT_NOROOT_LOCKED
        | libc::SECBIT_NO_SETUID_FIXUP
        | libc::SECBIT_NO_SETUID_FIXUP_LOCKED
        | libc::SECBIT_NO_CAP_AMBIENT_RAISE
        | libc::SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    // SAFETY: takes numbers only.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_SECUREBITS, bits, 0, 0, 0) }).map(drop)
}

fn capabilities() -> Result<[CapabilityWord; 2], Errno> {
    let header = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };
    let mut words = [CapabilityWord::default(); 2];
    // SAFETY: version 3 fills exactly two words.
    let result = unsafe { libc::syscall(libc::SYS_capget, std::ptr::from_ref(&header), words.as_mut_ptr()) };
    Errno::result(result).map(|_| words)
}

fn set_capabilities(words: &[CapabilityWord; 2]) -> Result<(), Errno> {
    let header = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };
    // SAFETY: version 3 reads exactly two words.
    let result = unsafe { libc::syscall(libc::SYS_capset, std::ptr::from_ref(&header), words.as_ptr()) };
    Errno::result(result).map(drop)
}
