//! From a description to a sandbox in which a task can begin: the layer that all sessions share, and what is each session's own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use palestra_sandbox::sandbox::Bounds;
use palestra_sandbox::wire::User;
use palestra_sandbox::{Command, Sandbox, SandboxError, SandboxSpec};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use super::row::{Scene, Step, StoredFile};
use super::secrets;
use crate::checks::archive::{Artefact, ArtefactKind, Artefacts};
use crate::work::Workbench;
use palestra_state::secrets::Secrets;

/// Most that a layer or the change of a session may hold.
pub(super) const DELTA: Bounds = Bounds { bytes_max: 256 << 20, entries_max: 200_000 };
/// Longest script that sets a session up.
const SETUP: Duration = Duration::from_secs(120);
/// Longest step of a layer.
const STEP: Duration = Duration::from_secs(600);
/// Bytes of `/etc/passwd` that are read.
const PASSWD_BYTES_MAX: u64 = 1 << 20;
/// Characters of an error's output that are told.
const TOLD_MAX: usize = 2_000;

/// The layers that were made, by what they are made of.
#[derive(Clone, Default)]
pub struct Layers(Arc<Mutex<HashMap<String, Arc<OnceCell<String>>>>>);

impl Layers {
    /// The digest of a scene's layer, which is made where it was not yet; `None` where the scene has none. Whoever asks for a layer
    /// that is being made waits for it.
    ///
    /// # Errors
    /// When a step fails, with its place and what it printed.
    pub(super) async fn of(
        &self,
        scene: &Scene,
        want: &SandboxSpec,
        workbench: &Workbench,
    ) -> Result<Option<String>, SandboxError> {
        if scene.layer.is_empty() {
            return Ok(None);
        }
        let image = workbench.sandboxes.images().resolve(&want.image)?.digest.clone();
        let steps = serde_json::to_vec(&scene.layer).map_err(|error| SandboxError::Start(error.to_string()))?;
        let key = format!("{image} {} {}", want.profile, hex::encode(Sha256::digest(steps)));
        let cell = Arc::clone(self.0.lock().entry(key).or_default());
        let digest = cell.get_or_try_init(|| make(scene, want, workbench)).await?;
        Ok(Some(digest.clone()))
    }
}

/// Makes a layer in a sandbox of its own, without network as everywhere.
async fn make(scene: &Scene, want: &SandboxSpec, workbench: &Workbench) -> Result<String, SandboxError> {
    let sandbox = workbench.sandboxes.take(want).await?;
    let made = async {
        for step in &scene.layer {
            carry_out(step, &sandbox).await?;
        }
        sandbox.kill().await?;
        let (delta, _) = sandbox.delta(DELTA, &[]).await?;
        keep(workbench, delta).await
    };
    let made = made.await;
    sandbox.destroy(true).await;
    made
}

async fn carry_out(step: &Step, sandbox: &Sandbox) -> Result<(), SandboxError> {
    match step {
        Step::Files { files, user } => {
            let user = user_of(sandbox, Some(user)).await?;
            lay_out(sandbox, files, user, &BTreeMap::new()).await
        }
        Step::Folder { path, user } => {
            let user = user_of(sandbox, Some(user)).await?;
            make_folder(sandbox, path, user).await
        }
        Step::Run { argv, user, folder, env, place } => {
            let mut command = Command::new(argv).folder(folder).wall(STEP).user(user_of(sandbox, Some(user)).await?);
            command.env = env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            command.merge = true;
            command.alone = true;
            let output = sandbox.exec(&command).await?;
            if output.success() {
                return Ok(());
            }
            let ended = match output.exited.code {
                Some(code) => format!("returned {code}"),
                None if output.exited.timed_out => format!("took more than {} s", STEP.as_secs()),
                None => "was killed".to_owned(),
            };
            Err(SandboxError::Start(format!("{place}: {ended} (there is no network): {}", excerpt(&output.stdout))))
        }
        Step::Packages { names, kind, place } => {
            let mut command = match kind.as_str() {
                "python" => Command::new(["python3", "-c", PYTHON_PACKAGES]),
                _ => Command::new(["sh", "-c", DEBIAN_PACKAGES, "sh"]),
            };
            command.argv.extend(names.iter().cloned());
            command.merge = true;
            let output = sandbox.exec(&command).await?;
            if output.success() {
                return Ok(());
            }
            let image = &sandbox.image().name;
            Err(SandboxError::Start(format!(
                "{place}: the image {image} lacks {}, and there is no network to install it",
                excerpt(&output.stdout).trim().replace('\n', ", ")
            )))
        }
    }
}

/// Prints the names of packages that are not installed.
const DEBIAN_PACKAGES: &str = r#"missing=0
for name; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2> /dev/null)" = installed ] && continue
  dpkg-query -W -f '${db:Status-Status} ${Provides}\n' 2> /dev/null | grep -qE "^installed .*\b$name\b" && continue
  printf '%s\n' "$name"; missing=1
done
exit $missing"#;

/// The same for packages of Python, with versions where they are pinned.
const PYTHON_PACKAGES: &str = r#"import re, sys
from importlib import metadata
missing = []
for wanted in sys.argv[1:]:
    name, _, pin = re.sub(r"\[.*?\]", "", wanted).partition("==")
    name = re.split(r"[<>=!~;]", name)[0].strip()
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        missing.append(wanted)
        continue
    if pin and found != pin.strip():
        missing.append(f"{wanted} (it has {found})")
