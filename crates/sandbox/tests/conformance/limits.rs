//! Limits: what a sandbox takes is bounded, and it goes on after it ran into a bound.

use std::time::Duration;

use palestra_sandbox::{Command, Profile};

use crate::world::{World, profile, run, shell};

/// A profile in which one line is changed.
fn with(change: impl FnOnce(&mut Profile)) -> Profile {
    let mut profile = profile("terminal");
    change(&mut profile);
    profile
}

pub(crate) async fn memory_is_bounded_and_the_sandbox_survives(world: &World) {
    let sandbox = world.start(with(|profile| profile.memory_bytes.value = 128 << 20)).await.expect("a sandbox");
    let output = run(&sandbox, "dd if=/dev/zero of=/dev/null bs=300M count=1").await;
    assert!(!output.success(), "{:?}", output.exited);
    shell(&sandbox, "dd if=/dev/zero of=/dev/null bs=16M count=1").await;
    if world.enforces("memory").await {
        // Together they are bounded too, and so is what lies in shared memory.
        let output = run(&sandbox, "dd if=/dev/zero of=/dev/shm/file bs=1M count=300").await;
        assert!(!output.success(), "{:?}", output.exited);
        shell(&sandbox, "rm -f /dev/shm/file").await;
    }
    sandbox.destroy(false).await;
}

pub(crate) async fn processes_are_bounded_and_the_sandbox_survives(world: &World) {
    let sandbox = world.start(with(|profile| profile.processes.value = 40)).await.expect("a sandbox");
    run(&sandbox, "for i in $(seq 100); do sleep 1000 & done").await;
    let held = sandbox.stats().await.expect("stats").processes;
    assert!((20..=60).contains(&held), "{held} processes");
    sandbox.kill().await.expect("killed");
    assert_eq!(shell(&sandbox, "pgrep -c sleep || true").await, "0\n");
    // A fork bomb keeps every place taken, so that only the agent can end it.
    let bomb = Command::shell("bomb() { bomb | bomb & }; bomb; sleep 100").wall(Duration::from_millis(500));
    let _ = sandbox.exec(&bomb).await;
    sandbox.kill().await.expect("killed");
    assert_eq!(shell(&sandbox, "echo alive").await, "alive\n");
    sandbox.destroy(false).await;
}

pub(crate) async fn the_disk_is_bounded_in_bytes(world: &World) {
    if !world.enforces("disk").await {
        return;
    }
    let sandbox = world.start(with(|profile| profile.disk_bytes.value = 32 << 20)).await.expect("a sandbox");
    shell(&sandbox, "head -c 25M /dev/zero > /home/agent/fits").await;
    let output = run(&sandbox, "head -c 25M /dev/zero > /home/agent/too-much").await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.success() && said.contains("No space left"), "{said}");
    let stats = sandbox.stats().await.expect("stats");
    assert!((30 << 20..80 << 20).contains(&stats.disk_bytes), "{stats:?}");
    assert!(stats.disk_used_bytes >= 25 << 20, "{stats:?}");
    shell(&sandbox, "rm /home/agent/*; head -c 20M /dev/zero > /home/agent/fits-again").await;
    sandbox.destroy(false).await;
}

pub(crate) async fn the_disk_is_bounded_in_files(world: &World) {
    if !world.enforces("inodes").await {
        return;
    }
    let sandbox = world.start(with(|profile| profile.disk_inodes.value = 1_000)).await.expect("a sandbox");
    let output = run(&sandbox, "cd; mkdir many; cd many; seq 1 3000 | xargs touch").await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.success() && said.contains("No space left"), "{said}");
    let made: u64 = shell(&sandbox, "ls /home/agent/many | wc -l").await.trim().parse().expect("a number");
    assert!((800..=1_500).contains(&made), "{made} files");
    shell(&sandbox, "rm -r /home/agent/many; touch /home/agent/one").await;
    sandbox.destroy(false).await;
}

pub(crate) async fn files_and_open_files_are_bounded(world: &World) {
    let few = with(|profile| {
        profile.file_bytes.value = 1 << 20;
        profile.open_files.value = 64;
    });
    let sandbox = world.start(few).await.expect("a sandbox");
    let output = run(&sandbox, "head -c 2M /dev/zero > /tmp/long").await;
    assert!(!output.success());
    assert_eq!(shell(&sandbox, "stat -c %s /tmp/long").await, "1048576\n");
    assert_eq!(shell(&sandbox, "ulimit -n; ulimit -Hn").await, "64\n64\n");
    sandbox.destroy(false).await;
}

pub(crate) async fn the_network_is_loopback_alone(world: &World) {
    let sandbox = world.terminal().await;
    assert_eq!(shell(&sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '").await, "lo\n");
    assert_eq!(shell(&sandbox, "tail -n +2 /proc/net/route | wc -l").await, "0\n", "no way leads out");
    for address in ["10.0.0.1", "169.254.169.254", "192.0.2.1"] {
        let line = format!("timeout 5 bash -c 'exec 3<>/dev/tcp/{address}/80'");
        let output = run(&sandbox, &line).await;
        assert_eq!(output.exited.code, Some(1), "{address}: {output:?}");
    }
    // A connection inside is refused by nobody but the missing listener.
    let output = run(&sandbox, "timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/1'").await;
    assert!(String::from_utf8_lossy(&output.stderr).contains("refused"), "{output:?}");
    sandbox.destroy(false).await;
}

pub(crate) async fn calls_that_make_namespaces_or_mounts_are_refused(world: &World) {
    let sandbox = world.start(profile("root")).await.expect("a sandbox");
    for line in [
        "unshare -U true",
        "unshare -m true",
        "unshare -n true",
        "mount -t tmpfs x /tmp",
        "umount /proc",
        "chroot / true",
    ] {
        let output = run(&sandbox, line).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let refused = ["not permitted", "denied", "superuser"].iter().any(|words| said.contains(words));
        assert!(!output.success() && refused, "{line}: {said}");
    }
    sandbox.destroy(false).await;
}

pub(crate) async fn devices_and_kernel_settings_cannot_be_written(world: &World) {
    let sandbox = world.start(profile("root")).await.expect("a sandbox");
    for line in [
        "mknod /tmp/device c 1 1",
        "echo x > /dev/new",
        "rm /dev/null",
        "echo 0 > /proc/sys/kernel/randomize_va_space",
        "echo b > /proc/sysrq-trigger",
        "cat /dev/mem",
        "date -s 2001-01-01",
        "hostname other",
        "kill -KILL 1",
        "cat /proc/1/environ",
        "cat /proc/1/mem",
        "ls /proc/1/fd/0",
    ] {
        let output = run(&sandbox, line).await;
        let ended = line.starts_with("kill") || !output.success();
        assert!(ended, "{line}: {output:?}");
    }
    assert_eq!(shell(&sandbox, "echo alive").await, "alive\n");
    sandbox.destroy(false).await;
}
