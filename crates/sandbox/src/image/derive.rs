//! Images that differ from another one by a change, as a sandbox gives it: the files that stay are shared with the other image.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use tar::{Archive, EntryType};

use super::build::{BuildError, Contents, filled};
use super::tree::Owners;
use super::{Image, Images};

/// Stands before the name of what was deleted.
const WHITEOUT: &[u8] = b".wh.";
/// Stands in a folder that was replaced.
const OPAQUE: &[u8] = b".wh..wh..opq";

/// Makes an image of `base` and a change of it, and makes it the one of this name.
///
/// # Errors
/// As [`build`](super::build()); also when the base is not unpacked here.
pub fn derive(images: &Images, name: &str, base: &Image, origin: &str, delta: &[u8]) -> Result<Image, BuildError> {
    let below = base.root.as_ref().ok_or_else(|| {
        BuildError::Missing(format!("the image {:?} is not unpacked on this machine: build it here", base.name))
    })?;
    let origin = format!("{origin} on {} by {}", base.digest, hex::encode(Sha256::digest(delta)));
    let contents = Contents { origin, env: base.env.clone(), folder: base.folder.clone() };
    filled(images, name, &contents, |root, _, owners| {
        let made = share(below, root).and_then(|()| apply(delta, root, owners));
        made.map_err(|error| BuildError::Disk { what: format!("the change of the image {name}"), error })
    })
}

/// Fills a folder with the files of another one, by hard links where the disk can do that.
fn share(from: &Path, to: &Path) -> io::Result<()> {
    let mut waiting = vec![(from.to_owned(), to.to_owned())];
    let mut folders = Vec::new();
    while let Some((from, to)) = waiting.pop() {
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            if entry.file_type()?.is_dir() {
                fs::create_dir(&target)?;
                waiting.push((path, target));
            } else if fs::hard_link(&path, &target).is_err() {
                copy(&path, &target)?;
            }
        }
        folders.push((from, to));
    }
    for (from, to) in folders.iter().rev() {
        let metadata = fs::symlink_metadata(from)?;
        // Nobody but root can give files away; then all belong to one user anyway.
        let _ = lchown(to, Some(metadata.uid()), Some(metadata.gid()));
        fs::set_permissions(to, metadata.permissions())?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    if metadata.is_symlink() {
        symlink(fs::read_link(from)?, to)?;
    } else {
        fs::copy(from, to)?;
    }
    let _ = lchown(to, Some(metadata.uid()), Some(metadata.gid()));
    Ok(())
}

/// Applies a change. It comes from a sandbox, so no name and no link may lead out of the tree.
fn apply(delta: &[u8], root: &Path, owners: Owners) -> io::Result<()> {
    let mut archive = Archive::new(delta);
    let mut folders: Vec<(PathBuf, u32)> = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        let outside = || io::Error::other(format!("{} leads out of the image", name.display()));
        let steps: Vec<&OsStr> =
            name.components().filter(|step| *step != Component::CurDir).map(|step| step.as_os_str()).collect();
        if name.components().any(|step| !matches!(step, Component::Normal(_) | Component::CurDir)) {
            return Err(outside());
        }
        let Some((last, parents)) = steps.split_last() else { continue };
        let parent = reached(root, parents, owners)?.ok_or_else(outside)?;
        if last.as_bytes() == OPAQUE {
            for below in fs::read_dir(&parent)? {
                remove(&below?.path())?;
            }
            continue;
        }
        if let Some(deleted) = last.as_bytes().strip_prefix(WHITEOUT) {
            let deleted = Path::new(OsStr::from_bytes(deleted));
            if deleted.components().count() != 1 || !matches!(deleted.components().next(), Some(Component::Normal(_))) {
                return Err(outside());
            }
            remove(&parent.join(deleted))?;
            continue;
        }
        let path = parent.join(last);
        let header = entry.header().clone();
        let mode = header.mode()?;
        match header.entry_type() {
            EntryType::Directory => {
                if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
                    remove(&path)?;
                    fs::create_dir(&path)?;
                }
                folders.push((path.clone(), mode & 0o1777));
            }
            EntryType::Regular | EntryType::Continuous => {
                // A file of the other image may be behind the name: it is never written to.
                remove(&path)?;
                let mut file = File::create_new(&path)?;
                io::copy(&mut entry.by_ref().take(header.size()?), &mut file)?;
                let time = UNIX_EPOCH + Duration::from_secs(header.mtime()?);
                file.set_times(FileTimes::new().set_modified(time))?;
                owners.give(&path, header.uid()?, header.gid()?)?;
                fs::set_permissions(&path, Permissions::from_mode(mode & 0o777))?;
                continue;
            }
            EntryType::Symlink => {
                remove(&path)?;
                symlink(entry.link_name()?.ok_or_else(outside)?, &path)?;
            }
            _ => continue,
        }
        owners.give(&path, header.uid()?, header.gid()?)?;
    }
    for (path, mode) in folders.iter().rev() {
        fs::set_permissions(path, Permissions::from_mode(*mode))?;
    }
    Ok(())
}

