//! Commands: what they get, what they may, how they end.

use std::time::{Duration, Instant};

use palestra_sandbox_agent::wire::{Event, FailureCode, Kind, Request, Rlimits};

use crate::harness::{Agent, Ids, exec, kinds, shell};

#[test]
fn a_command_gets_its_input_environment_and_folder() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let mut wanted = shell("cat; echo $NAME; pwd; echo oops >&2; exit 3");
        wanted.env.push(("NAME".to_owned(), "value with spaces".to_owned()));
        wanted.folder = "/usr".to_owned();
        let input = "line\n".repeat(100_000);
        wanted.output_bytes_max = Some(1 << 20);
        let (exited, output, error) = agent.run(wanted, input.as_bytes());
        assert_eq!((exited.code, exited.signal, exited.timed_out), (Some(3), None, false));
        assert_eq!(String::from_utf8_lossy(&output), format!("{input}value with spaces\n/usr\n"));
        assert_eq!(error, b"oops\n");
        assert!(exited.wall_us > 0 && exited.memory_bytes > 0, "{exited:?}");
    }
}

#[test]
fn a_command_has_no_capabilities_and_no_way_to_gain_any() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let status = agent.sh("cat /proc/self/status");
        for line in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert!(status.contains(&format!("{line}:\t0000000000000000\n")), "{status}");
        }
        assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
        let user = agent.sh("id -u; id -g; id -G");
        assert_eq!(user, if ids == Ids::Many { "1000\n1000\n1000\n" } else { "0\n0\n0\n" });
    }
}

#[test]
fn a_command_cannot_reach_the_agent() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let line = "for name in mem environ maps fd/0 root cwd exe; do head -c 1 /proc/1/$name && echo read $name; done 2>/dev/null; \
                    kill -9 1; kill -STOP 1; ls -l /proc/self/fd | grep -c -- '->'; exit 0";
        let (exited, output, _) = agent.run(shell(line), &[]);
        assert_eq!(exited.code, Some(0));
        // Its three streams, and the folder that `ls` reads.
        assert_eq!(String::from_utf8_lossy(&output), "4\n", "only that, and nothing of the agent");
        assert_eq!(agent.sh("echo still here"), "still here\n");
    }
}

#[test]
fn failed_starts_say_why() {
    let mut agent = Agent::new(kinds()[0]);
    for (argv, folder) in
        [(["no-such-program"], "/"), (["/no/such/program"], "/"), (["true"], "/no/such/folder"), (["/etc"], "/")]
    {
        for alone in [false, true] {
            let mut wanted = exec(&argv);
            wanted.folder = folder.to_owned();
            wanted.alone = alone;
            let Event::Failed { code, detail } = agent.ask(&Request::Exec(wanted), Some(&[])).event else {
                panic!("{argv:?} started")
            };
            assert_eq!(code, FailureCode::NotStarted);
            assert!(detail.contains(if argv == ["true"] { "folder" } else { argv[0] }), "{detail}");
        }
    }
    assert_eq!(agent.refused(&Request::Exec(exec(&[])), Some(&[])), FailureCode::Invalid);
    assert_eq!(agent.refused(&Request::Exec(exec(&["a\0b"])), Some(&[])), FailureCode::Invalid);
    assert_eq!(agent.processes(), 0);
}

#[test]
fn long_output_keeps_its_head_and_its_end() {
    let mut agent = Agent::new(kinds()[0]);
    let mut wanted = shell("seq 1 2000000; seq 1 5 >&2");
    wanted.output_bytes_max = Some(10_000);
    let (exited, output, error) = agent.run(wanted, &[]);
    let whole: String = (1..=2_000_000).map(|number| format!("{number}\n")).collect();
    let tail = 64 * 1024;
    assert_eq!(output.len(), 10_000 + tail);
    assert_eq!(output[..10_000], whole.as_bytes()[..10_000]);
    assert_eq!(output[10_000..], whole.as_bytes()[whole.len() - tail..]);
    assert_eq!(exited.output_omitted_bytes, (whole.len() - 10_000 - tail) as u64);
    assert_eq!((error.as_slice(), exited.error_omitted_bytes), (b"1\n2\n3\n4\n5\n".as_slice(), 0));
}

#[test]
fn a_flood_of_a_gigabyte_passes() {
    let mut agent = Agent::new(kinds()[0]);
    let (exited, output, _) = agent.run(shell("head -c 1G /dev/zero"), &[]);
    assert_eq!(output.len() as u64 + exited.output_omitted_bytes, 1 << 30);
    assert_eq!(output.len(), (1 << 20) + 64 * 1024);
}

