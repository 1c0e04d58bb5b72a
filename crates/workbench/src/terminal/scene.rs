//! From a description to a sandbox in which a task can begin: the layer that all sessions share, and what is each session's own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use palestra_sandbox::image::derive;
use palestra_sandbox::sandbox::Bounds;
use palestra_sandbox::wire::CERTIFICATES_INSIDE;
use palestra_sandbox::wire::User;
use palestra_sandbox::{Command, NetworkAllowance, Sandbox, SandboxError, SandboxSpec};
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
/// Most that an image may differ from the one that it is built on.
const IMAGE_DELTA: Bounds = Bounds { bytes_max: 4 << 30, entries_max: 500_000 };
/// The profile of sandboxes in which images are built.
const BUILD: &str = "build";
/// Letters of a built image's name.
const NAME_LENGTH: usize = 16;
/// Words about a step that fails and may have wanted more.
const WITHOUT_NETWORK: &str = " (there is no network: --sandbox-network build gives builds one)";
/// Longest script that sets a session up.
const SETUP: Duration = Duration::from_secs(120);
/// Longest step of a layer.
const STEP: Duration = Duration::from_secs(600);
/// Bytes of `/etc/passwd` that are read.
const PASSWD_BYTES_MAX: u64 = 1 << 20;
/// Characters of an error's output that are told.
const TOLD_MAX: usize = 2_000;
/// Characters of a script that are shown with its failure.
const SCRIPT_SHOWN_MAX: usize = 200;

/// The layers and images that were made, by what they are made of.
#[derive(Clone, Default)]
pub struct Layers(Arc<Mutex<HashMap<String, Arc<OnceCell<String>>>>>);

/// Ground of a scene: an image, and what is laid over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ground {
    /// The image: the scene's own, or one in which its steps are done.
    pub(super) image: String,
    /// Digest of the layer.
    pub(super) layer: Option<String>,
}

impl Layers {
    /// The ground of a scene, made where it was not yet. Where builds have a network, or had one, scenes that run or install something
    /// become images, with `more` done too. Elsewhere their steps become a layer, made without network, and `more` is not done.
    ///
    /// # Errors
    /// When a step fails, with its place and what it printed.
    pub(super) async fn ground(
        &self,
        scene: &Scene,
        more: &[Step],
        backend: Option<String>,
        workbench: &Workbench,
    ) -> Result<Ground, SandboxError> {
        let may_build = workbench.sandboxes.allowance().network >= NetworkAllowance::Build;
        let installs = |step: &&Step| matches!(step, Step::Run { .. } | Step::Packages { .. });
        let mut ground = Ground { image: scene.image.clone(), layer: None };
        let mut steps: Vec<&Step> = scene.layer.iter().collect();
        // An image of its own, also below `more`: steps that were done once more would draw or fetch something else.
        if steps.iter().any(installs)
            && let Some(image) = self.image(&ground.image, &steps, may_build, workbench).await?
        {
            ground.image = image;
            steps.clear();
        }
        let is_layer_left = !steps.is_empty();
        steps.extend(more);
        if more.iter().any(|step| installs(&step))
            && let Some(image) = self.image(&ground.image, &steps, may_build, workbench).await?
        {
            ground.image = image;
        } else if is_layer_left {
            ground.layer = self.of(scene, &spec(scene, backend), workbench).await?;
        }
        Ok(ground)
    }

    /// The digest of a scene's layer, which is made where it was not yet; `None` where the scene has none. Whoever asks for a layer
    /// that is being made waits for it.
    async fn of(
        &self,
        scene: &Scene,
        want: &SandboxSpec,
        workbench: &Workbench,
    ) -> Result<Option<String>, SandboxError> {
        if scene.layer.is_empty() {
            return Ok(None);
        }
        let image = workbench.sandboxes.images().resolve(&want.image)?.digest.clone();
        let key = format!("{image} {} {}", want.profile, digest(&scene.layer)?);
        let cell = Arc::clone(self.0.lock().entry(key).or_default());
        let digest = cell.get_or_try_init(|| make(scene, want, workbench)).await?;
        Ok(Some(digest.clone()))
    }

    /// The image of steps on another one; `None` where it is not there and may not be built. It is named by what it is made of, and
    /// kept with the images of the server, so that tasks can be played after a restart without a network.
    async fn image(
        &self,
        base: &str,
        steps: &[&Step],
        may_build: bool,
        workbench: &Workbench,
    ) -> Result<Option<String>, SandboxError> {
        let images = workbench.sandboxes.images();
        let origin = format!("{} {}", images.resolve(base)?.digest, digest(steps)?);
        let name = format!("task-{}", &hex::encode(Sha256::digest(&origin))[..NAME_LENGTH]);
        if images.resolve(&name).is_ok() {
            return Ok(Some(name));
        }
        if !may_build {
            return Ok(None);
        }
        let cell = Arc::clone(self.0.lock().entry(name.clone()).or_default());
        let made = cell.get_or_try_init(|| async {
            if images.resolve(&name).is_err() {
                build(&name, base, &origin, steps, workbench).await?;
            }
            Ok::<_, SandboxError>(name.clone())
        });
        made.await.cloned().map(Some)
    }
}

/// Kind of sandbox of a scene.
pub(super) fn spec(scene: &Scene, backend: Option<String>) -> SandboxSpec {
    SandboxSpec { demand: scene.demand.clone(), ..SandboxSpec::new(backend, &scene.image, &scene.profile) }
}

fn digest(steps: &(impl serde::Serialize + ?Sized)) -> Result<String, SandboxError> {
    let steps = serde_json::to_vec(steps).map_err(|error| SandboxError::Start(error.to_string()))?;
    Ok(hex::encode(Sha256::digest(steps)))
}

