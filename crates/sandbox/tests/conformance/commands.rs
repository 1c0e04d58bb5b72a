//! Commands: how they run, what they are given, what is said of their end.

use std::time::{Duration, Instant};

use palestra_sandbox::wire::FailureCode;
use palestra_sandbox::{Command, SandboxError};

use crate::world::{World, run, shell};

pub(crate) async fn a_command_runs_and_tells_how_it_ended(world: &World) {
    let sandbox = world.terminal().await;
    let output = run(&sandbox, "echo out; echo err >&2; exit 3").await;
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (b"out\n".as_slice(), b"err\n".as_slice()));
    assert_eq!((output.exited.code, output.exited.signal, output.exited.timed_out), (Some(3), None, false));
    assert!(output.exited.wall_us > 0);
    sandbox.destroy(false).await;
}

pub(crate) async fn a_program_that_is_not_there_is_said(world: &World) {
    let sandbox = world.terminal().await;
    let refused = sandbox.exec(&Command::new(["no-such-program"])).await.expect_err("refused");
    assert!(refused.is(FailureCode::NotStarted), "{refused:?}");
    let refused = sandbox.exec(&Command::new(["true"]).folder("/no/such/folder")).await.expect_err("refused");
    assert!(refused.is(FailureCode::NotStarted), "{refused:?}");
    assert_eq!(shell(&sandbox, "echo still here").await, "still here\n");
    sandbox.destroy(false).await;
}

pub(crate) async fn a_signal_that_ends_a_command_is_said(world: &World) {
    let sandbox = world.terminal().await;
    let output = run(&sandbox, "kill -KILL $$").await;
    assert_eq!((output.exited.code, output.exited.signal), (None, Some(9)));
    sandbox.destroy(false).await;
}

pub(crate) async fn environment_and_folder_are_those_of_image_profile_and_command(world: &World) {
    let sandbox = world.terminal().await;
    let mut command = Command::shell("echo $HOME $USER $GIVEN; pwd; env | grep -c CARGO");
    command.env = vec![("GIVEN".to_owned(), "a b".to_owned()), ("USER".to_owned(), "other".to_owned())];
    let output = sandbox.exec(&command.folder("/tmp")).await.expect("an answer");
    // Nothing of this process's own environment is seen.
    assert_eq!(output.text(), "/home/agent other a b\n/tmp\n0\n");
    sandbox.destroy(false).await;
}

pub(crate) async fn commands_run_as_the_user_of_the_profile_without_any_right(world: &World) {
    let sandbox = world.terminal().await;
    assert_eq!(shell(&sandbox, "id -u; id -g").await, "1000\n1000\n");
    let status = shell(&sandbox, "cat /proc/self/status").await;
    let line = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(|rest| rest.trim().to_owned()).unwrap_or_default()
    };
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(line(set), "0000000000000000", "{set}");
    }
    assert_eq!((line("NoNewPrivs:"), line("Seccomp:")), ("1".to_owned(), "2".to_owned()));
    shell(&sandbox, "touch /home/agent/own").await;
    if sandbox.isolation().lines["uid"].enforced {
        shell(&sandbox, "! touch /etc/passwd 2>/dev/null && ! touch /usr/x 2>/dev/null").await;
    }
    sandbox.destroy(false).await;
}

