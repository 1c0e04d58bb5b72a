//! Prepares the layer that all sessions and judgings of an instance lie over: the project at its base commit, with no object of any
//! later one, and what its set-up made. It is built once and kept by digest.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use palestra_sandbox::pool::SandboxSpec;
use palestra_sandbox::sandbox::{Bounds, Sandbox};
use palestra_sandbox::{Command, SandboxError};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use super::archive::{self, Kind};
use super::git::{Git, Trouble, words};
use super::instance::Instance;
use crate::work::Workbench;

/// Most that a prepared layer may hold.
const LAYER: Bounds = Bounds { bytes_max: 1 << 30, entries_max: 200_000 };
/// Where the archive is opened while a layer is made.
const SCRATCH: &str = "/tmp/source";
/// Longest run of an instance's set-up.
const SETUP_MAX: Duration = Duration::from_secs(600);
/// Layers that are known at the same time; one that is not is made again when it is needed.
const LAYERS_MAX: usize = 4_096;

/// A prepared layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prepared {
    /// The change of the file system that [`Sandbox::apply`] takes, by digest.
    pub delta: String,
    /// The base commit, in full.
    pub commit: String,
}

/// The layers that were prepared since the server started.
#[derive(Default)]
pub(super) struct Layers(Mutex<HashMap<String, Arc<OnceCell<Prepared>>>>);

impl Layers {
    /// The layer of an instance, made where it is not there. Those who ask at the same time wait for one making.
    ///
    /// # Errors
    /// When the archive, the base commit or the set-up are not what they should be, or the sandbox fails.
    pub(super) async fn get(&self, instance: &Instance, workbench: &Workbench) -> Result<Prepared, Trouble> {
        let cell = {
            let mut layers = self.0.lock();
            if layers.len() >= LAYERS_MAX {
                layers.retain(|_, cell| cell.get().is_none());
            }
            Arc::clone(layers.entry(key(instance)).or_default())
        };
        cell.get_or_try_init(|| prepare(instance, workbench)).await.cloned()
    }
}

/// A sandbox with a prepared layer.
///
/// # Errors
/// When no sandbox can be had or the layer is gone.
pub(super) async fn furnished(
    want: &SandboxSpec,
    prepared: &Prepared,
    workbench: &Workbench,
) -> Result<Sandbox, Trouble> {
    let delta = read(workbench, &prepared.delta).await?;
    let sandbox = workbench.sandboxes.take(want).await?;
    match sandbox.apply(&delta).await {
        Ok(()) => Ok(sandbox),
        Err(error) => {
            sandbox.destroy(true).await;
            Err(error.into())
        }
    }
}

/// Bytes of the store.
pub(super) async fn read(workbench: &Workbench, digest: &str) -> Result<Vec<u8>, Trouble> {
    let (blobs, digest) = (workbench.blobs.clone(), digest.to_owned());
    let read = tokio::task::spawn_blocking(move || {
        let failed = |why: String| Trouble::Sandbox(SandboxError::Unavailable(why));
        let missing = || failed(format!("{digest} is not kept here any more: publish the environment anew"));
        blobs
            .get(&digest)
            .map_err(|error| failed(format!("{digest} cannot be read, check the folder of blobs: {error}")))?
            .ok_or_else(missing)
    });
    read.await.unwrap_or_else(|error| Err(Trouble::Instance(error.to_string())))
}

/// Puts bytes into the store.
pub(super) async fn keep(workbench: &Workbench, bytes: Vec<u8>) -> Result<String, Trouble> {
    let blobs = workbench.blobs.clone();
    let kept = tokio::task::spawn_blocking(move || blobs.put(&bytes)).await;
    let full = |error: std::io::Error| {
        SandboxError::Unavailable(format!("evidence cannot be kept, check the data folder and its free space: {error}"))
    };
    match kept {
        Ok(kept) => Ok(kept.map_err(full)?),
        Err(error) => Err(Trouble::Instance(error.to_string())),
    }
}

/// Key of a layer.
fn key(instance: &Instance) -> String {
    let Instance { archive, base_commit, history, image, setup, env, .. } = instance;
    let steps: Vec<_> = history.iter().map(|step| (&step.message, &step.paths)).collect();
    let parts = serde_json::json!([archive, base_commit, steps, image, setup, env, instance.folder()]);
    hex::encode(Sha256::digest(parts.to_string()))
}

