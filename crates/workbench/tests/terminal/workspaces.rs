//! Actions of a workspace.

use palestra_sandbox::wire::FailureCode;
use palestra_workbench::terminal::recording::asciicast;
use palestra_workbench::work::{Input, Opening, Work as _};
use serde_json::json;

use crate::workbench::{PLAIN, TestWorkbench, call, exec, opening};

#[tokio::test]
async fn a_room_begins_as_its_task_says_and_keeps_what_is_done() {
    let test = TestWorkbench::new();
    let row = test.row(PLAIN);
    let mut workspace = test.open(&row, "begin").await;
    assert_eq!(workspace.observe().await.expect("seen").text, "The shell is in /home/agent/work.");
    let seen = exec(&mut *workspace, "id -u; cat in.txt; cat seen.txt; ps -eo args | grep -c '^sleep 1000'").await;
    let flag = seen.text.lines().nth(1).and_then(|line| line.strip_prefix("b ")).expect("a flag").to_owned();
    assert_eq!(seen.text, format!("1000\nb {flag}\na\n{flag} 7\n1\n"));
    exec(&mut *workspace, "mkdir -p a/b; cd a/b; export X=1; Y=2").await;
    let seen = workspace.act(Input::Text("echo $X$Y; pwd; false")).await.expect("alive");
    assert_eq!(seen.text, "12\n/home/agent/work/a/b\n[exit code 1]\n");
    assert_eq!(seen.data["exit_code"], 1);
    assert_eq!(seen.data["folder"], "/home/agent/work/a/b");
    assert_eq!(workspace.isolation()["backend"], "local");
    workspace.close().await;
    assert_eq!(test.workbench.sandboxes.open(), 0);
}

#[tokio::test]
async fn screens_keys_and_recordings() {
    let test = TestWorkbench::new();
    let row = test.row(PLAIN);
    let mut workspace = test.open(&row, "screens").await;
    let mut steps = Vec::new();
    let seen =
        call(&mut *workspace, "exec", json!({"command": "read -r line; echo got $line", "timeout_ms": 300})).await;
    assert!(seen.data["running"] == json!(true) && seen.data["exit_code"].is_null(), "{}", seen.data);
    steps.push(seen.data);
    assert!(exec(&mut *workspace, "echo no").await.text.contains("still running"));
    let seen = call(&mut *workspace, "keys", json!({"keys": "hello<Enter>"})).await;
    assert!(seen.text.contains("got hello") && seen.data["exit_code"] == 0, "{}", seen.text);
    assert_eq!(seen.content[0]["type"], "screen");
    steps.push(seen.data);
    let seen = call(&mut *workspace, "resize", json!({"rows": 10, "columns": 40})).await;
    assert_eq!(seen.data["screen"]["columns"], 40);
    let seen = exec(&mut *workspace, "stty size; printf '\\033[2J\\033[3;5Hhere'").await;
    assert!(seen.text.starts_with("10 40\n"), "{}", seen.text);
    assert_eq!(seen.data["screen"]["lines"][2], "    here");
    steps.push(seen.data);
    let cast = asciicast(&steps);
    assert!(cast.starts_with("{") && cast.contains("got hello") && cast.contains("\"40x10\""), "{cast}");
    workspace.close().await;
}

#[tokio::test]
async fn a_shell_that_ends_is_replaced_where_it_stood() {
    let test = TestWorkbench::new();
    let row = test.row(PLAIN);
    let mut workspace = test.open(&row, "ends").await;
    let seen = exec(&mut *workspace, "mkdir d; cd d; echo bye; true && cd . ; exit 3").await;
    assert!(seen.text.contains("ended with exit code 3"), "{}", seen.text);
    assert_eq!(exec(&mut *workspace, "echo here").await.text, "here\n");
    let seen = exec(&mut *workspace, "kill -9 $$").await;
    assert!(seen.text.contains("a new one was started"), "{}", seen.text);
    exec(&mut *workspace, "(sleep 0.2; kill -9 $$) & disown").await;
    let seen = call(&mut *workspace, "read", json!({"wait_ms": 30_000})).await;
    let seen = if seen.text.contains("a new one") {
        seen
    } else {
        call(&mut *workspace, "read", json!({"wait_ms": 30_000})).await
    };
    assert!(seen.text.contains("a new one was started"), "{}", seen.text);
    let seen = call(&mut *workspace, "keys", json!({"keys": "exit 4<Enter>"})).await;
    assert!(seen.text.contains("exit code 4"), "{}", seen.text);
    assert_eq!(exec(&mut *workspace, "echo here").await.text, "here\n");
    workspace.close().await;
}

#[tokio::test]
async fn reading_waits_for_what_is_printed() {
    let test = TestWorkbench::new();
    let row = test.row(PLAIN);
    let mut workspace = test.open(&row, "reading").await;
    call(&mut *workspace, "keys", json!({"keys": "clear; sleep 1; echo la''ter<Enter>", "wait_ms": 0})).await;
    let mut seen = call(&mut *workspace, "read", json!({"wait_ms": 30_000})).await;
    while !seen.text.contains("later") {
        seen = call(&mut *workspace, "read", json!({"wait_ms": 30_000})).await;
    }
    workspace.close().await;
}

