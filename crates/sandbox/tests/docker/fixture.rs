//! Fixture of the tests: an engine, images, profiles.

use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::sync::Arc;
use std::time::{Duration, Instant};

use palestra_sandbox::docker::Options;
use palestra_sandbox::image::{Contents, Image, Images, store};
use palestra_sandbox::{Backend as _, Docker, Profile, Sandbox, SandboxError, Start, shipped};
use tempfile::TempDir;

/// An engine with a server id of its own, so that tests do not see each other's containers.
pub(crate) struct Fixture {
    pub(crate) docker: Docker,
    pub(crate) host: String,
    pub(crate) server: String,
    pub(crate) folder: TempDir,
}

impl Fixture {
    /// The engine that the environment names; `None` where it names none.
    pub(crate) async fn find(test: &str) -> Option<Self> {
        let Ok(host) = std::env::var("PALESTRA_TEST_DOCKER") else {
            palestra_test_support::not_tried("Docker (PALESTRA_TEST_DOCKER)");
            return None;
        };
        Some(Self::at(&host, test).await)
    }

    pub(crate) async fn at(host: &str, test: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let server = format!("test-{test}-{}", std::process::id());
        let docker = connect(host, &server, folder.path()).await.expect("an engine");
        Self { docker, host: host.to_owned(), server, folder }
    }

    /// As the server finds it after a start.
    pub(crate) async fn again(&self) -> Docker {
        connect(&self.host, &self.server, self.folder.path()).await.expect("an engine")
    }

    pub(crate) async fn start(
        &self,
        id: &str,
        image: &Arc<Image>,
        profile: &Arc<Profile>,
    ) -> Result<Sandbox, SandboxError> {
        let (image, profile) = (Arc::clone(image), Arc::clone(profile));
        self.docker.start(Start { id: id.to_owned(), image, profile, disk: None }).await
    }

    /// Containers of this place's server, running or not. Those that the engine lists and does not know are left out: when it starts
    /// after a kill, Docker 20.10 lists containers on which it removed itself.
    pub(crate) fn containers(&self) -> Vec<String> {
        let filter = format!("label=palestra.server={}", self.server);
        let listed = self.command(&["ps", "--all", "--quiet", "--filter", &filter]);
        let known = |id: &&str| {
            let inspected = Program::new("docker").args(["--host", &self.host, "inspect", id]).output();
            inspected.expect("docker runs").status.success()
        };
        listed.lines().filter(known).map(str::to_owned).collect()
    }

    /// Waits until nothing is made or removed any more, and no container is left.
    pub(crate) async fn emptied(&self) {
        until(|| self.docker.pending() == 0, || format!("{} pending", self.docker.pending())).await;
        self.no_containers().await;
    }

    /// Waits until no container is left.
    pub(crate) async fn no_containers(&self) {
        until(|| self.containers().is_empty(), || format!("left: {:?}", self.containers())).await;
    }

    /// Output of the command `docker`.
    pub(crate) fn command(&self, arguments: &[&str]) -> String {
        let output = Program::new("docker").args(["--host", &self.host]).args(arguments).output().expect("docker runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

pub(crate) async fn connect(host: &str, server: &str, folder: &Path) -> Result<Docker, SandboxError> {
    let (host, server, folder) = (host.to_owned(), server.to_owned(), folder.to_owned());
    Docker::connect(Options { host, server, folder, runtime: None }).await
}

/// The image `shell`.
pub(crate) fn shell() -> Option<Arc<Image>> {
    let found = std::env::var("PALESTRA_IMAGES").ok().and_then(|folder| Images::new(folder).resolve("shell").ok());
    if found.is_none() {
        palestra_test_support::not_tried("the image shell (PALESTRA_IMAGES)");
    }
    found
}

/// An image without any program, for tests that run none.
pub(crate) fn bare(folder: &Path) -> Arc<Image> {
    bare_of(folder, "bare")
}

/// Another one, of which the engine keeps a copy of its own.
pub(crate) fn bare_of(folder: &Path, origin: &str) -> Arc<Image> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_mode(0o755);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    builder.append_data(&mut header, "etc", std::io::empty()).expect("appended");
    let archive = builder.into_inner().expect("ended");
    let contents = Contents { origin: origin.to_owned(), env: Vec::new(), folder: "/".to_owned() };
    Arc::new(store(&Images::new(folder.join("images")), "bare", &contents, archive.as_slice()).expect("stored"))
}

/// The profile `terminal`, smaller.
pub(crate) fn profile() -> Profile {
    let profiles = shipped::profiles().expect("profiles");
    let mut profile = Profile::clone(profiles.get("terminal").expect("a profile"));
    profile.memory_bytes.value = 128 << 20;
    profile.disk_bytes.value = 32 << 20;
    profile.disk_inodes.value = 2_000;
    profile.processes.value = 64;
    profile
}

/// The root of this repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a workspace").to_owned()
}

/// Waits for half a minute.
pub(crate) async fn until(reached: impl Fn() -> bool, otherwise: impl Fn() -> String) {
    let end = Instant::now() + Duration::from_secs(30);
    while !reached() {
        assert!(Instant::now() < end, "{}", otherwise());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
