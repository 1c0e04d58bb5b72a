//! Unpacks a tar stream below a folder. Everything is reached step by step from that folder, so no name and no link leads out.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, UtimensatFlags, fchmod, utimensat};
use nix::sys::time::TimeSpec;
use nix::unistd::{UnlinkatFlags, linkat, symlinkat, unlinkat};
use tar::{Archive, Entry, EntryType, Header};

use super::failure::Failure;
use super::layers::{OPAQUE, OWN_NAMES, WHITEOUT};
use super::pack::{DEPTH_MAX, too_deep};
use super::paths::{self, Owner};
use crate::wire::{EntryKind, User};

/// Longest name or list of extended attributes of an entry, in bytes.
const EXTENSION_BYTES_MAX: u64 = 64 * 1024;

/// Archive being unpacked.
pub(crate) struct Unpack {
    /// Owner of the new entries; `None` for whom the archive names.
    pub(crate) user: Option<User>,
    /// True if owners can be set at all.
    pub(crate) owners: bool,
    /// True if it tells changes: names for what is deleted, folders that are already there change too.
    pub(crate) delta: bool,
    pub(crate) bytes_max: u64,
    pub(crate) entries_max: u64,
}

impl Unpack {
    /// Unpacks below `folder`, an absolute path.
    ///
    /// # Errors
    /// At the first entry that is refused; what came before it stays.
    pub(crate) fn run(mut self, folder: &str, input: impl Read) -> Result<(), Failure> {
        let owner = if self.owners { self.user } else { None };
        let base = paths::descend(paths::root()?, &paths::absolute(folder)?, Some(owner))?;
        paths::refuse_kernel_files(&base)?;
        let mut archive = Archive::new(input);
        let mut extensions = Extensions::default();
        // Raw entries: what the crate does with extensions has no bound.
        for entry in archive.entries().map_err(|error| broken(&error))?.raw(true) {
            let mut entry = entry.map_err(|error| broken(&error))?;
            if extensions.take(&mut entry)? {
                continue;
            }
            let said = std::mem::take(&mut extensions);
            let name = said.name.unwrap_or_else(|| entry.header().path_bytes().into_owned());
            let target = said.target.or_else(|| entry.header().link_name_bytes().map(std::borrow::Cow::into_owned));
            self.count(entry.size())?;
            self.place(&base, &name, target.unwrap_or_default(), &mut entry)?;
        }
        Ok(())
    }

    fn count(&mut self, bytes: u64) -> Result<(), Failure> {
        self.entries_max =
            self.entries_max.checked_sub(1).ok_or_else(|| Failure::too_large("more entries than allowed"))?;
        self.bytes_max =
            self.bytes_max.checked_sub(bytes).ok_or_else(|| Failure::too_large("more bytes than allowed"))?;
        Ok(())
    }

    fn place<R: Read>(
        &self,
        base: &OwnedFd,
        path: &[u8],
        target: Vec<u8>,
        entry: &mut Entry<'_, R>,
    ) -> Result<(), Failure> {
        let names = paths::names(path)?;
        let Some((name, folders)) = names.split_last() else { return Ok(()) };
        if self.delta && OWN_NAMES.iter().any(|own| names[0] == *own) {
            return Ok(());
        }
        let fail = |errno: Errno| Failure::kernel(errno, OsStr::from_bytes(path).display());
        let header = entry.header().clone();
        let owner = self.owner(&header)?;
        let parent = paths::descend(base, folders, Some(owner))?;
        paths::refuse_kernel_files(&parent)?;
        if let Some(deleted) = name.as_bytes().strip_prefix(WHITEOUT.as_bytes()).filter(|_| self.delta) {
            return if *name == OPAQUE {
                empty(&parent, path, 0)
            } else {
                // It is a single name, as it came from one; but it may be one that leads upwards.
                paths::names(deleted)?.first().map_or(Ok(()), |deleted| remove(&parent, deleted, path, 0))
            };
        }
        let new = New { parent: &parent, name, owner, mode: header.mode().map_err(|error| broken(&error))? & 0o7777 };
        match header.entry_type() {
            EntryType::Directory => return self.folder(&new, path),
            EntryType::Regular
            | EntryType::Continuous
            | EntryType::GNUSparse
            | EntryType::Link
            | EntryType::Symlink => {}
            kind => {
                return Err(Failure::wrong_kind(format!("{} is of kind {kind:?}", OsStr::from_bytes(path).display())));
            }
        }
        self.make_way(&new, path)?;
        match header.entry_type() {
            EntryType::Symlink => {
                let target = OsString::from_vec(target);
                symlinkat(target.as_os_str(), &parent, *name).map_err(fail)?;
                paths::give(&parent, name, owner).map_err(fail)?;
            }
            EntryType::Link => return link(base, &target, &new),
            EntryType::GNUSparse => return Err(Failure::invalid("a sparse file")),
            _ => write(&new, entry).map_err(|failed| failed.unwrap_or_else(|| cut(path)))?,
        }
        set_time(&new, &header).map_err(fail)
    }

