//! Prepares a container from inside, then goes on as `serve`. Docker's own writable layer cannot be bounded where its file system has no
//! quotas, and its root user is the host's. So the container is read-only and nearly empty, and this process, its first, enters
//! a user namespace of its own in which it may mount: a bounded tmpfs, on it an overlay over the image's volume, and that becomes the root.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Gid, Uid, chdir, fork, getpid, pipe, pivot_root, setgroups, setresgid, setresuid};
use palestra_sandbox_agent::staging::{IDS, Staging};

use crate::serve::{Layers, serve};

/// Devices of the container that every program may use.
const DEVICES: [&str; 6] = ["full", "null", "random", "tty", "urandom", "zero"];
/// Files of shared memory.
const SHARED_INODES: u64 = 4_096;

/// Returns when the server hung up.
///
/// # Errors
/// In words.
pub(crate) fn run(arguments: &[OsString]) -> Result<(), String> {
    let [argument] = arguments else { return Err("stage takes one argument".to_owned()) };
    let text = argument.to_str().ok_or("the argument of stage is no text")?;
    let staging: Staging = serde_json::from_str(text).map_err(|error| format!("the argument of stage: {error}"))?;
    if getpid().as_raw() != 1 {
        return Err("stage runs as process 1 of a container only".to_owned());
    }
    if !Path::new(&staging.whole).exists() {
        return Err("the image was not copied into its volume, or not whole".to_owned());
    }
    enter(staging.first_id)?;
    serve(build(&staging)?, Some(Duration::from_millis(staging.setup_ms)))
}

/// Enters a user namespace in which ids from 0 on are those of the container from `first_id` on, and a mount namespace with it.
fn enter(first_id: u32) -> Result<(), String> {
    let (mut entered, ready) = pipe().map(|(from, to)| (File::from(from), File::from(to))).map_err(words("a pipe"))?;
    // A namespace's ids are told by somebody outside of it, who has the rights there that this process gives up.
    // SAFETY: this process has one thread.
    match unsafe { fork() }.map_err(words("a process that maps ids"))? {
        ForkResult::Child => {
            drop(ready);
            let mapped = entered.read_exact(&mut [0]).map_err(|error| error.to_string()).and_then(|()| map(first_id));
            if let Err(why) = &mapped {
                eprintln!("palestra-sandbox-agent: {why}");
            }
            std::process::exit(i32::from(mapped.is_err()));
        }
        ForkResult::Parent { child } => {
            drop(entered);
            unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).map_err(|errno| {
                format!(
                    "no user namespace in a container: {}. The engine's seccomp or AppArmor profile, or the limits \
                     user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns of the host, forbid it",
                    errno.desc()
                )
            })?;
            let mut ready = ready;
            ready.write_all(&[1]).map_err(|error| format!("the process that maps ids: {error}"))?;
            if waitpid(child, None) != Ok(WaitStatus::Exited(child, 0)) {
                return Err("ids could not be mapped".to_owned());
            }
        }
    }
    setgroups(&[]).map_err(words("no other groups"))?;
    let (group, user) = (Gid::from_raw(0), Uid::from_raw(0));
    setresgid(group, group, group).map_err(words("group 0"))?;
    setresuid(user, user, user).map_err(words("user 0"))
}

/// Tells the ids of process 1, from outside of its namespace.
fn map(first_id: u32) -> Result<(), String> {
    for file in ["/proc/1/gid_map", "/proc/1/uid_map"] {
        fs::write(file, format!("0 {first_id} {IDS}\n")).map_err(|error| {
            format!("{file} takes no range of {IDS} ids from {first_id} on: {error}. The engine maps fewer ids to its containers")
        })?;
    }
    Ok(())
}

