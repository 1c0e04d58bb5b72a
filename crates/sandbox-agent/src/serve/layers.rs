//! Differences from the image: the overlay's upper layer beside its lower ones.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::stat::FileStat;

use super::Layers;
use super::failure::Failure;
use super::file::Sender;
use super::outbox::Outbox;
use super::pack::{DEPTH_MAX, Packer, below, fail, paths_too_long, too_deep};
use super::paths;
use crate::wire::{Change, ChangeKind, ENTRY_BYTES, EntryKind, Event, PATHS_BYTES_MAX};

/// Names in the root that are the sandbox's own making: what is mounted there.
pub(crate) const OWN_NAMES: [&str; 4] = [".palestra", "dev", "proc", "sys"];
/// Stands before the name of what was deleted, in an archive of changes.
pub(crate) const WHITEOUT: &str = ".wh.";
/// Stands in a folder that was replaced.
pub(crate) const OPAQUE: &str = ".wh..wh..opq";

/// Sends a JSON array of what differs.
pub(crate) fn changes(layers: &Layers, entries_max: u64, stream: u32, outbox: &Outbox) -> Result<(), Failure> {
    let mut list = List { changes: Vec::new(), entries_max, paths_left: PATHS_BYTES_MAX };
    walk(layers, &mut list)?;
    list.changes.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    let sending =
        |error: &dyn std::fmt::Display| Failure::new(crate::wire::FailureCode::Failed, format!("sending: {error}"));
    let mut length = Length(0);
    serde_json::to_writer(&mut length, &list.changes).map_err(|error| sending(&error))?;
    if length.0 > entries_max.saturating_mul(ENTRY_BYTES) {
        return Err(Failure::too_large("a list of more bytes than allowed"));
    }
    let mut sender = Sender::new(stream, outbox);
    serde_json::to_writer(&mut sender, &list.changes).map_err(|error| sending(&error))?;
    sender.flush().map_err(|error| sending(&error))
}

/// Counts what is written.
struct Length(u64);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Sends what differs as an archive that `Apply` takes.
pub(crate) fn delta(
    layers: &Layers,
    bytes_max: u64,
    entries_max: u64,
    except: &[String],
    stream: u32,
    outbox: &Outbox,
) -> Result<Event, Failure> {
    let except = except.iter().map(|path| Ok(paths::absolute(path)?.join(OsStr::new("/"))));
    let except = except.collect::<Result<_, Failure>>()?;
    let mut delta = Delta { packer: Packer::new(bytes_max, entries_max, stream, outbox), except };
    walk(layers, &mut delta)?;
    delta.packer.finish()
}

/// Handler of each difference. Paths have no slash in front.
trait Visitor {
    /// The names of a folder of the upper layer.
    fn list(&self, folder: &OwnedFd, path: &[u8]) -> Result<Vec<OsString>, Failure>;

    /// True if a path is left out, with all that is below it.
    fn skips(&mut self, path: &[u8]) -> bool;

    fn deleted(&mut self, parent: &[u8], name: &OsStr) -> Result<(), Failure>;

    /// Something that the image has in a folder that was replaced, and that is not there any more.
    fn hidden(&mut self, path: &[u8]) -> Result<(), Failure>;

    /// A folder; `change` is `None` where only what it holds may differ, `replaced` says that the image's holds nothing any more.
    fn folder(
        &mut self,
        path: &[u8],
        stat: &FileStat,
        change: Option<ChangeKind>,
        replaced: bool,
    ) -> Result<(), Failure>;

    fn single(&mut self, at: At<'_>, stat: &FileStat, change: ChangeKind) -> Result<(), Failure>;
}

/// Where something stands in the upper layer.
struct At<'a> {
    parent: &'a OwnedFd,
    name: &'a OsStr,
    path: &'a [u8],
}

fn walk(layers: &Layers, visitor: &mut impl Visitor) -> Result<(), Failure> {
    let upper = layers.upper.as_ref().ok_or_else(|| Failure::invalid("this sandbox has no overlay to compare"))?;
    let again = |folder: &OwnedFd| paths::open(folder, ".", OFlag::O_RDONLY | OFlag::O_DIRECTORY);
    let image = layers.lower.iter().map(again).collect::<Result<Vec<_>, _>>().map_err(|errno| fail(errno, b""))?;
    walk_folder(&again(upper).map_err(|errno| fail(errno, b""))?, &image, false, b"", 0, visitor)
}

