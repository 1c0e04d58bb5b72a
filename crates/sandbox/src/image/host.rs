//! The image `host`: a small tree of its own, in which the host's `/usr` and what programs need of its `/etc` are shown read-only.
//! It needs no build, so that sandboxes can be used at once.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use sha2::{Digest as _, Sha256};

use super::Image;
use crate::ids::FIRST_ID;

/// Its name.
pub(crate) const NAME: &str = "host";
/// Changed with the tree.
const FORMAT: u32 = 1;
/// Folders of the tree, each with its mode and owner.
const FOLDERS: [(&str, u32, u32); 22] = [
    ("dev", 0o755, 0),
    ("etc", 0o755, 0),
    ("home", 0o755, 0),
    ("home/agent", 0o755, 1_000),
    ("media", 0o755, 0),
    ("mnt", 0o755, 0),
    ("opt", 0o755, 0),
    ("proc", 0o755, 0),
    ("root", 0o700, 0),
    ("run", 0o755, 0),
    ("run/lock", 0o1777, 0),
    ("srv", 0o755, 0),
    ("sys", 0o755, 0),
    ("tmp", 0o1777, 0),
    ("usr", 0o755, 0),
    ("var", 0o755, 0),
    ("var/cache", 0o755, 0),
    ("var/lib", 0o755, 0),
    ("var/log", 0o755, 0),
    ("var/spool", 0o755, 0),
    ("var/tmp", 0o1777, 0),
    ("etc/profile.d", 0o755, 0),
];
/// Files of the tree.
const FILES: [(&str, &str); 8] = [
    (
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/bash\nagent:x:1000:1000:agent:/home/agent:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    ("etc/group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"),
    (
        "etc/nsswitch.conf",
        "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n",
    ),
    ("etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
    ("etc/hostname", "sandbox\n"),
    ("etc/resolv.conf", ""),
    ("etc/shells", "/bin/sh\n/bin/bash\n"),
    ("etc/profile", "PS1='\\u@\\h:\\w\\$ '\n"),
];
/// Files of the host's `/etc` that programs need: which of several programs is meant, where libraries are, settings of languages.
const ETC: [&str; 17] = [
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "services",
    "protocols",
    "mime.types",
    "terminfo",
    "perl",
    "python3",
    "python3.11",
    "R",
    "java-17-openjdk",
    "java-21-openjdk",
    "fonts",
    "chromium",
    "chromium.d",
];
/// Folders that are links into `/usr` on most machines, and folders of their own on some.
const BESIDE_USR: [&str; 5] = ["bin", "sbin", "lib", "lib32", "lib64"];

/// The paths of the host that a sandbox of this image sees.
pub(crate) fn shown() -> Vec<String> {
    let beside = BESIDE_USR
        .iter()
        .map(|name| format!("/{name}"))
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()));
    let etc = ETC.iter().map(|name| format!("/etc/{name}")).filter(|path| Path::new(path).exists());
    std::iter::once("/usr".to_owned()).chain(beside).chain(etc).collect()
}

/// The image, made in `folder` where it is not there.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn image(folder: &Path) -> io::Result<Image> {
    let digest = digest();
    let root = folder.join(&digest[..16]);
    if !root.is_dir() {
        fs::create_dir_all(folder)?;
        let draft = tempfile::tempdir_in(folder)?;
        make(draft.path())?;
        match fs::rename(draft.path(), &root) {
            Ok(()) => {
                // It has no longer the name under which it would be removed.
                let _ = draft.keep();
            }
            // Somebody else was faster.
            Err(_) if root.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Image {
        name: NAME.to_owned(),
        digest: format!("sha256:{digest}"),
        env: Vec::new(),
        folder: "/home/agent".to_owned(),
        root: Some(root),
    })
}

/// Over the tree and what is known of the host's programs: which system, and when a package of it last changed.
fn digest() -> String {
    let mut described = format!("{FORMAT} {} {:?}", geteuid().is_root(), shown());
    described.push_str(&fs::read_to_string("/usr/lib/os-release").unwrap_or_default());
    for path in ["/var/lib/dpkg/status", "/var/lib/rpm", "/usr/bin"] {
        if let Ok(found) = fs::metadata(path) {
            // Writing to a string cannot fail.
            let _ = write!(described, "{path} {} {} {}", found.len(), found.mtime(), found.mtime_nsec());
        }
    }
    hex::encode(Sha256::digest(described))
}

fn make(root: &Path) -> io::Result<()> {
    for (name, mode, owner) in FOLDERS {
        let path = root.join(name);
        fs::create_dir(&path)?;
        own(&path, owner)?;
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
    }
    for (name, text) in FILES {
        let path = root.join(name);
        fs::write(&path, text)?;
        own(&path, 0)?;
    }
    symlink("../usr/lib/os-release", root.join("etc/os-release"))?;
    symlink("/run", root.join("var/run"))?;
    symlink("/proc/self/mounts", root.join("etc/mtab"))?;
    for name in BESIDE_USR {
        match fs::read_link(Path::new("/").join(name)) {
            Ok(target) => symlink(target, root.join(name))?,
            Err(_) if Path::new("/").join(name).is_dir() => fs::create_dir(root.join(name))?,
            Err(_) => {}
        }
    }
    // Places to show the host's own at.
    for path in shown() {
        let place: PathBuf = root.join(path.trim_start_matches('/'));
        if Path::new(&path).is_dir() {
            fs::create_dir_all(&place)?;
        } else {
            fs::write(&place, "")?;
        }
        own(&place, 0)?;
    }
    fs::set_permissions(root, Permissions::from_mode(0o755))?;
    own(root, 0)
}

/// Gives a file to a user of the sandbox, where those are users of their own.
fn own(path: &Path, user: u32) -> io::Result<()> {
    if geteuid().is_root() { chown(path, Some(FIRST_ID + user), Some(FIRST_ID + user)) } else { Ok(()) }
}
