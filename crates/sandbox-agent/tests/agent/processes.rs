//! All processes at once: frozen, thawed, killed; and the agent's own end.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palestra_sandbox_agent::wire::{Event, FailureCode, Kind, Request};

use crate::files::folder;
use crate::harness::{Agent, command, exec, kinds, program, shell};

/// Forks until 50 are there, then each of them forks and ends all the time. Where there is no room for another, it tries again, so that
/// none ends without one that takes its place.
const BOMB: &str = "import os
def fork():
    while True:
        try:
            return os.fork()
        except OSError:
            pass
for number in range(49):
    if fork() == 0:
        break
else:
    print('on', flush=True)
while True:
    if fork():
        os._exit(0)
    os.setsid()
";

fn has_python() -> bool {
    let found = std::path::Path::new("/usr/bin/python3").exists();
    if !found {
        palestra_test_support::not_tried("python3");
    }
    found
}

/// Starts the bomb, and waits until it goes off.
fn bomb(agent: &mut Agent) -> u32 {
    let mut bomb = exec(&["/usr/bin/python3", "-c", BOMB]);
    bomb.wall_ms = None;
    let stream = agent.open(&Request::Exec(bomb), Some(&[]));
    agent.wait_for(stream, "on");
    stream
}

#[test]
fn a_fork_bomb_is_killed_at_once_and_whole() {
    if !has_python() {
        return;
    }
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let stream = bomb(&mut agent);
        agent.done(&Request::Kill, None);
        assert_eq!(agent.processes(), 0);
        agent.ran(stream);
        assert_eq!(agent.sh("echo on"), "on\n");
    }
}

#[test]
fn a_fork_bomb_that_must_be_alone_ends_with_its_command() {
    if !has_python() {
        return;
    }
    let mut agent = Agent::new(kinds()[0]);
    let mut bomb = exec(&["/usr/bin/python3", "-c", BOMB]);
    bomb.wall_ms = Some(500);
    bomb.alone = true;
    agent.run(bomb, &[]);
    // On a busy machine some that ended are still being collected; nobody is left who forks.
    let mut count = agent.processes();
    while count > 0 {
        let next = agent.processes();
        assert!(next <= count, "{next} after {count}");
        count = next;
    }
}

#[test]
fn frozen_processes_do_nothing_until_they_are_thawed() {
    for ids in kinds() {
        let (mut agent, folder) = (Agent::new(ids), folder());
        let file = folder.path().join("count");
        let line = format!("echo on; while :; do echo >> {}; done", file.display());
        let streams: Vec<u32> = (0..5).map(|_| agent.open(&Request::Exec(shell(&line)), Some(&[]))).collect();
        for stream in &streams {
            agent.wait_for(*stream, "on");
        }
        agent.done(&Request::Freeze, None);
        let length = || fs::metadata(&file).map_or(0, |metadata| metadata.len());
        let frozen = length();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(100) {
            assert_eq!(length(), frozen, "nothing runs");
        }
        assert_eq!(agent.refused(&Request::Exec(exec(&["true"])), Some(&[])), FailureCode::Invalid);
        assert_eq!(agent.refused(&Request::Signal { target: streams[0], signal: 18 }, None), FailureCode::Invalid);
        agent.done(&Request::Thaw, None);
        while length() == frozen {
            assert!(begun.elapsed() < Duration::from_secs(10), "they go on");
        }
        agent.done(&Request::Kill, None);
        for stream in streams {
            assert_eq!(agent.ran(stream).0.signal, Some(9));
        }
    }
}

#[test]
fn a_frozen_fork_bomb_can_be_looked_at_and_killed() {
    if !has_python() {
        return;
    }
    let (mut agent, folder) = (Agent::new(kinds()[0]), folder());
    bomb(&mut agent);
    agent.done(&Request::Freeze, None);
    let count = agent.processes();
    assert!(count >= 1, "{count}");
    // Those that had ended are still being collected; no other comes.
    assert!(agent.processes() <= count, "nothing forks");
    let path = folder.path().join("evidence");
    fs::write(&path, "seen").expect("a file");
    let read = Request::Read { path: path.display().to_string(), bytes_max: 100 };
    assert_eq!(agent.done(&read, None).output, b"seen");
    agent.done(&Request::Kill, None);
    assert_eq!(agent.processes(), 0);
    assert_eq!(agent.sh("echo thawed by the kill"), "thawed by the kill\n");
}