#[tokio::test]
async fn files_go_in_and_out_as_the_shells_user() {
    let test = TestWorkbench::new();
    let row = test.row(PLAIN);
    let mut workspace = test.open(&row, "files").await;
    call(&mut *workspace, "upload", json!({"path": "new/x.sh", "text": "echo ran\n", "mode": 0o755})).await;
    assert_eq!(exec(&mut *workspace, "./new/x.sh; stat -c '%a %u' new/x.sh").await.text, "ran\n755 1000\n");
    call(&mut *workspace, "upload", json!({"path": "b", "base64": "/wA="})).await;
    assert_eq!(call(&mut *workspace, "download", json!({"path": "b"})).await.data["base64"], "/wA=");
    assert_eq!(call(&mut *workspace, "download", json!({"path": "new/x.sh"})).await.text, "echo ran\n");
    for (tool, arguments) in [
        ("upload", json!({"path": "/etc/passwd", "text": "x"})),
        ("upload", json!({"path": "/usr/bin/ls", "text": "x"})),
        ("upload", json!({"path": "y"})),
        ("download", json!({"path": "missing"})),
        ("download", json!({"path": "/dev/zero"})),
        ("download", json!({"path": "--help"})),
        ("download", json!({"path": "/etc/shadow"})),
        ("exec", json!({"command": "x\u{0}y"})),
        ("exec", json!({"commnd": "x"})),
        ("nothing", json!({})),
    ] {
        let seen = call(&mut *workspace, tool, arguments.clone()).await;
        assert!(seen.data.as_object().is_some_and(serde_json::Map::is_empty), "{tool} {arguments}: {}", seen.text);
    }
    assert_eq!(exec(&mut *workspace, "echo alive").await.text, "alive\n");
    workspace.close().await;
}

#[tokio::test]
async fn a_copy_goes_its_own_way_with_files_folder_and_variables() {
    let test = TestWorkbench::new();
    let row = test.row(PLAIN);
    let mut workspace = test.open(&row, "parent").await;
    exec(&mut *workspace, "mkdir d; cd d; echo one > f; export GREETING='two  words'\"'\"").await;
    let mut copy = workspace.fork("child").await.expect("forked").expect("a copy");
    exec(&mut *workspace, "echo changed > f").await;
    let seen = exec(&mut *copy, "pwd; cat f; echo \"$GREETING\"; echo child >> f").await;
    assert!(seen.text.ends_with("/home/agent/work/d\none\ntwo  words'\n"), "{}", seen.text);
    assert!(seen.text.contains("This is a copy"), "a process of the set-up ran: {}", seen.text);
    assert_eq!(exec(&mut *workspace, "cat f").await.text, "changed\n");

    let snapshot = workspace.snapshot().await.expect("taken").expect("a snapshot");
    exec(&mut *workspace, "rm f; echo x > g").await;
    let changes = workspace.changes(Some(&snapshot)).await.expect("listed").expect("changes");
    let reported: Vec<(&str, &str)> = changes["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|change| (change["path"].as_str().expect("text"), change["change"].as_str().expect("text")))
        .collect();
    assert!(reported.contains(&("/home/agent/work/d/f", "deleted")), "{reported:?}");
    assert!(reported.contains(&("/home/agent/work/d/g", "added")), "{reported:?}");
    let from = Opening { from: Some(snapshot), ..opening("restored") };
    let mut restored = test.terminal.open(&row, &from, &test.workbench).await.expect("a workspace");
    assert_eq!(
        exec(&mut *restored, "pwd; cat f; echo \"$GREETING\"; ls").await.text,
        "/home/agent/work/d\nchanged\ntwo  words'\nf\n"
    );
    for mut workspace in [workspace, copy, restored] {
        workspace.close().await;
    }
}

#[tokio::test]
async fn files_outlive_the_server_and_processes_do_not() {
    let test = TestWorkbench::new();
    let row = test.row(PLAIN);
    let mut workspace = test.open(&row, "outlive").await;
    exec(&mut *workspace, "echo kept > f; sync").await;
    workspace.leave().await;
    let resumed = Opening { resumed: true, ..opening("outlive") };
    let mut workspace = test.terminal.open(&row, &resumed, &test.workbench).await.expect("the disk is there");
    assert!(workspace.observe().await.expect("seen").text.contains("processes and variables are gone"));
    assert_eq!(exec(&mut *workspace, "cat f").await.text, "kept\n");
    workspace.close().await;
    let gone = Opening { resumed: true, ..opening("never-was") };
    assert!(test.terminal.open(&row, &gone, &test.workbench).await.is_err());
}

#[tokio::test]
async fn the_time_of_a_task_ends_it() {
    let test = TestWorkbench::new();
    let row = test.row(&PLAIN.replace("image: host", "image: host\ntimeout_s: 1"));
    let mut workspace = test.open(&row, "time").await;
    let seen = exec(&mut *workspace, "sleep 100").await;
    assert_eq!(seen.data["running"], true);
    assert!(exec(&mut *workspace, "echo late").await.terminated);
    workspace.close().await;
}

#[tokio::test]
async fn paths_that_no_list_holds_are_refused_and_the_room_goes_on() {
    let test = TestWorkbench::new();
    let row = test.row(PLAIN);
    let mut workspace = test.open(&row, "paths").await;
    let line = "name=$(printf 'n%.0s' $(seq 250)); for i in $(seq 7); do mkdir $name; cd $name; done; \
        seq -f '%0250.0f' 19000 | xargs touch; cd ~/work; echo made";
    assert_eq!(exec(&mut *workspace, line).await.text, "made\n");
    let refusals = [
        workspace.changes(None).await.expect_err("a list without bound"),
        workspace.snapshot().await.expect_err("an archive without bound"),
        workspace.fork("copy").await.err().expect("a copy without bound"),
    ];
    for refused in refusals {
        assert!(refused.is(FailureCode::TooLarge) && refused.to_string().contains("more than 32 MiB"), "{refused}");
    }
    assert_eq!(exec(&mut *workspace, "echo on").await.text, "on\n");
    workspace.close().await;
}
