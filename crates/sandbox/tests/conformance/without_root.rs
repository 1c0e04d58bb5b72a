//! The same cases for a server that is not root: this program again, as nobody.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

const NOBODY: u32 = 65_534;

#[test]
fn every_case_holds_without_root() {
    if !nix::unistd::geteuid().is_root() {
        palestra_test_support::not_tried("root, from which it steps down");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).expect("closed");
    chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("given");
    // Where the build folder is closed to others, the program is not.
    let program = folder.path().join("conformance");
    std::fs::copy(std::env::current_exe().expect("this program"), &program).expect("copied");
    chown(&program, Some(NOBODY), Some(NOBODY)).expect("given");
    let ran = Command::new(&program)
        .args(["local::", "without_root::a_watched", "--test-threads=2"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("run");
    let said = format!("{}\n{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    assert!(!said.contains(" 0 passed"), "{said}");
}

/// Limits that the kernel does not enforce are watched.
#[tokio::test(flavor = "multi_thread")]
async fn a_watched_disk_ends_a_sandbox_that_holds_too_much() {
    use crate::world;
    let Some(world) = world::local().await else { return };
    if world.isolation().await.lines["disk"].enforced {
        // The test above runs this one where the disk is watched instead.
        assert!(nix::unistd::geteuid().is_root(), "a server that is not root has to watch");
        world.end().await;
        return;
    }
    let mut small = world::profile("terminal");
    small.disk_bytes.value = 10 << 20;
    let sandbox = world.start(small).await.expect("a sandbox");
    world::shell(&sandbox, "head -c 5M /dev/zero > /home/agent/fits").await;
    let flood = palestra_sandbox::Command::shell("head -c 50M /dev/zero > /home/agent/too-much; sleep 60");
    let lost = sandbox.exec(&flood).await.expect_err("it is ended");
    assert!(matches!(lost, palestra_sandbox::SandboxError::Lost(_)), "{lost:?}");
    let ending = sandbox.ending().await;
    assert!(matches!(ending, palestra_sandbox::Ending::OwnLimit(palestra_sandbox::OwnLimit::Disk, _)), "{ending:?}");
    sandbox.destroy(false).await;
    world.end().await;
}
