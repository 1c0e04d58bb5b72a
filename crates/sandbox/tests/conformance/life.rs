//! The life of a sandbox: stopped, killed, typed at, destroyed, lost, gone on with.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use palestra_sandbox::sandbox::{Pipe, PipePiece, PtyPiece};
use palestra_sandbox::{Command, SandboxError};

use crate::world::{Leftovers, World, profile, run, shell};

pub(crate) async fn frozen_processes_do_nothing_until_they_are_thawed(world: &World) {
    let sandbox = world.terminal().await;
    shell(&sandbox, "cd; (setsid sh -c 'while true; do echo x >> ticks; sleep 0.01; done' >/dev/null 2>&1 &)").await;
    shell(&sandbox, "cd; while [ ! -s ticks ]; do sleep 0.01; done").await;
    let ticks = || async { sandbox.read("/home/agent/ticks", 1 << 20).await.expect("read").len() };
    sandbox.freeze().await.expect("frozen");
    let before = ticks().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(ticks().await, before, "nothing runs");
    sandbox.thaw().await.expect("thawed");
    let until = Instant::now() + Duration::from_secs(10);
    while ticks().await == before {
        assert!(Instant::now() < until, "nothing runs again");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    sandbox.destroy(false).await;
}

pub(crate) async fn kill_ends_every_process_and_the_sandbox_stays(world: &World) {
    let sandbox = world.terminal().await;
    shell(&sandbox, "for i in $(seq 20); do (setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000; sleep 1000' >/dev/null 2>&1 &); done").await;
    let long = Command::shell("sleep 1000");
    let running = sandbox.exec(&long);
    let killing = async {
        while sandbox.stats().await.expect("stats").processes < 21 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        sandbox.kill().await
    };
    let (ran, killed) = tokio::join!(running, killing);
    killed.expect("killed");
    assert_eq!(ran.expect("an answer").exited.signal, Some(9));
    assert_eq!(sandbox.stats().await.expect("stats").processes, 0);
    assert_eq!(shell(&sandbox, "echo alive").await, "alive\n");
    sandbox.destroy(false).await;
}

pub(crate) async fn a_terminal_types_resizes_and_ends(world: &World) {
    let sandbox = world.terminal().await;
    let mut pty = sandbox.open_pty(&Command::new(["sh"]), 24, 80).await.expect("a terminal");
    pty.keys.type_bytes(b"tty; stty size; echo ready-$((40 + 2))\n").await.expect("typed");
    let mut seen = until(&mut pty.screen, "ready-42").await;
    assert!(seen.contains("/dev/pts/") && seen.contains("24 80"), "{seen}");
    pty.keys.resize(50, 132).await.expect("resized");
    pty.keys.type_bytes(b"stty size; echo again-$((1 + 1)); sleep 1000\n").await.expect("typed");
    seen = until(&mut pty.screen, "again-2").await;
    assert!(seen.contains("50 132"), "{seen}");
    // An interrupt ends what runs, once it runs.
    while run(&sandbox, "pgrep -c sleep").await.text() != "1\n" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    pty.keys.type_bytes(b"\x03").await.expect("typed");
    pty.keys.type_bytes(b"echo back-$((2 + 1))\n").await.expect("typed");
    until(&mut pty.screen, "back-3").await;
    pty.keys.type_bytes(b"exit 7\n").await.expect("typed");
    loop {
        if let PtyPiece::Exited(exited) = pty.screen.next().await.expect("an end") {
            assert_eq!(exited.code, Some(7));
            break;
        }
    }
    sandbox.destroy(false).await;
}

pub(crate) async fn a_command_with_an_open_input_reads_and_prints_without_a_bound(world: &World) {
    let sandbox = world.terminal().await;
    let command = Command::new(["sh", "-c", "cat; echo over >&2; exit 3"]);
    let Pipe { input, mut output } = sandbox.open_pipe(&command).await.expect("a command");
    // More than every buffer on the way, and than a command's output may be.
    let sent: Vec<u8> = (0..6 << 20).map(|at: u32| u8::try_from(at % 251).expect("a byte")).collect();
    let (mut printed, mut complained) = (Vec::new(), Vec::new());
    let writing = async { input.write(&sent).await.expect("written") };
    let reading = async {
        while printed.len() < sent.len() {
            match output.next().await.expect("output") {
                PipePiece::Output(bytes) => printed.extend(bytes),
                other => panic!("{other:?} after {} bytes", printed.len()),
            }
        }
    };
    let both = async { tokio::join!(writing, reading) };
    tokio::time::timeout(Duration::from_secs(60), both).await.expect("in time");
    assert!(printed == sent, "what came back differs");
    // Others are served meanwhile.
    assert_eq!(shell(&sandbox, "echo beside").await, "beside\n");
    input.end().await.expect("ended");
    let exited = loop {
        match output.next().await.expect("an end") {
            PipePiece::Error(bytes) => complained.extend(bytes),
            PipePiece::Exited(exited) => break exited,
            PipePiece::Output(bytes) => panic!("{bytes:?}"),
        }
    };
    assert_eq!((exited.code, complained.as_slice()), (Some(3), b"over\n".as_slice()));
    sandbox.destroy(false).await;
}

pub(crate) async fn a_command_that_ends_without_reading_holds_nobody_up(world: &World) {
    let sandbox = world.terminal().await;
    let Pipe { input, mut output } = sandbox.open_pipe(&Command::new(["sleep", "0.2"])).await.expect("a command");
    let flood = vec![b'x'; 4 << 20];
    input.write(&flood).await.expect("taken or dropped");
    let ended = async { while !matches!(output.next().await.expect("an end"), PipePiece::Exited(_)) {} };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("in time");
    assert_eq!(shell(&sandbox, "echo on").await, "on\n");
    sandbox.destroy(false).await;
}

/// Output up to these words.
async fn until(screen: &mut palestra_sandbox::sandbox::Screen, words: &str) -> String {
    let reading = async {
        let mut seen = String::new();
        while !seen.contains(words) {
            match screen.next().await.expect("output") {
                PtyPiece::Output(bytes) => seen.push_str(&String::from_utf8_lossy(&bytes)),
                PtyPiece::Exited(exited) => panic!("it ended with {exited:?} after {seen:?}"),
            }
        }
        seen
    };
    let read = tokio::time::timeout(Duration::from_secs(20), reading).await;
    read.unwrap_or_else(|_| panic!("{words} did not come"))
}

pub(crate) async fn resource_usage_is_reported(world: &World) {
    let sandbox = world.terminal().await;
    shell(&sandbox, "sleep 1000 & sleep 1000 & head -c 5M /dev/urandom > /home/agent/file").await;
    let stats = sandbox.stats().await.expect("stats");
    assert_eq!(stats.processes, 2);
    assert!(stats.disk_used_bytes >= 5 << 20 && stats.disk_bytes >= stats.disk_used_bytes, "{stats:?}");
    assert!(stats.inodes_used > 0 && stats.inodes >= stats.inodes_used, "{stats:?}");
    sandbox.destroy(false).await;
}

pub(crate) async fn nothing_is_left_of_what_was_destroyed(world: &World) {
    let sandbox = world.terminal().await;
    shell(&sandbox, "for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM; sleep 1000' >/dev/null 2>&1 &); done").await;
    assert_ne!(world.left(), Leftovers::default(), "a running sandbox is seen");
    let begun = Instant::now();
    sandbox.destroy(false).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // At once, not later.
    assert_eq!(world.left(), Leftovers::default());
    let lost = sandbox.exec(&Command::new(["true"])).await.expect_err("it is gone");
    assert!(matches!(lost, SandboxError::Lost(_)), "{lost:?}");
    sandbox.destroy(false).await;
}

pub(crate) async fn nothing_is_left_of_what_was_dropped(world: &World) {
    let sandbox = world.terminal().await;
    shell(&sandbox, "sleep 1000 &").await;
    drop(sandbox);
    world.nothing_is_left().await;
}

pub(crate) async fn nothing_is_left_of_a_start_that_fails(world: &World) {
    let mut never = profile("terminal");
    never.start_ms.value = 0;
    for disk in [None, Some("never").filter(|_| world.keeps_disks)] {
        let failed = world.on_disk(never.clone(), disk).await.map(|_| ()).expect_err("there was no time");
        assert!(matches!(failed, SandboxError::Start(_) | SandboxError::Lost(_)), "{failed:?}");
        world.nothing_is_left().await;
    }
    // A start that is given up on the way.
    for after in [1, 5, 20] {
        let given_up = tokio::time::timeout(Duration::from_millis(after), world.start(profile("terminal"))).await;
        if let Ok(Ok(sandbox)) = given_up {
            sandbox.destroy(false).await;
        }
    }
    world.nothing_is_left().await;
}

pub(crate) async fn twenty_start_and_work_at_once(world: &World) {
    let one = |number: usize| async move {
        let sandbox = world.terminal().await;
        let line = format!("echo {number} > /home/agent/number; cat /home/agent/number; ls /home/agent | wc -l");
        assert_eq!(shell(&sandbox, &line).await, format!("{number}\n1\n"), "each has its own files");
        sandbox
    };
    let begun = Instant::now();
    let sandboxes = futures::future::join_all((0..20).map(one)).await;
    println!("twenty started and worked in {:?}", begun.elapsed());
    assert_eq!(shell(&sandboxes[0], "pgrep -c . || true").await.trim().len(), 1, "each sees its own processes alone");
    futures::future::join_all(sandboxes.iter().map(|sandbox| sandbox.destroy(false))).await;
    assert_eq!(world.left(), Leftovers::default());
}

/// A back end whose disks do not outlive their sandbox refuses to keep one.
async fn keeping_a_disk_is_refused(world: &World) {
    let sandbox = world.terminal().await;
    let refused = sandbox.keep_disk("kept").await.expect_err("it cannot be kept");
    assert!(refused.to_string().contains("use the local back end"), "{refused}");
    sandbox.destroy(false).await;
    let refused = world.on_disk(profile("terminal"), Some("kept")).await.map(|_| ()).expect_err("there is none");
    assert!(refused.to_string().contains("cannot be kept"), "{refused}");
    assert_eq!(world.left(), Leftovers::default());
}

pub(crate) async fn a_disk_is_kept_and_gone_on_with(world: &World) {
    if !world.keeps_disks {
        return keeping_a_disk_is_refused(world).await;
    }
    let sandbox = world.terminal().await;
    shell(&sandbox, "echo first > /home/agent/file; rm /etc/nothing 2>/dev/null; true").await;
    sandbox.keep_disk("kept").await.expect("kept");
    shell(&sandbox, "echo second >> /home/agent/file").await;
    sandbox.destroy(false).await;
    assert_eq!(world.left(), Leftovers { disks: vec!["kept".to_owned()], ..Leftovers::default() });
    let again = world.on_disk(profile("terminal"), Some("kept")).await.expect("a sandbox");
    assert_eq!(shell(&again, "cat /home/agent/file").await, "first\nsecond\n");
    let changes = again.changes(100).await.expect("changes");
    assert!(changes.iter().any(|change| change.path == "/home/agent/file"), "{changes:?}");
    again.destroy(true).await;
    assert_eq!(world.left(), Leftovers::default());
}

pub(crate) async fn a_disk_is_used_once_at_a_time(world: &World) {
    if !world.keeps_disks {
        return keeping_a_disk_is_refused(world).await;
    }
    let one = world.on_disk(profile("terminal"), Some("disk")).await.expect("a sandbox");
    let refused = world.on_disk(profile("terminal"), Some("disk")).await.map(|_| ()).expect_err("it is in use");
    assert!(refused.to_string().contains("in use"), "{refused}");
    let other = world.terminal().await;
    let refused = other.keep_disk("disk").await.expect_err("the name is taken");
    assert!(refused.to_string().contains("in use"), "{refused}");
    for name in ["", "../x", "a/b", "~1", "."] {
        assert!(world.on_disk(profile("terminal"), Some(name)).await.is_err(), "{name:?} is no name");
    }
    other.destroy(false).await;
    one.destroy(true).await;
}

pub(crate) async fn sweeping_removes_disks_that_nobody_keeps(world: &World) {
    if !world.keeps_disks {
        return keeping_a_disk_is_refused(world).await;
    }
    for name in ["kept", "left"] {
        let sandbox = world.on_disk(profile("terminal"), Some(name)).await.expect("a sandbox");
        let closed = sandbox.exec(&Command::shell("mkdir -p /tmp/a/b; chmod 0 /tmp/a")).await;
        // Where the disk is watched instead of bounded, a folder that cannot be measured ends its sandbox.
        let ended = matches!(closed, Err(SandboxError::Lost(_))) && !sandbox.isolation().lines["disk"].enforced;
        assert!(ended || closed.as_ref().is_ok_and(palestra_sandbox::Output::success), "{closed:?}");
        sandbox.destroy(false).await;
    }
    let used = world.on_disk(profile("terminal"), Some("used")).await.expect("a sandbox");
    let swept = world.backend.sweep(&BTreeSet::from(["kept".to_owned()])).await.expect("swept");
    assert_eq!(swept.disks, 1, "what is kept and what is in use stays");
    assert_eq!(shell(&used, "echo alive").await, "alive\n");
    used.destroy(true).await;
    let swept = world.backend.sweep(&BTreeSet::new()).await.expect("swept");
    assert_eq!(swept.disks, 1);
}

pub(crate) async fn a_lost_agent_is_said_and_nothing_is_left(world: &World) {
    let sandbox = world.terminal().await;
    let command = Command::shell("sleep 1000");
    let running = sandbox.exec(&command);
    let killing = async {
        while sandbox.stats().await.expect("stats").processes == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        world.kill_agents();
    };
    let (ran, ()) = tokio::join!(running, killing);
    assert!(matches!(ran, Err(SandboxError::Lost(_))), "{ran:?}");
    assert!(sandbox.lost().is_some());
    // Whoever acts inside has no part in it.
    let ending = sandbox.ending().await;
    assert!(matches!(ending, palestra_sandbox::Ending::Host(_)), "{ending:?}");
    sandbox.destroy(false).await;
    world.nothing_is_left().await;
}

pub(crate) async fn isolation_is_reported_line_by_line(world: &World) {
    let sandbox = world.terminal().await;
    let isolation = sandbox.isolation();
    assert_eq!(isolation.backend, world.backend.name());
    let lines: Vec<&str> = isolation.lines.keys().map(String::as_str).collect();
    let expected = [
        "capabilities",
        "cgroup",
        "cpu",
        "disk",
        "file_bytes",
        "inodes",
        "ipc",
        "memory",
        "mount",
        "net",
        "no_new_privileges",
        "open_files",
        "pid",
        "processes",
        "root",
        "seccomp",
        "uid",
        "user",
        "uts",
    ];
    for line in expected {
        assert!(lines.contains(&line), "nothing is said of {line}");
        assert!(!isolation.lines[line].by.is_empty(), "{line}");
    }
    for (line, enforcement) in &isolation.lines {
        println!("{line:18} {} {}", if enforcement.enforced { "yes" } else { "no " }, enforcement.by);
    }
    // Namespaces are others than ours.
    for (line, file) in
        [("mount", "mnt"), ("pid", "pid"), ("ipc", "ipc"), ("uts", "uts"), ("net", "net"), ("user", "user")]
    {
        let inside = shell(&sandbox, &format!("readlink /proc/self/ns/{file}")).await;
        let ours = std::fs::read_link(format!("/proc/self/ns/{file}")).expect("a link").display().to_string();
        assert_eq!(isolation.lines[line].enforced, inside.trim() != ours, "{line}: {inside}");
    }
    sandbox.destroy(false).await;
}

pub(crate) async fn a_profile_that_requires_what_is_not_in_force_starts_nothing(world: &World) {
    let mut demanding = profile("terminal");
    demanding.require.push("no_such_line".to_owned());
    let refused = world.start(demanding).await.map(|_| ()).expect_err("it is not in force");
    assert!(matches!(&refused, SandboxError::Unenforced { line, .. } if line == "no_such_line"), "{refused:?}");
    world.nothing_is_left().await;
}

pub(crate) async fn starting_and_running_are_quick(world: &World) {
    let (mut starts, mut runs, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    world.terminal().await.destroy(false).await;
    for _ in 0..15 {
        let begun = Instant::now();
        let sandbox = world.terminal().await;
        starts.push(begun.elapsed());
        for _ in 0..20 {
            let begun = Instant::now();
            assert!(run_true(&sandbox).await);
            runs.push(begun.elapsed());
        }
        let begun = Instant::now();
        sandbox.destroy(false).await;
        ends.push(begun.elapsed());
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let (start, exec, end) = (median(&mut starts), median(&mut runs), median(&mut ends));
    println!("{}: start {start:?}, exec of true {exec:?}, destroy {end:?} (medians)", world.backend.name());
    // Far above what it takes, so that only a mistake reaches it.
    assert!(start < Duration::from_secs(5) && exec < Duration::from_secs(1), "start {start:?}, exec {exec:?}");
}

async fn run_true(sandbox: &palestra_sandbox::Sandbox) -> bool {
    sandbox.exec(&Command::new(["true"])).await.expect("an answer").success()
}
