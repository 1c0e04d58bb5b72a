//! Finds places in the file system step by step, without ever following a link: what a command left on the way cannot lead a
//! request elsewhere, whatever it does meanwhile.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat, mkdirat};
use nix::sys::statfs::{FsType, fstatfs};
use nix::unistd::{Gid, Uid, fchownat};

use super::failure::Failure;
use crate::wire::{Entry, EntryKind, User};

/// File systems that are the kernel's own: files there are no data but levers, some of them on the agent itself.
const KERNEL_FILE_SYSTEMS: [i64; 8] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup 2
    0x1cd1,      // devpts
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
];

/// Owner of what a request makes; `None` where there is no choice.
pub(crate) type Owner = Option<User>;

/// The names of a path. A relative path counts from the root.
///
/// # Errors
/// When it goes upwards.
pub(crate) fn names(path: &[u8]) -> Result<Vec<&OsStr>, Failure> {
    let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    let names: Vec<&OsStr> = names.map(OsStr::from_bytes).collect();
    if names.iter().any(|name| *name == "..") {
        return Err(Failure::invalid(format!("{} goes upwards", OsStr::from_bytes(path).display())));
    }
    Ok(names)
}

/// The names of a path that must be absolute.
///
/// # Errors
/// When it is not, or goes upwards.
pub(crate) fn absolute(path: &str) -> Result<Vec<&OsStr>, Failure> {
    if path.starts_with('/') {
        names(path.as_bytes())
    } else {
        Err(Failure::invalid(format!("{path} is not absolute")))
    }
}

/// The root of the sandbox.
pub(crate) fn root() -> Result<OwnedFd, Failure> {
    open(AT_FDCWD, "/", OFlag::O_PATH | OFlag::O_DIRECTORY).map_err(|errno| Failure::kernel(errno, "/"))
}

/// Opens a name of a folder itself: never through a link, never waiting for the other end of a pipe.
pub(crate) fn open(folder: impl AsFd, name: impl AsRef<OsStr>, flags: OFlag) -> Result<OwnedFd, Errno> {
    let always = OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    openat(folder, name.as_ref(), flags | always, Mode::empty())
}

/// Status of a name of a folder, links not followed.
pub(crate) fn stat(folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<Option<FileStat>, Errno> {
    match fstatat(folder, name.as_ref(), AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Goes down from a folder. With `make`, missing folders are made and given to that owner.
///
/// # Errors
/// [`FailureCode::WrongKind`](crate::wire::FailureCode::WrongKind) for a link or anything else that is no folder.
pub(crate) fn descend(from: impl AsFd, names: &[&OsStr], make: Option<Owner>) -> Result<OwnedFd, Failure> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY;
    let mut folder = open(&from, ".", flags).map_err(|errno| Failure::kernel(errno, "."))?;
    for name in names {
        let fail = |errno: Errno| match errno {
            Errno::ENOTDIR | Errno::ELOOP => Failure::wrong_kind(format!("{} is no folder", name.display())),
            errno => Failure::kernel(errno, name.display()),
        };
        let next = match (open(&folder, name, flags), make) {
            (Err(Errno::ENOENT), Some(owner)) => make_folder(&folder, name, 0o755, owner).map_err(fail)?,
            (next, _) => next.map_err(fail)?,
        };
        folder = next;
    }
    Ok(folder)
}

/// The folder that holds a path, and its name there.
///
/// # Errors
/// As [`descend`]; also for the root, which nothing holds, and among the kernel's own files.
pub(crate) fn parent(path: &str, make: Option<Owner>) -> Result<(OwnedFd, &OsStr), Failure> {
    let names = absolute(path)?;
    let (name, folders) = names.split_last().ok_or_else(|| Failure::wrong_kind("the root is a folder"))?;
    let folder = descend(root()?, folders, make)?;
    refuse_kernel_files(&folder)?;
    Ok((folder, name))
}

/// Makes a folder and opens it. One that somebody else made meanwhile is as good.
pub(crate) fn make_folder(parent: impl AsFd, name: &OsStr, mode: u32, owner: Owner) -> Result<OwnedFd, Errno> {
    let made = match mkdirat(&parent, name, Mode::from_bits_truncate(mode)) {
        Ok(()) => true,
        Err(Errno::EEXIST) => false,
        Err(errno) => return Err(errno),
    };
    let folder = open(&parent, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
    if made {
        give(&folder, OsStr::new(""), owner)?;
    }
    Ok(folder)
}

/// Makes `owner` the owner of a name of a folder, or of what is open where the name is empty.
pub(crate) fn give(folder: impl AsFd, name: &OsStr, owner: Owner) -> Result<(), Errno> {
    let Some(User { uid, gid }) = owner else { return Ok(()) };
    let flags = AtFlags::AT_SYMLINK_NOFOLLOW | AtFlags::AT_EMPTY_PATH;
    fchownat(folder, name, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)), flags)
}

/// Checks whether something open lies on one of the kernel's own file systems.
pub(crate) fn is_kernel_file(file: impl AsFd) -> Result<bool, Errno> {
    let FsType(kind) = fstatfs(file)?.filesystem_type();
    Ok(KERNEL_FILE_SYSTEMS.contains(&kind))
}

/// Refuses a folder among the kernel's own files.
pub(crate) fn refuse_kernel_files(folder: impl AsFd) -> Result<(), Failure> {
    match is_kernel_file(folder) {
        Ok(false) => Ok(()),
        Ok(true) => Err(Failure::wrong_kind("files of the kernel are no data")),
        Err(errno) => Err(Failure::kernel(errno, "a folder")),
    }
}

/// The names that a folder holds, sorted; `None` when there are more than `count_max`.
pub(crate) fn list(folder: impl AsFd, count_max: u64) -> Result<Option<Vec<OsString>>, Errno> {
    let again = open(folder, ".", OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
    let mut names = Vec::new();
    for entry in nix::dir::Dir::from_fd(again)?.iter() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if names.len() as u64 >= count_max {
            return Ok(None);
        }
        names.push(name.to_owned());
    }
    names.sort_unstable();
    Ok(Some(names))
}

pub(crate) fn kind(stat: &FileStat) -> EntryKind {
    match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => EntryKind::File,
        SFlag::S_IFDIR => EntryKind::Folder,
        SFlag::S_IFLNK => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

pub(crate) fn entry(stat: &FileStat) -> Entry {
    let kind = kind(stat);
    // What a folder takes up is the file system's affair.
    let size = if kind == EntryKind::Folder { 0 } else { size(stat) };
    Entry { kind, size, mode: stat.st_mode & 0o7777, uid: stat.st_uid }
}

pub(crate) fn size(stat: &FileStat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// True if this stands for something deleted in an overlay's upper layer: a device numbered 0.
pub(crate) fn is_whiteout_device(stat: &FileStat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFCHR && stat.st_rdev == 0
}