/// Makes an image in a sandbox that has the machine's network.
async fn build(
    name: &str,
    base: &str,
    origin: &str,
    steps: &[&Step],
    workbench: &Workbench,
) -> Result<(), SandboxError> {
    let sandbox = workbench.sandboxes.take(&SandboxSpec::new(None, base, BUILD)).await?;
    let made = async {
        sandbox.write(APT_SETTINGS.0, 0o644, sandbox.profile().user.value, APT_SETTINGS.1).await?;
        for step in steps {
            carry_out(step, &sandbox, Reach::Network).await?;
        }
        let cleaned = sandbox.exec(&Command::shell(CLEAN).folder("/")).await?;
        tracing::debug!(cleaned = cleaned.success(), "packages that were fetched are removed");
        sandbox.kill().await?;
        Ok::<_, SandboxError>(sandbox.delta(IMAGE_DELTA, &[]).await?.0)
    };
    let made = made.await;
    sandbox.destroy(true).await;
    let (delta, images) = (made?, workbench.sandboxes.images().clone());
    let below = images.resolve(base)?;
    let (name, origin) = (name.to_owned(), origin.to_owned());
    let derived = tokio::task::spawn_blocking(move || derive(&images, &name, &below, &origin, &delta)).await;
    let failed = |why: String| SandboxError::Unavailable(format!("the image of the task cannot be kept: {why}"));
    derived.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
    Ok(())
}

/// Makes a layer in a sandbox of its own, without network.
async fn make(scene: &Scene, want: &SandboxSpec, workbench: &Workbench) -> Result<String, SandboxError> {
    let sandbox = workbench.sandboxes.take(want).await?;
    let made = async {
        for step in &scene.layer {
            carry_out(step, &sandbox, Reach::Nothing).await?;
        }
        sandbox.kill().await?;
        let (delta, _) = sandbox.delta(DELTA, &[]).await?;
        keep(workbench, delta).await
    };
    let made = made.await;
    sandbox.destroy(true).await;
    made
}

/// Reach of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Nothing,
    Network,
}

async fn carry_out(step: &Step, sandbox: &Sandbox, reach: Reach) -> Result<(), SandboxError> {
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
            if reach == Reach::Network {
                command.env = reached();
            }
            command.env.extend(env.iter().map(|(name, value)| (name.clone(), value.clone())));
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
            let reach = if reach == Reach::Network { "" } else { WITHOUT_NETWORK };
            Err(SandboxError::Unavailable(format!("{place}: {ended}{reach}: {}", excerpt(&output.stdout))))
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
            let missing = excerpt(&output.stdout);
            if reach == Reach::Network {
                return install(names, kind, place, sandbox).await;
            }
            let image = &sandbox.image().name;
            Err(SandboxError::Unavailable(format!(
                "{place}: the image {image} lacks {}, and there is no network to install it: build an image that has it, or start \
                 the server with --sandbox-network build",
                missing.trim().replace('\n', ", ")
            )))
        }
    }
}

/// Installs packages that are missing.
async fn install(names: &[String], kind: &str, place: &str, sandbox: &Sandbox) -> Result<(), SandboxError> {
    let script = if kind == "python" { INSTALL_PYTHON } else { INSTALL_DEBIAN };
    let mut command = Command::new(["sh", "-ec", script, "sh"]).folder("/").wall(STEP).user(User { uid: 0, gid: 0 });
    command.argv.extend(names.iter().cloned());
    command.env = reached();
    command.merge = true;
    command.alone = true;
    let output = sandbox.exec(&command).await?;
    if output.success() {
        return Ok(());
    }
    let names = names.join(" ");
    Err(SandboxError::Unavailable(format!(
        "{place}: {names} cannot be installed, correct the names or build an image that has them: {}",
        excerpt(&output.stdout)
    )))
}

/// Installs packages of Debian under the names that they have there.
const INSTALL_DEBIAN: &str = "apt-get update -qq
apt-get install -y -qq --no-install-recommends \"$@\"";

/// Installs packages of Python. The system's own are left alone and stand behind.
const INSTALL_PYTHON: &str = "python3 -m pip --version > /dev/null 2>&1 || {
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends python3-pip
}
python3 -m pip install --quiet --no-cache-dir --root-user-action=ignore --break-system-packages \"$@\"";

/// Removes what fetching packages left.
const CLEAN: &str = "rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/apt/archives/*.deb /root/.cache/pip";

/// Settings of apt, whose helper user the sandbox does not need.
const APT_SETTINGS: (&str, &[u8]) = (
    "/etc/apt/apt.conf.d/90palestra",
    b"APT::Sandbox::User \"root\";\nAPT::Install-Recommends \"false\";\nAcquire::Retries \"3\";\n",
);

/// Variables by which programs find proxies, indexes and certificates.
fn reached() -> Vec<(String, String)> {
    let own = FORWARDED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let certificates = CERTIFICATE_VARIABLES.iter().map(|name| ((*name).to_owned(), CERTIFICATES_INSIDE.to_owned()));
    let certificates = certificates.filter(|_| std::path::Path::new("/etc/ssl/certs/ca-certificates.crt").exists());
    own.chain(certificates).collect()
}

/// Variables of the server that builds get too.
const FORWARDED: [&str; 12] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "npm_config_registry",
    "GOPROXY",
];

/// Variables that name a file of certificates.
const CERTIFICATE_VARIABLES: [&str; 7] = [
    "SSL_CERT_FILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "CARGO_HTTP_CAINFO",
];

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
    let script: String = script.trim().chars().take(SCRIPT_SHOWN_MAX).collect();
    Err(SandboxError::SetUp(format!(
        "the set-up of the task failed, correct it: `{script}` printed: {}",
        excerpt(&output.stdout)
    )))
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
