//! Tests of the isolation and limits of a container, from inside.

use std::sync::Arc;

use palestra_sandbox::wire::{FailureCode, User};
use palestra_sandbox::{Backend as _, Command, Sandbox};

use super::fixture::{Fixture, profile, shell};

async fn text(sandbox: &Sandbox, line: &str) -> String {
    let output = sandbox.exec(&Command { merge: true, ..Command::shell(line) }).await.expect("it ran");
    output.text().trim().to_owned()
}

#[tokio::test]
async fn a_command_sees_the_image_and_nothing_of_the_host() {
    let (Some(fixture), Some(shell)) = (Fixture::find("walls").await, shell()) else { return };
    let sandbox = fixture.start("one", &shell, &Arc::new(profile())).await.expect("started");
    assert_eq!(text(&sandbox, "id -u; pwd; hostname").await, "1000\n/home/agent\nsandbox");
    assert_eq!(text(&sandbox, "cat /proc/self/uid_map | tr -s ' '").await, "0 100000 65536");
    assert_eq!(text(&sandbox, "grep -c . /proc/net/dev").await, "3", "two lines of heading, and loopback");
    assert_eq!(text(&sandbox, "ls /sys /.palestra").await, "/.palestra:\n\n/sys:");
    assert_eq!(
        text(&sandbox, "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | cut -f2 | tr '\\n' ' '")
            .await,
        "0000000000000000 0000000000000000 1 2"
    );
    let mounts = text(&sandbox, "cut -d' ' -f2 /proc/self/mounts").await;
    assert!(
        mounts.lines().all(|mount| mount == "/" || mount.starts_with("/proc") || mount.starts_with("/dev")),
        "{mounts}"
    );
    for refused in
        ["echo 1 > /proc/sys/kernel/panic", "unshare -r true", "mount -t tmpfs x /tmp", "touch /usr/x", "kill -9 1"]
    {
        let output = sandbox.exec(&Command::shell(refused)).await.expect("it ran");
        assert!(!output.success(), "{refused}");
    }
    sandbox.destroy(true).await;
    assert_eq!(fixture.containers(), Vec::<String>::new());
}

#[tokio::test]
async fn a_root_user_inside_is_nobody_outside() {
    let (Some(fixture), Some(shell)) = (Fixture::find("root").await, shell()) else { return };
    let mut root = profile();
    root.user.value = User { uid: 0, gid: 0 };
    let sandbox = fixture.start("one", &shell, &Arc::new(root)).await.expect("started");
    assert_eq!(text(&sandbox, "id -u; touch /etc/made && stat -c %u /etc/made").await, "0\n0");
    for refused in [
        "echo 1 > /proc/sys/kernel/panic",
        "mount -t tmpfs x /mnt",
        "mount -o remount,rw /dev",
        "mknod /tmp/sda b 8 0",
        "chown 7 /etc/made",
        "cat /proc/1/environ",
        "touch /dev/made",
        "umount /proc/sys",
    ] {
        let output = sandbox.exec(&Command::shell(refused)).await.expect("it ran");
        assert!(!output.success(), "{refused}");
    }
    assert_eq!(
        fixture.command(&[
            "inspect",
            "--format",
            "{{.HostConfig.Privileged}} {{.HostConfig.NetworkMode}}",
            &fixture.containers()[0]
        ]),
        "false none"
    );
    sandbox.destroy(true).await;
}

#[tokio::test]
async fn disk_inodes_processes_and_memory_are_bounded() {
    let (Some(fixture), Some(shell)) = (Fixture::find("bounds").await, shell()) else { return };
    let sandbox = fixture.start("one", &shell, &Arc::new(profile())).await.expect("started");
    let filled = text(&sandbox, "head -c 100m /dev/zero > big; stat -c %s big; rm big").await;
    assert!(filled.contains("No space left"), "{filled}");
    let written: u64 = filled.lines().last().and_then(|line| line.parse().ok()).expect("a size");
    assert!(written <= 32 << 20, "{written}");
    let counted =
        text(&sandbox, "i=0; while echo > f$i && [ $i -lt 5000 ]; do i=$((i+1)); done 2>/dev/null; echo $i; rm -f f*")
            .await;
    let files: u64 = counted.lines().last().and_then(|line| line.parse().ok()).expect("a number");
    assert!((1_000..2_000).contains(&files), "{counted}");
    let forks = "for i in $(seq 200); do sleep 60 & done; jobs -p | wc -l";
    let _ = sandbox.exec(&Command { alone: true, ..Command::shell(forks) }).await.expect("it ran");
    let bomb =
        sandbox.exec(&Command::shell("python3 -c 'x = b\"x\" * (1 << 30); print(len(x))'")).await.expect("it ran");
    assert!(!bomb.success(), "{bomb:?}");
    assert_eq!(text(&sandbox, "echo alive").await, "alive");
    let isolation = sandbox.isolation();
    for line in ["user", "net", "memory", "processes", "cpu", "disk", "inodes", "seccomp", "uid", "runtime"] {
        assert!(isolation.lines.get(line).is_some_and(|line| line.enforced), "{line}: {isolation:?}");
    }
    let expected = fixture.docker.examine(&profile()).await.expect("examined");
    assert_eq!(expected.lines.keys().collect::<Vec<_>>(), isolation.lines.keys().collect::<Vec<_>>());
    sandbox.destroy(true).await;
}

#[tokio::test]
async fn changes_are_those_of_the_upper_layer_and_go_into_another_sandbox() {
    let (Some(fixture), Some(shell)) = (Fixture::find("changes").await, shell()) else { return };
    let mut root = profile();
    root.user.value = User { uid: 0, gid: 0 };
    let root = Arc::new(root);
    let one = fixture.start("one", &shell, &root).await.expect("started");
    let done = "rm -r /etc/skel && mkdir /etc/skel && echo new > /etc/skel/new && rm /etc/issue && echo x >> /etc/hosts && mv /usr/share/vim /srv/";
    assert_eq!(text(&one, done).await, "");
    let paths = |changes: Vec<palestra_sandbox::wire::Change>| {
        let changes = changes.into_iter().map(|change| (change.path, change.change));
        // A folder that was made anew, and one that was emptied and filled, hold the same.
        changes.filter(|(path, _)| path != "/etc/skel").collect::<Vec<_>>()
    };
    let changes = paths(one.changes(10_000).await.expect("listed"));
    for path in ["/etc/skel/new", "/etc/issue", "/etc/hosts", "/srv/vim", "/usr/share/vim"] {
        assert!(changes.iter().any(|(other, _)| other == path), "{path} is missing of {changes:?}");
    }
    assert!(changes.iter().all(|(path, _)| !path.starts_with("/proc") && !path.starts_with("/dev")), "{changes:?}");
    let bounds = palestra_sandbox::sandbox::Bounds { bytes_max: 64 << 20, entries_max: 10_000 };
    let (delta, _) = one.delta(bounds, &[]).await.expect("packed");
    let two = fixture.start("two", &shell, &root).await.expect("started");
    two.apply(&delta).await.expect("applied");
    assert_eq!(paths(two.changes(10_000).await.expect("listed")), changes);
    assert_eq!(text(&two, "ls -A /etc/skel; ls /etc/issue /usr/share/vim 2>&1 | wc -l").await, "new\n2");
    assert!(two.read("/etc/issue", 10).await.expect_err("deleted").is(FailureCode::NotFound));
    one.destroy(true).await;
    two.destroy(true).await;
    assert_eq!(fixture.containers(), Vec::<String>::new());
}