#[test]
fn nothing_outlives_a_server_that_hangs_up() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let stream = agent.open(&Request::Exec(shell("setsid sleep 1000 & echo on; sleep 1000")), Some(&[]));
        agent.wait_for(stream, "on");
        // The kernel ends the namespace with its process 1, and `unshare` waits for that one.
        assert!(agent.hang_up());
    }
}

#[test]
fn nonsense_ends_the_agent() {
    let nonsense: [(u32, Kind, &[u8]); 6] = [
        (1, Kind::Request, b"{}"),
        (1, Kind::Request, b"\xff\xfe"),
        (0, Kind::Request, br#"{"op":"stats"}"#),
        (1, Kind::Request, br#"{"op":"stats"}"#),
        (1, Kind::Output, b""),
        (1, Kind::Event, br#"{"event":"done"}"#),
    ];
    for (stream, kind, body) in nonsense {
        let mut agent = Agent::start(command(kinds()[0], &[program(), "serve"]));
        agent.send(stream, kind, body);
        assert!(!agent.child.wait().expect("it ends").success(), "{kind:?} {body:?}");
    }
}

#[test]
fn bytes_that_are_no_frame_end_the_agent() {
    use std::io::Write;
    for bytes in [[0xff; 9], *b"\0\0\0\0\x01\0\0\0\x4d", *b"\x01\0\x04\0\x01\0\0\0\x01"] {
        let mut agent = Agent::new(kinds()[0]);
        agent.stdin.as_mut().expect("a pipe").write_all(&bytes).expect("it listens");
        assert!(!agent.child.wait().expect("it ends").success(), "{bytes:?}");
    }
}

#[test]
fn it_serves_as_process_1_only() {
    let output = std::process::Command::new(program()).arg("serve").output().expect("it starts");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("process 1"));
    let output = std::process::Command::new(program()).arg("dance").output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_server_that_does_not_read_costs_no_memory() {
    let mut command = command(kinds()[0], &[program(), "serve"]);
    let mut child = command.spawn().expect("unshare starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let stdout = child.stdout.take().expect("a pipe");
    let mut send = |stream: u32, kind: Kind, body: &[u8]| {
        use palestra_sandbox_agent::wire::Header;
        use std::io::Write;
        stdin.write_all(&Header { length: body.len(), stream, kind }.encode()).expect("it listens");
        stdin.write_all(body).expect("it listens");
    };
    send(1, Kind::Request, br#"{"op":"setup","seccomp":[],"rlimits":{},"output_bytes_max":10000000000,"folders":[],"user":{"uid":1000,"gid":1000}}"#);
    for stream in 2..12 {
        let request = serde_json::to_vec(&Request::Exec(shell("exec yes"))).expect("JSON");
        send(stream, Kind::Request, &request);
        send(stream, Kind::End, &[]);
    }
    for stream in 12..16 {
        let request = Request::Pack { paths: vec!["/usr/lib".to_owned()], bytes_max: u64::MAX, entries_max: u64::MAX };
        send(stream, Kind::Request, &serde_json::to_vec(&request).expect("JSON"));
    }
    let agent = only_child(child.id());
    let begun = Instant::now();
    let mut most = 0;
    while begun.elapsed() < Duration::from_secs(2) {
        most = most.max(resident_bytes(agent));
    }
    println!("at most {most} bytes resident");
    assert!(most > 0 && most < 16 << 20, "{most} bytes");
    drop(stdin);
    drop(stdout);
    assert!(child.wait().expect("it ends").code().is_some());
}

fn only_child(pid: u32) -> u32 {
    let begun = Instant::now();
    loop {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        if let Some(child) = children.split_whitespace().next() {
            return child.parse().expect("a number");
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "unshare forks");
    }
}

fn resident_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

#[test]
fn the_agents_end_ends_its_namespace() {
    let mut agent = Agent::new(kinds()[0]);
    let stream = agent.open(&Request::Exec(shell("echo on; exec sleep 1000")), Some(&[]));
    agent.wait_for(stream, "on");
    let pid = only_child(agent.child.id());
    kill(Pid::from_raw(i32::try_from(pid).expect("an id")), Signal::SIGKILL).expect("it is ours");
    assert!(agent.next(stream).is_none(), "the pipe is closed");
    agent.child.wait().expect("unshare ends");
}

#[test]
fn an_agent_that_nobody_sets_up_ends_though_nobody_hangs_up() {
    let mut agent = Agent::start(command(kinds()[0], &[program(), "serve", "--setup-ms", "100"]));
    assert!(agent.next(1).is_none(), "it closes its pipe");
    assert!(!agent.child.wait().expect("unshare ends").success());
}

#[test]
fn an_agent_that_was_set_up_in_time_stays() {
    let ids = kinds()[0];
    let mut agent = Agent::set_up(command(ids, &[program(), "serve", "--setup-ms", "2000"]), ids, Vec::new());
    // Commands outlast the time within which the setup had to come.
    assert_eq!(agent.sh("sleep 2.1; echo on"), "on\n");
    assert_eq!(agent.sh("echo still"), "still\n");
}

#[test]
fn a_filter_is_loaded_and_holds() {
    // Everything is allowed but `uname`, which is refused with EPERM: load the number, compare, return.
    let number = u64::try_from(nix::libc::SYS_uname).expect("a number");
    let word = |code: u64, jt: u64, jf: u64, k: u64| code << 48 | jt << 40 | jf << 32 | k;
    let filter = vec![
        word(0x20, 0, 0, 0),
        word(0x15, 0, 1, number),
        word(0x06, 0, 0, 0x0005_0001),
        word(0x06, 0, 0, 0x7fff_0000),
    ];
    for ids in kinds() {
        let mut agent = Agent::set_up(command(ids, &[program(), "serve"]), ids, filter.clone());
        let (exited, _, error) = agent.run(exec(&["uname"]), &[]);
        assert_eq!(exited.code, Some(1));
        assert!(String::from_utf8_lossy(&error).contains("Operation not permitted"));
        assert_eq!(agent.sh("grep Seccomp: /proc/self/status"), "Seccomp:\t2\n");
    }
}

#[test]
fn the_time_of_a_command_is_told() {
    let mut agent = Agent::new(kinds()[0]);
    for alone in [false, true] {
        let mut times: Vec<Duration> = (0..200)
            .map(|_| {
                let mut wanted = exec(&["true"]);
                wanted.alone = alone;
                let begun = Instant::now();
                assert_eq!(agent.run(wanted, &[]).0.code, Some(0));
                begun.elapsed()
            })
            .collect();
        times.sort();
        println!("true, alone {alone}: median {:?}, of 100 the slowest {:?}", times[100], times[198]);
    }
    let begun = Instant::now();
    let Event::Stats(stats) = agent.ask(&Request::Stats, None).event else { panic!("no figures") };
    assert!(stats.disk_bytes > 0 && stats.inodes > 0);
    println!("stats: {:?}", begun.elapsed());
}

#[test]
fn commands_start_and_end_while_a_large_archive_is_packed() {
    let mut agent = Agent::new(kinds()[0]);
    let packing = agent
        .open(&Request::Pack { paths: vec!["/usr/lib".to_owned()], bytes_max: 200 << 20, entries_max: u64::MAX }, None);
    let begun = Instant::now();
    assert_eq!(agent.run(exec(&["true"]), &[]).0.code, Some(0));
    println!("true, while packing: {:?}", begun.elapsed());
    assert!(!agent.has_ended(packing), "the command did not wait for the archive");
    // More than is allowed, or all of it.
    let event = agent.finish(packing).event;
    assert!(matches!(event, Event::Packed { .. } | Event::Failed { code: FailureCode::TooLarge, .. }), "{event:?}");
}