async fn prepare(instance: &Instance, workbench: &Workbench) -> Result<Prepared, Trouble> {
    let want = SandboxSpec::new(None, &instance.image, "terminal");
    let sandbox = workbench.sandboxes.take(&want).await?;
    let prepared = fill(&sandbox, instance, workbench).await;
    sandbox.destroy(true).await;
    prepared
}

async fn fill(sandbox: &Sandbox, instance: &Instance, workbench: &Workbench) -> Result<Prepared, Trouble> {
    let (source, base) = open_archive(sandbox, instance, workbench).await?;
    let git = check_out(sandbox, instance, &source, &base).await?;
    let removed = sandbox.exec(&Command::new(["rm", "-rf", SCRATCH])).await?;
    if !removed.success() {
        return Err(Trouble::Instance(format!("the archive cannot be cleared away, try again: {}", words(&removed))));
    }
    set_up(sandbox, instance, &git).await?;
    let commit = git.line(&["rev-parse", "HEAD"]).await?;
    sandbox.kill().await?;
    let (delta, left_out) = sandbox.delta(LAYER, &["/tmp".to_owned()]).await?;
    if let Some(path) = left_out.first() {
        return Err(Trouble::Instance(format!(
            "{path} is no file, folder or link, so it cannot be kept: remove it in the set-up"
        )));
    }
    Ok(Prepared { delta: keep(workbench, delta).await?, commit })
}

/// Opens the archive; where its repository lies, and the base commit in full.
async fn open_archive(
    sandbox: &Sandbox,
    instance: &Instance,
    workbench: &Workbench,
) -> Result<(String, String), Trouble> {
    let (blobs, archive) = (workbench.blobs.clone(), instance.archive.clone());
    let bytes = tokio::task::spawn_blocking(move || archive::fetch(&archive, &blobs)).await;
    let bytes = bytes.unwrap_or_else(|error| Err(error.to_string())).map_err(Trouble::Instance)?;
    let kind = archive::kind(&bytes).map_err(Trouble::Instance)?;
    let path = format!("{SCRATCH}/archive");
    sandbox.write(&path, 0o600, sandbox.profile().user.value, &bytes).await?;
    let source = match kind {
        Kind::Bundle => {
            let source = format!("{SCRATCH}/bundled.git");
            Git::new(sandbox, SCRATCH).must(&["init", "-q", "--bare", "--template=", &source], b"").await?;
            Git::new(sandbox, source.clone()).must(&["bundle", "unbundle", &path], b"").await?;
            source
        }
        Kind::Tar | Kind::TarGz => untar(sandbox, &path).await?,
    };
    let git = Git::new(sandbox, source.clone());
    let within = |path: &str| format!("{source}/{path}");
    if kind != Kind::Bundle && sandbox.stat(&within(".git")).await?.is_none() {
        commit_tree(&git, instance).await?;
        return Ok((source.clone(), git.line(&["rev-parse", "HEAD"]).await?));
    }
    let named = instance.base_commit.as_deref().unwrap_or("HEAD");
    let base = git.line(&["rev-parse", "--verify", "-q", "--end-of-options", &format!("{named}^{{commit}}")]).await;
    let base = base.map_err(|_| Trouble::Instance(format!("the archive holds no commit {named}: add it")))?;
    Ok((source, base))
}

