//! Programs that call the kernel where it gives power, as an ordinary user and as uid 0 inside.

use std::time::{Duration, Instant, SystemTime};

use palestra_sandbox::sandbox::Bounds;
use palestra_sandbox::wire::{ChangeKind, User};
use palestra_sandbox::{Command, Output};

use crate::arena::{Arena, HostileSandbox};

crate::on_every_back_end! {
    mounts, namespaces, kernel_interfaces, other_abi, kernel_files, devices, forged_marks, gain, clocks, nameless_program, type_ahead,
}

const ROOT: User = User { uid: 0, gid: 0 };
/// Answers of the filter of system calls.
const FILTERED: &[&str] = &["EPERM", "ENOSYS"];

/// Runs a program as the profile's user, then as uid 0.
async fn as_both(arena: &Arena, name: &str, count: usize, walls: &[&str]) {
    let sandbox = arena.sandbox().await;
    sandbox.tries(name, &[]).await.all_met(count, walls);
    let path = format!("/tmp/{name}");
    let output =
        sandbox.sandbox.exec(&HostileSandbox::command(&path, &[]).user(ROOT)).await.expect("the sandbox answers");
    HostileSandbox::read_tries(&output).all_met(count, walls);
    sandbox.still_works().await;
}

async fn mounts(arena: &Arena) {
    as_both(arena, "mounts", 24, FILTERED).await;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    assert!(!mounts.contains("/tmp/place"), "it reached the host: {mounts}");
}

async fn namespaces(arena: &Arena) {
    let name = || std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let before = name();
    as_both(arena, "namespaces", 35, &["EPERM", "ENOSYS", "EACCES", "EINVAL"]).await;
    assert_eq!(name(), before);
}

async fn kernel_interfaces(arena: &Arena) {
    as_both(arena, "kernel_interfaces", 34, FILTERED).await;
}

async fn other_abi(arena: &Arena) {
    let count = if cfg!(target_arch = "x86_64") { 6 } else { 0 };
    as_both(arena, "other_abi", count, &["EPERM", "ENOSYS", "SIGNAL 31"]).await;
}

async fn kernel_files(arena: &Arena) {
    let values = || {
        ["kernel/core_pattern", "kernel/modprobe", "kernel/pid_max", "vm/overcommit_memory", "fs/file-max"]
            .map(|name| std::fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default())
    };
    let before = values();
    let walls = ["EPERM", "EACCES", "ENOENT", "EROFS", "ENOTDIR", "EIO", "EINVAL", "ENXIO"];
    let sandbox = arena.sandbox().await;
    sandbox.tries("kernel_files", &[]).await.all_met(62, &walls);
    // Some of these are the namespaces' own, and uid 0 inside may set them: they bound nobody else, as the host's values show.
    let output =
        sandbox.sandbox.exec(&HostileSandbox::command("/tmp/kernel_files", &[]).user(ROOT)).await.expect("answers");
    let own = ["write:/proc/sys/kernel/pid_max", "write:/proc/sys/kernel/shmmax"];
    let mut tries = HostileSandbox::read_tries(&output);
    tries.met.retain(|(name, _)| !own.contains(&name.as_str()));
    tries.all_met(60, &walls);
    assert_eq!(values(), before);
}

async fn devices(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let walls = ["EPERM", "EACCES", "ENOENT", "EOPNOTSUPP", "EINVAL", "EROFS", "ENXIO", "ENODEV"];
    sandbox.tries("devices", &[]).await.all_met(18, &walls);
    let output = sandbox.sandbox.exec(&HostileSandbox::command("/tmp/devices", &[]).user(ROOT)).await.expect("answers");
    HostileSandbox::read_tries(&output).all_met(18, &walls);
    let nodes = sandbox.shell("find / -xdev \\( -type b -o -type c \\) 2>/dev/null; true").await;
    assert_eq!(nodes, "", "there are device nodes outside /dev");
    let known = [
        "console", "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout",
        "tty", "urandom", "zero",
    ];
    let there = sandbox.shell("ls /dev").await;
    let more: Vec<&str> = there.lines().filter(|name| !known.contains(name)).collect();
    assert!(more.is_empty(), "more devices than are harmless: {more:?}");
}

