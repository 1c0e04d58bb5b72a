//! Programs that will not end, end others, or act at the wrong moment.

use std::time::{Duration, Instant};

use palestra_sandbox::Command;

use crate::arena::{Arena, HostileSandbox};

crate::on_every_back_end! {
    deaf_loop, outliving, outliving_alone, outliving_the_sandbox, kill_everyone, grip_agent, time_bomb, relay, relay_alone, thaw_storm, long_write, host_processes_are_unseen,
}

async fn deaf_loop(arena: &Arena) {
    let neighbour = arena.neighbour().await;
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("deaf_loop").await;
    let begun = Instant::now();
    let command = Command { wall: Some(Duration::from_secs(1)), ..HostileSandbox::command(&path, &[]) };
    let output = sandbox.sandbox.exec(&command).await.expect("the sandbox answers");
    assert!(output.exited.timed_out, "{output:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    sandbox.sandbox.kill().await.expect("killed");
    assert_eq!(sandbox.processes_outside(), 1, "the agent alone is left");
    sandbox.still_works().await;
    neighbour.was_not_disturbed().await;
}

async fn outliving(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("outlive", &["/tmp/alive"]).await.success());
    sandbox.grows_beyond("/tmp/alive", 5).await;
    sandbox.sandbox.kill().await.expect("killed");
    let size = sandbox.size("/tmp/alive").await;
    assert_eq!(sandbox.processes_outside(), 1, "the agent alone is left");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(sandbox.size("/tmp/alive").await, size, "something still runs");
}

/// A command that runs alone takes what it left with it, though that left its group and session.
async fn outliving_alone(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("outlive").await;
    let command = Command { alone: true, ..HostileSandbox::command(&path, &["/tmp/alive"]) };
    assert!(sandbox.sandbox.exec(&command).await.expect("the sandbox answers").success());
    assert_eq!(sandbox.sandbox.stats().await.expect("stats").processes, 0);
    assert_eq!(sandbox.processes_outside(), 1, "the agent alone is left");
}

async fn outliving_the_sandbox(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("outlive", &["/tmp/alive"]).await.success());
    sandbox.grows_beyond("/tmp/alive", 5).await;
    assert!(sandbox.processes_outside() > 1);
    sandbox.sandbox.destroy(true).await;
    let end = Instant::now() + Duration::from_secs(5);
    while sandbox.processes_outside() > 0 {
        assert!(Instant::now() < end, "{} processes outlive the sandbox", sandbox.processes_outside());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn kill_everyone(arena: &Arena) {
    let neighbour = arena.neighbour().await;
    let sandbox = arena.sandbox().await;
    // A process of the host that any stray signal would end.
    let mut bystander = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
    let path = sandbox.put("kill_everyone").await;
    for _ in 0..3 {
        let output = sandbox.exec(&path, &[]).await;
        assert!(output.success() && output.text() == "survived\n", "{output:?}");
    }
    sandbox.still_works().await;
    assert!(bystander.try_wait().expect("asked").is_none(), "a process of the host ended");
    bystander.kill().expect("ended");
    bystander.wait().expect("gone");
    neighbour.was_not_disturbed().await;
}

async fn grip_agent(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let walls = ["EPERM", "EACCES", "ENOSYS", "ESRCH", "ENOENT"];
    sandbox.tries("grip_agent", &[]).await.all_met(24, &walls);
    sandbox.still_works().await;
    assert!(sandbox.sandbox.lost().is_none());
    let inside = sandbox.sandbox.exec(&Command::shell("cat /proc/1/environ /proc/1/maps | wc -c")).await.expect("runs");
    assert_eq!(inside.text().trim(), "0", "{inside:?}");
}

/// That a file of a running program stands still while frozen, goes on after a thaw, and never changes again after a kill.
async fn stands_still(sandbox: &HostileSandbox, file: &str) {
    sandbox.grows_beyond(file, 20).await;
    for round in 0..5 {
        let begun = Instant::now();
        sandbox.sandbox.freeze().await.expect("frozen");
        assert!(begun.elapsed() < Duration::from_secs(5), "a freeze took {:?}", begun.elapsed());
        let before = sandbox.sandbox.read(file, 64 << 20).await.expect("read");
        tokio::time::sleep(Duration::from_millis(200)).await;
        let after = sandbox.sandbox.read(file, 64 << 20).await.expect("read");
        assert!(
            before == after,
            "round {round}: it changed while it was frozen ({} to {} bytes)",
            before.len(),
            after.len()
        );
        sandbox.sandbox.thaw().await.expect("thawed");
        sandbox.grows_beyond(file, after.len() as u64).await;
    }
    sandbox.sandbox.freeze().await.expect("frozen");
    sandbox.sandbox.kill().await.expect("killed");
    let before = sandbox.sandbox.read(file, 64 << 20).await.expect("read");
    assert_eq!(sandbox.processes_outside(), 1, "the agent alone is left");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(sandbox.sandbox.read(file, 64 << 20).await.expect("read") == before, "it changed after the kill");
    sandbox.still_works().await;
}

async fn time_bomb(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("time_bomb").await;
    sandbox.shell(&format!("setsid {path} /tmp/ticks >/dev/null 2>&1 &")).await;
    stands_still(&sandbox, "/tmp/ticks").await;
}

async fn relay(arena: &Arena) {
    let neighbour = arena.neighbour().await;
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("relay", &["/tmp/ticks"]).await.success());
    stands_still(&sandbox, "/tmp/ticks").await;
    neighbour.was_not_disturbed().await;
}

/// A command that runs alone takes with it what hands on from process to process.
async fn relay_alone(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("relay").await;
    let begun = Instant::now();
    let command = Command { alone: true, ..HostileSandbox::command(&path, &["/tmp/ticks"]) };
    let output = sandbox.sandbox.exec(&command).await.expect("the sandbox answers");
    assert!(output.success(), "{output:?}");
    assert!(begun.elapsed() < Duration::from_secs(10), "it took {:?}", begun.elapsed());
    assert_eq!(sandbox.sandbox.stats().await.expect("stats").processes, 0);
    assert_eq!(sandbox.processes_outside(), 1, "the agent alone is left");
}

async fn long_write(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("long_write", &["/home/agent/ticks"]).await.success());
    stands_still(&sandbox, "/home/agent/ticks").await;
}

async fn thaw_storm(arena: &Arena) {
    let neighbour = arena.neighbour().await;
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("thaw_storm", &["/tmp/ticks"]).await.success());
    stands_still(&sandbox, "/tmp/ticks").await;
    neighbour.was_not_disturbed().await;
}

async fn host_processes_are_unseen(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let seen = sandbox.shell("cat /proc/[0-9]*/comm; ls -d /proc/[0-9]* | wc -l").await;
    let own = std::fs::read_to_string("/proc/self/comm").expect("the own name");
    assert!(!seen.lines().any(|line| line == own.trim()), "{seen}");
    let count: usize = seen.lines().last().and_then(|line| line.trim().parse().ok()).expect("a number");
    assert!(count < 8, "{seen}");
}
