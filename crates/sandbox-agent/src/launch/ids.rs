//! User namespaces: with a range of user ids where root makes them, else with the caller's own id alone.

use std::fs;
use std::io::{Read as _, Write as _};

use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Gid, Pid, Uid, fork, getegid, geteuid, getpid, setgroups, setresgid, setresuid};

/// Watchers of files in one sandbox. The kernel counts them with the server's user, who has 128 on most machines: without a bound of its
/// own one sandbox could take all of them, from other sandboxes and from the host's programs.
const WATCHERS: &str = "16";

/// Bounds what the kernel counts for users, for all users of the namespace that was entered. A kernel that counts no watchers has no
/// such file.
fn bound_users() -> Result<(), String> {
    let file = "/proc/sys/user/max_inotify_instances";
    match fs::write(file, WATCHERS) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{file}: {error}")),
        _ => Ok(()),
    }
}

/// Enters a new user namespace in which ids from 0 on are the host's from `first` on, and becomes its root.
pub(super) fn enter_range(first: u32, count: u32) -> Result<(), String> {
    let launcher = getpid();
    let (mut wait, mut go) = std::io::pipe().map_err(|error| format!("a pipe: {error}"))?;
    // Only somebody outside of the new namespace may map more than one id into it.
    // SAFETY: this process has one thread, so the child may do whatever the parent may.
    match unsafe { fork() }.map_err(|error| format!("a fork: {error}"))? {
        ForkResult::Child => {
            drop(go);
            let entered = wait.read_exact(&mut [0]).is_ok();
            let mapped = entered && map(launcher, &format!("0 {first} {count}")).is_ok();
            std::process::exit(i32::from(!mapped));
        }
        ForkResult::Parent { child } => {
            drop(wait);
            unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| format!("a user namespace: {error}"))?;
            go.write_all(&[1]).map_err(|error| format!("the mapping of user ids: {error}"))?;
            match waitpid(child, None) {
                Ok(WaitStatus::Exited(_, 0)) => {}
                other => return Err(format!("user ids from {first} on could not be mapped: {other:?}")),
            }
        }
    }
    let root = |error| format!("becoming root of the user namespace: {error}");
    setgroups(&[]).map_err(root)?;
    let (uid, gid) = (Uid::from_raw(0), Gid::from_raw(0));
    setresgid(gid, gid, gid).map_err(root)?;
    setresuid(uid, uid, uid).map_err(root)?;
    bound_users()
}

/// Enters new user and mount namespaces in which the caller is root and there is nobody else.
pub(super) fn enter_single() -> Result<(), String> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).map_err(|error| {
        format!(
            "a user namespace: {error} (kernel.unprivileged_userns_clone or user.max_user_namespaces may forbid it)"
        )
    })?;
    fs::write("/proc/self/setgroups", "deny").map_err(|error| format!("/proc/self/setgroups: {error}"))?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1")).map_err(|error| format!("/proc/self/uid_map: {error}"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1")).map_err(|error| format!("/proc/self/gid_map: {error}"))?;
    bound_users()
}

fn map(process: Pid, line: &str) -> std::io::Result<()> {
    fs::write(format!("/proc/{process}/uid_map"), line)?;
    fs::write(format!("/proc/{process}/gid_map"), line)
}
