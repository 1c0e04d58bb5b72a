//! `palestra serve`: the program itself.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

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

/// Starts a server without workers and reads what it prints up to the line that says that it is ready.
fn start(data: &std::path::Path) -> (Running, Vec<String>) {
    start_by(palestra().env("PALESTRA_WORKERS", "none"), data)
}

fn start_by(palestra: &mut Command, data: &std::path::Path) -> (Running, Vec<String>) {
    let mut child = palestra
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

/// Longest wait for a worker to begin or to be gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// The processes that a process started, where the system tells.
fn children(parent: u32) -> Vec<u32> {
    // Each thread has children of its own.
    let threads = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten();
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok());
    texts.flat_map(|text| text.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// True if a process still runs. A zombie does not.
fn runs(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_does_light_jobs_by_itself_and_takes_its_workers_with_it() {
    const KEY: &str = "an-admin-key-for-tests";
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = palestra();
    server.env("PALESTRA_ADMIN_KEY", KEY);
    let (mut running, lines) = start_by(&mut server, &data);
    let url = lines.last().unwrap().strip_prefix("ready ").unwrap().to_owned();
    let client = |words: &[&str]| {
        let output = palestra().args(words).args(["--url", &url, "--key", KEY]).output().unwrap();
        (
            output.status,
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };

    let file = folder.path().join("job.json");
    let spec = json!({
        "policy": {"from": "builtin:oracle"}, "environments": [{"name": "puzzle/countdown", "split": "test"}], "episodes": 3
    });
    std::fs::write(&file, spec.to_string()).unwrap();
    let (status, output, errors) = client(&["jobs", "submit", file.to_str().unwrap(), "--kind", "evaluate", "--watch"]);
    assert!(status.success() && output.contains(" is succeeded"), "{output}{errors}");
    assert!(errors.contains("running on local worker"), "{errors}");
    let id = output.split_whitespace().next().unwrap();
    let (_, shown, _) = client(&["jobs", "show", id]);
    assert!(shown.contains("succeeded") && shown.contains("file "), "{shown}");
    let out = folder.path().join("out");
    let (status, listed, errors) = client(&["jobs", "download", id, "--out", out.to_str().unwrap()]);
    assert!(status.success() && !listed.is_empty(), "{errors}");
    let (status, listed, _) = client(&["jobs", "list", "--kind", "evaluate", "--json"]);
    assert!(status.success());
    assert_eq!(serde_json::from_str::<Value>(&listed).unwrap()[0]["id"], id);

    // A job with a mistake is refused with the field.
    let wrong = folder.path().join("wrong.json");
    std::fs::write(&wrong, json!({"kind": "evaluate", "spec": {}}).to_string()).unwrap();
    let (status, _, errors) = client(&["jobs", "submit", wrong.to_str().unwrap()]);
    assert!(!status.success() && errors.contains("spec"), "{errors}");

    // Killed, it leaves no worker behind.
    let workers = children(running.0.id());
    assert!(!workers.is_empty());
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    wait_until("the workers of a killed server end", || !workers.iter().any(|id| runs(*id)));

    // Stopped, it revokes the keys of its workers: that of the killed server, and its own.
    let mut server = palestra();
    server.env("PALESTRA_ADMIN_KEY", KEY);
    let (mut running, _) = start_by(&mut server, &data);
    wait_until("a worker begins", || !children(running.0.id()).is_empty());
    assert!(Command::new("kill").arg(running.0.id().to_string()).status().unwrap().success());
    assert!(running.0.wait().unwrap().success());
    let keys = palestra().args(["keys", "list", "--data"]).arg(&data).output().unwrap();
    let keys = String::from_utf8_lossy(&keys.stdout).into_owned();
    let of_workers: Vec<&str> = keys.lines().filter(|line| line.contains("local workers of")).collect();
    assert_eq!(of_workers.len(), 2, "{keys}");
    assert!(of_workers.iter().all(|line| !line.trim_end_matches(['│', ' ']).ends_with('-')), "{keys}");
}

#[test]
fn a_restarted_server_takes_the_jobs_of_its_own_workers_back_at_once() {
    const KEY: &str = "an-admin-key-for-tests";
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("job.json");
    let spec = json!({
        "policy": {"from": "builtin:oracle"}, "environments": [{"name": "puzzle/countdown", "split": "test"}],
        "episodes": 1_000_000,
    });
    std::fs::write(&file, spec.to_string()).unwrap();
    // Leases last longer than the test is patient.
    let begin = || {
        let mut server = palestra();
        server.env("PALESTRA_ADMIN_KEY", KEY).env("PALESTRA_JOB_LEASE_MS", "600000");
        let (running, lines) = start_by(&mut server, &data);
        (running, lines.last().unwrap().strip_prefix("ready ").unwrap().to_owned())
    };
    let client = |url: &str, words: &[&str]| -> Value {
        let output = palestra().args(words).args(["--url", url, "--key", KEY, "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let (mut running, url) = begin();
    let job = client(&url, &["jobs", "submit", file.to_str().unwrap(), "--kind", "evaluate"]);
    let id = job["id"].as_str().unwrap();
    wait_until("a worker takes the job", || client(&url, &["jobs", "show", id])["state"] == "running");
    let before = client(&url, &["jobs", "show", id]);
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    let (_running, url) = begin();
    wait_until("the job runs again", || {
        let job = client(&url, &["jobs", "show", id]);
        job["state"] == "running" && job["started_at"] != before["started_at"]
    });
    let after = client(&url, &["jobs", "show", id]);
    assert_eq!((&after["attempts"], &after["worker"]), (&json!(1), &before["worker"]));
}

#[test]
fn the_api_document_is_printed() {
    let output = palestra().arg("openapi").output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["paths"]["/v1/sessions"]["post"].is_object());
}
