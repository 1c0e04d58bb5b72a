//! Looking at files as a traced process sees them. It has the watcher's root, as nobody in a sandbox may change his.

use std::ffi::{CString, OsStr};
use std::fs::{self, File as OpenFile, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use nix::libc;

use crate::watch::{Changed, File, HEAD_BYTES};

/// Links that are followed on one path, as the kernel does.
const LINKS_MAX: usize = 40;
/// Bytes of `/proc/PID/maps` and `cmdline` that are read.
const TEXT_BYTES_MAX: u64 = 256 << 10;
/// Bytes of a file that are compared with others.
const CONTENT_BYTES_MAX: u64 = 1 << 20;

/// The key of the hashes of contents, so that nobody makes two that are alike.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A file that was opened, before anything is made of it.
pub(super) struct Found {
    pub(super) path: String,
    pub(super) is_folder: bool,
    pub(super) is_device: bool,
    is_regular: bool,
    pub(super) file: File,
    at: PathBuf,
}

impl Found {
    /// File behind a thread's descriptor.
    pub(super) fn behind(tid: i32, descriptor: i64) -> Option<Self> {
        let at = PathBuf::from(format!("/proc/{tid}/fd/{descriptor}"));
        let path = fs::read_link(&at).ok()?;
        Self::of(at, path.to_string_lossy().into_owned())
    }

    fn of(at: PathBuf, path: String) -> Option<Self> {
        let data = fs::metadata(&at).ok()?;
        let kind = data.file_type();
        let file = File {
            device: data.dev(),
            inode: data.ino(),
            mode: data.mode(),
            names: data.nlink(),
            changed_ns: changed_ns(&data),
            ..File::default()
        };
        let is_device = kind.is_char_device() || kind.is_block_device();
        Some(Self { path, is_folder: kind.is_dir(), is_device, is_regular: kind.is_file(), file, at })
    }

    /// The same with its first bytes.
    pub(super) fn with_head(mut self) -> Self {
        if self.is_regular
            && let Ok(file) = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&self.at)
        {
            let content = content(file);
            self.file.head = content.iter().take(HEAD_BYTES).map(|byte| format!("{byte:02x}")).collect();
            self.file.content = KEY.hash_one(&content);
        }
        self
    }
}

/// The path of what a descriptor of a thread stands for.
pub(super) fn behind(tid: i32, descriptor: u64) -> Option<String> {
    fs::read_link(format!("/proc/{tid}/fd/{}", descriptor as i32)).ok().map(shown)
}

/// File at a path, a link itself, and the path where that leads.
pub(super) fn standing(path: &str) -> Option<(File, Option<String>)> {
    let data = fs::symlink_metadata(path).ok()?;
    let file =
        File { device: data.dev(), inode: data.ino(), mode: data.mode(), names: data.nlink(), ..File::default() };
    Some((file, fs::read_link(path).ok().map(shown)))
}

/// Regular files that are not the image's and that two processes hold under the same number.
pub(super) fn shared(pid: i32, other: i32, upper: RawFd) -> Vec<String> {
    let behind = |pid: i32, number: &OsStr| fs::metadata(Path::new(&format!("/proc/{pid}/fd")).join(number)).ok();
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let held = entries.filter_map(|entry| {
        let number = entry.file_name();
        let (own, others) = (behind(pid, &number)?, behind(other, &number)?);
        let path = shown(fs::read_link(entry.path()).ok()?);
        let is_one = own.is_file() && (own.dev(), own.ino()) == (others.dev(), others.ino());
        (is_one && is_changed(&path, upper)).then_some(path)
    });
    let mut held: Vec<String> = held.collect();
    held.sort();
    held.dedup();
    held
}

/// A path that a thread gave, absolute and without dots. `from` is the descriptor that it starts at.
pub(super) fn absolute(tid: i32, from: u64, given: &str) -> Option<String> {
    let folder = || {
        let from = from as u32 as i32;
        let start = if from == libc::AT_FDCWD { "cwd".to_owned() } else { format!("fd/{from}") };
        fs::read_link(format!("/proc/{tid}/{start}")).ok()
    };
    let whole = if given.starts_with('/') { PathBuf::from(given) } else { folder()?.join(given) };
    Some(plain(&whole).to_string_lossy().into_owned())
}

/// Without dots, by their names alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => drop(plain.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    plain
}

/// A path with when its file changed last, which is now where it is gone again, and a hash of what it holds.
pub(super) fn dated(path: String) -> Changed {
    let data = fs::metadata(&path).ok();
    let changed_ns = data.as_ref().map_or(i64::MAX, changed_ns);
    let file = data.filter(fs::Metadata::is_file).and_then(|_| OpenFile::open(&path).ok());
    let content = file.map_or(0, |file| KEY.hash_one(content(file)));
    Changed { path, changed_ns, content }
}

/// The beginning of a file; what was read before a failure counts.
fn content(file: OpenFile) -> Vec<u8> {
    let mut read = Vec::new();
    let _ = file.take(CONTENT_BYTES_MAX).read_to_end(&mut read);
    read
}

fn changed_ns(data: &fs::Metadata) -> i64 {
    data.ctime().saturating_mul(1_000_000_000).saturating_add(data.ctime_nsec())
}

