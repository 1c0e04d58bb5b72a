//! Faults of the machine and the server: whoever acts, none of them is a score. Where the acting side broke its place as well, the
//! control fails too, and there is no score either.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::sync::Arc;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palestra_sandbox::blob::Blobs;
use palestra_sandbox::image::Images;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Local, SandboxError, Sandboxes};
use palestra_state::secrets::Secrets;
use palestra_workbench::blame;
use palestra_workbench::work::{JudgeError, Judgement, Workbench};
use serde_json::Value;

use crate::terminal::row;
use crate::workbench::{self, TestWorkbench, exec, open, small, terminal};

/// A file system of so many bytes, until it is dropped.
struct Mount(PathBuf);

impl Mount {
    /// `None`, with a word, where this user may not mount.
    fn new(path: PathBuf, options: &str) -> Option<Self> {
        std::fs::create_dir_all(&path).expect("a folder");
        let mounted = Program::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(path));
        }
        palestra_test_support::not_tried("the right to mount a file system");
        None
    }

    /// Takes all that is free.
    fn fill(&self) {
        let _ =
            std::io::copy(&mut std::io::repeat(1), &mut std::fs::File::create(self.0.join("filler")).expect("a file"));
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Program::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

/// The evidence of a solved task, and of one whose place was broken so that its judge fails over it.
async fn evidence(test: &TestWorkbench, command: &str) -> Value {
    let mut workspace = open(&terminal(), &row("host"), &test.workbench, "evidence").await;
    exec(&mut *workspace, command).await.expect("alive");
    let evidence = workspace.evidence().await.expect("evidence");
    workspace.close().await;
    evidence
}

async fn judge(workbench: &Workbench, image: &str, evidence: &Value) -> Result<Judgement, JudgeError> {
    blame::judge(&*terminal(), &row(image), Secrets::Seed(7), evidence, workbench).await
}

fn is_infrastructure(found: &Result<Judgement, JudgeError>) {
    println!("{found:?}");
    assert!(matches!(found, Err(JudgeError::Infra(_) | JudgeError::Unavailable(_))), "{found:?}");
}

const SOLVED: &str = "sort in.txt > out.txt; echo sort > tool.sh";

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_killed_from_outside() {
    let test = workbench::local();
    let (work, row) = (terminal(), row("host"));
    let mut workspace = open(&work, &row, &test.workbench, "killed").await;
    exec(&mut *workspace, SOLVED).await.expect("alive");
    let killed = agents(test.folder.path());
    assert!(!killed.is_empty(), "no agent was found");
    for agent in killed {
        let _ = kill(agent, Signal::SIGKILL);
    }
    let lost = exec(&mut *workspace, "true").await.expect_err("no score");
    assert!(matches!(&lost, SandboxError::Lost(why) if why.contains("from outside")), "{lost:?}");
    assert!(workspace.evidence().await.is_err(), "there is nothing to judge");
    workspace.close().await;
    assert_eq!(test.workbench.sandboxes.open(), 0);
}

/// Processes whose program lies in the folder: the agents of this test.
fn agents(folder: &Path) -> Vec<Pid> {
    let folder = folder.canonicalize().expect("a folder");
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let own = |id: &i32| std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe.starts_with(&folder));
    ids.filter(own).map(Pid::from_raw).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_evidence_that_is_full() {
    let test = workbench::local();
    let Some(mount) = Mount::new(test.folder.path().join("small"), "size=64k") else { return };
    let workbench = Workbench { blobs: Blobs::new(mount.0.join("blobs")), ..test.workbench.clone() };
    mount.fill();
    let mut workspace = open(&terminal(), &row("host"), &workbench, "full").await;
    exec(&mut *workspace, SOLVED).await.expect("alive");
    let failed = workspace.evidence().await.expect_err("no evidence");
    assert!(matches!(failed, SandboxError::Unavailable(_)), "{failed:?}");
    workspace.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_that_is_gone() {
    let test = workbench::local();
    let found = evidence(&test, SOLVED).await;
    assert!(judge(&test.workbench, "host", &found).await.is_ok_and(|judgement| judgement.score() >= 1.0));
    std::fs::remove_dir_all(test.folder.path().join("blobs")).expect("removed");
    is_infrastructure(&judge(&test.workbench, "host", &found).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_gone() {
    let test = workbench::local();
    let found = evidence(&test, SOLVED).await;
    let mut gone = row("host");
    gone["judge"]["image"] = "no-such-image".into();
    is_infrastructure(&blame::judge(&*terminal(), &gone, Secrets::Seed(7), &found, &test.workbench).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_root_of_an_image_that_is_removed_while_sessions_run() {
    let Some(images) = std::env::var_os("PALESTRA_IMAGES").map(PathBuf::from) else {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
        return;
    };
    // The folder of images is this test's own, and its entries are links.
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("images");
    std::fs::create_dir(&own).expect("a folder");
    for entry in std::fs::read_dir(&images).expect("images").flatten() {
        symlink(entry.path(), own.join(entry.file_name())).expect("linked");
    }
    let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
    let test = workbench::with(Arc::new(local), Images::new(own.clone()), folder);
    let mut workspace = open(&terminal(), &row("shell"), &test.workbench, "image").await;
    exec(&mut *workspace, "rm -rf ~/work; true").await.expect("alive");
    let found = workspace.evidence().await.expect("evidence");
    std::fs::remove_dir_all(&own).expect("removed");
    is_infrastructure(&judge(&test.workbench, "shell", &found).await);
    workspace.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_disk_of_the_server_that_is_full() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mount) = Mount::new(folder.path().join("small"), "size=64m") else { return };
    let local = Local::new(&mount.0.join("sandbox")).expect("a back end");
    let blobs = Blobs::new(folder.path().join("blobs"));
    let bounds = Bounds { sandboxes_max: 8, warm_min: 0 };
    let sandboxes = Sandboxes::new(vec![Arc::new(local)], Images::new(folder.path().join("images")), small(), bounds);
    let test = TestWorkbench { workbench: Workbench { sandboxes, blobs }, folder };
    let found = evidence(&test, SOLVED).await;
    let mut workspace = open(&terminal(), &row("host"), &test.workbench, "disk").await;
    mount.fill();
    let backend = test.workbench.sandboxes.backend(None).expect("a back end");
    assert!(backend.fault().await.is_some_and(|fault| fault.contains("the disk of the server is full")));
    // What the agent does to its place meanwhile blames nobody.
    for agent in agents(&mount.0) {
        let _ = kill(agent, Signal::SIGKILL);
    }
    let lost = exec(&mut *workspace, "true").await.expect_err("no score");
    assert!(lost.to_string().contains("the disk of the server is full"), "{lost}");
    workspace.close().await;
    // Where judging needs nothing of the disk, the honest score stands.
    match judge(&test.workbench, "host", &found).await {
        Ok(judgement) => assert!(judgement.score() >= 1.0, "{judgement:?}"),
        failed => is_infrastructure(&failed),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_program_that_is_gone() {
    let test = workbench::local();
    let found = evidence(&test, SOLVED).await;
    for entry in std::fs::read_dir(test.folder.path().join("sandbox")).expect("its folder").flatten() {
        if entry.file_name().to_string_lossy().starts_with("agent") {
            std::fs::remove_file(entry.path()).expect("removed");
        }
    }
    is_infrastructure(&judge(&test.workbench, "host", &found).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_room_for_the_sandboxes_of_the_judge() {
    let test = workbench::local();
    let found = evidence(&test, SOLVED).await;
    let local = Local::new(&test.folder.path().join("other")).expect("a back end");
    let mut profiles = small();
    for profile in profiles.values_mut() {
        Arc::make_mut(profile).wait_ms.value = 0;
    }
    let bounds = Bounds { sandboxes_max: 0, warm_min: 0 };
    let images = Images::new(test.folder.path().join("images"));
    let workbench = Workbench {
        sandboxes: Sandboxes::new(vec![Arc::new(local)], images, profiles, bounds),
        ..test.workbench.clone()
    };
    is_infrastructure(&judge(&workbench, "host", &found).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_back_end_at_all() {
    let test = workbench::local();
    let found = evidence(&test, SOLVED).await;
    let none = Sandboxes::none(Images::new(test.folder.path().join("images")));
    is_infrastructure(&judge(&Workbench { sandboxes: none, ..test.workbench.clone() }, "host", &found).await);
}

/// An engine of this test alone.
struct Engine(PathBuf);

impl Engine {
    /// `None`, with a word, where there is none.
    fn start(name: &str) -> Option<(Self, String)> {
        if std::env::var_os("PALESTRA_TEST_DOCKER").is_none() || !nix::unistd::geteuid().is_root() {
            palestra_test_support::not_tried("Docker (PALESTRA_TEST_DOCKER) and root");
            return None;
        }
        let engine = Self(PathBuf::from(format!("/tmp/palestra-{name}-{}", std::process::id())));
        let host = engine.run("start");
        Some((engine, host))
    }

    fn run(&self, what: &str) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/docker");
        let output = Program::new(script).arg(what).arg(&self.0).output().expect("it runs");
        assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.run("stop");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_killed_that_comes_back_and_that_ends_a_container() {
    if std::env::var_os("PALESTRA_IMAGES").is_none() {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
        return;
    }
    let Some((engine, host)) = Engine::start("blame") else { return };
    let test = workbench::docker(&host, "engine").await;
    let (work, row) = (terminal(), row("shell"));
    // Somebody ends one container by hand.
    let mut workspace = open(&work, &row, &test.workbench, "ended").await;
    exec(&mut *workspace, SOLVED).await.expect("alive");
    let found = workspace.evidence().await.expect("evidence");
    let listed = Program::new("docker").args(["--host", &host, "ps", "--quiet"]).output().expect("docker runs");
    for id in String::from_utf8_lossy(&listed.stdout).lines() {
        Program::new("docker").args(["--host", &host, "kill", id]).output().expect("docker runs");
    }
    let lost = exec(&mut *workspace, "true").await.expect_err("no score");
    assert!(matches!(lost, SandboxError::Lost(_)), "{lost:?}");
    println!("{lost}");
    workspace.close().await;
    // The engine is killed under a session, and between a session and its judging.
    let mut gone = open(&work, &row, &test.workbench, "gone").await;
    let mut back = open(&work, &row, &test.workbench, "back").await;
    engine.run("kill");
    let lost = exec(&mut *gone, "true").await.expect_err("no score");
    println!("{lost}");
    is_infrastructure(&blame::judge(&*work, &row, Secrets::Seed(7), &found, &test.workbench).await);
    // It comes back before anybody looks.
    assert_eq!(engine.run("start"), host);
    let lost = exec(&mut *back, "true").await.expect_err("no score");
    println!("{lost}");
    for mut workspace in [gone, back] {
        workspace.close().await;
    }
    let again =
        blame::judge(&*work, &row, Secrets::Seed(7), &found, &test.workbench).await.expect("the engine is back");
    assert!(again.score() >= 1.0, "{again:?}");
}
