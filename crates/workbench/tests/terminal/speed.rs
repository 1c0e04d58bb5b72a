//! How long things take: printed, since a machine under load tells nothing.

use std::time::{Duration, Instant};

use crate::desk::{PLAIN, TestDesk, exec};

#[tokio::test]
async fn commands_and_forks() {
    let test = TestDesk::new();
    let row = test.row(&PLAIN.replace("(sleep 1000 &)", "true"));
    let began = Instant::now();
    let mut room = test.open(&row, "speed").await;
    println!("a room from cold: {:?}", began.elapsed());
    let mut times = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        assert_eq!(exec(&mut *room, "true").await.data["exit_code"], 0);
        times.push(began.elapsed());
    }
    print("exec true", times);
    exec(&mut *room, "head -c 1000000 /dev/urandom > changed").await;
    let mut times = Vec::new();
    for number in 0..10 {
        let began = Instant::now();
        let mut copy = room.fork(&format!("copy-{number}")).await.expect("forked").expect("a copy");
        times.push(began.elapsed());
        assert_eq!(exec(&mut *copy, "wc -c < changed").await.text, "1000000\n");
        copy.close().await;
    }
    print("fork with 1 MB changed, from cold", times);
    room.close().await;
}

#[expect(clippy::print_stdout, reason = "figures are for whoever looks")]
fn print(what: &str, mut times: Vec<Duration>) {
    times.sort();
    println!("{what}: p50 {:?}, p95 {:?}", times[times.len() / 2], times[times.len() * 95 / 100]);
}
