//! A server that is killed: what it leaves is gone or can be gone on with. The server is this program again, in another process.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palestra_sandbox::image::Images;
use palestra_sandbox::{Backend as _, Local, Sandbox, Start};

use crate::world::{Leftovers, local_left, profile, shell};

const FOLDER: &str = "PALESTRA_TEST_CRASH_FOLDER";

async fn start(local: &Local, folder: &Path, id: &str, disk: Option<&str>) -> Sandbox {
    let image = Images::new(folder.join("images")).resolve("host").expect("the host's image");
    let start =
        Start { id: id.to_owned(), image, profile: Arc::new(profile("terminal")), disk: disk.map(ToOwned::to_owned) };
    local.start(start).await.expect("a sandbox")
}

/// The server that is to be killed, when the test below starts it with a folder; by itself it serves nothing.
#[tokio::test]
async fn a_server_that_waits_to_be_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let local = Local::new(&folder.join("sandbox")).expect("a back end");
    let named = start(&local, folder, "named", Some("session")).await;
    shell(&named, "echo before > /home/agent/file; (setsid sleep 1000 >/dev/null 2>&1 &)").await;
    let mut others = Vec::new();
    for number in 0..5 {
        let other = start(&local, folder, &format!("other-{number}"), None).await;
        shell(&other, "(setsid sh -c 'trap \"\" TERM HUP; sleep 1000' >/dev/null 2>&1 &)").await;
        others.push(other);
    }
    println!("ready");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_killed_server_leaves_no_process_and_its_disks_are_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
    if let Err(error) = local.examine(&profile("terminal")).await {
        palestra_test_support::not_tried(format_args!("the local back end: {error}"));
        return;
    }
    let mut server = Process::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "crash::a_server_that_waits_to_be_killed", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let mut lines = BufReader::new(server.stdout.take().expect("its output")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains("ready"))), "the server did not start");
    let running = local_left(folder.path());
    assert!(running.processes.len() >= 6, "{running:?}");
    // One agent is stopped, so that it does not see the end of its server.
    let agent = running.processes.iter().find(|process| process.contains("/agent-")).expect("an agent");
    let stopped = agent.split_whitespace().next().and_then(|id| id.parse().ok()).map(Pid::from_raw).expect("an id");
    kill(stopped, Signal::SIGSTOP).expect("stopped");
    server.kill().expect("killed");
    server.wait().expect("gone");

    let kept = BTreeSet::from(["session".to_owned()]);
    let swept = local.sweep(&kept).await.expect("swept");
    // At least the stopped one, and what other servers on this machine left that have ended too.
    assert!(swept.sandboxes >= 1, "{swept:?}");
    let again = start(&local, folder.path(), "again", Some("session")).await;
    assert_eq!(shell(&again, "cat /home/agent/file; pgrep -c sleep || true").await, "before\n0\n");
    again.destroy(true).await;
    // The agents end by themselves, with all that ran below them.
    let until = Instant::now() + Duration::from_secs(10);
    while local_left(folder.path()) != Leftovers::default() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(local_left(folder.path()), Leftovers::default());
    let dead = format!("-{}-", server.id());
    for hierarchy in ["memory", "pids", "cpu", "unified"] {
        let servers = std::fs::read_dir(format!("/sys/fs/cgroup/{hierarchy}/palestra")).into_iter().flatten().flatten();
        let left: Vec<_> = servers.filter(|entry| entry.file_name().to_string_lossy().contains(&dead)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