/// A path as text.
pub(super) fn shown(path: PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

/// Links on the way along a path that are not the image's.
pub(super) fn changed_links(given: &str, upper: RawFd) -> Vec<String> {
    let mut rest: Vec<_> = Path::new(given).components().rev().map(|part| part.as_os_str().to_owned()).collect();
    let (mut at, mut found, mut followed) = (PathBuf::from("/"), Vec::new(), 0);
    while let Some(name) = rest.pop() {
        match name.as_bytes() {
            b"/" | b"." => continue,
            b".." => {
                at.pop();
                continue;
            }
            _ => at.push(&name),
        }
        let Ok(target) = fs::read_link(&at) else { continue };
        followed += 1;
        if followed > LINKS_MAX {
            break;
        }
        let path = at.to_string_lossy().into_owned();
        if is_changed(&path, upper) {
            found.push(path);
        }
        at.pop();
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        rest.extend(target.components().rev().map(|part| part.as_os_str().to_owned()));
    }
    found
}

/// True if a path is not as the image has it: it is in the layer of what was changed, or on no layer at all.
pub(super) fn is_changed(path: &str, upper: RawFd) -> bool {
    let Some(below) = path.strip_prefix('/') else { return true };
    if path.starts_with("/dev/shm/") || path.ends_with(" (deleted)") {
        return true;
    }
    let Ok(below) = CString::new(below) else { return true };
    let mut data = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path ends with a zero byte; the place is valid for writing.
    unsafe { libc::fstatat(upper, below.as_ptr(), data.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW) == 0 }
}

/// True if what stands at a path, or stood there in the image, may be out of reach because something was changed or removed on the way.
/// `denied` says that a folder or the path itself is closed to who asks.
pub(super) fn is_affected(path: &str, denied: bool, upper: RawFd) -> bool {
    let Some(below) = path.strip_prefix('/') else { return false };
    let mut at = String::new();
    let mut parent: Option<String> = None;
    for part in below.split('/') {
        if !at.is_empty() {
            at.push('/');
        }
        at.push_str(part);
        let data = match in_layer(&at, upper) {
            Ok(data) => data,
            // From here on it is the image that answers, unless the folder hides it.
            Err(libc::ENOENT) => return parent.is_some_and(|parent| is_opaque(&parent, upper)),
            Err(_) => return true,
        };
        let is_folder = data.st_mode & libc::S_IFMT == libc::S_IFDIR;
        if !is_folder || (denied && data.st_mode & 0o111 != 0o111) {
            return true;
        }
        parent = Some(at.clone());
    }
    true
}

/// Entry of the layer of changes at a path; else the number of the error.
fn in_layer(below: &str, upper: RawFd) -> Result<libc::stat, i32> {
    let below = CString::new(below).map_err(|_| libc::EINVAL)?;
    let mut data = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the path ends with a zero byte; the place is valid for writing, and was zeroed, which is a value of this structure.
    unsafe {
        match libc::fstatat(upper, below.as_ptr(), data.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW) {
            0 => Ok(data.assume_init()),
            _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
        }
    }
}

/// True if a folder of the layer stands in place of the image's.
fn is_opaque(below: &str, upper: RawFd) -> bool {
    let Ok(below) = CString::new(below) else { return true };
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte.
    let folder = unsafe { libc::openat(upper, below.as_ptr(), flags) };
    if folder < 0 {
        return true;
    }
    // SAFETY: the kernel just made it, and nobody else in this process knows of it.
    let folder = unsafe { OwnedFd::from_raw_fd(folder) };
    let mut value = [0_u8; 8];
    // SAFETY: the name ends with a zero byte, the value is valid for its length.
    let length = unsafe {
        let name = c"user.overlay.opaque".as_ptr();
        libc::fgetxattr(folder.as_raw_fd(), name, value.as_mut_ptr().cast(), value.len())
    };
    length == 1 && value[0] == b'y'
}

/// The process that a descriptor of a thread stands for.
pub(super) fn behind_pidfd(tid: i32, descriptor: i32) -> Option<i32> {
    let told = text(&format!("/proc/{tid}/fdinfo/{descriptor}"));
    let told = String::from_utf8_lossy(&told);
    told.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()
}

/// The process group of a process.
pub(super) fn group(pid: i32) -> Option<i32> {
    let told = text(&format!("/proc/{pid}/stat"));
    let told = String::from_utf8_lossy(&told);
    // State, parent, group; the name before them may hold anything.
    told.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

/// True if a process holds a pipe or socket under another number than this as well.
pub(super) fn holds(tid: i32, name: &str, number: i64) -> bool {
    let entries = fs::read_dir(format!("/proc/{tid}/fd")).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str() != Some(number.to_string().as_str()))
        .any(|entry| fs::read_link(entry.path()).is_ok_and(|link| link.as_os_str() == name))
}

/// The arguments of a program, and whether some are missing.
pub(super) fn arguments(pid: i32, bytes_max: usize) -> (Vec<String>, bool) {
    let line = text(&format!("/proc/{pid}/cmdline"));
    let cut = line.len() > bytes_max || line.is_empty();
    let line = &line[..line.len().min(bytes_max)];
    let line = line.strip_suffix(b"\0").unwrap_or(line);
    (line.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect(), cut)
}

/// Files that are mapped into a process.
pub(super) fn mapped(pid: i32) -> Vec<String> {
    let maps = text(&format!("/proc/{pid}/maps"));
    let maps = String::from_utf8_lossy(&maps);
    let mut files: Vec<String> = maps.lines().filter_map(|line| Some(line[line.find('/')?..].to_owned())).collect();
    files.sort();
    files.dedup();
    files
}

fn text(path: &str) -> Vec<u8> {
    let mut read = Vec::new();
    if let Ok(file) = OpenFile::open(path) {
        // What was read before a failure counts.
        let _ = file.take(TEXT_BYTES_MAX).read_to_end(&mut read);
    }
    read
}

/// A line of `/proc/PID/status`.
pub(super) fn status(tid: i32, name: &str) -> Option<i32> {
    let status = text(&format!("/proc/{tid}/status"));
    let status = String::from_utf8_lossy(&status);
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().parse().ok()
}