print("\n".join(missing))
sys.exit(bool(missing))"#;

/// Lays out files by their absolute paths.
pub(super) async fn lay_out(
    sandbox: &Sandbox,
    files: &[StoredFile],
    user: User,
    secrets: &BTreeMap<String, String>,
) -> Result<(), SandboxError> {
    for file in files {
        let bytes = match &file.text {
            Some(text) => secrets::fill(text, secrets).into_bytes(),
            None => file.bytes().map_err(|why| SandboxError::Start(format!("{}: {why}", file.path)))?,
        };
        sandbox.write(&file.path, file.mode(), user, &bytes).await?;
    }
    Ok(())
}

/// Makes a folder where nothing stands.
pub(super) async fn make_folder(sandbox: &Sandbox, path: &str, user: User) -> Result<(), SandboxError> {
    if path == "/" || sandbox.stat(path).await?.is_some() {
        return Ok(());
    }
    let mut folder = Artefacts::default();
    folder.put(path, Artefact { kind: ArtefactKind::Folder, mode: 0o755 });
    let archive = folder.pack().map_err(|error| SandboxError::Start(error.to_string()))?;
    sandbox.unpack("/", Some(user), &archive, Bounds { bytes_max: 1, entries_max: 256 }).await
}

/// The user of a name or a number (`agent`, `1000`, `1000:1000`), as the sandbox's own `/etc/passwd` says; the profile's where none
/// is named.
pub(super) async fn user_of(sandbox: &Sandbox, user: Option<&str>) -> Result<User, SandboxError> {
    let Some(named) = user else { return Ok(sandbox.profile().user.value) };
    let (name, group) = named.split_once(':').map_or((named, None), |(name, group)| (name, Some(group)));
    let unknown = || SandboxError::Start(format!("there is no user {named:?} in the image"));
    let group = group.map(|group| group.parse::<u32>().map_err(|_| unknown())).transpose()?;
    if name == "root" {
        return Ok(User { uid: 0, gid: group.unwrap_or(0) });
    }
    if let Ok(uid) = name.parse() {
        return Ok(User { uid, gid: group.unwrap_or(uid) });
    }
    let passwd = sandbox.read("/etc/passwd", PASSWD_BYTES_MAX).await?;
    let passwd = String::from_utf8_lossy(&passwd);
    let found = passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [found, _, uid, gid, ..] = fields.as_slice() else { return None };
        (*found == name).then(|| Some(User { uid: uid.parse().ok()?, gid: gid.parse().ok()? }))?
    });
    found.map(|user| User { gid: group.unwrap_or(user.gid), ..user }).ok_or_else(unknown)
}

/// A sandbox where a session begins: the layer applied, files laid out, the script run.
pub(super) async fn begin(
    sandbox: &Sandbox,
    scene: &Scene,
    layer: Option<&[u8]>,
    secrets: Secrets,
) -> Result<(), SandboxError> {
    if let Some(layer) = layer {
        sandbox.apply(layer).await?;
    }
    let user = user_of(sandbox, scene.user.as_deref()).await?;
    make_folder(sandbox, &scene.folder, user).await?;
    let drawn = secrets::draw(&scene.secrets, secrets);
    lay_out(sandbox, &scene.files, user, &drawn).await?;
    let Some(script) = &scene.run else { return Ok(()) };
    let mut command = Command::shell(script).folder(&scene.folder).user(user).wall(SETUP);
    command.env = scene.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    command.env.push(("SEED".to_owned(), secrets::seed(secrets).to_string()));
    command.env.extend(drawn.into_iter().map(|(name, secret)| (name.to_ascii_uppercase(), secret)));
    command.merge = true;
    let output = sandbox.exec(&command).await?;
    if output.success() {
        return Ok(());
    }
    Err(SandboxError::Start(format!("the set-up of the task failed: {}", excerpt(&output.stdout))))
}

/// Keeps bytes by digest.
pub(super) async fn keep(workbench: &Workbench, bytes: Vec<u8>) -> Result<String, SandboxError> {
    let blobs = workbench.blobs.clone();
    let kept = tokio::task::spawn_blocking(move || blobs.put(&bytes)).await;
    let failed = |why: String| SandboxError::Unavailable(format!("evidence cannot be kept: {why}"));
    kept.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
}

/// Bytes by digest.
pub(super) async fn kept(workbench: &Workbench, digest: &str) -> Result<Vec<u8>, SandboxError> {
    let (blobs, name) = (workbench.blobs.clone(), digest.to_owned());
    let failed = |why: String| SandboxError::Unavailable(format!("{digest} cannot be had: {why}"));
    let found = tokio::task::spawn_blocking(move || blobs.get(&name)).await;
    let found = found.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
    let elsewhere = "the evidence is not on this server's disk, it lies below `blobs` in the data folder of the server that wrote it: ask that server, or copy that folder here";
    found.ok_or_else(|| failed(elsewhere.to_owned()))
}

/// The end of what was printed.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let text = super::output::plain(bytes);
    let skipped = text.chars().count().saturating_sub(TOLD_MAX);
    text.chars().skip(skipped).collect()
}