/// Mounts the new file system and makes it the root.
fn build(staging: &Staging) -> Result<Layers, String> {
    let none = None::<&str>;
    let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    // Nothing that is mounted here may be seen elsewhere.
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none).map_err(words("mounts of its own"))?;
    let place = Path::new(&staging.place);
    let size = format!("size={},nr_inodes={},mode=0755", staging.disk_bytes, staging.disk_inodes);
    mount(Some("palestra"), place, Some("tmpfs"), quiet, Some(size.as_str())).map_err(words("a tmpfs"))?;
    let (upper, work, root) = (place.join("upper"), place.join("work"), place.join("root"));
    for folder in [&upper, &work, &root] {
        fs::create_dir(folder).map_err(|error| format!("a folder of the tmpfs: {error}"))?;
    }
    let layers = Layers { upper: Some(folder(&upper)?), lower: vec![folder(Path::new(&staging.image))?] };
    let options =
        format!("lowerdir={},upperdir={},workdir={},userxattr", staging.image, upper.display(), work.display());
    mount(Some("palestra"), &root, Some("overlay"), quiet, Some(options.as_str())).map_err(|errno| {
        format!("no overlay on a tmpfs: {}. Linux 5.11 or newer mounts one in a user namespace", errno.desc())
    })?;
    takes_attributes(&upper)?;
    // The engine's masks over /proc go with it.
    mount(Some("/proc"), &root.join("proc"), none, MsFlags::MS_BIND | MsFlags::MS_REC, none).map_err(words("/proc"))?;
    if staging.network {
        let resolver = Path::new("/etc/resolv.conf");
        mount(Some(resolver), &root.join("etc/resolv.conf"), none, MsFlags::MS_BIND, none)
            .map_err(words("the resolver"))?;
    }
    devices(&root.join("dev"), staging.shared_bytes)?;
    chdir(&root).map_err(words("the new root"))?;
    pivot_root(".", ".").map_err(words("the new root"))?;
    // Both roots stand at the same place now, the old one on top.
    umount2(".", MntFlags::MNT_DETACH).map_err(words("the old root"))?;
    chdir("/").map_err(words("the new root"))?;
    Ok(layers)
}

/// Refuses an upper layer that cannot hold what an overlay notes about replaced folders: it would lose changes in silence.
fn takes_attributes(upper: &Path) -> Result<(), String> {
    let path = std::ffi::CString::new(upper.as_os_str().as_encoded_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: both texts end with a zero byte, and the value is a pointer to one byte.
    let set = unsafe { nix::libc::setxattr(path.as_ptr(), c"user.palestra".as_ptr(), c"y".as_ptr().cast(), 1, 0) };
    Errno::result(set).map_err(|errno| {
        format!(
            "a tmpfs of this kernel keeps no user attributes ({}): Linux 6.6 or newer does; use the local back end here",
            errno.desc()
        )
    })?;
    // SAFETY: both texts end with a zero byte.
    Errno::result(unsafe { nix::libc::removexattr(path.as_ptr(), c"user.palestra".as_ptr()) })
        .map_err(words("an attribute of the upper layer"))?;
    Ok(())
}

/// Mounts devices: the harmless ones of the container, terminals and shared memory of its own, and nothing else.
fn devices(place: &Path, shared_bytes: u64) -> Result<(), String> {
    let none = None::<&str>;
    let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let made = |error: std::io::Error| format!("a file of /dev: {error}");
    mount(Some("palestra"), place, Some("tmpfs"), quiet, Some("size=64k,nr_inodes=64,mode=0755"))
        .map_err(words("/dev"))?;
    for device in DEVICES {
        let to = place.join(device);
        File::create(&to).map_err(made)?;
        mount(Some(&Path::new("/dev").join(device)), &to, none, MsFlags::MS_BIND, none).map_err(words("a device"))?;
    }
    for (link, to) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(to, place.join(link)).map_err(made)?;
    }
    for folder in ["pts", "shm"] {
        fs::create_dir(place.join(folder)).map_err(made)?;
    }
    let terminals = "newinstance,ptmxmode=0666,mode=0620,gid=5";
    mount(Some("devpts"), &place.join("pts"), Some("devpts"), quiet, Some(terminals)).map_err(words("terminals"))?;
    let shared = format!("size={shared_bytes},nr_inodes={SHARED_INODES},mode=1777");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("palestra"), &place.join("shm"), Some("tmpfs"), flags, Some(shared.as_str()))
        .map_err(words("shared memory"))?;
    mount(none, place, none, MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | quiet, none)
        .map_err(words("/dev, read-only"))
}

fn folder(path: &Path) -> Result<OwnedFd, String> {
    open(path, OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())
        .map_err(words(&path.display().to_string()))
}

fn words(what: &str) -> impl Fn(Errno) -> String + use<'_> {
    move |errno| format!("{what}: {}", errno.desc())
}
