//! Programs that take all there is: processes, memory, disk, output, descriptors.

use std::time::{Duration, Instant};

use palestra_sandbox::{Command, SandboxError};

use crate::arena::{Arena, DISK, HostileSandbox, INODES, Kind, MEMORY, OUTPUT, PROCESSES};
use crate::census;

crate::on_every_back_end! {
    fork_bomb, thread_bomb, memory_of_one, memory_of_many, memory_of_shared_files, memory_of_nameless_files, memory_of_pipes,
    memory_of_sockets, memory_of_segments, memory_of_messages, memory_locked, disk_of_data, disk_of_inodes, disk_of_folders, disk_of_names, disk_of_attributes, shared_memory_is_bounded,
    output_flood, terminal_flood, open_files, fsync_storm, limits_of_the_user,
}

async fn fork_bomb(arena: &Arena) {
    let neighbour = arena.neighbour().await;
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("fork_bomb").await;
    let bomb = Command { wall: Some(Duration::from_secs(4)), ..HostileSandbox::command(&path, &[]) };
    let count = async {
        let (begun, mut most) = (Instant::now(), 0);
        while begun.elapsed() < Duration::from_secs(3) {
            most = most.max(sandbox.processes_outside());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        most
    };
    let (output, most) = tokio::join!(sandbox.sandbox.exec(&bomb), count);
    let output = output.expect("the sandbox answers");
    assert!(output.exited.timed_out, "{output:?}");
    assert!(output.text().contains("refused fork EAGAIN"), "{output:?}");
    assert!(!output.text().contains("escaped"), "{output:?}");
    assert!(most > 16, "the bomb did not go off: {most} processes");
    // The agent, and what the back end grants for itself.
    assert!(most as u64 <= PROCESSES + 10, "{most} processes");
    sandbox.sandbox.kill().await.expect("killed");
    assert_eq!(sandbox.sandbox.stats().await.expect("stats").processes, 0);
    assert_eq!(sandbox.processes_outside(), 1, "the agent alone is left");
    sandbox.still_works().await;
    neighbour.was_not_disturbed().await;
}

async fn thread_bomb(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    sandbox.tries("thread_bomb", &[]).await.all_met(1, &["EAGAIN", "ENOMEM"]);
    sandbox.still_works().await;
}

/// Runs one kind of memory bomb; answers the most bytes that it held, by its own account.
async fn memory_bomb(arena: &Arena, way: &str) -> u64 {
    let neighbour = arena.neighbour().await;
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("memory_bomb").await;
    let (before, _) = census::memory();
    let output = sandbox.sandbox.exec(&HostileSandbox::command(&path, &[way])).await;
    let held = match &output {
        Ok(output) => {
            let text = output.text();
            let ended = output.exited.signal == Some(9) || output.exited.code.is_some();
            assert!(ended && !output.exited.timed_out, "{output:?}");
            text.lines().filter_map(|line| line.strip_prefix("holds ")).filter_map(|size| size.parse().ok()).max()
        }
        // The kernel may choose the agent: then the sandbox is lost, and nothing else.
        Err(SandboxError::Lost(why)) => {
            eprintln!("the sandbox was lost: {why}");
            None
        }
        Err(other) => panic!("{other}"),
    };
    neighbour.was_not_disturbed().await;
    let (after, _) = census::memory();
    assert!(after < before + (32 << 20), "the server grew from {before} to {after} bytes");
    let held = held.unwrap_or_default();
    eprintln!("{way} held {} MiB", held >> 20);
    // Where buffers of connections are beyond what the back end can bound, it says so.
    let said = sandbox.sandbox.isolation().lines["memory"].by.contains("connections count apart");
    assert!(held <= allowed(arena) + (16 << 20) || (way == "sockets" && said), "{way} held {held} bytes");
    if output.is_ok() {
        sandbox.sandbox.kill().await.expect("killed");
        sandbox.shell("rm -f /dev/shm/bomb-*; echo works").await;
    }
    held
}

/// With an engine, what differs from the image lies in memory too.
fn allowed(arena: &Arena) -> u64 {
    if arena.kind == Kind::Docker { MEMORY + DISK } else { MEMORY }
}

async fn memory_of_one(arena: &Arena) {
    assert!(memory_bomb(arena, "heap").await > 32 << 20);
}

async fn memory_of_many(arena: &Arena) {
    memory_bomb(arena, "children").await;
}

async fn memory_of_shared_files(arena: &Arena) {
    memory_bomb(arena, "shared").await;
}

async fn memory_of_nameless_files(arena: &Arena) {
    memory_bomb(arena, "memfd").await;
}

async fn memory_of_pipes(arena: &Arena) {
    memory_bomb(arena, "pipes").await;
}

async fn memory_of_sockets(arena: &Arena) {
    memory_bomb(arena, "sockets").await;
}

async fn memory_of_segments(arena: &Arena) {
    memory_bomb(arena, "segments").await;
}

async fn memory_of_messages(arena: &Arena) {
    memory_bomb(arena, "messages").await;
}

async fn memory_locked(arena: &Arena) {
    memory_bomb(arena, "mapped").await;
}

/// Fills the disk in one way: the bound holds inside and outside, and what is removed can be used again.
async fn fill_disk(arena: &Arena, what: &str) {
    let neighbour = arena.neighbour().await;
    let sandbox = arena.sandbox().await;
    let before = census::bytes_on_disk(&arena.folder);
    sandbox.tries("disk_filler", &[what, "/home/agent/filled"]).await.all_met(1, &["ENOSPC", "EDQUOT", "EMLINK"]);
    let stats = sandbox.sandbox.stats().await.expect("stats");
    eprintln!("{what}: {stats:?}");
    assert!(stats.disk_bytes <= DISK + DISK / 16 && stats.disk_used_bytes <= stats.disk_bytes, "{stats:?}");
    assert!(stats.inodes <= INODES + 64 && stats.inodes_used <= stats.inodes, "{stats:?}");
    let grown = census::bytes_on_disk(&arena.folder).saturating_sub(before);
    assert!(grown <= DISK + (16 << 20), "the host's disk gave {grown} bytes");
    sandbox.shell("cd /home/agent && find filled -delete && echo again > again && cat again").await;
    neighbour.was_not_disturbed().await;
}

async fn disk_of_data(arena: &Arena) {
    fill_disk(arena, "data").await;
}

async fn disk_of_inodes(arena: &Arena) {
    fill_disk(arena, "inodes").await;
}

async fn disk_of_folders(arena: &Arena) {
    fill_disk(arena, "folders").await;
}

async fn disk_of_names(arena: &Arena) {
    fill_disk(arena, "names").await;
}

async fn disk_of_attributes(arena: &Arena) {
    fill_disk(arena, "xattrs").await;
}

/// Other places where files can be written are bounded as well, and not by the host's memory.
async fn shared_memory_is_bounded(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    for place in ["/dev/shm/filled", "/tmp/filled", "/var/tmp/filled", "/run/filled", "/dev/filled", "/run/lock/filled"]
    {
        let path = sandbox.put("disk_filler").await;
        for what in ["data", "inodes"] {
            let output = sandbox.sandbox.exec(&HostileSandbox::command(&path, &[what, place])).await;
            match output {
                // Where no folder can be made there, the program ends with 2.
                Ok(output) if output.exited.code == Some(2) => {}
                // Killed by the limit of memory.
                Ok(output) if output.exited.signal == Some(9) => {}
                Ok(output) => HostileSandbox::read_tries(&output).all_met(1, &["ENOSPC", "EDQUOT", "ENOMEM"]),
                Err(error) => panic!("{place}: {error}"),
            }
            sandbox.shell(&format!("rm -rf {place}")).await;
        }
    }
}

async fn output_flood(arena: &Arena) {
    let neighbour = arena.neighbour().await;
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("output_flood").await;
    let (before, _) = census::memory();
    for merge in [false, true] {
        let output =
            sandbox.sandbox.exec(&Command { merge, ..HostileSandbox::command(&path, &["64"]) }).await.expect("answers");
        assert!(output.success(), "{:?}", output.exited);
        let kept = (output.stdout.len() + output.stderr.len()) as u64;
        assert!(kept <= 2 * (OUTPUT + (64 << 10)), "{kept} bytes were kept");
        let omitted = output.exited.output_omitted_bytes + output.exited.error_omitted_bytes;
        assert_eq!(kept + omitted, 1088 << 20, "every byte is kept or counted");
    }
    let (after, _) = census::memory();
    assert!(after < before + (32 << 20), "the server grew from {before} to {after} bytes");
    neighbour.was_not_disturbed().await;
}

/// A terminal that nobody reads holds back its program, not the server's memory.
async fn terminal_flood(arena: &Arena) {
    let neighbour = arena.neighbour().await;
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("output_flood").await;
    let (before, _) = census::memory();
    let mut pty = sandbox.sandbox.open_pty(&HostileSandbox::command(&path, &[]), 24, 80).await.expect("a terminal");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (after, _) = census::memory();
    assert!(after < before + (48 << 20), "the server grew from {before} to {after} bytes");
    pty.screen.next().await.expect("the first bytes are there");
    drop(pty);
    sandbox.still_works().await;
    neighbour.was_not_disturbed().await;
}

async fn open_files(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    sandbox.tries("open_files", &[]).await.all_met(3, &["EMFILE", "EPERM"]);
}

async fn fsync_storm(arena: &Arena) {
    let neighbour = arena.neighbour().await;
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("fsync_storm", &["/home/agent/storm"]).await.success());
    neighbour.was_not_disturbed().await;
}

