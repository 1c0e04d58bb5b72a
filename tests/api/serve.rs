//! `palestra serve`: the program itself.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Ends the program with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn palestra() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palestra"));
    // What the developer has set must not reach the test.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PALESTRA_")) {
        command.env_remove(name);
    }
    command.current_dir(std::env::temp_dir());
    command
}

/// Starts a server and reads what it prints up to the line that says that it is ready.
fn start(data: &std::path::Path) -> (Running, Vec<String>) {
    let mut child = palestra()
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let output = child.stdout.take().expect("its output");
    let running = Running(child);
    let mut lines = Vec::new();
    for line in BufReader::new(output).lines() {
        lines.push(line.expect("text"));
        if lines.last().is_some_and(|line| line.starts_with("ready ")) {
            return (running, lines);
        }
    }
    panic!("never ready: {lines:?}");
}

#[test]
fn the_pasted_lines_of_the_first_start_end_in_a_scored_verdict() {
    let data = tempfile::tempdir().unwrap();
    let (mut running, lines) = start(data.path());
    let curls: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| line.starts_with("curl")).collect();
    assert_eq!(curls.len(), 3, "{lines:?}");
    let mut answer = Value::Null;
    for line in curls {
        let output = Command::new("sh").args(["-c", line]).output().expect("a shell");
        answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{line}: {output:?}"));
    }
    assert_eq!(answer["status"], "scored", "{answer}");
    assert_eq!(answer["score"], 1.0, "{answer}");

    // A second server on the same folder is refused while the first one lives.
    let second = palestra().args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path()).output().unwrap();
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("another palestra"), "{second:?}");

    // The signal ends it in good order, and the next start has no key to show.
    let stopped = Command::new("kill").arg(running.0.id().to_string()).status().unwrap();
    assert!(stopped.success());
    assert!(running.0.wait().unwrap().success());
    let (_running, lines) = start(data.path());
    assert_eq!(lines.len(), 1, "{lines:?}");
}

#[test]
fn a_flag_wins_over_the_environment_and_a_wrong_value_is_named() {
    let refused = |command: &mut Command| String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned();
    let from_environment = refused(palestra().arg("serve").env("PALESTRA_LISTEN", "nowhere"));
    assert!(
        from_environment.contains("setting listen (set by --listen or PALESTRA_LISTEN): \"nowhere\""),
        "{from_environment}"
    );
    let from_flag = refused(palestra().args(["serve", "--listen", "elsewhere"]).env("PALESTRA_LISTEN", "nowhere"));
    assert!(from_flag.contains("setting listen (set by --listen or PALESTRA_LISTEN): \"elsewhere\""), "{from_flag}");
}

#[test]
fn the_api_document_is_printed() {
    let output = palestra().arg("openapi").output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["paths"]["/v1/sessions"]["post"].is_object());
}
