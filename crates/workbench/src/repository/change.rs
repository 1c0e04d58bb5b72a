//! Changes of a session, as a patch. It is computed in a fresh sandbox from the packed tree: the session's own `.git`, its hooks
//! and its settings take no part.

use std::io::Read as _;

use palestra_sandbox::Command;
use palestra_sandbox::SandboxError;
use palestra_sandbox::pool::SandboxSpec;
use palestra_sandbox::sandbox::{Bounds, Sandbox};
use palestra_sandbox::wire::FailureCode;

use super::git::{Git, Trouble};
use super::instance::{Instance, PATCH_BYTES_MAX};
use super::prepare::{Prepared, furnished};
use crate::work::Workbench;

/// Most that a session's tree may hold.
pub(super) const TREE: Bounds = Bounds { bytes_max: 256 << 20, entries_max: 100_000 };
/// Where the session's tree is laid out beside the clean one.
const WORKED: &str = "/tmp/worked";
const PATCH: &str = "/tmp/change.patch";

/// Changes of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// As a patch against the base commit.
    Patch(Vec<u8>),
    /// It cannot be taken, for a reason that lies with the session.
    Refused(String),
}

/// The change of a tree that was packed from the project's folder.
///
/// # Errors
/// When a sandbox fails.
pub(super) async fn change(
    tree: &[u8],
    instance: &Instance,
    prepared: &Prepared,
    workbench: &Workbench,
) -> Result<Change, Trouble> {
    let tree = match without_git(tree, instance.folder().trim_start_matches('/')) {
        Ok(tree) => tree,
        Err(words) => return Ok(Change::Refused(words)),
    };
    let want = SandboxSpec::new(None, &instance.image, "terminal");
    let sandbox = furnished(&want, prepared, workbench).await?;
    let change = compare(&sandbox, &tree, instance, prepared).await;
    sandbox.destroy(true).await;
    change
}

async fn compare(sandbox: &Sandbox, tree: &[u8], instance: &Instance, prepared: &Prepared) -> Result<Change, Trouble> {
    let user = sandbox.profile().user.value;
    sandbox.exec(&Command::new(["mkdir", WORKED])).await?;
    match sandbox.unpack(WORKED, Some(user), tree, TREE).await {
        Err(SandboxError::Refused { detail, .. }) => return Ok(Change::Refused(format!("its tree: {detail}"))),
        other => other?,
    }
    let git = Git::new(sandbox, WORKED).with("GIT_WORK_TREE", WORKED);
    let git = git.with("GIT_DIR", format!("{}/.git", instance.folder()));
    let added = git.run(&["add", "-A"], b"").await?;
    if !added.success() {
        return Ok(Change::Refused(format!("its tree: {}", super::git::words(&added))));
    }
    let output = format!("--output={PATCH}");
    let diff = [
        "diff",
        "--cached",
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        &output,
        &prepared.commit,
    ];
    git.must(&diff, b"").await?;
    match sandbox.read(PATCH, PATCH_BYTES_MAX as u64).await {
        Ok(patch) => Ok(Change::Patch(patch)),
        Err(error) if error.is(FailureCode::TooLarge) => {
            Ok(Change::Refused("its change is larger than 8 MiB".to_owned()))
        }
        // Where nothing differs, no file is written by some releases of git.
        Err(error) if error.is(FailureCode::NotFound) => Ok(Change::Patch(Vec::new())),
        Err(error) => Err(error.into()),
    }
}

/// A session's archive without anything called `.git`, its entries relative to the project's folder and readable to their owner.
/// The bytes are hostile.
fn without_git(archive: &[u8], folder: &str) -> Result<Vec<u8>, String> {
    let broken = |error: std::io::Error| format!("its tree cannot be read: {error}");
    let mut kept = tar::Builder::new(Vec::with_capacity(archive.len()));
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let path = entry.path_bytes().into_owned();
        let Some(path) = inner(&path, folder) else { continue };
        if path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
            continue;
        }
        let mut header = tar::Header::new_gnu();
        let mode = entry.header().mode().unwrap_or(0o644);
        match entry.header().entry_type() {
            kind @ (tar::EntryType::Regular | tar::EntryType::Continuous) => {
                header.set_entry_type(kind);
                header.set_mode(if mode & 0o100 == 0 { 0o644 } else { 0o755 });
                header.set_size(entry.size());
                let size = usize::try_from(entry.size()).map_err(|error| error.to_string())?;
                let mut bytes = Vec::with_capacity(size.min(1 << 20));
                entry.read_to_end(&mut bytes).map_err(broken)?;
                kept.append_data(&mut header, &path, bytes.as_slice()).map_err(broken)?;
            }
            tar::EntryType::Directory => {
                header.set_entry_type(tar::EntryType::Directory);
                header.set_mode(0o755);
                header.set_size(0);
                kept.append_data(&mut header, &path, std::io::empty()).map_err(broken)?;
            }
            tar::EntryType::Symlink => {
                let Some(target) = entry.link_name_bytes() else { continue };
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_mode(0o777);
                header.set_size(0);
                let target = String::from_utf8_lossy(&target).into_owned();
                kept.append_link(&mut header, &path, target).map_err(broken)?;
            }
            tar::EntryType::Link => {
                let Some(target) = entry.link_name_bytes() else { continue };
                let Some(target) = inner(&target, folder) else {
                    return Err(format!("its tree: {path:?} is a hard link to a file outside"));
                };
                header.set_entry_type(tar::EntryType::Link);
                header.set_mode(0o644);
                header.set_size(0);
                kept.append_link(&mut header, &path, target).map_err(broken)?;
            }
            _ => {}
        }
    }
    kept.into_inner().map_err(broken)
}

/// A path of the archive relative to the project's folder; `None` for the folder itself and what lies outside.
fn inner(path: &[u8], folder: &str) -> Option<String> {
    let path = std::str::from_utf8(path).ok()?.trim_start_matches("./").trim_start_matches('/');
    let path = path.strip_prefix(folder)?.strip_prefix('/')?.trim_end_matches('/');
    let plain = !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    plain.then(|| path.to_owned())
}