pub(crate) async fn standard_input_arrives_whole(world: &World) {
    let sandbox = world.terminal().await;
    let input: Vec<u8> = (0..3_000_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    let output = sandbox.exec(&Command::shell("wc -c; echo done").input(input)).await.expect("an answer");
    assert_eq!(output.text(), "3000000\ndone\n");
    let output = sandbox.exec(&Command::new(["cat"]).input(b"\0\xff\r\n".to_vec())).await.expect("an answer");
    assert_eq!(output.stdout, b"\0\xff\r\n");
    // Without any, a command finds the end at once.
    assert_eq!(shell(&sandbox, "cat; echo end").await, "end\n");
    sandbox.destroy(false).await;
}

pub(crate) async fn output_beyond_the_limit_is_counted_and_its_end_is_kept(world: &World) {
    let sandbox = world.terminal().await;
    let command = Command { output_bytes_max: Some(1_000), ..Command::shell("seq 1 1000000") };
    let output = sandbox.exec(&command).await.expect("an answer");
    assert_eq!(output.exited.code, Some(0));
    assert!(output.text().starts_with("1\n2\n3\n"), "{}", &output.text()[..100]);
    assert!(output.text().ends_with("999999\n1000000\n"), "what comes last is kept");
    let printed = 6_888_896;
    assert_eq!(output.stdout.len() as u64 + output.exited.output_omitted_bytes, printed);
    assert!(output.stdout.len() < 100_000, "{} bytes", output.stdout.len());
    sandbox.destroy(false).await;
}

pub(crate) async fn a_flood_of_output_ends_with_its_time(world: &World) {
    let sandbox = world.terminal().await;
    let flood = Command::shell("yes | head -c 1000000000000; yes >&2").wall(Duration::from_millis(300));
    let output = sandbox.exec(&flood).await.expect("an answer");
    assert!(output.exited.timed_out);
    assert!(output.exited.output_omitted_bytes > 0);
    assert!(output.stdout.len() < 2 << 20, "{} bytes", output.stdout.len());
    sandbox.destroy(false).await;
}

pub(crate) async fn a_command_whose_time_is_over_is_killed_with_what_it_started(world: &World) {
    let sandbox = world.terminal().await;
    let begun = Instant::now();
    let slow = Command::shell("trap '' TERM INT HUP; sleep 1000 & sleep 1000").wall(Duration::from_millis(200));
    let output = sandbox.exec(&slow).await.expect("an answer");
    assert!(output.exited.timed_out);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // What is killed may be seen for a moment, until it is dead.
    let looked = "for i in $(seq 500); do pgrep sleep >/dev/null || break; done; pgrep -c sleep";
    assert_eq!(run(&sandbox, looked).await.text(), "0\n");
    sandbox.destroy(false).await;
}

pub(crate) async fn a_command_ends_although_what_it_started_holds_its_output(world: &World) {
    let sandbox = world.terminal().await;
    let begun = Instant::now();
    let output = run(&sandbox, "sleep 1000 & echo started").await;
    assert_eq!(output.text(), "started\n");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // It bears the name of the shell until it has become `sleep`.
    let looked = "for i in $(seq 500); do pgrep sleep >/dev/null && break; done; pgrep -c sleep";
    assert_eq!(run(&sandbox, looked).await.text(), "1\n", "what is started in the background goes on");
    let alone = Command { alone: true, ..Command::shell("setsid sleep 2000 & echo started") };
    sandbox.exec(&alone).await.expect("an answer");
    assert_eq!(
        run(&sandbox, "pgrep -cf 'sleep 200[0]'").await.text(),
        "0\n",
        "but nothing that must be alone leaves any"
    );
    sandbox.destroy(false).await;
}

pub(crate) async fn standard_error_can_go_with_standard_output(world: &World) {
    let sandbox = world.terminal().await;
    let merged = Command { merge: true, ..Command::shell("echo one; echo two >&2; echo three") };
    let output = sandbox.exec(&merged).await.expect("an answer");
    assert_eq!((output.text().as_str(), output.stderr.len()), ("one\ntwo\nthree\n", 0));
    sandbox.destroy(false).await;
}

pub(crate) async fn commands_run_at_the_same_time(world: &World) {
    let sandbox = world.terminal().await;
    let meet = |own: &str, other: &str| {
        let line = format!("touch /tmp/{own}; while [ ! -e /tmp/{other} ]; do sleep 0.01; done; echo met");
        let sandbox = &sandbox;
        async move { sandbox.exec(&Command::shell(line).wall(Duration::from_secs(10))).await }
    };
    let (one, other) = tokio::join!(meet("a", "b"), meet("b", "a"));
    let met = |output: Result<palestra_sandbox::Output, SandboxError>| output.expect("an answer").text();
    assert_eq!((met(one).as_str(), met(other).as_str()), ("met\n", "met\n"));
    sandbox.destroy(false).await;
}

pub(crate) async fn a_command_is_handed_nothing_but_its_standard_files(world: &World) {
    let sandbox = world.terminal().await;
    // The fourth is the folder itself, as the program that lists it has it open.
    assert_eq!(shell(&sandbox, "ls /proc/self/fd").await, "0\n1\n2\n3\n");
    let open = shell(&sandbox, "readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2").await;
    assert!(open.lines().all(|line| !line.contains("palestra") && !line.contains("/mnt")), "{open}");
    sandbox.destroy(false).await;
}