    fn owner(&self, header: &Header) -> Result<Owner, Failure> {
        if !self.owners {
            return Ok(None);
        }
        if let Some(user) = self.user {
            return Ok(Some(user));
        }
        let id =
            |id: io::Result<u64>| u32::try_from(id.map_err(|error| broken(&error))?).map_err(|_| broken(&"an owner"));
        Ok(Some(User { uid: id(header.uid())?, gid: id(header.gid())? }))
    }

    /// Makes a folder, or lets one be that is there already: its mode and owner are only an archive's of changes to say.
    fn folder(&self, new: &New<'_>, path: &[u8]) -> Result<(), Failure> {
        let fail = |errno: Errno| Failure::kernel(errno, OsStr::from_bytes(path).display());
        let there = paths::stat(new.parent, new.name).map_err(fail)?.as_ref().map(paths::kind);
        if self.delta && there.is_some_and(|kind| kind != EntryKind::Folder) {
            remove(new.parent, new.name, path, 0)?;
        }
        let folder = paths::make_folder(new.parent, new.name, 0o700, new.owner).map_err(fail)?;
        if there != Some(EntryKind::Folder) || self.delta {
            paths::give(&folder, OsStr::new(""), new.owner).map_err(fail)?;
            fchmod(&folder, Mode::from_bits_truncate(new.mode)).map_err(fail)?;
        }
        Ok(())
    }

    /// Takes away what stands where something other than a folder is to be made.
    fn make_way(&self, new: &New<'_>, path: &[u8]) -> Result<(), Failure> {
        if self.delta {
            return remove(new.parent, new.name, path, 0);
        }
        match unlinkat(new.parent, new.name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(Failure::kernel(errno, OsStr::from_bytes(path).display())),
        }
    }
}

/// Something that is to be made.
struct New<'a> {
    parent: &'a OwnedFd,
    name: &'a OsStr,
    owner: Owner,
    mode: u32,
}

/// `Err(None)` when the archive ends before the file does.
fn write<R: Read>(new: &New<'_>, entry: &mut Entry<'_, R>) -> Result<(), Option<Failure>> {
    let fail = |errno: Errno| Some(Failure::kernel(errno, new.name.display()));
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file = openat(new.parent, new.name, flags, Mode::from_bits_truncate(0o600)).map_err(fail)?;
    let mut file = File::from(file);
    let size = entry.size();
    let count = io::copy(entry, &mut file).map_err(|error| Some(Failure::io(&error, new.name.display())))?;
    if count != size {
        return Err(None);
    }
    paths::give(&file, OsStr::new(""), new.owner).map_err(fail)?;
    fchmod(&file, Mode::from_bits_truncate(new.mode)).map_err(fail)
}

/// A further name of a file that lies below `base` too.
fn link(base: &OwnedFd, target: &[u8], new: &New<'_>) -> Result<(), Failure> {
    let fail = |errno: Errno| Failure::kernel(errno, OsStr::from_bytes(target).display());
    let names = paths::names(target)?;
    let (name, folders) = names.split_last().ok_or_else(|| Failure::invalid("a link to nothing"))?;
    let folder = paths::descend(base, folders, None)?;
    match paths::stat(&folder, name).map_err(fail)?.as_ref().map(paths::kind) {
        Some(EntryKind::File) => linkat(&folder, *name, new.parent, new.name, AtFlags::empty()).map_err(fail),
        _ => Err(Failure::invalid(format!(
            "a hard link to {}, which is no file here",
            names.join(OsStr::new("/")).display()
        ))),
    }
}

