//! Root file systems as trees of files and as tar archives: from an archive to a folder whose files belong to the ids of sandboxes, and
//! back to an archive for an engine that keeps its own copy.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Builder, EntryType, Header};

use crate::ids::{FIRST_ID, IDS};

/// Owner of files whose owner is outside the ids of a sandbox.
const NOBODY: u32 = 65_534;

/// Owner of the files of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owners {
    /// Id 0 of the sandbox is [`FIRST_ID`] outside, and so on: needs root.
    Range,
    /// Whoever builds the tree owns all of it.
    Builder,
}

impl Owners {
    /// Owners that this process can give files to.
    pub(super) fn possible() -> Self {
        if nix::unistd::geteuid().is_root() { Self::Range } else { Self::Builder }
    }

    /// Gives what stands at a path (a link itself, not where it leads) to a user and group of the sandbox.
    pub(super) fn give(self, path: &Path, uid: u64, gid: u64) -> io::Result<()> {
        match self {
            Self::Range => lchown(path, Some(FIRST_ID + inside(uid)), Some(FIRST_ID + inside(gid))),
            Self::Builder => Ok(()),
        }
    }
}

fn inside(id: u64) -> u32 {
    u32::try_from(id).ok().filter(|id| *id < IDS).unwrap_or(NOBODY)
}

/// Unpacks an archive below `root`, which is there and empty. Devices, pipes and sockets are left out, and so is all below `dev`, which
/// sandboxes have of their own. Programs lose their setuid and setgid bits: no sandbox lets a program gain rights.
pub(super) fn unpack(archive: impl Read, root: &Path, owners: Owners) -> io::Result<()> {
    let mut archive = Archive::new(archive);
    archive.set_preserve_permissions(true);
    archive.set_preserve_mtime(true);
    archive.set_unpack_xattrs(false);
    let whole = root.canonicalize()?;
    // Folders get their modes last: one that forbids writing would forbid its own contents.
    let mut folders: Vec<(PathBuf, u32)> = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        let kind = entry.header().entry_type();
        let fits = matches!(
            kind,
            EntryType::Regular | EntryType::Continuous | EntryType::Directory | EntryType::Symlink | EntryType::Link
        );
        let steps: Vec<Component<'_>> =
            name.components().filter(|step| !matches!(step, Component::CurDir | Component::RootDir)).collect();
        let below_dev = steps.len() > 1 && steps[0].as_os_str() == "dev";
        if !fits || below_dev {
            continue;
        }
        let path = root.join(steps.iter().collect::<PathBuf>());
        let (uid, gid) = (entry.header().uid()?, entry.header().gid()?);
        let mode = entry.header().mode()?;
        let outside = || io::Error::other(format!("{} leads out of the image", name.display()));
        if kind == EntryType::Directory {
            match fs::symlink_metadata(&path) {
                // One that is there already may be reached through a link, or be one.
                Ok(found) if found.is_dir() && path.canonicalize()?.starts_with(&whole) => {}
                Ok(_) => return Err(outside()),
                Err(_) if entry.unpack_in(root)? => {}
                Err(_) => return Err(outside()),
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
            owners.give(&path, uid, gid)?;
            folders.push((path, mode & 0o1777));
            continue;
        }
        if !entry.unpack_in(root)? {
            return Err(outside());
        }
        owners.give(&path, uid, gid)?;
        if kind != EntryType::Symlink {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o777))?;
        }
    }
    for (path, mode) in folders.iter().rev() {
        fs::set_permissions(path, fs::Permissions::from_mode(*mode))?;
    }
    Ok(())
}

/// Packs the tree below `root` as an archive whose entries begin with `prefix`. Id 0 of the sandbox becomes `first_id`.
pub(crate) fn pack(root: &Path, prefix: &Path, first_id: u32, to: impl Write) -> io::Result<()> {
    let mut builder = Builder::new(to);
    let mut linked: HashMap<(u64, u64), PathBuf> = HashMap::new();
    let mut waiting = vec![(root.to_owned(), prefix.to_owned())];
    while let Some((path, name)) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path)?;
        let mut header = Header::new_gnu();
        header.set_mode(metadata.mode() & 0o1777);
        header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or(0));
        header.set_uid(u64::from(first_id + from_outside(metadata.uid())));
        header.set_gid(u64::from(first_id + from_outside(metadata.gid())));
        header.set_size(0);
        let kind = metadata.file_type();
        if kind.is_dir() {
            header.set_entry_type(EntryType::Directory);
            builder.append_data(&mut header, &name, io::empty())?;
            let mut below = fs::read_dir(&path)?.collect::<io::Result<Vec<_>>>()?;
            below.sort_by_key(fs::DirEntry::file_name);
            waiting.extend(below.iter().rev().map(|entry| (entry.path(), name.join(entry.file_name()))));
        } else if kind.is_symlink() {
            header.set_entry_type(EntryType::Symlink);
            builder.append_link(&mut header, &name, fs::read_link(&path)?)?;
        } else if kind.is_file() {
            let first = (metadata.nlink() > 1).then(|| linked.get(&(metadata.dev(), metadata.ino()))).flatten();
            if let Some(first) = first {
                header.set_entry_type(EntryType::Link);
                builder.append_link(&mut header, &name, first)?;
            } else {
                linked.insert((metadata.dev(), metadata.ino()), name.clone());
                header.set_size(metadata.len());
                builder.append_data(&mut header, &name, fs::File::open(&path)?.take(metadata.len()))?;
            }
        }
    }
    builder.into_inner()?.flush()
}

