//! Folders that somebody else filled: measured and removed without following links, however deep and whatever their modes.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Contents of a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FolderSize {
    pub(super) bytes: u64,
    pub(super) files: u64,
}

/// Counts what is below a folder, until it is more than `most`.
///
/// # Errors
/// When something in it cannot be looked into: nobody knows then how much it is.
pub(super) fn measure(folder: &Path, most: FolderSize) -> io::Result<FolderSize> {
    let mut held = FolderSize::default();
    let mut left: Vec<PathBuf> = vec![folder.to_path_buf()];
    while let Some(folder) = left.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // It was removed or replaced meanwhile.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            held.files += 1;
            held.bytes += metadata.blocks() * 512;
            if held.files > most.files || held.bytes > most.bytes {
                return Ok(held);
            }
            if metadata.is_dir() {
                left.push(entry.path());
            }
        }
    }
    Ok(held)
}

/// Removes a folder with everything in it. Folders below it are first moved up to it, so that no depth is too deep.
///
/// # Errors
/// When the disk refuses.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    let mut moved = 0_u64;
    let mut flat = vec![];
    empty(folder, folder, &mut moved, &mut flat)?;
    while let Some(next) = flat.pop() {
        empty(&next, folder, &mut moved, &mut flat)?;
        fs::remove_dir(&next)?;
    }
    fs::remove_dir(folder)
}

/// Removes the files of a folder, and moves its folders to `top`.
fn empty(folder: &Path, top: &Path, moved: &mut u64, flat: &mut Vec<PathBuf>) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()? {
        if !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
            continue;
        }
        // A folder can be moved only by who may write it.
        fs::set_permissions(entry.path(), Permissions::from_mode(0o700))?;
        let target = loop {
            *moved += 1;
            let target = top.join(format!("~{moved}"));
            if !target.exists() {
                break target;
            }
        };
        fs::rename(entry.path(), &target)?;
        flat.push(target);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_any_depth_and_mode_is_removed_and_links_are_not_followed() {
        let parent = tempfile::tempdir().expect("a folder");
        let outside = parent.path().join("outside");
        fs::create_dir(&outside).expect("made");
        fs::write(outside.join("file"), "stays").expect("written");
        let folder = parent.path().join("folder");
        fs::create_dir(&folder).expect("made");
        // Deeper than a path can be long: each is made at the top and the earlier ones are moved into it.
        let name = "n".repeat(200);
        for depth in 0..40 {
            let outer = folder.join(format!("outer-{depth}"));
            fs::create_dir(&outer).expect("made");
            if depth > 0 {
                fs::rename(folder.join(format!("outer-{}", depth - 1)), outer.join(&name)).expect("moved");
            }
        }
        fs::create_dir(folder.join("~1")).expect("made");
        std::os::unix::fs::symlink(&outside, folder.join("link")).expect("linked");
        fs::create_dir_all(folder.join("closed/below")).expect("made");
        fs::set_permissions(folder.join("closed"), Permissions::from_mode(0o000)).expect("closed");
        remove(&folder).expect("removed");
        assert!(!folder.exists());
        assert!(outside.join("file").exists());
    }

    #[test]
    fn measuring_counts_blocks_and_files_and_stops_when_it_is_too_much() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..10 {
            fs::write(folder.path().join(number.to_string()), [1; 10_000]).expect("written");
        }
        let most = FolderSize { bytes: 1 << 30, files: 100 };
        let held = measure(folder.path(), most).expect("measured");
        assert_eq!(held.files, 10);
        assert!((100_000..200_000).contains(&held.bytes), "{} bytes", held.bytes);
        assert_eq!(measure(folder.path(), FolderSize { files: 3, ..most }).expect("measured").files, 4);
    }
}
