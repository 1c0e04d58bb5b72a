//! The pool against a back end whose agents only say that they are ready.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use palestra_sandbox::backend::Swept;
use palestra_sandbox::handle::SandboxHandle;
use palestra_sandbox::image::{Image, Images};
use palestra_sandbox::isolation::Isolation;
use palestra_sandbox::link::Link;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::wire::{Event, HEADER_BYTES, Header, Kind, PROTOCOL};
use palestra_sandbox::{Backend, Profile, Sandbox, SandboxError, SandboxSpec, Sandboxes, Start};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::Notify;

const PROFILE: &str = r#"
name = "plain"
description = "For tests of the pool."
user = { value = { uid = 1000, gid = 1000 }, reason = "as good as any" }
memory_bytes = { value = 1, reason = "unused" }
cpu_thousandths = { value = 1, reason = "unused" }
processes = { value = 1, reason = "unused" }
file_bytes = { value = 1, reason = "unused" }
open_files = { value = 1, reason = "unused" }
disk_bytes = { value = 1, reason = "unused" }
disk_inodes = { value = 1, reason = "unused" }
output_bytes = { value = 1, reason = "unused" }
command_ms = { value = 1, reason = "unused" }
start_ms = { value = 5000, reason = "longer than any start here" }
wait_ms = { value = 0, reason = "callers come back" }
network = { value = "none", reason = "unused" }
folders = { value = [], reason = "unused" }
env = { value = [], reason = "unused" }
"#;

/// Counts what it starts; the agents of what it started can be cut off.
#[derive(Default)]
struct Counting {
    started: AtomicUsize,
    destroyed: Arc<AtomicUsize>,
    /// Ends every agent.
    cut: Arc<Notify>,
}

struct Counted(Arc<AtomicUsize>);

#[async_trait]
impl SandboxHandle for Counted {
    async fn ending(&mut self) -> palestra_sandbox::Ending {
        palestra_sandbox::Ending::Unknown("nobody looked".to_owned())
    }

    async fn keep_disk(&mut self, _disk: &str) -> Result<(), SandboxError> {
        Err(SandboxError::Unavailable("there is no disk".to_owned()))
    }

    async fn destroy(&mut self, _with_disk: bool) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Backend for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    async fn examine(&self, _profile: &Profile) -> Result<Isolation, SandboxError> {
        Ok(Isolation::of("counting"))
    }

    async fn fault(&self) -> Option<String> {
        None
    }

    async fn start(&self, start: Start) -> Result<Sandbox, SandboxError> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let (ours, theirs) = tokio::io::duplex(1024);
        let cut = Arc::clone(&self.cut);
        #[expect(clippy::disallowed_methods, reason = "it ends with the pipe, and that with the sandbox")]
        tokio::spawn(async move {
            tokio::select! {
                () = agent(theirs) => {}
                () = cut.notified() => {}
            }
        });
        let (reader, writer) = tokio::io::split(ours);
        let handle = Box::new(Counted(Arc::clone(&self.destroyed)));
        let isolation = Isolation::of("counting");
        let made =
            Sandbox::set_up(Link::new(reader, writer), handle, isolation, start.image, start.profile, Vec::new()).await;
        made.map_err(|(error, _)| error)
    }

    async fn sweep(&self, _keep: &BTreeSet<String>) -> Result<Swept, SandboxError> {
        Ok(Swept::default())
    }
}

/// Answers the first request and then listens for ever.
async fn agent(mut pipe: DuplexStream) {
    let mut header = [0; HEADER_BYTES];
    while pipe.read_exact(&mut header).await.is_ok() {
        let Header { length, stream, .. } = Header::decode(header).expect("a frame");
        let mut body = vec![0; length];
        pipe.read_exact(&mut body).await.expect("a body");
        let ready = Event::Ready { protocol: PROTOCOL, other_uid: true, seccomp: true };
        let body = serde_json::to_vec(&ready).expect("JSON");
        let header = Header { length: body.len(), stream, kind: Kind::Event };
        pipe.write_all(&header.encode()).await.expect("written");
        pipe.write_all(&body).await.expect("written");
    }
}

struct World {
    backend: Arc<Counting>,
    sandboxes: Sandboxes,
    _images: TempDir,
}

