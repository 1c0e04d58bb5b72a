//! Nothing is left: of sandboxes that are destroyed, given up or not quite started, and of earlier processes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use palestra_sandbox::backend::Swept;
use palestra_sandbox::{Backend as _, SandboxError, Start};

use super::place::{Place, bare, bare_of, connect, profile};

#[tokio::test]
async fn a_sandbox_that_is_given_up_without_a_word_leaves_nothing() {
    let Some(place) = Place::find("given-up").await else { return };
    let image = bare(place.folder.path());
    let sandbox = place.start("one", &image, &Arc::new(profile())).await.expect("started");
    assert_eq!(place.containers().len(), 1);
    drop(sandbox);
    place.emptied().await;
}

#[tokio::test]
async fn a_start_that_is_not_waited_for_leaves_nothing() {
    let Some(place) = Place::find("cancelled").await else { return };
    let image = bare(place.folder.path());
    let profile = Arc::new(profile());
    // The image is copied before, so that the times below fall into the start itself.
    place.start("first", &image, &profile).await.expect("started").destroy(true).await;
    for wait_ms in [1, 5, 20, 60, 120, 200, 300] {
        let id = format!("cut-{wait_ms}");
        let start = place.start(&id, &image, &profile);
        drop(tokio::time::timeout(Duration::from_millis(wait_ms), start).await);
    }
    place.emptied().await;
}

#[tokio::test]
async fn a_start_that_fails_says_why_and_leaves_nothing() {
    let Some(place) = Place::find("failed").await else { return };
    let image = bare(place.folder.path());
    let mut cramped = profile();
    cramped.disk_inodes.value = 2;
    let why = place.start("cramped", &image, &Arc::new(cramped)).await.err().expect("no room").to_string();
    assert!(why.contains("No space left"), "{why}");
    let mut hurried = profile();
    hurried.start_ms.value = 1;
    let why = place.start("hurried", &image, &Arc::new(hurried)).await.err().expect("no time");
    assert!(matches!(why, SandboxError::Start(_)), "{why}");
    let mut demanding = profile();
    demanding.require.push("unheard-of".to_owned());
    let why = place.start("demanding", &image, &Arc::new(demanding)).await.err().expect("refused");
    assert!(matches!(why, SandboxError::Unenforced { .. }), "{why}");
    let on_disk = Start { id: "kept".into(), image, profile: Arc::new(profile()), disk: Some("disk".into()) };
    assert!(matches!(place.docker.start(on_disk).await, Err(SandboxError::Unavailable(_))));
    place.emptied().await;
}

#[tokio::test]
async fn a_volume_that_went_is_filled_again() {
    let Some(place) = Place::find("volume").await else { return };
    let image = bare_of(place.folder.path(), &place.server);
    let profile = Arc::new(profile());
    place.start("one", &image, &profile).await.expect("started").destroy(true).await;
    let label = format!("label=palestra.image={}", image.digest);
    let volume = place.command(&["volume", "ls", "--quiet", "--filter", &label]);
    place.command(&["volume", "rm", &volume]);
    let why = place.start("two", &image, &profile).await.err().expect("nothing to start from").to_string();
    assert!(why.contains("was not copied"), "{why}");
    place.start("three", &image, &profile).await.expect("started").destroy(true).await;
    place.emptied().await;
    place.command(&["volume", "rm", &volume]);
}

#[tokio::test]
async fn a_sweep_removes_what_an_earlier_process_left_and_nothing_else() {
    let Some(place) = Place::find("sweep").await else { return };
    let image = bare(place.folder.path());
    let profile = Arc::new(profile());
    let mut left = Vec::new();
    for id in ["one", "two", "three"] {
        left.push(place.start(id, &image, &profile).await.expect("started"));
    }
    let other = Place::at(&place.host, "sweep-other").await;
    let neighbour = other.start("one", &image, &profile).await.expect("started");
    let now = place.again().await;
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
    assert!(place.containers().is_empty() && other.containers().is_empty());
}

#[tokio::test]
async fn an_engine_that_is_not_there_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    for host in ["unix:///none/docker.sock", "tcp://127.0.0.1:2375"] {
        let why = connect(host, "test", folder.path()).await.err().expect("not there");
        assert!(matches!(&why, SandboxError::Unavailable(words) if words.contains(host)), "{why}");
    }
}