/// The folder that steps lead to, made where it is missing; `None` where something else stands on the way.
fn reached(root: &Path, steps: &[&OsStr], owners: Owners) -> io::Result<Option<PathBuf>> {
    let mut place = root.to_owned();
    for step in steps {
        place.push(step);
        match fs::symlink_metadata(&place) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Ok(None),
            Err(_) => {
                fs::create_dir(&place)?;
                owners.give(&place, 0, 0)?;
            }
        }
    }
    Ok(Some(place))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use tar::{Builder, Header};

    use super::*;
    use crate::image::store;

    fn archive(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, kind, text) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o755);
            header.set_mtime(1);
            header.set_uid(0);
            header.set_gid(0);
            if *kind == EntryType::Symlink {
                header.set_size(0);
                builder.append_link(&mut header, name, text).expect("appended");
            } else {
                header.set_size(text.len() as u64);
                header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
                header.set_cksum();
                builder.append(&header, text.as_bytes()).expect("appended");
            }
        }
        builder.into_inner().expect("an archive")
    }

    #[test]
    fn a_change_makes_another_image_and_leaves_the_first_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let images = Images::new(folder.path());
        let base = archive(&[
            ("etc", EntryType::Directory, ""),
            ("etc/a", EntryType::Regular, "old"),
            ("etc/b", EntryType::Regular, "stays"),
            ("etc/c", EntryType::Regular, "goes"),
            ("link", EntryType::Symlink, "/etc"),
        ]);
        let contents = Contents {
            origin: "test".to_owned(),
            env: vec![("A".to_owned(), "1".to_owned())],
            folder: "/home".to_owned(),
        };
        let base = store(&images, "base", &contents, base.as_slice()).expect("stored");
        let delta = archive(&[
            ("etc/a", EntryType::Regular, "new"),
            ("etc/.wh.c", EntryType::Regular, ""),
            ("opt/x", EntryType::Regular, "x"),
        ]);
        let made = derive(&images, "made", &base, "steps", &delta).expect("derived");
        let (old, new) = (base.root.clone().expect("files"), made.root.clone().expect("files"));
        let text = |root: &Path, name: &str| fs::read_to_string(root.join(name)).ok();
        assert_eq!(text(&new, "etc/a").as_deref(), Some("new"));
        assert_eq!(text(&new, "etc/b").as_deref(), Some("stays"));
        assert_eq!(text(&new, "opt/x").as_deref(), Some("x"));
        assert_eq!((text(&new, "etc/c"), text(&old, "etc/c").as_deref()), (None, Some("goes")));
        assert_eq!(text(&old, "etc/a").as_deref(), Some("old"));
        assert_eq!(fs::read_link(new.join("link")).expect("a link"), Path::new("/etc"));
        assert_eq!((made.env, made.folder.as_str()), (base.env.clone(), "/home"));
        assert_ne!(made.digest, base.digest);

        for wrong in ["link/x", "../x", "etc/.wh...", "etc/b/x"] {
            let delta = archive(&[(wrong, EntryType::Regular, "")]);
            assert!(derive(&images, "wrong", &base, "steps", &delta).is_err(), "{wrong}");
        }
        assert!(images.resolve("wrong").is_err());
    }
}
