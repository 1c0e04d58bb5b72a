//! The pool: contexts are handed out once, rooms come back, and a browser that is killed is replaced.

use std::sync::Arc;
use std::time::{Duration, Instant};

use palestra_browser::{BrowserError, Browsers, Lease, PoolSettings, Settings, Site, find_program};
use palestra_sandbox::image::Images;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Backend as _, Command, Local, Sandboxes, shipped};
use tempfile::TempDir;

use crate::fixture::{Memory, NOW_MS, act};

const PAGE: &str = "<!doctype html><title>Home</title><p id=out></p><script>
    out.textContent = 'stored ' + localStorage.length; localStorage.x = 1;</script>";

struct Pool {
    browsers: Browsers,
    sandboxes: Sandboxes,
    _folder: TempDir,
}

async fn pool(processes_max: usize, contexts_max: usize, warm_min: usize) -> Option<Pool> {
    if find_program().is_none() {
        palestra_test_support::not_tried("a Chromium: install Debian's package chromium-headless-shell");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
    let profiles = shipped::profiles().expect("profiles");
    if let Err(error) = local.examine(&profiles["browser"]).await {
        palestra_test_support::not_tried(format_args!("the local back end: {error}"));
        return None;
    }
    let images = Images::new(folder.path().join("images"));
    let bounds = Bounds { sandboxes_max: 10, warm_min: 0 };
    let sandboxes = Sandboxes::new(vec![Arc::new(local)], images, profiles, bounds);
    let settings = PoolSettings { processes_max, contexts_max, warm_min, ..PoolSettings::default() };
    Some(Pool { browsers: Browsers::new(sandboxes.clone(), settings), sandboxes, _folder: folder })
}

impl Pool {
    async fn lease(&self) -> Result<Lease, BrowserError> {
        let site = Arc::new(Memory::new(&[("/", PAGE)]));
        self.browsers.lease(Settings::new(site as Arc<dyn Site>, NOW_MS, 1)).await
    }

    async fn end(self) {
        self.browsers.close().await;
        assert_eq!(self.sandboxes.open(), 0, "no sandbox is left");
    }
}

async fn clean(lease: &Lease) {
    let seen = act(lease.context(), "goto('http://shop.test/')").await;
    assert!(seen.text.contains("stored 0"), "{}", seen.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contexts_are_handed_out_once_and_their_room_comes_back() {
    let Some(pool) = pool(2, 2, 1).await else { return };
    let mut leases = Vec::new();
    for _ in 0..4 {
        leases.push(pool.lease().await.expect("a context"));
    }
    assert_eq!(pool.sandboxes.open(), 2, "two processes");
    let told = pool.lease().await.err();
    assert!(matches!(told, Some(BrowserError::Busy { .. })), "{told:?}");
    for lease in &leases {
        clean(lease).await;
        assert_eq!(lease.isolation()["lines"]["net"]["enforced"], true, "{}", lease.isolation());
        assert!(lease.isolation()["lines"]["chromium_sandbox"]["by"].is_string());
    }
    for lease in leases.drain(..) {
        lease.end().await;
    }
    // Again and again, each of them clean.
    for _ in 0..4 {
        let begun = Instant::now();
        let lease = pool.lease().await.expect("a context");
        println!("lease: {:?}", begun.elapsed());
        clean(&lease).await;
        lease.end().await;
    }
    pool.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_is_killed_is_replaced() {
    let Some(pool) = pool(2, 1, 0).await else { return };
    let (first, second) = (pool.lease().await.expect("a context"), pool.lease().await.expect("a context"));
    clean(&first).await;
    clean(&second).await;
    let kill = Command::shell("pkill -9 -f -- '[r]emote-debugging-pipe'");
    first.context().chromium().sandbox().exec(&kill).await.expect("killed");
    let reload = palestra_browser::action::parse("reload()").expect("an action");
    let told = tokio::time::timeout(Duration::from_secs(60), first.context().perform(&reload)).await.expect("in time");
    assert!(matches!(told, Err(BrowserError::Gone(_))), "{told:?}");
    let seen = act(second.context(), "reload()").await;
    assert!(seen.text.contains("stored 1"), "the other goes on: {}", seen.text);
    first.end().await;
    let third = pool.lease().await.expect("a context of a new browser");
    clean(&third).await;
    assert_eq!(pool.sandboxes.open(), 2);
    for lease in [second, third] {
        lease.end().await;
    }
    pool.end().await;
}