/// The id inside of a file's owner: of the range, or the one user who built the tree.
fn from_outside(id: u32) -> u32 {
    id.checked_sub(FIRST_ID).filter(|id| *id < IDS).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(entries: &[(&str, EntryType, u32, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, kind, mode, text) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(*mode);
            header.set_uid(7);
            header.set_gid(8);
            header.set_mtime(1_000);
            // The builder would refuse what an attacker writes into the header by hand.
            let bytes = header.as_gnu_mut().expect("GNU");
            bytes.name[..name.len()].copy_from_slice(name.as_bytes());
            if matches!(kind, EntryType::Symlink | EntryType::Link) {
                bytes.linkname[..text.len()].copy_from_slice(text.as_bytes());
            }
            let data = if kind.is_file() { text.as_bytes() } else { &[] };
            header.set_size(data.len() as u64);
            header.set_cksum();
            builder.append(&header, data).expect("appended");
        }
        builder.into_inner().expect("ended")
    }

    fn unpacked(place: &Path, entries: &[(&str, EntryType, u32, &str)]) -> (tempfile::TempDir, io::Result<()>) {
        let folder = tempfile::Builder::new().prefix("outer").rand_bytes(0).tempdir_in(place).expect("a folder");
        let root = folder.path().join("root");
        fs::create_dir(&root).expect("made");
        let result = unpack(archive(entries).as_slice(), &root, Owners::possible());
        (folder, result)
    }

    #[test]
    fn a_tree_comes_out_of_an_archive_and_goes_back_into_one() {
        let place = tempfile::tempdir().expect("a place");
        let (folder, result) = unpacked(
            place.path(),
            &[
                ("./", EntryType::Directory, 0o755, ""),
                ("./usr/", EntryType::Directory, 0o755, ""),
                ("./usr/locked/", EntryType::Directory, 0o555, ""),
                ("./usr/locked/su", EntryType::Regular, 0o4755, "program"),
                ("./usr/again", EntryType::Link, 0o755, "./usr/locked/su"),
                ("./bin", EntryType::Symlink, 0o777, "usr/locked"),
                ("./tmp/", EntryType::Directory, 0o1777, ""),
                ("./dev/", EntryType::Directory, 0o755, ""),
                ("./dev/sda", EntryType::Block, 0o660, ""),
                ("./pipe", EntryType::Fifo, 0o660, ""),
            ],
        );
        result.expect("unpacked");
        let root = folder.path().join("root");
        let mode = |name: &str| fs::symlink_metadata(root.join(name)).expect("there").mode();
        assert_eq!(mode("usr/locked/su") & 0o7777, 0o755, "no setuid bit");
        assert_eq!(mode("usr/locked") & 0o7777, 0o555);
        assert_eq!(mode("tmp") & 0o7777, 0o1777);
        assert!(!root.join("dev/sda").exists() && !root.join("pipe").exists());
        let mut packed = Vec::new();
        pack(&root, Path::new("tree"), 500, &mut packed).expect("packed");
        let mut names = Vec::new();
        for entry in Archive::new(packed.as_slice()).entries().expect("entries") {
            let entry = entry.expect("an entry");
            let expected = if nix::unistd::geteuid().is_root() { 507 } else { 500 };
            assert_eq!(entry.header().uid().expect("an id"), expected);
            names.push((entry.path().expect("a path").display().to_string(), entry.header().entry_type()));
        }
        let of =
            |name: &str| names.iter().find(|(other, _)| other.trim_end_matches('/') == name).map(|(_, kind)| *kind);
        assert_eq!(of("tree/bin"), Some(EntryType::Symlink));
        assert_eq!(of("tree/usr/again"), Some(EntryType::Regular));
        assert_eq!(of("tree/usr/locked/su"), Some(EntryType::Link));
    }

    #[test]
    fn no_entry_leaves_the_tree() {
        for entries in [
            vec![("../out", EntryType::Regular, 0o644, "x")],
            vec![("a", EntryType::Symlink, 0o777, "/"), ("a/tmp/palestra-out", EntryType::Regular, 0o644, "x")],
            vec![("a", EntryType::Symlink, 0o777, ".."), ("a/out", EntryType::Regular, 0o644, "x")],
            vec![("hard", EntryType::Link, 0o644, "../../../../etc/passwd")],
            vec![("a", EntryType::Symlink, 0o777, ".."), ("a/", EntryType::Directory, 0o000, "")],
            vec![("a", EntryType::Symlink, 0o777, "../.."), ("a/outer/", EntryType::Directory, 0o000, "")],
        ] {
            let place = tempfile::tempdir().expect("a place");
            let (folder, result) = unpacked(place.path(), &entries);
            assert!(result.is_err(), "{entries:?}");
            assert!(!folder.path().join("out").exists() && !Path::new("/tmp/palestra-out").exists());
            assert_ne!(fs::metadata(folder.path()).expect("there").mode() & 0o777, 0);
        }
    }
}
