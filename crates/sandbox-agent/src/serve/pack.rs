//! Packs files and folders as a tar stream, within bounds.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::errno::Errno;
use nix::fcntl::{OFlag, readlinkat};
use nix::sys::stat::{FileStat, fstat};
use tar::{EntryType, Header};

use super::failure::Failure;
use super::file::{Sender, open_regular};
use super::outbox::Outbox;
use super::paths;
use crate::wire::{ARCHIVE_SPARE_BYTES, ENTRY_BYTES, EntryKind, Event, FailureCode, PATHS_BYTES_MAX};

/// Largest depth of nested folders.
pub(crate) const DEPTH_MAX: usize = 256;
/// Most paths that are told to be left out, and most bytes of them.
const LEFT_OUT_MAX: usize = 100;
const LEFT_OUT_BYTES_MAX: usize = 24 * 1024;
/// Bytes of a name or link target that a header holds.
const SHORT_BYTES_MAX: usize = 100;
const BLOCK_BYTES: u64 = 512;

/// Sends everything at `paths`.
pub(crate) fn pack(
    paths: &[String],
    bytes_max: u64,
    entries_max: u64,
    stream: u32,
    outbox: &Outbox,
) -> Result<Event, Failure> {
    let mut packer = Packer::new(bytes_max, entries_max, stream, outbox);
    for path in paths {
        let names = paths::absolute(path)?;
        if names.is_empty() {
            return Err(Failure::invalid("the root cannot be packed"));
        }
        let packed = names.join(OsStr::new("/")).into_vec();
        match paths::parent(path, None) {
            Ok((folder, name)) => packer.tree(&folder, name, &packed, 0)?,
            Err(failure) if failure.code == FailureCode::NotFound => {}
            // A link on the way must not keep the other paths from being packed.
            Err(failure) if failure.code == FailureCode::WrongKind => packer.leave_out(&packed),
            Err(failure) => return Err(failure),
        }
    }
    packer.finish()
}

/// Writes an archive.
pub(crate) struct Packer<'a> {
    sender: Sender<'a>,
    /// For files' contents, and for heads beyond their own bound.
    bytes_left: u64,
    /// For all that is no file's content.
    heads_left: u64,
    /// For paths and link targets.
    paths_left: u64,
    entries_left: u64,
    entries: u64,
    left_out: Vec<String>,
    left_out_bytes: usize,
}

impl<'a> Packer<'a> {
    pub(crate) fn new(bytes_max: u64, entries_max: u64, stream: u32, outbox: &'a Outbox) -> Self {
        Self {
            sender: Sender::new(stream, outbox),
            bytes_left: bytes_max,
            heads_left: entries_max.saturating_mul(ENTRY_BYTES).saturating_add(ARCHIVE_SPARE_BYTES),
            paths_left: PATHS_BYTES_MAX,
            entries_left: entries_max,
            entries: 0,
            left_out: Vec::new(),
            left_out_bytes: 0,
        }
    }

    /// Packs what stands at a name and all that is below; what vanishes meanwhile is left out.
    fn tree(&mut self, parent: &OwnedFd, name: &OsStr, path: &[u8], depth: usize) -> Result<(), Failure> {
        let Some(stat) = paths::stat(parent, name).map_err(|errno| fail(errno, path))? else { return Ok(()) };
        if paths::kind(&stat) != EntryKind::Folder {
            return self.single(parent, name, path, &stat);
        }
        if depth >= DEPTH_MAX {
            return Err(too_deep(path));
        }
        let folder = match paths::open(parent, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY) {
            Ok(folder) => folder,
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => return Ok(()),
            Err(errno) => return Err(fail(errno, path)),
        };
        let stat = fstat(&folder).map_err(|errno| fail(errno, path))?;
        if paths::is_kernel_file(&folder).map_err(|errno| fail(errno, path))? {
            self.leave_out(path);
            return Ok(());
        }
        self.folder(path, &stat)?;
        for name in self.list(&folder, path)? {
            self.tree(&folder, &name, &below(path, &name), depth + 1)?;
        }
        Ok(())
    }

    /// The names of a folder, which must be few enough for what is still allowed.
    pub(crate) fn list(&self, folder: impl AsFd, path: &[u8]) -> Result<Vec<OsString>, Failure> {
        let names = paths::list(folder, self.entries_left).map_err(|errno| fail(errno, path))?;
        names.ok_or_else(|| Failure::too_large("more entries than allowed"))
    }

    /// Packs a folder without what it holds.
    pub(crate) fn folder(&mut self, path: &[u8], stat: &FileStat) -> Result<(), Failure> {
        self.header(path, EntryType::Directory, stat, 0, None)
    }

    /// Packs what is no folder.
    pub(crate) fn single(
        &mut self,
        parent: &OwnedFd,
        name: &OsStr,
        path: &[u8],
        stat: &FileStat,
    ) -> Result<(), Failure> {
        match paths::kind(stat) {
            EntryKind::File => match open_regular(parent, name, stat) {
                Ok((file, stat)) => self.file(file, path, &stat),
                // It is gone, or became something else that was not asked for.
                Err(Errno::ENOENT | Errno::ELOOP | Errno::ENXIO) => Ok(()),
                Err(errno) => Err(fail(errno, path)),
            },
            EntryKind::Link => match readlinkat(parent, name) {
                Ok(target) => self.header(path, EntryType::Symlink, stat, 0, Some(target.as_bytes())),
                Err(Errno::ENOENT | Errno::EINVAL) => Ok(()),
                Err(errno) => Err(fail(errno, path)),
            },
            EntryKind::Folder => self.folder(path, stat),
            EntryKind::Other => {
                self.leave_out(path);
                Ok(())
            }
        }
    }

