//! Durations of operations: printed, since a machine under load tells nothing.

use std::time::{Duration, Instant};

use crate::workbench::{PLAIN, TestWorkbench, exec};

#[tokio::test]
async fn commands_and_forks() {
    let test = TestWorkbench::new();
    let row = test.row(&PLAIN.replace("(sleep 1000 &)", "true"));
    let began = Instant::now();
    let mut workspace = test.open(&row, "speed").await;
    println!("a workspace from cold: {:?}", began.elapsed());
    let mut times = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        assert_eq!(exec(&mut *workspace, "true").await.data["exit_code"], 0);
        times.push(began.elapsed());
    }
    print("exec true", times);
    exec(&mut *workspace, "head -c 1000000 /dev/urandom > changed").await;
    let mut times = Vec::new();
    for number in 0..10 {
        let began = Instant::now();
        let mut copy = workspace.fork(&format!("copy-{number}")).await.expect("forked").expect("a copy");
        times.push(began.elapsed());
        assert_eq!(exec(&mut *copy, "wc -c < changed").await.text, "1000000\n");
        copy.close().await;
    }
    print("fork with 1 MB changed, from cold", times);
    workspace.close().await;
}

#[expect(clippy::print_stdout, reason = "figures are for whoever looks")]
fn print(what: &str, mut times: Vec<Duration>) {
    times.sort();
    println!("{what}: p50 {:?}, p95 {:?}", times[times.len() / 2], times[times.len() * 95 / 100]);
}