#[test]
fn streams_are_merged_in_order_where_asked() {
    let mut agent = Agent::new(kinds()[0]);
    let mut wanted = shell("echo 1; echo 2 >&2; echo 3; echo 4 >&2");
    wanted.merge = true;
    let (_, output, error) = agent.run(wanted, &[]);
    assert_eq!((output.as_slice(), error.as_slice()), (b"1\n2\n3\n4\n".as_slice(), b"".as_slice()));
}

#[test]
fn time_that_is_over_kills_the_whole_group() {
    for ids in kinds() {
        for alone in [false, true] {
            let mut agent = Agent::new(ids);
            let mut wanted = shell("trap '' TERM INT HUP; echo begun; sleep 1000 & while :; do :; done");
            wanted.wall_ms = Some(300);
            wanted.alone = alone;
            let (exited, output, _) = agent.run(wanted, &[]);
            assert_eq!((exited.code, exited.signal, exited.timed_out), (None, Some(9), true));
            assert_eq!(output, b"begun\n");
            assert!((300_000..5_000_000).contains(&exited.wall_us), "{exited:?}");
            assert_eq!(agent.sh("echo on"), "on\n");
        }
    }
}

#[test]
fn children_in_the_background_do_not_hold_up_the_end() {
    let mut agent = Agent::new(kinds()[0]);
    let begun = Instant::now();
    let (exited, output, _) = agent.run(shell("sleep 1000 & yes & echo done; exit 0"), &[]);
    assert_eq!(exited.code, Some(0));
    assert!(String::from_utf8_lossy(&output).contains("done\n"));
    assert!(begun.elapsed() < Duration::from_secs(10));
    // `yes` ends by itself once nobody reads.
    assert!(agent.processes() >= 1, "the sleep is still there");
    agent.done(&Request::Kill, None);
    assert_eq!(agent.processes(), 0);
}

#[test]
fn a_command_that_must_be_alone_leaves_nothing() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let neighbour = agent.open(&Request::Exec(shell("echo here; exec sleep 1000")), Some(&[]));
        agent.wait_for(neighbour, "here");
        let detached = "setsid sh -c 'trap \"\" TERM; setsid sleep 1000 & sleep 1000' >/dev/null 2>&1 </dev/null & \
                        (setsid setsid sleep 1000 &) ; (sh -c 'while :; do (sleep 0.01 &) ; done' &); sleep 0.1; echo over; exit 7";
        let mut wanted = shell(detached);
        wanted.alone = true;
        let (exited, output, _) = agent.run(wanted, &[]);
        assert_eq!((exited.code, output.as_slice()), (Some(7), b"over\n".as_slice()));
        assert_eq!(agent.processes(), 1, "only the neighbour");
        agent.done(&Request::Signal { target: neighbour, signal: 15 }, None);
        assert_eq!(agent.ran(neighbour).0.signal, Some(15));
    }
}

#[test]
fn a_keeper_that_is_killed_lets_nothing_escape() {
    let mut agent = Agent::new(Ids::Single);
    let mut wanted = shell("setsid sleep 1000 & kill -9 $PPID; sleep 1000");
    wanted.alone = true;
    let (exited, ..) = agent.run(wanted, &[]);
    assert_eq!(exited.signal, Some(9));
    agent.done(&Request::Kill, None);
    assert_eq!(agent.processes(), 0);
}

#[test]
fn limits_hold() {
    let mut agent = Agent::new(kinds()[0]);
    let mut wanted =
        shell("ulimit -n; ulimit -f; ulimit -c; ulimit -Ht; dd if=/dev/zero of=/tmp/palestra-limit bs=1k count=100");
    wanted.rlimits = Rlimits { open_files: Some(77), file_bytes: Some(1024), cpu_s: Some(5), ..Rlimits::default() };
    let (exited, output, _) = agent.run(wanted, &[]);
    assert_ne!(exited.code, Some(0));
    assert_eq!(String::from_utf8_lossy(&output), "77\n2\n0\n5\n");
    agent.sh("rm -f /tmp/palestra-limit");
}