/// A mark is refused or means nothing, for the sandbox itself and for those who list what changed.
async fn forged_marks(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let output = sandbox.run("forged_marks", &["/home/agent/marks"]).await;
    assert!(output.success(), "{}", output.text());
    eprintln!("{}", output.text());
    let list = "cd /home/agent/marks && find . | LC_ALL=C sort";
    assert_eq!(sandbox.shell(list).await, ".\n./file\n./folder\n./folder/inner\n./moved\n./part\n");
    assert_eq!(sandbox.shell("cat /home/agent/marks/part; ls -A /home/agent/marks/moved").await, "");
    let changes = sandbox.sandbox.changes(10_000).await.expect("changes");
    let below = changes.iter().filter(|change| change.path.starts_with("/home/agent/marks"));
    assert_eq!(below.filter(|change| change.change == ChangeKind::Added).count(), 6, "{changes:?}");
    assert!(changes.iter().all(|change| change.change != ChangeKind::Deleted), "{changes:?}");
    let bounds = Bounds { bytes_max: 16 << 20, entries_max: 1_000 };
    let (delta, _) = sandbox.sandbox.delta(bounds, &[]).await.expect("a delta");
    let other = arena.sandbox().await;
    other.sandbox.apply(&delta).await.expect("applied");
    assert_eq!(other.shell(list).await, sandbox.shell(list).await);
}

async fn gain(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("gain").await;
    // One that uid 0 owns and that is set-uid and set-gid, as the back end itself could be made to place it.
    let bytes = sandbox.sandbox.read(&path, 16 << 20).await.expect("read");
    sandbox.sandbox.write("/tmp/owned", 0o6755, ROOT, &bytes).await.expect("written");
    let walls = ["EPERM", "EINVAL", "EACCES"];
    let output = sandbox.exec(&path, &["/tmp/owned"]).await;
    HostileSandbox::read_tries(&output).all_met(15, &walls);
    let output =
        sandbox.sandbox.exec(&HostileSandbox::command(&path, &["/tmp/owned"]).user(ROOT)).await.expect("answers");
    HostileSandbox::read_tries(&output).all_met(15, &walls);
    let found = sandbox.shell("find / -xdev -perm /6000 -type f 2>/dev/null | head -100; true").await;
    for program in found.lines().filter(|line| !line.starts_with("/tmp/")) {
        let output = sandbox.sandbox.exec(&Command::new([program, "--help"]).wall(Duration::from_secs(5))).await;
        eprintln!("set-uid {program}: {:?}", output.map(|output: Output| output.exited.code));
    }
    assert_eq!(sandbox.shell("id -u; grep -c 'CapEff:.0000000000000000' /proc/self/status").await, "1000\n1\n");
}

async fn clocks(arena: &Arena) {
    let (wall, steady) = (SystemTime::now(), Instant::now());
    as_both(arena, "clocks", 7, &["EPERM", "ENOSYS", "ENOENT", "EACCES", "EOPNOTSUPP", "EINVAL"]).await;
    let (wall, steady) = (wall.elapsed().expect("the clock went back"), steady.elapsed());
    assert!(wall.abs_diff(steady) < Duration::from_secs(2), "the host's clock moved by {wall:?} in {steady:?}");
}

async fn nameless_program(arena: &Arena) {
    as_both(arena, "nameless_program", 3, FILTERED).await;
}

/// On a terminal, where typing for others could be tried.
async fn type_ahead(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("type_ahead").await;
    let mut pty = sandbox.sandbox.open_pty(&HostileSandbox::command(&path, &[]), 24, 80).await.expect("a terminal");
    let (mut stdout, exited) = crate::output::all_of(&mut pty).await;
    stdout.retain(|byte| *byte != b'\r');
    let output = Output { exited, stdout, ..Output::default() };
    HostileSandbox::read_tries(&output).all_met(5, &["EPERM", "EIO", "ENOTTY", "EINVAL", "EACCES", "EBUSY"]);
    sandbox.still_works().await;
}
