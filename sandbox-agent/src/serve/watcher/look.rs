//! Looking at files as a traced process sees them. It has the watcher's root, as nobody in a sandbox may change his.

use std::ffi::CString;
use std::fs::{self, File as OpenFile, OpenOptions};
use std::io::Read as _;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use nix::libc;

use crate::watch::{File, HEAD_BYTES};

/// Links that are followed on one path, as the kernel does.
const LINKS_MAX: usize = 40;
/// Bytes of `/proc/PID/maps` and `cmdline` that are read.
const TEXT_BYTES_MAX: u64 = 256 << 10;

/// A file that was opened, before anything is made of it.
pub(super) struct Found {
    pub(super) path: String,
    pub(super) is_folder: bool,
    is_regular: bool,
    pub(super) file: File,
    at: PathBuf,
}

impl Found {
    /// What a thread's descriptor stands for.
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
            changed_ns: changed_ns(&data),
            head: String::new(),
        };
        let is_device = kind.is_char_device() || kind.is_block_device();
        (!is_device).then_some(Self { path, is_folder: kind.is_dir(), is_regular: kind.is_file(), file, at })
    }

    /// The same with its first bytes.
    pub(super) fn with_head(mut self) -> Self {
        if self.is_regular
            && let Ok(mut file) = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&self.at)
        {
            let mut head = [0; HEAD_BYTES];
            let count = file.read(&mut head).unwrap_or(0);
            self.file.head = head[..count].iter().map(|byte| format!("{byte:02x}")).collect();
        }
        self
    }
}

/// What stands at a path, a link itself.
pub(super) fn standing(path: &str) -> Option<File> {
    let data = fs::symlink_metadata(path).ok()?;
    Some(File { device: data.dev(), inode: data.ino(), mode: data.mode(), ..File::default() })
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

/// A path with when its file changed last: now, where it is gone again.
pub(super) fn dated(path: String) -> (String, i64) {
    let changed_ns = fs::metadata(&path).map_or(i64::MAX, |data| changed_ns(&data));
    (path, changed_ns)
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

/// Whether a path is not as the image has it: it is in the layer of what was changed, or on no layer at all.
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

/// Whether a process holds a pipe or socket under another number than this as well.
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
