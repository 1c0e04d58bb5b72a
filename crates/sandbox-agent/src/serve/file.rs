//! Writes, reads and looks at single files.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::SystemTime;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, fchmod, fstat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::failure::Failure;
use super::outbox::Outbox;
use super::paths::{self, Owner};
use crate::wire::{Entry, EntryKind, FailureCode};

const PIECE_BYTES: usize = 64 * 1024;
/// Names that are tried for a new file.
const NAMES_MAX: u32 = 100;

/// Writes a regular file beside `path`, then puts it there in one step.
pub(crate) fn write(path: &str, mode: u32, owner: Owner, mut input: impl Read) -> Result<(), Failure> {
    let fail = |errno: Errno| Failure::kernel(errno, path);
    let (folder, name) = paths::parent(path, Some(owner))?;
    match paths::stat(&folder, name).map_err(fail)?.as_ref().map(paths::kind) {
        Some(EntryKind::Link) => return Err(Failure::wrong_kind(format!("{path} is a link"))),
        Some(EntryKind::Folder) => return Err(Failure::wrong_kind(format!("{path} is a folder"))),
        Some(EntryKind::File | EntryKind::Other) | None => {}
    }
    let (mut file, new) = create_beside(&folder).map_err(fail)?;
    let written = io::copy(&mut input, &mut file)
        .map_err(|error| Failure::io(&error, path))
        .and_then(|_| paths::give(&file, "".as_ref(), owner).map_err(fail))
        .and_then(|()| fchmod(&file, Mode::from_bits_truncate(mode & 0o7777)).map_err(fail))
        .and_then(|()| renameat(&folder, new.as_os_str(), &folder, name).map_err(fail));
    if written.is_err() {
        // Whatever keeps it from going away, the first failure is the one to tell.
        let _ = unlinkat(&folder, new.as_os_str(), UnlinkatFlags::NoRemoveDir);
    }
    written
}

fn create_beside(folder: impl AsFd) -> Result<(File, OsString), Errno> {
    // No secret, only unlikely to be taken: a name that is there already is never opened.
    let start = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.subsec_nanos());
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    for number in 0..NAMES_MAX {
        let name = OsString::from(format!(".palestra-{:08x}", start.wrapping_add(number)));
        match openat(&folder, name.as_os_str(), flags, Mode::from_bits_truncate(0o600)) {
            Ok(file) => return Ok((file.into(), name)),
            Err(Errno::EEXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EEXIST)
}

/// Sends a regular file.
pub(crate) fn read(path: &str, bytes_max: u64, stream: u32, outbox: &Outbox) -> Result<(), Failure> {
    let (folder, name) = paths::parent(path, None)?;
    let expected = paths::stat(&folder, name).map_err(|errno| Failure::kernel(errno, path))?;
    let expected = expected.ok_or_else(|| Failure::new(FailureCode::NotFound, format!("{path}: nothing is there")))?;
    let (file, stat) = open_regular(&folder, name, &expected).map_err(|errno| match errno {
        Errno::ELOOP => Failure::wrong_kind(format!("{path} is no regular file")),
        errno => Failure::kernel(errno, path),
    })?;
    let too_large = || Failure::too_large(format!("{path} is longer than {bytes_max} bytes"));
    if paths::size(&stat) > bytes_max {
        return Err(too_large());
    }
    // It may grow meanwhile, so one byte more than allowed is asked for.
    let mut rest = File::from(file).take(bytes_max.saturating_add(1));
    let mut left = bytes_max;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = rest.read(&mut piece).map_err(|error| Failure::io(&error, path))?;
        if count == 0 {
            return Ok(());
        }
        left = left.checked_sub(count as u64).ok_or_else(too_large)?;
        outbox.send(stream, &piece[..count]).map_err(|error| Failure::io(&error, "sending"))?;
    }
}

/// Opens a regular file that was looked at before.
///
/// # Errors
/// `ELOOP` when it is none, or another one by now.
pub(crate) fn open_regular(
    folder: impl AsFd,
    name: impl AsRef<std::ffi::OsStr>,
    expected: &FileStat,
) -> Result<(std::os::fd::OwnedFd, FileStat), Errno> {
    if paths::kind(expected) != EntryKind::File {
        return Err(Errno::ELOOP);
    }
    let file = paths::open(folder, name, OFlag::O_RDONLY)?;
    let stat = fstat(&file)?;
    let same = (stat.st_dev, stat.st_ino) == (expected.st_dev, expected.st_ino);
    if same && paths::kind(&stat) == EntryKind::File { Ok((file, stat)) } else { Err(Errno::ELOOP) }
}

/// Entry at a path. Behind a link nothing does.
pub(crate) fn stat(path: &str) -> Result<Option<Entry>, Failure> {
    let names = paths::absolute(path)?;
    let Some((name, folders)) = names.split_last() else {
        let root = fstat(paths::root()?).map_err(|errno| Failure::kernel(errno, path))?;
        return Ok(Some(paths::entry(&root)));
    };
    let folder = match paths::descend(paths::root()?, folders, None) {
        Ok(folder) => folder,
        Err(failure) if matches!(failure.code, FailureCode::NotFound | FailureCode::WrongKind) => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let stat = paths::stat(&folder, name).map_err(|errno| Failure::kernel(errno, path))?;
    Ok(stat.as_ref().map(paths::entry))
}

/// Sends all that is written, in pieces.
pub(crate) struct Sender<'a> {
    stream: u32,
    outbox: &'a Outbox,
    piece: Vec<u8>,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(stream: u32, outbox: &'a Outbox) -> Self {
        Self { stream, outbox, piece: Vec::with_capacity(PIECE_BYTES) }
    }
}

impl Write for Sender<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        let count = bytes.len().min(PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            self.outbox.send(self.stream, &self.piece)?;
            self.piece.clear();
        }
        Ok(())
    }
}
