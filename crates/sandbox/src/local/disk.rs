//! Disks: what holds the changes of a sandbox. For root a file with an ext4 file system, which bounds bytes and files and is a
//! copy of an empty one that is made once; for others a folder.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::fcntl::AT_FDCWD;
use nix::libc;
use nix::unistd::{LinkatFlags, Whence, linkat, lseek};
use palestra_sandbox_agent::plan::Upper;
use parking_lot::Mutex;

use super::folder;

/// Changed with what an empty disk looks like.
const FORMAT: u32 = 1;
const INODE_BYTES: u64 = 256;
const JOURNAL_BYTES: u64 = 4 << 20;
/// One part in so many is taken by tables of the file system.
const TABLES: u64 = 64;

/// The disks of this server.
#[derive(Debug)]
pub(super) struct Disks {
    folder: PathBuf,
    templates: PathBuf,
    /// True if disks are images; else they are folders.
    images: bool,
    /// Held while an empty disk is made, which many starts at once would else do each.
    making: Mutex<()>,
}

/// The disk of one sandbox.
#[derive(Debug)]
pub(super) enum Disk {
    /// A file without a name, which is gone with the last mount of it.
    Unnamed(File),
    /// A file or folder; `kept` outlives the sandbox.
    Named { path: PathBuf, kept: bool },
}

impl Disks {
    pub(super) fn new(parent: &Path, images: bool) -> io::Result<Self> {
        let disks =
            Self { folder: parent.join("disks"), templates: parent.join("templates"), images, making: Mutex::new(()) };
        std::fs::create_dir_all(&disks.folder)?;
        std::fs::create_dir_all(&disks.templates)?;
        Ok(disks)
    }

    /// Where disks lie.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// An empty disk that goes with its sandbox, which is called `id`.
    pub(super) fn ephemeral(&self, id: &str, bytes: u64, inodes: u64) -> io::Result<Disk> {
        if !self.images {
            let path = self.folder.join(format!("~{id}"));
            std::fs::create_dir(&path)?;
            return Ok(Disk::Named { path, kept: false });
        }
        let template = self.template(bytes, inodes)?;
        let unnamed =
            OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(&self.folder);
        match unnamed {
            Ok(file) => {
                copy_sparsely(&template, &file)?;
                Ok(Disk::Unnamed(file))
            }
            // Some file systems know no files without a name. What a crash leaves is then swept.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => {
                let path = self.folder.join(format!("~{id}"));
                let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
                copy_sparsely(&template, &file)?;
                Ok(Disk::Named { path, kept: false })
            }
            Err(error) => Err(error),
        }
    }

    /// True if there is a disk of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.folder.join(name).exists()
    }

    /// The disk of this name, made where it is not there.
    pub(super) fn named(&self, name: &str, bytes: u64, inodes: u64) -> io::Result<Disk> {
        let path = self.folder.join(name);
        let there = self.has(name);
        if !there && self.images {
            // Under its name only when it is whole.
            let draft = tempfile::NamedTempFile::with_prefix_in("~", &self.folder)?;
            copy_sparsely(&self.template(bytes, inodes)?, draft.as_file())?;
            draft.persist(&path)?;
        } else if !there {
            std::fs::create_dir(&path)?;
        }
        Ok(Disk::Named { path, kept: true })
    }

    /// Gives a disk a name, under which it is kept.
    pub(super) fn keep(&self, disk: &mut Disk, name: &str) -> io::Result<()> {
        let target = self.folder.join(name);
        if target.exists() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("there is a disk {name:?} already")));
        }
        match disk {
            Disk::Unnamed(file) => {
                let open = format!("/proc/self/fd/{}", file.as_raw_fd());
                linkat(AT_FDCWD, open.as_str(), AT_FDCWD, &target, LinkatFlags::AT_SYMLINK_FOLLOW)?;
            }
            Disk::Named { path, .. } => std::fs::rename(path, &target)?,
        }
        *disk = Disk::Named { path: target, kept: true };
        Ok(())
    }

    /// Names of all disks.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Removes one.
    pub(super) fn forget(&self, name: &str) -> io::Result<()> {
        let path = self.folder.join(name);
        if path.exists() { remove(&path) } else { Ok(()) }
    }

    /// Removes all disks but these; answers how many.
    pub(super) fn sweep(&self, keep: &BTreeSet<String>) -> io::Result<u64> {
        let mut removed = 0;
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(|name| keep.contains(name)) {
                remove(&entry.path())?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// A file with an empty file system of this size, made where it is not there.
    fn template(&self, bytes: u64, inodes: u64) -> io::Result<PathBuf> {
        let path = self.templates.join(format!("{FORMAT}-{bytes}-{inodes}"));
        let _making = self.making.lock();
        if !path.exists() {
            let draft = tempfile::NamedTempFile::new_in(&self.templates)?;
            draft.as_file().set_len(bytes + bytes / TABLES + inodes * INODE_BYTES + JOURNAL_BYTES)?;
            make_file_system(draft.path(), inodes)?;
            draft.persist(&path)?;
        }
        Ok(path)
    }
}

impl Disk {
    /// As a plan names it.
    pub(super) fn upper(&self) -> Upper {
        match self {
            Self::Unnamed(file) => Upper::Disk(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())),
            Self::Named { path, .. } if path.is_dir() => Upper::Folder(path.display().to_string()),
            Self::Named { path, .. } => Upper::Disk(path.display().to_string()),
        }
    }

    /// The folder, where it is one.
    pub(super) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Named { path, .. } if path.is_dir() => Some(path),
            _ => None,
        }
    }

    /// Frees it, unless it is to be kept. No process must use it any more.
    pub(super) fn release(self, with_kept: bool) -> io::Result<()> {
        match self {
            Self::Named { path, kept } if with_kept || !kept => remove(&path),
            // While it was mounted nothing was forced to the disk, which would have taken most of the time of a start and an end.
            Self::Named { path, .. } if path.is_file() => File::open(&path)?.sync_all(),
            Self::Named { .. } | Self::Unnamed(_) => Ok(()),
        }
    }

    /// True if a sandbox of an earlier server still has it mounted.
    pub(super) fn mounted(&self) -> bool {
        let Self::Named { path, .. } = self else { return false };
        let Ok(path) = path.canonicalize() else { return false };
        let devices = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        devices
            .filter(|device| device.file_name().to_str().is_some_and(|name| name.starts_with("loop")))
            .filter_map(|device| std::fs::read_to_string(device.path().join("loop/backing_file")).ok())
            .any(|backing| Path::new(backing.trim_end_matches('\n')) == path)
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() { folder::remove(path) } else { std::fs::remove_file(path) }
}

