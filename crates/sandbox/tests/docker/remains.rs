//! Nothing is left: of sandboxes that are destroyed, given up or not quite started, and of earlier processes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use palestra_sandbox::backend::Swept;
use palestra_sandbox::{Backend as _, SandboxError, Start};

use super::fixture::{Fixture, bare, bare_of, connect, profile};

#[tokio::test]
async fn a_sandbox_that_is_given_up_without_a_word_leaves_nothing() {
    let Some(fixture) = Fixture::find("given-up").await else { return };
    let image = bare(fixture.folder.path());
    let sandbox = fixture.start("one", &image, &Arc::new(profile())).await.expect("started");
    assert_eq!(fixture.containers().len(), 1);
    drop(sandbox);
    fixture.emptied().await;
}

#[tokio::test]
async fn a_start_that_is_not_waited_for_leaves_nothing() {
    let Some(fixture) = Fixture::find("cancelled").await else { return };
    let image = bare(fixture.folder.path());
    let profile = Arc::new(profile());
    // The image is copied before, so that the times below fall into the start itself.
    fixture.start("first", &image, &profile).await.expect("started").destroy(true).await;
    for wait_ms in [1, 5, 20, 60, 120, 200, 300] {
        let id = format!("cut-{wait_ms}");
        let start = fixture.start(&id, &image, &profile);
        drop(tokio::time::timeout(Duration::from_millis(wait_ms), start).await);
    }
    fixture.emptied().await;
}

#[tokio::test]
async fn a_start_that_fails_says_why_and_leaves_nothing() {
    let Some(fixture) = Fixture::find("failed").await else { return };
    let image = bare(fixture.folder.path());
    let mut cramped = profile();
    cramped.disk_inodes.value = 2;
    let why = fixture.start("cramped", &image, &Arc::new(cramped)).await.err().expect("no room").to_string();
    assert!(why.contains("No space left"), "{why}");
    let mut hurried = profile();
    hurried.start_ms.value = 1;
    let why = fixture.start("hurried", &image, &Arc::new(hurried)).await.err().expect("no time");
    assert!(matches!(why, SandboxError::Start(_)), "{why}");
    let mut demanding = profile();
    demanding.require.push("unheard-of".to_owned());
    let why = fixture.start("demanding", &image, &Arc::new(demanding)).await.err().expect("refused");
    assert!(matches!(why, SandboxError::Unenforced { .. }), "{why}");
    let on_disk = Start { id: "kept".into(), image, profile: Arc::new(profile()), disk: Some("disk".into()) };
    assert!(matches!(fixture.docker.start(on_disk).await, Err(SandboxError::Unavailable(_))));
    fixture.emptied().await;
}

#[tokio::test]
async fn a_volume_that_went_is_filled_again() {
    let Some(fixture) = Fixture::find("volume").await else { return };
    let image = bare_of(fixture.folder.path(), &fixture.server);
    let profile = Arc::new(profile());
    fixture.start("one", &image, &profile).await.expect("started").destroy(true).await;
    let label = format!("label=palestra.image={}", image.digest);
    let volume = fixture.command(&["volume", "ls", "--quiet", "--filter", &label]);
    fixture.command(&["volume", "rm", &volume]);
    let why = fixture.start("two", &image, &profile).await.err().expect("nothing to start from").to_string();
    assert!(why.contains("was not copied"), "{why}");
    fixture.start("three", &image, &profile).await.expect("started").destroy(true).await;
    fixture.emptied().await;
    fixture.command(&["volume", "rm", &volume]);
}

#[tokio::test]
async fn a_sweep_removes_what_an_earlier_process_left_and_nothing_else() {
    let Some(fixture) = Fixture::find("sweep").await else { return };
    let image = bare(fixture.folder.path());
    let profile = Arc::new(profile());
    let mut left = Vec::new();
    for id in ["one", "two", "three"] {
        left.push(fixture.start(id, &image, &profile).await.expect("started"));
    }
    let other = Fixture::at(&fixture.host, "sweep-other").await;
    let neighbour = other.start("one", &image, &profile).await.expect("started");
    let now = fixture.again().await;
    let own = Start { id: "own".into(), image: Arc::clone(&image), profile: Arc::clone(&profile), disk: None };
    let own = now.start(own).await.expect("started");
    assert_eq!(now.sweep(&BTreeSet::new()).await.expect("swept"), Swept { sandboxes: 3, disks: 0 });
    assert_eq!(now.sweep(&BTreeSet::new()).await.expect("swept"), Swept::default());
    for sandbox in left {
        assert!(matches!(sandbox.stats().await, Err(SandboxError::Lost(_))));
        sandbox.destroy(true).await;
    }
    assert!(own.stats().await.is_ok() && neighbour.stats().await.is_ok());
    own.destroy(true).await;
    neighbour.destroy(true).await;
    assert!(fixture.containers().is_empty() && other.containers().is_empty());
}

#[tokio::test]
async fn an_engine_that_is_not_there_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    for host in ["unix:///none/docker.sock", "tcp://127.0.0.1:2375"] {
        let why = connect(host, "test", folder.path()).await.err().expect("not there");
        assert!(matches!(&why, SandboxError::Unavailable(words) if words.contains(host)), "{why}");
    }
}
