//! Tests of the confinement, as the kernel reports it.

use std::fs;

use palestra_sqlite_worker::machine;
use palestra_sqlite_worker::wire::{Access, Answer, Ask};

use crate::worker::Worker;

#[test]
fn the_process_is_confined_before_it_answers() {
    let mut worker = Worker::start();
    worker.template("t", "CREATE TABLE a(b)");
    worker.open(1, "t", Access::Define);
    assert!(matches!(worker.ask(Ask::Usage), Answer::Usage(_)));
    let proc = format!("/proc/{}", worker.process.id());
    for task in fs::read_dir(format!("{proc}/task")).expect("its threads") {
        let status = fs::read_to_string(task.expect("a thread").path().join("status")).expect("its status");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
            line.trim_start_matches(':').trim().to_owned()
        };
        assert_eq!((field("Seccomp"), field("NoNewPrivs")), ("2".to_owned(), "1".to_owned()));
        assert!(field("Seccomp_filters").parse::<u32>().expect("a number") >= 2);
    }
    let mut open: Vec<_> = fs::read_dir(format!("{proc}/fd"))
        .expect("its descriptors")
        .map(|entry| entry.expect("one").file_name().into_string().expect("a number"))
        .collect();
    open.sort();
    assert_eq!(open, ["0", "1", "2"]);
    let limits = fs::read_to_string(format!("{proc}/limits")).expect("its limits");
    let limit = |name: &str| limits.lines().find(|line| line.starts_with(name)).expect("a limit").to_owned();
    assert!(limit("Max core file size").contains(" 0 "));
    assert!(!limit("Max address space").contains("unlimited"));
}

/// Bytes of addresses that a worker may have, once it answers.
fn address_space(arguments: &[&str]) -> u64 {
    let mut worker = Worker::start_with(arguments);
    assert!(matches!(worker.ask(Ask::Usage), Answer::Usage(_)));
    let limits = fs::read_to_string(format!("/proc/{}/limits", worker.process.id())).expect("its limits");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space")).expect("a limit");
    line.split_whitespace().next().and_then(|soft| soft.parse().ok()).expect("a number")
}

/// Beside the same for everything else, each of four has a quarter of what a single one has.
#[test]
fn workers_share_the_memory_that_there_is() {
    let (alone, one_of_four) = (address_space(&[]), address_space(&["--workers=4"]));
    let all = machine::memory_bytes() / 4 * 3;
    assert_eq!(alone - one_of_four, all - all / 4);
    assert_eq!(address_space(&["--workers=1"]), alone);
}

#[test]
fn a_worker_that_is_told_nonsense_does_not_start() {
    let mut worker = Worker::start_with(&["--workers=many"]);
    assert_eq!(worker.process.wait().expect("it ends").code(), Some(2));
}

#[test]
fn it_ends_when_its_input_does() {
    let mut worker = Worker::start();
    worker.template("t", "CREATE TABLE a(b)");
    worker.end_input();
    let status = worker.process.wait().expect("it ends");
    assert!(status.success(), "{status}");
}

#[test]
fn it_ends_on_what_is_no_request() {
    for bytes in [&[4, 0, 0, 0, 1, 200, 200, 200][..], &[255, 255, 255, 255], &[9, 0, 0, 0, 1]] {
        let mut worker = Worker::start();
        worker.send_bytes(bytes);
        worker.end_input();
        let status = worker.process.wait().expect("it ends");
        assert_eq!(status.code(), Some(1), "{bytes:?}");
    }
}
