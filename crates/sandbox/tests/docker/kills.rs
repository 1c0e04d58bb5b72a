//! Kills: of the engine with sandboxes open, of an agent, of the connection.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command as Program;
use std::sync::Arc;
use std::time::{Duration, Instant};

use palestra_sandbox::{Backend as _, SandboxError, Start};

use super::fixture::{Fixture, bare, profile, repository, until};

/// An engine of this test alone.
struct Engine(PathBuf);

impl Engine {
    fn run(&self, what: &str) -> String {
        let output =
            Program::new(repository().join("scripts/docker")).arg(what).arg(&self.0).output().expect("it runs");
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
async fn an_engine_that_is_killed_loses_its_sandboxes_at_once_and_leaves_nothing() {
    if std::env::var("PALESTRA_TEST_DOCKER").is_err() || !nix::unistd::geteuid().is_root() {
        palestra_test_support::not_tried("Docker (PALESTRA_TEST_DOCKER) and root");
        return;
    }
    let engine = Engine(PathBuf::from(format!("/tmp/palestra-dk-{}", std::process::id())));
    let host = engine.run("start");
    let fixture = Fixture::at(&host, "killed").await;
    let image = bare(fixture.folder.path());
    let profile = Arc::new(profile());
    let mut open = Vec::new();
    for number in 0..20 {
        open.push(fixture.start(&format!("open-{number}"), &image, &profile).await.expect("started"));
    }
    engine.run("kill");
    let killed = Instant::now();
    for sandbox in &open {
        assert!(matches!(sandbox.stats().await, Err(SandboxError::Lost(_))));
    }
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
    let refused = fixture.start("late", &image, &profile).await;
    assert!(matches!(refused, Err(SandboxError::Unavailable(_))), "{:?}", refused.err());
    // Half are given up while no engine can remove them; the others belong to a server that was killed too.
    let left = open.split_off(10);
    for sandbox in open {
        sandbox.destroy(true).await;
    }
    assert_eq!(engine.run("start"), host);
    let now = fixture.again().await;
    now.sweep(&BTreeSet::new()).await.expect("swept");
    fixture.emptied().await;
    until(|| now.pending() == 0, || format!("{} pending", now.pending())).await;
    drop(left);
    let start = Start { id: "new".into(), image, profile, disk: None };
    now.start(start).await.expect("started").destroy(true).await;
    fixture.emptied().await;
}

#[tokio::test]
async fn a_container_that_is_killed_is_lost_and_gone() {
    let Some(fixture) = Fixture::find("container").await else { return };
    let image = bare(fixture.folder.path());
    let sandbox = fixture.start("one", &image, &Arc::new(profile())).await.expect("started");
    fixture.command(&["kill", &fixture.containers()[0]]);
    assert!(matches!(sandbox.stats().await, Err(SandboxError::Lost(_))));
    fixture.emptied().await;
    sandbox.destroy(true).await;
}

/// The end of a runtime does the same as the death of a server does to its connections: nobody is left who could remove anything.
#[test]
fn a_server_that_dies_takes_its_containers_with_it() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let dying = runtime();
    let Some(fixture) = dying.block_on(Fixture::find("server")) else { return };
    let image = bare(fixture.folder.path());
    let sandbox = dying.block_on(fixture.start("one", &image, &Arc::new(profile()))).expect("started");
    assert_eq!(fixture.containers().len(), 1);
    drop(dying);
    drop(sandbox);
    runtime().block_on(fixture.no_containers());
}