/// Resources that one sandbox takes of its user's are not missing for another, though both users are the same outside.
async fn limits_of_the_user(arena: &Arena) {
    let mut took = Vec::new();
    for _ in 0..3 {
        let sandbox = arena.sandbox().await;
        let path = sandbox.put("user_limits").await;
        sandbox.shell(&format!("{path} > /tmp/took 2>&1 &")).await;
        let line = "while ! grep -q holds /tmp/took; do sleep 0.05; done; cat /tmp/took";
        took.push(sandbox.shell(line).await);
    }
    eprintln!("{took:#?}");
    let number = |text: &String, kind: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix("took ")?.strip_prefix(kind)?.trim().parse().ok());
        line.unwrap_or_else(|| panic!("no {kind} in {text}"))
    };
    for kind in ["timers", "queues", "locked"] {
        assert!(took.iter().all(|other| number(other, kind) == number(&took[0], kind)), "less was left: {took:?}");
    }
    assert_eq!(number(&took[0], "queues"), 0, "{}", took[0]);
    assert!((1..=1_024).contains(&number(&took[0], "timers")), "{}", took[0]);
    // Descriptors in flight are counted for the user outside, whom sandboxes share; docs/security.md says so. Watchers are too in the
    // containers of an engine, where nothing can bound them.
    if arena.kind == Kind::Local {
        assert!(took.iter().all(|other| (8..=32).contains(&number(other, "watchers"))), "{took:?}");
    }
}
