//! Links in folders that are published: what they lead to is sent, so that they must stay within the folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::failure::Failure;

/// The file or folder behind a path below `root`, which is free of links itself.
///
/// # Errors
/// When a link leads nowhere or out of `root`, or the path cannot be read.
pub(super) fn within(root: &Path, path: &Path) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let target = fs::canonicalize(path).map_err(|error| match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            Failure::Other(format!("{shown} is a link that leads nowhere, put the file itself there: {error}"))
        }
        _ => unreadable(path, &error),
    })?;
    if !target.starts_with(root) {
        let words = format!("{shown} is a link out of the folder that is published: put the file itself there");
        return Err(Failure::Other(words));
    }
    Ok(target)
}

pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Other(format!("{} cannot be read, check its path and owner: {error}", path.display()))
}

/// A folder as an archive, with what its links lead to.
///
/// # Errors
/// When something cannot be read, or a link leads nowhere, out of the folder or round in circles.
pub(super) fn packed(folder: &Path) -> Result<Vec<u8>, Failure> {
    let root = fs::canonicalize(folder).map_err(|error| unreadable(folder, &error))?;
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(true);
    add(&mut archive, &root, folder, Path::new(""), &mut vec![root.clone()])?;
    archive.into_inner().map_err(|error| unreadable(folder, &error))
}

/// Adds what lies in a folder under a name; `above` are the folders on the way to it, as they are.
fn add(
    archive: &mut tar::Builder<Vec<u8>>,
    root: &Path,
    folder: &Path,
    name: &Path,
    above: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>, std::io::Error>>()?;
    paths.sort();
    for path in paths {
        let name = name.join(path.file_name().unwrap_or_default());
        let target = within(root, &path)?;
        if target.is_file() {
            archive.append_path_with_name(&path, &name).map_err(|error| unreadable(&path, &error))?;
            continue;
        }
        if !target.is_dir() {
            return Err(Failure::Other(format!("{} is neither a file nor a folder: leave it out", path.display())));
        }
        if above.contains(&target) {
            let words = format!("{} is a link to a folder that it lies in: leave it out", path.display());
            return Err(Failure::Other(words));
        }
        archive.append_dir(&name, &path).map_err(|error| unreadable(&path, &error))?;
        above.push(target);
        add(archive, root, &path, &name, above)?;
        above.pop();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(archive: &[u8]) -> Vec<String> {
        let mut archive = tar::Archive::new(archive);
        let entries = archive.entries().unwrap();
        entries.map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect()
    }

    #[test]
    fn links_within_are_followed_and_others_are_refused_by_name() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "s").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/environment")).unwrap();
        fs::write(root.join("a/environment/data"), "d").unwrap();
        symlink("environment/data", root.join("a/data")).unwrap();
        symlink("a/environment", root.join("shared")).unwrap();
        let packed_names = names(&packed(root).unwrap());
        assert_eq!(packed_names, ["a", "a/data", "a/environment", "a/environment/data", "shared", "shared/data"]);

        for (target, link, words) in [
            (outside.path().join("secret"), "a/environment/pw", "is a link out of the folder that is published"),
            (outside.path().to_owned(), "a/all", "is a link out of the folder that is published"),
            (PathBuf::from("/no/such/file"), "a/nothing", "is a link that leads nowhere"),
            (PathBuf::from(".."), "a/environment/loop", "is a link to a folder that it lies in"),
        ] {
            let link = root.join(link);
            symlink(target, &link).unwrap();
            let refused = packed(root).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("{} {words}", link.display())), "{refused}");
            fs::remove_file(link).unwrap();
        }
    }
}
