//! Commands under a watcher: nothing that they or their descendants run or open goes unseen, and nobody shakes it off.

use std::collections::BTreeSet;

use palestra_sandbox::watch::{Ran, Record, WatchEvent};
use palestra_sandbox::{Command, Output, Sandbox};

use crate::world::{World, shell};

async fn watched(sandbox: &Sandbox, line: &str) -> Output {
    let mut command = Command::shell(line).folder("/home/agent");
    command.watch = true;
    sandbox.exec(&command).await.expect("an end")
}

/// Base names of what was opened for reading and writing.
fn opened(record: &Record) -> BTreeSet<String> {
    let paths = record.sights.iter().filter_map(|sight| match sight {
        WatchEvent::Opened(opened) => opened.path.rsplit('/').next(),
        _ => None,
    });
    paths.map(str::to_owned).collect()
}

fn ran(record: &Record) -> Vec<String> {
    let lines = record.sights.iter().filter_map(|sight| match sight {
        WatchEvent::Ran(ran) => Some(ran.argv.join(" ")),
        _ => None,
    });
    lines.collect()
}

/// True if commands can be watched here. Where there is one user id alone nobody may trace, and the record says so of every command.
async fn is_seen(sandbox: &Sandbox) -> bool {
    if sandbox.isolation().lines["uid"].enforced {
        return true;
    }
    let output = watched(sandbox, "echo runs").await;
    let blind = output.record.closing.and_then(|closing| closing.blind);
    assert!(blind.is_some_and(|why| why.contains("cannot be traced")), "what nobody watches is said");
    assert_eq!(output.stdout, b"runs\n");
    false
}

pub(crate) async fn programs_and_files_of_a_watched_command_are_reported(world: &World) {
    let sandbox = world.terminal().await;
    if !is_seen(&sandbox).await {
        return sandbox.destroy(false).await;
    }
    shell(
        &sandbox,
        "cd /home/agent; echo one > a.txt; ln -s a.txt b.txt; ln -s /etc/passwd c.txt; echo 'echo script' > s",
    )
    .await;
    let output = watched(&sandbox, "cat b.txt c.txt > d.txt; sh s; mv d.txt e.txt; (exit 3)").await;
    assert_eq!((output.exited.code, output.text().as_str()), (Some(3), "script\n"));
    let closing = output.record.closing.clone().expect("a closing");
    assert_eq!((closing.blind.as_deref(), closing.dropped, closing.left, closing.refused), (None, 0, 0, 0));
    let seen = opened(&output.record);
    for file in ["a.txt", "d.txt", "passwd", "s"] {
        assert!(seen.contains(file), "{file}: {seen:?}");
    }
    assert!(!seen.iter().any(|file| file.contains(".so")), "what is the image's is not told: {seen:?}");
    let lines = ran(&output.record);
    assert!(lines.contains(&"cat b.txt c.txt".to_owned()) && lines.contains(&"sh s".to_owned()), "{lines:?}");
    let placed = output
        .record
        .sights
        .iter()
        .any(|sight| matches!(sight, WatchEvent::Placed { path, of, .. } if path == "/home/agent/e.txt" && of.as_deref() == Some("/home/agent/d.txt")));
    assert!(placed, "{:?}", output.record);
    let links = output.record.sights.iter().any(|sight| matches!(sight, WatchEvent::Opened(opened) if opened.path == "/etc/passwd" && opened.links == ["/home/agent/c.txt"]));
    assert!(links, "{:?}", output.record);
    sandbox.destroy(false).await;
}

pub(crate) async fn missing_files_and_targets_of_a_watched_command_are_reported(world: &World) {
    let sandbox = world.terminal().await;
    if !is_seen(&sandbox).await {
        return sandbox.destroy(false).await;
    }
    shell(&sandbox, "cd /home/agent; echo x > closed; chmod 000 closed; mkdir shut; echo x > shut/in; chmod 000 shut")
        .await;
    let output = watched(
        &sandbox,
        "./closed; cat closed shut/in missing; sh -c 'kill -0 $PPID; kill -CONT $PPID; kill -CONT $$'; echo x > fifth; exec 3< fifth; chmod 600 fifth",
    )
    .await;
    let sights = &output.record.sights;
    let failed = |name: &str, as_program: bool| {
        let path = format!("/home/agent/{name}");
        sights.iter().any(
            |sight| matches!(sight, WatchEvent::Failed { path: at, runs, .. } if *at == path && *runs == as_program),
        )
    };
    assert!(failed("closed", true) && failed("closed", false) && failed("shut/in", false), "{sights:?}");
    assert!(!failed("missing", false), "what never was is no loss: {sights:?}");
    let reached: Vec<_> = sights.iter().filter(|sight| matches!(sight, WatchEvent::Reached { .. })).collect();
    assert_eq!(reached.len(), 1, "a question is none, nor is a signal to oneself: {reached:?}");
    assert!(matches!(reached[0], WatchEvent::Reached { pid, of } if of.len() == 1 && of[0] != *pid), "{reached:?}");
    sandbox.destroy(false).await;
}