/// `image` is the same folder in the lower layers, topmost first; `replaced` says that nothing of it shows through.
fn walk_folder(
    folder: &OwnedFd,
    image: &[OwnedFd],
    replaced: bool,
    path: &[u8],
    depth: usize,
    visitor: &mut impl Visitor,
) -> Result<(), Failure> {
    if depth >= DEPTH_MAX {
        return Err(too_deep(path));
    }
    let names = visitor.list(folder, path)?;
    for name in &names {
        let path = below(path, name);
        if (depth == 0 && is_own(name)) || visitor.skips(&path) {
            continue;
        }
        // What goes away meanwhile differs no more.
        let Some(stat) = paths::stat(folder, name).map_err(|errno| fail(errno, &path))? else { continue };
        let before = find(image, name).map_err(|errno| fail(errno, &path))?;
        let at = At { parent: folder, name, path: &path };
        walk_name(&at, &stat, before, replaced, depth, visitor)?;
    }
    if replaced {
        for name in image_names(image, path, visitor)? {
            if names.binary_search(&name).is_err() && !visitor.skips(&below(path, &name)) {
                visitor.hidden(&below(path, &name))?;
            }
        }
    }
    Ok(())
}

fn walk_name(
    at: &At<'_>,
    stat: &FileStat,
    before: Option<ImageEntry>,
    parent_replaced: bool,
    depth: usize,
    visitor: &mut impl Visitor,
) -> Result<(), Failure> {
    let failed = |errno: Errno| fail(errno, at.path);
    if is_whiteout(at.parent, at.name, stat).map_err(failed)? {
        let parent = &at.path[..at.path.len() - at.name.len()];
        return match before {
            Some(_) => visitor.deleted(parent.strip_suffix(b"/").unwrap_or(parent), at.name),
            None => Ok(()),
        };
    }
    let change = if before.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
    if paths::kind(stat) != EntryKind::Folder {
        let at = At { parent: at.parent, name: at.name, path: at.path };
        return visitor.single(at, stat, change);
    }
    let folder = paths::open(at.parent, at.name, OFlag::O_RDONLY | OFlag::O_DIRECTORY).map_err(failed)?;
    let (folders, replaced, change) = match before {
        Some(ImageEntry { stat: old, folders }) if !folders.is_empty() => {
            let replaced = parent_replaced || is_opaque(&folder).map_err(failed)?;
            let same = (old.st_mode, old.st_uid, old.st_gid) == (stat.st_mode, stat.st_uid, stat.st_gid);
            (folders, replaced, (replaced || !same).then_some(ChangeKind::Modified))
        }
        _ => (Vec::new(), false, Some(change)),
    };
    visitor.folder(at.path, stat, change, replaced)?;
    walk_folder(&folder, &folders, replaced, at.path, depth + 1, visitor)
}

/// Entry of the image at a path.
struct ImageEntry {
    stat: FileStat,
    /// The folders there, topmost first; none where it is no folder.
    folders: Vec<OwnedFd>,
}

