//! World of a case: a back end, an image, and how to find what is left of sandboxes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palestra_sandbox::image::{Image, Images};
use palestra_sandbox::isolation::Isolation;
use palestra_sandbox::{Backend, Command, Local, Output, Profile, Sandbox, SandboxError, Start, shipped};
use tempfile::TempDir;

/// A back end with what belongs to it.
pub(crate) struct World {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) image: Arc<Image>,
    /// True if disks of this back end can outlive their sandbox.
    pub(crate) keeps_disks: bool,
    /// Leftovers of this world on the machine.
    pub(crate) left: Box<dyn Fn() -> Leftovers + Send + Sync>,
    pub(crate) kill_agents: Box<dyn Fn() + Send + Sync>,
    pub(crate) started: AtomicU64,
    pub(crate) folder: TempDir,
}

/// Leftovers of sandboxes, by kind. Nothing of it should be.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Leftovers {
    pub(crate) processes: Vec<String>,
    pub(crate) mounts: Vec<String>,
    pub(crate) control_groups: Vec<String>,
    pub(crate) loop_devices: Vec<String>,
    pub(crate) disks: Vec<String>,
}

/// The local back end, as root or not, whoever runs the tests.
pub(crate) async fn local() -> Option<World> {
    let folder = tempfile::tempdir().expect("a folder");
    let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
    let profile = profile("terminal");
    if let Err(error) = local.examine(&profile).await {
        palestra_test_support::not_tried(format_args!("the local back end: {error}"));
        return None;
    }
    let image = Images::new(folder.path().join("images")).resolve("host").expect("the host's image");
    let path = folder.path().canonicalize().expect("a path");
    let agents = path.clone();
    Some(World {
        backend: Arc::new(local),
        image,
        keeps_disks: true,
        left: Box::new(move || local_left(&path)),
        kill_agents: Box::new(move || kill_local_agents(&agents)),
        started: AtomicU64::new(0),
        folder,
    })
}

fn kill_local_agents(folder: &Path) {
    for process in local_left(folder).processes {
        let (id, exe) = process.split_once(' ').expect("an id and a program");
        if exe.starts_with(&*folder.to_string_lossy()) {
            let _ = kill(Pid::from_raw(id.parse().expect("an id")), Signal::SIGKILL);
        }
    }
}

/// A shipped profile.
pub(crate) fn profile(name: &str) -> Profile {
    shipped::profiles().expect("profiles")[name].as_ref().clone()
}

impl World {
    /// A sandbox for an ordinary user.
    pub(crate) async fn terminal(&self) -> Sandbox {
        self.start(profile("terminal")).await.expect("a sandbox")
    }

    /// A sandbox of this profile.
    pub(crate) async fn start(&self, profile: Profile) -> Result<Sandbox, SandboxError> {
        self.on_disk(profile, None).await
    }

    /// A sandbox on a disk.
    pub(crate) async fn on_disk(&self, profile: Profile, disk: Option<&str>) -> Result<Sandbox, SandboxError> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number}", std::process::id());
        let start =
            Start { id, image: Arc::clone(&self.image), profile: Arc::new(profile), disk: disk.map(ToOwned::to_owned) };
        self.backend.start(start).await
    }

    /// Where the back end keeps its own.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Isolation that would be in force.
    pub(crate) async fn isolation(&self) -> Isolation {
        self.backend.examine(&profile("terminal")).await.expect("a back end")
    }

    /// True if the kernel enforces a line here; says so where it does not.
    pub(crate) async fn enforces(&self, line: &str) -> bool {
        let enforcement = self.isolation().await.lines.remove(line).expect("a line of every profile");
        if !enforcement.enforced {
            palestra_test_support::not_tried(format_args!("a machine that enforces {line}: {}", enforcement.by));
        }
        enforcement.enforced
    }

    /// Kills the agents of this world's sandboxes from outside.
    pub(crate) fn kill_agents(&self) {
        (self.kill_agents)();
    }

    /// The leftovers.
    pub(crate) fn left(&self) -> Leftovers {
        (self.left)()
    }

    /// Waits until nothing is left, for what is cleaned up in the background.
    pub(crate) async fn nothing_is_left(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        while self.left() != Leftovers::default() && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(self.left(), Leftovers::default());
    }

    /// The end of a case: whatever it did, nothing is left.
    pub(crate) async fn end(self) {
        self.nothing_is_left().await;
        drop(self.backend);
        self.folder.close().expect("the folder can be removed");
    }
}

/// Runs a line of shell that must succeed; answers what it prints.
pub(crate) async fn shell(sandbox: &Sandbox, line: &str) -> String {
    let output = run(sandbox, line).await;
    assert!(output.success(), "{line}: {:?} {}", output.exited, String::from_utf8_lossy(&output.stderr));
    output.text()
}

/// Runs a line of shell.
pub(crate) async fn run(sandbox: &Sandbox, line: &str) -> Output {
    sandbox.exec(&Command::shell(line)).await.expect("an answer")
}

/// Leftovers of the local back end's sandboxes in this folder.
pub(crate) fn local_left(folder: &Path) -> Leftovers {
    let folder = folder.to_string_lossy().into_owned();
    let own = std::process::id().to_string();
    let mut left = Leftovers::default();
    for process in entries("/proc").into_iter().filter(|process| *process != own) {
        let exe = std::fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
        // Bubblewrap itself is known by the image that it was handed.
        let open = entries(&format!("/proc/{process}/fd")).into_iter();
        let open = open.filter_map(|number| std::fs::read_link(format!("/proc/{process}/fd/{number}")).ok());
        if open.chain([exe.clone()]).any(|path| path.to_string_lossy().starts_with(&folder)) {
            left.processes.push(format!("{process} {}", exe.display()));
        }
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    left.mounts = mounts.lines().filter(|line| line.contains(&folder)).map(ToOwned::to_owned).collect();
    for hierarchy in entries("/sys/fs/cgroup") {
        let servers = format!("/sys/fs/cgroup/{hierarchy}/palestra");
        for server in entries(&servers).into_iter().filter(|name| name.split('-').nth(1) == Some(&own)) {
            let groups = entries(&format!("{servers}/{server}")).into_iter();
            let groups = groups.filter(|name| Path::new(&format!("{servers}/{server}/{name}")).is_dir());
            left.control_groups.extend(groups.filter(|name| name.starts_with(&format!("{own}-"))));
        }
    }
    for device in entries("/sys/block") {
        let backing = std::fs::read_to_string(format!("/sys/block/{device}/loop/backing_file")).unwrap_or_default();
        if backing.starts_with(&folder) {
            left.loop_devices.push(backing);
        }
    }
    left.disks = entries(&format!("{folder}/sandbox/disks"));
    left
}

/// Names in a folder; none where there is no such folder.
fn entries(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