fn set_time(new: &New<'_>, header: &Header) -> Result<(), Errno> {
    let seconds = header.mtime().ok().and_then(|seconds| i64::try_from(seconds).ok()).unwrap_or(0);
    let time = TimeSpec::new(seconds, 0);
    utimensat(new.parent, new.name, &time, &time, UtimensatFlags::NoFollowSymlink)
}

/// Removes what stands at a name, with all that is below.
fn remove(parent: impl AsFd, name: &OsStr, path: &[u8], depth: usize) -> Result<(), Failure> {
    let fail = |errno: Errno| Failure::kernel(errno, OsStr::from_bytes(path).display());
    match unlinkat(&parent, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => return Ok(()),
        Err(Errno::EISDIR | Errno::EPERM) => {}
        Err(errno) => return Err(fail(errno)),
    }
    let folder = paths::open(&parent, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY).map_err(fail)?;
    empty(&folder, path, depth + 1)?;
    unlinkat(&parent, name, UnlinkatFlags::RemoveDir).map_err(fail)
}

/// Removes all that a folder holds.
fn empty(folder: &OwnedFd, path: &[u8], depth: usize) -> Result<(), Failure> {
    if depth > DEPTH_MAX {
        return Err(too_deep(path));
    }
    let names =
        paths::list(folder, u64::MAX).map_err(|errno| Failure::kernel(errno, OsStr::from_bytes(path).display()))?;
    names.unwrap_or_default().iter().try_for_each(|name| remove(folder, name, path, depth))
}

/// Extension headers before an entry.
#[derive(Default)]
struct Extensions {
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
}

impl Extensions {
    /// Checks whether `entry` was such an extension.
    fn take<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<bool, Failure> {
        match entry.header().entry_type() {
            EntryType::GNULongName => self.name = Some(name_of(entry)?),
            EntryType::GNULongLink => self.target = Some(name_of(entry)?),
            EntryType::XHeader => self.attributes(&content(entry)?)?,
            // Whole archives have comments there.
            EntryType::XGlobalHeader => drop(content(entry)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Lines of `LENGTH NAME=VALUE`, the length counting all of the line.
    fn attributes(&mut self, mut rest: &[u8]) -> Result<(), Failure> {
        while !rest.is_empty() {
            let space = rest.iter().position(|byte| *byte == b' ').ok_or_else(|| broken(&"attributes"))?;
            let length = std::str::from_utf8(&rest[..space]).ok().and_then(|length| length.parse::<usize>().ok());
            let line = length.and_then(|length| rest.get(space + 1..length)).ok_or_else(|| broken(&"attributes"))?;
            rest = &rest[space + 1 + line.len()..];
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let equals = line.iter().position(|byte| *byte == b'=').ok_or_else(|| broken(&"attributes"))?;
            let value = line[equals + 1..].to_vec();
            match &line[..equals] {
                b"path" => self.name = Some(value),
                b"linkpath" => self.target = Some(value),
                // These would make another archive of it for whoever knows them.
                b"size" => return Err(Failure::invalid("a size beside that of the header")),
                name if name.starts_with(b"GNU.sparse") => return Err(Failure::invalid("a sparse file")),
                _ => {}
            }
        }
        Ok(())
    }
}

fn name_of<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, Failure> {
    let mut name = content(entry)?;
    name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
    Ok(name)
}

fn content<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, Failure> {
    let size = entry.size();
    if size > EXTENSION_BYTES_MAX {
        return Err(Failure::invalid(format!("a name of {size} bytes")));
    }
    let mut bytes = Vec::new();
    entry.take(size).read_to_end(&mut bytes).map_err(|error| broken(&error))?;
    if bytes.len() as u64 == size { Ok(bytes) } else { Err(cut(b"a name")) }
}

fn cut(path: &[u8]) -> Failure {
    Failure::invalid(format!("the archive ends within {}", OsStr::from_bytes(path).display()))
}

fn broken(why: &dyn std::fmt::Display) -> Failure {
    Failure::invalid(format!("a broken archive: {why}"))
}