pub(crate) async fn nobody_shakes_a_watcher_off(world: &World) {
    let sandbox = world.terminal().await;
    if !is_seen(&sandbox).await {
        return sandbox.destroy(false).await;
    }
    shell(&sandbox, "cd /home/agent; for i in 1 2 3 4 5 6 7; do echo $i > seen$i; done").await;
    for (line, file) in [
        ("cat seen1", "seen1"),
        ("(setsid sh -c '(cat seen2; :) & wait' & wait)", "seen2"),
        ("sh -c 'sh -c \"cat seen3\" & exec sleep 0.2'; sleep 0.3", "seen3"),
        ("env -i /bin/sh -c 'exec cat seen4'", "seen4"),
        ("nohup sh -c 'cat < seen5' < /dev/null; timeout -s KILL 5 cat seen5", "seen5"),
        ("find . -name seen6 -exec cat {} +; xargs cat < seen6", "seen6"),
    ] {
        let output = watched(&sandbox, line).await;
        let closing = output.record.closing.clone().expect("a closing");
        assert_eq!((closing.blind, closing.dropped), (None, 0), "{line}");
        assert!(opened(&output.record).contains(file), "{line}: {:?}", output.record);
    }
    // What outlives the command is counted, and gone.
    let output = watched(&sandbox, "(setsid sleep 1000 &) ; (setsid sleep 1000 &); true").await;
    assert_eq!(output.record.closing.expect("a closing").left, 2);
    sandbox.kill().await.expect("killed");
    // Nobody ends it, reads it or traces past it.
    let output = watched(&sandbox, "kill -9 -1; kill -9 1; cat seen7").await;
    assert!(output.record.closing.is_some() || output.exited.signal == Some(9), "{output:?}");
    let output = watched(
        &sandbox,
        "for p in /proc/[0-9]*; do cat $p/maps > /dev/null 2>&1 || echo ${p#/proc/}; done; cat seen7",
    )
    .await;
    assert!(output.text().starts_with("1\n"), "the agent is closed: {}", output.text());
    assert!(output.text().lines().count() > 2, "and so is the watcher: {}", output.text());
    assert!(opened(&output.record).contains("seen7"));
    // Nobody takes another parent than its maker, nobody opens with flags that lie in memory, and nobody hears of a child's end
    // before it can be waited for.
    let calls = "perl -e 'use Errno; my $made = syscall(56, 0x8000 | 17, 0, 0, 0, 0); print $made == -1 && $!{EPERM} ? 1 : 0; \
                 my $how = pack(\"QQQ\", 0, 0, 0); my $path = \"/etc/passwd\"; my $opened = syscall(437, -100, $path, $how, 24); print $opened == -1 && $!{ENOSYS} ? 1 : 0; \
                 my $child = syscall(434, $$, 0); print $child == -1 && $!{ENOSYS} ? 1 : 0'";
    if cfg!(target_arch = "x86_64") {
        assert_eq!(watched(&sandbox, calls).await.text(), "111");
    }
    // What a program holds as its parent does is told, and what was opened for it alone is not.
    let output = watched(&sandbox, "bash -c 'exec 5< seen1; cat <&5; cat < seen2; cat seen3'").await;
    let shared: Vec<&String> = output.record.sights.iter().filter_map(program).flat_map(|ran| &ran.shared).collect();
    let holds = |name: &str| shared.iter().any(|path| path.ends_with(name));
    assert!(holds("seen1") && !holds("seen2") && !holds("seen3"), "{:?}", output.record);
    sandbox.destroy(false).await;
}

fn program(sight: &WatchEvent) -> Option<&Ran> {
    match sight {
        WatchEvent::Ran(ran) => Some(ran),
        _ => None,
    }
}

pub(crate) async fn stopped_and_timed_out_commands_are_as_without_a_watcher(world: &World) {
    let sandbox = world.terminal().await;
    let line = "sleep 1000 & p=$!; kill -STOP $p; until grep -q '^State:.[Tt]' /proc/$p/status; do :; done; kill -CONT $p; kill $p; wait $p; echo $?";
    assert_eq!(watched(&sandbox, line).await.text(), "143\n");
    let mut command = Command::shell("sleep 1000 & sleep 1000").wall(std::time::Duration::from_millis(300));
    command.watch = true;
    let output = sandbox.exec(&command).await.expect("an end");
    assert!(output.exited.timed_out, "{output:?}");
    assert_eq!(shell(&sandbox, "while pgrep -x sleep > /dev/null; do :; done; echo gone").await, "gone\n");
    let missing = Command { watch: true, ..Command::new(["/no/such/program"]) };
    assert!(sandbox.exec(&missing).await.is_err());
    sandbox.destroy(false).await;
}
