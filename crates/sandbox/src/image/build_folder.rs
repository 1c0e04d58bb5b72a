//! Folder in which an image is built before anybody sees it.

use std::fs;
use std::io;
use std::path::Path;

/// The beginning of the names of folders in which something is built.
const ASIDE: &str = ".building-";

/// A folder in which something is built; goes with whoever builds.
pub(super) struct BuildFolder {
    folder: tempfile::TempDir,
    /// Held until the end, so that others can tell a folder in use from one that was left behind.
    _lock: fs::File,
}

impl BuildFolder {
    /// A new one, after removing those that nobody holds any more.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        for entry in fs::read_dir(parent)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(ASIDE) {
                let lock = fs::File::open(entry.path().join("lock"));
                if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
                    fs::remove_dir_all(entry.path())?;
                }
            }
        }
        let folder = tempfile::Builder::new().prefix(ASIDE).tempdir_in(parent)?;
        // Held before it can be found.
        let lock = tempfile::NamedTempFile::new_in(folder.path())?;
        lock.as_file().lock()?;
        let lock = lock.persist(folder.path().join("lock"))?;
        Ok(Self { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_killed_builders_are_removed_and_used_folders_stay() {
        let parent = tempfile::tempdir().expect("a folder");
        let left = parent.path().join(format!("{ASIDE}left"));
        fs::create_dir(&left).expect("made");
        fs::write(left.join("lock"), "").expect("written");
        fs::create_dir(parent.path().join("shell")).expect("made");
        let first = BuildFolder::new(parent.path()).expect("a place");
        let second = BuildFolder::new(parent.path()).expect("a place");
        assert!(!left.exists());
        assert!(first.path().is_dir() && second.path().is_dir() && parent.path().join("shell").is_dir());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
