//! Starts of the local back end that fail: they say why, and leave nothing.

use std::sync::Arc;

use palestra_sandbox::SandboxError;
use palestra_sandbox::image::Image;

use crate::world;

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_gone_is_named() {
    let Some(mut world) = world::local().await else { return };
    world.image = Arc::new(Image { root: Some("/no/such/image".into()), ..world.image.as_ref().clone() });
    for disk in [None, Some("disk")] {
        let failed = world.on_disk(world::profile("terminal"), disk).await.map(|_| ()).expect_err("there is no image");
        assert!(matches!(&failed, SandboxError::Start(why) if why.contains("/no/such/image")), "{failed:?}");
        // Nor is an empty disk of that name.
        world.nothing_is_left().await;
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_was_not_unpacked_here_is_said() {
    let Some(mut world) = world::local().await else { return };
    world.image = Arc::new(Image { root: None, ..world.image.as_ref().clone() });
    let failed = world.start(world::profile("terminal")).await.map(|_| ()).expect_err("there is no image");
    assert!(matches!(&failed, SandboxError::Unavailable(why) if why.contains("--sandbox docker")), "{failed:?}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_damaged_is_said_and_stays() {
    let Some(world) = world::local().await else { return };
    if !world.enforces("disk").await {
        world.end().await;
        return;
    }
    let sandbox = world.on_disk(world::profile("terminal"), Some("disk")).await.expect("a sandbox");
    sandbox.destroy(false).await;
    let path = world.folder().join("sandbox/disks/disk");
    let length = std::fs::metadata(&path).expect("a disk").len();
    std::fs::write(&path, vec![7; 1 << 20]).expect("damaged");
    std::fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(length)).expect("damaged");
    let failed = world.on_disk(world::profile("terminal"), Some("disk")).await.map(|_| ()).expect_err("it is damaged");
    assert!(matches!(&failed, SandboxError::Start(why) if why.contains("mounting the disk")), "{failed:?}");
    assert_eq!(world.left().disks, ["disk"], "what somebody may want to repair is not removed");
    world.backend.sweep(&std::collections::BTreeSet::new()).await.expect("swept");
    world.end().await;
}