fn world(sandboxes_max: usize, warm_min: usize) -> World {
    let images = tempfile::tempdir().expect("a folder");
    for name in ["one", "two"] {
        let image = Image {
            name: name.to_owned(),
            digest: format!("sha256:{name}"),
            env: Vec::new(),
            folder: "/".to_owned(),
            root: None,
        };
        std::fs::create_dir(images.path().join(name)).expect("a folder");
        let text = serde_json::to_string(&image).expect("JSON");
        std::fs::write(images.path().join(name).join("image.json"), text).expect("an image");
    }
    let backend = Arc::new(Counting::default());
    let profiles = BTreeMap::from([("plain".to_owned(), Profile::parse(PROFILE).expect("a profile"))]);
    let backends: Vec<Arc<dyn Backend>> = vec![Arc::clone(&backend) as Arc<dyn Backend>];
    let bounds = Bounds { sandboxes_max, warm_min };
    World {
        sandboxes: Sandboxes::new(backends, Images::new(images.path()), profiles, bounds),
        backend,
        _images: images,
    }
}

fn want(image: &str) -> SandboxSpec {
    SandboxSpec::new(None, image, "plain")
}

/// Waits until something holds that a task brings about.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let patience = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), patience).await.unwrap_or_else(|_| panic!("never: {what}"));
}

#[tokio::test]
async fn warm_sandboxes_are_started_beside_those_who_take_and_each_sandbox_is_handed_out_once() {
    let World { backend, sandboxes, _images } = world(10, 2);
    let first = sandboxes.take(&want("one")).await.expect("a sandbox");
    until("two warm ones", || sandboxes.open() == 3).await;
    let second = sandboxes.take(&want("one")).await.expect("a warm one");
    until("filled again", || sandboxes.open() == 4).await;
    assert_eq!(backend.started.load(Ordering::SeqCst), 4);
    first.destroy(true).await;
    second.destroy(true).await;
    assert_eq!(sandboxes.open(), 2);
    sandboxes.close().await;
    assert_eq!(sandboxes.open(), 0);
    assert_eq!(backend.destroyed.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn beyond_the_ceiling_callers_are_told_when_to_come_back_and_others_warm_ones_make_way() {
    let World { sandboxes, _images, .. } = world(3, 1);
    let first = sandboxes.take(&want("one")).await.expect("a sandbox");
    until("one warm", || sandboxes.open() == 2).await;
    let second = sandboxes.take(&want("two")).await.expect("a sandbox");
    // The third place may be taken by a warm one of either kind, which makes way.
    let third = sandboxes.take(&want("two")).await.expect("a sandbox");
    until("nothing is started any more", || sandboxes.open() == 3).await;
    let refused = sandboxes.take(&want("one")).await;
    assert!(matches!(refused, Err(SandboxError::Exhausted { retry_after_ms: 1.. })), "{:?}", refused.err());
    third.destroy(true).await;
    drop(second);
    until("a sandbox that was given up frees its place", || sandboxes.open() <= 2).await;
    let again = sandboxes.take(&want("one")).await.expect("a sandbox");
    for sandbox in [first, again] {
        sandbox.destroy(true).await;
    }
    sandboxes.close().await;
    assert_eq!(sandboxes.open(), 0);
}

#[tokio::test]
async fn a_warm_sandbox_whose_agent_died_is_never_handed_out() {
    let World { backend, sandboxes, _images } = world(10, 1);
    let first = sandboxes.take(&want("one")).await.expect("a sandbox");
    until("one warm", || sandboxes.open() == 2).await;
    backend.cut.notify_waiters();
    until("the first is lost", || first.lost().is_some()).await;
    let second = sandboxes.take(&want("one")).await.expect("a sandbox");
    assert!(second.lost().is_none());
    assert!(backend.started.load(Ordering::SeqCst) >= 3);
    sandboxes.close().await;
}

#[tokio::test]
async fn missing_back_ends_images_and_profiles_are_named() {
    let World { sandboxes, _images, .. } = world(1, 0);
    let error = sandboxes.take(&want("three")).await.err().expect("refused").to_string();
    assert!(error.contains("palestra images build three"), "{error}");
    let odd = SandboxSpec { profile: "odd".to_owned(), ..want("one") };
    assert!(matches!(sandboxes.take(&odd).await, Err(SandboxError::Unavailable(_))));
    let elsewhere = SandboxSpec { backend: Some("moon".to_owned()), ..want("one") };
    assert!(matches!(sandboxes.take(&elsewhere).await, Err(SandboxError::Unavailable(_))));
    assert!(matches!(sandboxes.take(&want("../one")).await, Err(SandboxError::Unavailable(_))));
}