/// Finds the entry of a name in a folder of the image, given by layers.
fn find(layers: &[OwnedFd], name: &OsStr) -> Result<Option<ImageEntry>, Errno> {
    let mut found: Option<ImageEntry> = None;
    for layer in layers {
        let Some(stat) = paths::stat(layer, name)? else { continue };
        if is_whiteout(layer, name, &stat)? {
            break;
        }
        let is_folder = paths::kind(&stat) == EntryKind::Folder;
        if !is_folder && found.is_some() {
            break;
        }
        let found = found.get_or_insert(ImageEntry { stat, folders: Vec::new() });
        if !is_folder {
            break;
        }
        let folder = paths::open(layer, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
        let last = is_opaque(&folder)?;
        found.folders.push(folder);
        if last {
            break;
        }
    }
    Ok(found)
}

/// The names that a folder of the image shows.
fn image_names(layers: &[OwnedFd], path: &[u8], visitor: &impl Visitor) -> Result<Vec<OsString>, Failure> {
    let mut names = Vec::new();
    for layer in layers {
        names.extend(visitor.list(layer, path)?);
    }
    names.sort_unstable();
    names.dedup();
    let shown = |name: &OsString| find(layers, name).map(|found| found.is_some());
    let mut kept = Vec::new();
    for name in names {
        if shown(&name).map_err(|errno| fail(errno, path))? {
            kept.push(name);
        }
    }
    Ok(kept)
}

fn is_own(name: &OsStr) -> bool {
    OWN_NAMES.iter().any(|own| name == *own)
}

fn is_opaque(folder: &OwnedFd) -> Result<bool, Errno> {
    let mut value = [0_u8; 8];
    // SAFETY: the name ends with a zero byte, the value is valid for its length.
    let length = unsafe {
        let name = c"user.overlay.opaque".as_ptr();
        libc::fgetxattr(folder.as_raw_fd(), name, value.as_mut_ptr().cast(), value.len())
    };
    match Errno::result(length) {
        Ok(length) => Ok(length == 1 && value[0] == b'y'),
        Err(Errno::ENODATA | Errno::EOPNOTSUPP | Errno::ERANGE) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Checks whether something stands for a deleted name: a device numbered 0, or an empty file that says so.
fn is_whiteout(parent: &OwnedFd, name: &OsStr, stat: &FileStat) -> Result<bool, Errno> {
    if paths::is_whiteout_device(stat) {
        return Ok(true);
    }
    if paths::kind(stat) != EntryKind::File || stat.st_size != 0 {
        return Ok(false);
    }
    let file = match paths::open(parent, name, OFlag::O_RDONLY) {
        Ok(file) => file,
        Err(Errno::ENOENT) => return Ok(false),
        Err(errno) => return Err(errno),
    };
    // SAFETY: the name ends with a zero byte; no value is asked for.
    let length =
        unsafe { libc::fgetxattr(file.as_raw_fd(), c"user.overlay.whiteout".as_ptr(), std::ptr::null_mut(), 0) };
    Ok(length >= 0)
}

/// Lists changes.
struct List {
    changes: Vec<Change>,
    entries_max: u64,
    /// Bytes of paths that may still come.
    paths_left: u64,
}

impl List {
    fn push(&mut self, path: &[u8], change: ChangeKind, stat: Option<&FileStat>) -> Result<(), Failure> {
        if self.changes.len() as u64 >= self.entries_max {
            return Err(Failure::too_large("more changes than allowed"));
        }
        let path = format!("/{}", String::from_utf8_lossy(path));
        let left = self.paths_left.checked_sub(path.len() as u64);
        self.paths_left = left.ok_or_else(|| Failure::too_large(paths_too_long()))?;
        self.changes.push(Change { path, change, entry: stat.map(paths::entry) });
        Ok(())
    }
}

impl Visitor for List {
    fn list(&self, folder: &OwnedFd, path: &[u8]) -> Result<Vec<OsString>, Failure> {
        // Folders that only lead to changes do not count, so the bound on one folder's names is what keeps memory bounded.
        let names = paths::list(folder, self.entries_max).map_err(|errno| fail(errno, path))?;
        names.ok_or_else(|| Failure::too_large("more changes than allowed"))
    }

    fn skips(&mut self, _path: &[u8]) -> bool {
        false
    }

    fn deleted(&mut self, parent: &[u8], name: &OsStr) -> Result<(), Failure> {
        self.push(&below(parent, name), ChangeKind::Deleted, None)
    }

    fn hidden(&mut self, path: &[u8]) -> Result<(), Failure> {
        self.push(path, ChangeKind::Deleted, None)
    }

    fn folder(
        &mut self,
        path: &[u8],
        stat: &FileStat,
        change: Option<ChangeKind>,
        _replaced: bool,
    ) -> Result<(), Failure> {
        change.map_or(Ok(()), |change| self.push(path, change, Some(stat)))
    }

    fn single(&mut self, at: At<'_>, stat: &FileStat, change: ChangeKind) -> Result<(), Failure> {
        self.push(at.path, change, Some(stat))
    }
}

/// Packs changes.
struct Delta<'a> {
    packer: Packer<'a>,
    except: Vec<OsString>,
}

impl Visitor for Delta<'_> {
    fn list(&self, folder: &OwnedFd, path: &[u8]) -> Result<Vec<OsString>, Failure> {
        self.packer.list(folder, path)
    }

    fn skips(&mut self, path: &[u8]) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        // A file or folder of such a name would be taken for the deletion of another.
        if name.starts_with(WHITEOUT.as_bytes()) {
            self.packer.leave_out(path);
            return true;
        }
        self.except.iter().any(|except| except.as_bytes() == path)
    }

    fn deleted(&mut self, parent: &[u8], name: &OsStr) -> Result<(), Failure> {
        let mut mark = OsString::from(WHITEOUT);
        mark.push(name);
        self.packer.mark(&below(parent, &mark))
    }

    fn hidden(&mut self, _path: &[u8]) -> Result<(), Failure> {
        // The mark of the folder says it for all.
        Ok(())
    }

    fn folder(
        &mut self,
        path: &[u8],
        stat: &FileStat,
        _change: Option<ChangeKind>,
        replaced: bool,
    ) -> Result<(), Failure> {
        self.packer.folder(path, stat)?;
        if replaced { self.packer.mark(&below(path, OsStr::new(OPAQUE))) } else { Ok(()) }
    }

    fn single(&mut self, at: At<'_>, stat: &FileStat, _change: ChangeKind) -> Result<(), Failure> {
        self.packer.single(at.parent, at.name, at.path, stat)
    }
}