/// Unpacks a tar archive; the folder of the tree, which may be the archive's only entry.
async fn untar(sandbox: &Sandbox, path: &str) -> Result<String, Trouble> {
    let script = "set -eu
mkdir tree
tar -xf \"$1\" -C tree --no-same-owner
cd tree
if [ \"$(ls -A | wc -l)\" = 1 ] && [ ! -e .git ] && [ -d \"$(ls -A)\" ]; then cd \"$(ls -A)\"; fi
pwd";
    let output = sandbox.exec(&Command::new(["sh", "-c", script, "sh", path]).folder(SCRATCH)).await?;
    if output.success() {
        Ok(output.text().trim_end_matches('\n').to_owned())
    } else {
        Err(Trouble::Instance(format!("the archive cannot be unpacked, pack it anew: {}", words(&output))))
    }
}

/// Makes a repository of a plain tree, in the commits of its history.
async fn commit_tree(git: &Git<'_>, instance: &Instance) -> Result<(), Trouble> {
    git.must(&["init", "-q", "-b", "main", "--template="], b"").await?;
    let last = instance.history.last().map_or("Import", |step| step.message.as_str());
    for step in instance.history.iter().rev().skip(1).rev() {
        let mut arguments = vec!["add", "--"];
        arguments.extend(step.paths.iter().map(String::as_str));
        git.must(&arguments, b"").await?;
        git.must(&["commit", "-q", "-F", "-"], step.message.as_bytes()).await?;
    }
    git.must(&["add", "-A"], b"").await?;
    git.must(&["commit", "-q", "-F", "-"], last.as_bytes()).await?;
    Ok(())
}

/// Lays out the project at its base commit. Only what that commit reaches is fetched, so that nothing of later ones is there.
async fn check_out<'a>(
    sandbox: &'a Sandbox,
    instance: &Instance,
    source: &str,
    base: &str,
) -> Result<Git<'a>, Trouble> {
    const FETCHED: &str = "refs/heads/palestra-base";
    let folder = instance.folder();
    Git::new(sandbox, source).must(&["update-ref", FETCHED, base], b"").await?;
    Git::new(sandbox, "/").must(&["init", "-q", "-b", "main", "--template=", &folder], b"").await?;
    let git = Git::new(sandbox, folder);
    let wanted = format!("{FETCHED}:refs/heads/main");
    let fetch =
        ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--update-head-ok", "--update-shallow", source, &wanted];
    git.must(&fetch, b"").await?;
    git.must(&["reset", "-q", "--hard"], b"").await?;
    git.must(&["repack", "-a", "-d", "-q"], b"").await?;
    git.must(&["update-ref", "-d", "ORIG_HEAD"], b"").await?;
    git.must(&["config", "user.name", "Agent"], b"").await?;
    git.must(&["config", "user.email", "agent@example.org"], b"").await?;
    Ok(git)
}

/// Runs the set-up. What it makes is no part of any patch: new files are ignored, and tracked ones may not change.
async fn set_up(sandbox: &Sandbox, instance: &Instance, git: &Git<'_>) -> Result<(), Trouble> {
    if let Some(setup) = &instance.setup {
        let mut command = Command::shell(setup).folder(git.folder()).wall(SETUP_MAX);
        command.env = instance.env.clone().into_iter().collect();
        command.alone = true;
        let output = sandbox.exec(&command).await?;
        if !output.success() {
            return Err(Trouble::Instance(format!("the set-up failed, correct it: {}", words(&output))));
        }
    }
    let changed = git.must(&["diff", "--name-only", "-z", "HEAD"], b"").await?;
    if let Some(path) = changed.split(|byte| *byte == 0).find(|path| !path.is_empty()) {
        let path = String::from_utf8_lossy(path);
        return Err(Trouble::Instance(format!(
            "the set-up changes {path:?}, which is part of the project: change other files"
        )));
    }
    let made = git.must(&["ls-files", "-z", "--others", "--exclude-standard", "--directory"], b"").await?;
    let ignored = ignore_lines(&made).map_err(Trouble::Instance)?;
    let path = format!("{}/.git/info/exclude", git.folder());
    Ok(sandbox.write(&path, 0o644, sandbox.profile().user.value, ignored.as_bytes()).await?)
}

/// Lines of an ignore file that fit exactly these paths, which are separated by NUL.
fn ignore_lines(paths: &[u8]) -> Result<String, String> {
    let mut lines = String::new();
    for path in paths.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let path = std::str::from_utf8(path)
            .map_err(|_| "the set-up makes a file whose name is no UTF-8: rename it".to_owned())?;
        if path.contains('\n') {
            return Err(format!("the set-up makes a file with a line end in its name, rename it: {path:?}"));
        }
        lines.push('/');
        for letter in path.chars() {
            if matches!(letter, '*' | '?' | '[' | '\\' | ' ') {
                lines.push('\\');
            }
            lines.push(letter);
        }
        lines.push('\n');
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::ignore_lines;

    #[test]
    fn made_files_are_ignored_by_their_exact_names() {
        assert_eq!(ignore_lines(b"build/\0a b*.txt\0"), Ok("/build/\n/a\\ b\\*.txt\n".to_owned()));
        assert_eq!(ignore_lines(b""), Ok(String::new()));
        assert!(ignore_lines(b"a\nb\0").is_err());
    }
}