#[test]
fn a_signal_reaches_the_group_once() {
    for alone in [false, true] {
        let mut agent = Agent::new(kinds()[0]);
        // The shell says on standard error how its children ended.
        let mut wanted = shell("exec 2>/dev/null; trap 'echo caught' USR2; echo ready; while :; do sleep 0.01; done");
        wanted.alone = alone;
        let stream = agent.open(&Request::Exec(wanted), Some(&[]));
        agent.wait_for(stream, "ready\n");
        agent.done(&Request::Signal { target: stream, signal: 12 }, None);
        assert_eq!(agent.wait_for(stream, "caught\n"), "caught\n");
        agent.done(&Request::Signal { target: stream, signal: 15 }, None);
        let (exited, output, _) = agent.ran(stream);
        assert_eq!((exited.signal, output.as_slice()), (Some(15), b"".as_slice()));
        assert_eq!(agent.refused(&Request::Signal { target: stream, signal: 12 }, None), FailureCode::Invalid);
    }
}

#[test]
fn a_terminal_is_one() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let mut wanted = exec(&[
            "sh",
            "-c",
            "stty size; tty; test -t 0 && echo yes > /dev/tty; read line; stty size; echo got $line",
        ]);
        wanted.env.push(("TERM".to_owned(), "xterm".to_owned()));
        let stream = agent.open(&Request::Pty { exec: wanted, rows: 33, columns: 99 }, None);
        let screen = agent.wait_for(stream, "yes\r\n");
        assert!(screen.starts_with("33 99\r\n/dev/pts/"), "{screen}");
        agent.done(&Request::Resize { target: stream, rows: 44, columns: 111 }, None);
        agent.send(stream, Kind::Data, b"keys\r");
        let (exited, output, _) = agent.ran(stream);
        assert_eq!(exited.code, Some(0));
        assert_eq!(String::from_utf8_lossy(&output), "keys\r\n44 111\r\ngot keys\r\n");
        assert_eq!(agent.refused(&Request::Resize { target: stream, rows: 1, columns: 1 }, None), FailureCode::Invalid);
    }
}

#[test]
fn keys_interrupt_what_runs_on_a_terminal() {
    let mut agent = Agent::new(kinds()[0]);
    let stream = agent.open(&Request::Pty { exec: shell("echo on; exec sleep 1000"), rows: 24, columns: 80 }, None);
    agent.wait_for(stream, "on");
    agent.send(stream, Kind::Data, b"\x03");
    let (exited, ..) = agent.ran(stream);
    assert_eq!(exited.signal, Some(2));
}

#[test]
fn a_terminal_that_nobody_reads_from_does_not_hold_up_others() {
    let mut agent = Agent::new(kinds()[0]);
    let stream = agent
        .open(&Request::Pty { exec: shell("stty raw -echo; echo on; exec sleep 1000"), rows: 24, columns: 80 }, None);
    agent.wait_for(stream, "on");
    for _ in 0..100 {
        agent.send(stream, Kind::Data, &[b'x'; 100_000]);
    }
    assert_eq!(agent.sh("echo free"), "free\n");
}

#[test]
fn the_last_output_of_a_terminal_arrives() {
    let mut agent = Agent::new(kinds()[0]);
    for _ in 0..20 {
        let stream = agent.open(&Request::Pty { exec: shell("seq 1 5000"), rows: 24, columns: 80 }, None);
        let (_, output, _) = agent.ran(stream);
        assert!(output.ends_with(b"4999\r\n5000\r\n"), "{} bytes", output.len());
    }
}

#[test]
fn many_commands_run_at_the_same_time() {
    let mut agent = Agent::new(kinds()[0]);
    let streams: Vec<u32> = (0..100)
        .map(|number| agent.open(&Request::Exec(shell(&format!("cat; echo {number}"))), Some(b"input ")))
        .collect();
    for (number, stream) in streams.into_iter().enumerate() {
        let (exited, output, _) = agent.ran(stream);
        assert_eq!(
            (exited.code, String::from_utf8_lossy(&output).into_owned()),
            (Some(0), format!("input {number}\n"))
        );
    }
    assert_eq!(agent.processes(), 0);
}

#[test]
fn a_script_without_an_interpreter_runs_as_shells_run_it() {
    let mut agent = Agent::new(kinds()[0]);
    agent.sh("printf 'echo $0 $1' > /tmp/palestra-script; chmod 755 /tmp/palestra-script");
    let (exited, output, _) = agent.run(exec(&["/tmp/palestra-script", "one"]), &[]);
    assert_eq!((exited.code, output.as_slice()), (Some(0), b"/tmp/palestra-script one\n".as_slice()));
    agent.sh("rm /tmp/palestra-script");
}