    /// Packs an empty file that stands for something.
    pub(crate) fn mark(&mut self, path: &[u8]) -> Result<(), Failure> {
        self.entry(blank(), path, EntryType::Regular, 0, None)
    }

    pub(crate) fn leave_out(&mut self, path: &[u8]) {
        let path = format!("/{}", String::from_utf8_lossy(path));
        if self.left_out.len() < LEFT_OUT_MAX && self.left_out_bytes + path.len() <= LEFT_OUT_BYTES_MAX {
            self.left_out_bytes += path.len();
            self.left_out.push(path);
        }
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> Result<Event, Failure> {
        self.head(&[0; 2 * BLOCK_BYTES as usize])?;
        self.sender.flush().map_err(|error| sending(&error))?;
        Ok(Event::Packed { entries: self.entries, left_out: self.left_out })
    }

    fn file(&mut self, file: OwnedFd, path: &[u8], stat: &FileStat) -> Result<(), Failure> {
        let size = paths::size(stat);
        self.bytes_left = self
            .bytes_left
            .checked_sub(size)
            .ok_or_else(|| Failure::too_large(format!("more bytes than allowed, at {}", show(path))))?;
        self.header(path, EntryType::Regular, stat, size, None)?;
        // As long as the header says, though the file may shrink or grow meanwhile.
        let read = io::copy(&mut File::from(file).take(size), &mut self.sender)
            .map_err(|error| Failure::io(&error, show(path)))?;
        io::copy(&mut io::repeat(0).take(size - read), &mut self.sender).map_err(|error| sending(&error))?;
        self.pad(size)
    }

    fn header(
        &mut self,
        path: &[u8],
        kind: EntryType,
        stat: &FileStat,
        size: u64,
        target: Option<&[u8]>,
    ) -> Result<(), Failure> {
        let mut header = Header::new_gnu();
        header.set_mode(stat.st_mode & 0o7777);
        header.set_uid(stat.st_uid.into());
        header.set_gid(stat.st_gid.into());
        header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or(0));
        self.entry(header, path, kind, size, target)
    }

    fn entry(
        &mut self,
        mut header: Header,
        path: &[u8],
        kind: EntryType,
        size: u64,
        target: Option<&[u8]>,
    ) -> Result<(), Failure> {
        self.entries_left =
            self.entries_left.checked_sub(1).ok_or_else(|| Failure::too_large("more entries than allowed"))?;
        self.entries += 1;
        let named = path.len() + target.map_or(0, <[u8]>::len);
        let left = self.paths_left.checked_sub(named as u64);
        self.paths_left = left.ok_or_else(|| Failure::too_large(paths_too_long()))?;
        if let Some(target) = target {
            if target.len() > SHORT_BYTES_MAX {
                self.long(EntryType::GNULongLink, target)?;
            }
            let short = &target[..target.len().min(SHORT_BYTES_MAX)];
            header.as_old_mut().linkname[..short.len()].copy_from_slice(short);
        }
        if path.len() > SHORT_BYTES_MAX {
            self.long(EntryType::GNULongName, path)?;
        }
        self.put_header(header, path, kind, size)
    }

    /// A name that is too long for a header, ahead of the entry that it belongs to.
    fn long(&mut self, kind: EntryType, name: &[u8]) -> Result<(), Failure> {
        let size = name.len() as u64 + 1;
        self.put_header(blank(), b"././@LongLink", kind, size)?;
        self.head(name)?;
        self.head(&[0])?;
        self.pad(size)
    }

    fn put_header(&mut self, mut header: Header, path: &[u8], kind: EntryType, size: u64) -> Result<(), Failure> {
        let short = &path[..path.len().min(SHORT_BYTES_MAX)];
        header.as_old_mut().name[..short.len()].copy_from_slice(short);
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        self.head(header.as_bytes())
    }

    /// Fills up the last block of `size` bytes.
    fn pad(&mut self, size: u64) -> Result<(), Failure> {
        let left = (size.next_multiple_of(BLOCK_BYTES) - size) as usize;
        self.head(&[0; BLOCK_BYTES as usize][..left])
    }

    /// Writes what is no file's content.
    fn head(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let count = bytes.len() as u64;
        let beyond = count.saturating_sub(self.heads_left);
        self.heads_left -= count - beyond;
        let left = self.bytes_left.checked_sub(beyond);
        self.bytes_left = left.ok_or_else(|| Failure::too_large("an archive of more bytes than allowed"))?;
        self.sender.write_all(bytes).map_err(|error| sending(&error))
    }
}

/// A header that says nothing of its own.
fn blank() -> Header {
    let mut header = Header::new_gnu();
    header.set_mode(0o600);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

/// The path of a name below another path.
pub(crate) fn below(path: &[u8], name: &OsStr) -> Vec<u8> {
    if path.is_empty() { name.as_bytes().to_vec() } else { [path, b"/", name.as_bytes()].concat() }
}

pub(crate) fn too_deep(path: &[u8]) -> Failure {
    Failure::too_large(format!("folders lie more than {DEPTH_MAX} deep at {}", show(path)))
}

/// Says that [`PATHS_BYTES_MAX`] is passed.
pub(crate) fn paths_too_long() -> String {
    format!("paths of more than {} MiB together", PATHS_BYTES_MAX >> 20)
}

pub(crate) fn fail(errno: Errno, path: &[u8]) -> Failure {
    Failure::kernel(errno, show(path))
}

fn show(path: &[u8]) -> String {
    format!("/{}", String::from_utf8_lossy(path))
}

fn sending(error: &io::Error) -> Failure {
    Failure::io(error, "sending")
}
