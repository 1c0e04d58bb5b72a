//! Files that every image has, whatever it was made from: users, names, mount points, a folder to work in.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::tree::Owners;

/// The user that commands run as where a profile names none of its own.
const AGENT: (&str, u32) = ("agent", 1000);
/// The user of the program of ours inside, so that lists of processes show a name.
const KEEPER: (&str, u32) = ("palestra", 65_533);

/// Adds it to the tree at `root`; `home` is where commands start.
pub(super) fn finish(root: &Path, home: &str, owners: Owners) -> io::Result<()> {
    let (agent, uid) = AGENT;
    let (keeper, keeper_uid) = KEEPER;
    for folder in ["etc", "home", "proc", "sys", "dev", "run", "tmp", ".palestra"] {
        make(root, folder, 0, owners)?;
    }
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777))?;
    let mut place = PathBuf::new();
    for step in Path::new(home.trim_start_matches('/')) {
        place.push(step);
        let owner = if place == Path::new(home.trim_start_matches('/')) { uid } else { 0 };
        make(root, &place, owner, owners)?;
    }
    let users = [
        format!("{agent}:x:{uid}:{uid}::/home/{agent}:/bin/sh\n"),
        format!("{keeper}:x:{keeper_uid}:{keeper_uid}::/:/bin/false\n"),
    ];
    extend(&root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n", &users, owners)?;
    let groups = [format!("{agent}:x:{uid}:\n"), format!("{keeper}:x:{keeper_uid}:\n")];
    extend(&root.join("etc/group"), "root:x:0:\n", &groups, owners)?;
    replace(&root.join("etc/hosts"), "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost\n", owners)?;
    replace(&root.join("etc/hostname"), "sandbox\n", owners)?;
    replace(&root.join("etc/resolv.conf"), "", owners)
}

/// Makes a folder where none is. A link in its place is refused: it would lead out of the tree.
fn make(root: &Path, folder: impl AsRef<Path>, owner: u32, owners: Owners) -> io::Result<()> {
    let path = root.join(folder);
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::other(format!("{} is no folder", path.display()))),
        Err(_) => {
            fs::create_dir(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
            owners.give(&path, u64::from(owner), u64::from(owner))
        }
    }
}

/// Adds lines of users or groups whose name and number are not there yet.
fn extend(path: &Path, otherwise: &str, lines: &[String], owners: Owners) -> io::Result<()> {
    let regular = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let mut text = if regular { fs::read_to_string(path)? } else { otherwise.to_owned() };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    for line in lines {
        let of = |line: &str| {
            let mut fields = line.split(':').map(str::to_owned);
            (fields.next(), fields.nth(1))
        };
        let (name, number) = of(line);
        if !text.lines().map(of).any(|(other, taken)| other == name || taken == number) {
            text.push_str(line);
        }
    }
    replace(path, &text, owners)
}

/// Writes a file anew, so that a link in its place is never followed.
fn replace(path: &Path, text: &str, owners: Owners) -> io::Result<()> {
    let mut draft = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    draft.write_all(text.as_bytes())?;
    fs::set_permissions(draft.path(), fs::Permissions::from_mode(0o644))?;
    owners.give(draft.path(), 0, 0)?;
    draft.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    #[test]
    fn a_bare_tree_gets_users_names_and_folders_and_keeps_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir(root.join("etc")).expect("made");
        fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/bash\nown:x:1000:1000::/:/bin/sh")
            .expect("written");
        finish(root, "/srv/work", Owners::possible()).expect("finished");
        let users = fs::read_to_string(root.join("etc/passwd")).expect("read");
        assert!(users.contains("own:x:1000") && users.contains("palestra:x:65533"), "{users}");
        assert!(!users.contains("agent"), "another user has its number: {users}");
        assert!(fs::read_to_string(root.join("etc/group")).expect("read").contains("agent:x:1000"));
        assert_eq!(fs::metadata(root.join("tmp")).expect("there").mode() & 0o7777, 0o1777);
        assert!(root.join("srv/work").is_dir() && root.join("proc").is_dir());
    }

    #[test]
    fn links_of_a_tree_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        fs::create_dir_all(root.join("etc")).expect("made");
        fs::write(&outside, "secret\n").expect("written");
        for name in ["passwd", "hosts", "resolv.conf"] {
            symlink(&outside, root.join("etc").join(name)).expect("linked");
        }
        finish(&root, "/home/agent", Owners::possible()).expect("finished");
        assert_eq!(fs::read_to_string(&outside).expect("read"), "secret\n");
        assert!(!fs::read_to_string(root.join("etc/passwd")).expect("read").contains("secret"));

        let other = folder.path().join("other");
        fs::create_dir(&other).expect("made");
        symlink("/", other.join("home")).expect("linked");
        assert!(finish(&other, "/home/palestra-outside", Owners::possible()).is_err());
        assert!(!Path::new("/palestra-outside").exists());
    }
}