fn make_file_system(path: &Path, inodes: u64) -> io::Result<()> {
    let program = super::program("mkfs.ext4").ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "mkfs.ext4 not found: install the package e2fsprogs, or use --sandbox docker",
        )
    })?;
    let made = Command::new(program)
        .args(["-q", "-F", "-m", "0", "-b", "4096", "-O", "^resize_inode"])
        .args(["-I", &INODE_BYTES.to_string(), "-N", &inodes.to_string()])
        .args(["-J", &format!("size={}", JOURNAL_BYTES >> 20)])
        .args(["-E", "lazy_itable_init=1,lazy_journal_init=1"])
        .arg(path)
        .stdin(Stdio::null())
        .output()?;
    if made.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("mkfs.ext4: {}", String::from_utf8_lossy(&made.stderr).trim())))
}

/// Copies what is written of a file, and leaves holes where it has holes.
fn copy_sparsely(source: &Path, target: &File) -> io::Result<()> {
    let mut source = File::open(source)?;
    let length = source.metadata()?.len();
    target.set_len(length)?;
    let mut target = target;
    let mut at = 0;
    loop {
        let from = match lseek(&source, at, Whence::SeekData) {
            Ok(from) => from,
            // Only a hole is left.
            Err(Errno::ENXIO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        at = lseek(&source, from, Whence::SeekHole)?;
        let start = u64::try_from(from).map_err(io::Error::other)?;
        let bytes = u64::try_from(at - from).map_err(io::Error::other)?;
        source.seek(SeekFrom::Start(start))?;
        target.seek(SeekFrom::Start(start))?;
        io::copy(&mut source.by_ref().take(bytes), &mut target)?;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_disk_is_sparse_and_goes_with_its_sandbox_unless_it_is_kept() {
        if super::super::program("mkfs.ext4").is_none() {
            palestra_test_support::not_tried("mkfs.ext4");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let disks = Disks::new(folder.path(), true).expect("disks");
        let count = || std::fs::read_dir(folder.path().join("disks")).expect("read").count();
        let mut disk = disks.ephemeral("a", 1 << 30, 10_000).expect("a disk");
        if let Disk::Unnamed(file) = &disk {
            assert_eq!(count(), 0);
            let metadata = file.metadata().expect("metadata");
            assert!(metadata.len() > 1 << 30);
            assert!(metadata.blocks() * 512 < 8 << 20, "{} blocks are taken", metadata.blocks());
        }
        disks.keep(&mut disk, "kept").expect("kept");
        disk.release(false).expect("released");
        let mut other = disks.ephemeral("b", 1 << 30, 10_000).expect("a disk");
        assert!(disks.keep(&mut other, "kept").is_err(), "the name is taken");
        other.release(false).expect("released");
        assert_eq!(count(), 1);
        let again = disks.named("kept", 1 << 30, 10_000).expect("found");
        assert!(!again.mounted());
        assert_eq!(disks.sweep(&BTreeSet::from(["kept".to_owned()])).expect("swept"), 0);
        again.release(true).expect("removed");
        assert_eq!(count(), 0);
    }
}
