//! The hidden values of a terminal task follow from a key that the server makes for each episode, never from the seed that its caller chooses.

use palestra::config::{Config, SandboxChoice};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::support::server::TestServer;

const NAME: &str = "terminal/hidden";
const SEED: u64 = 7;
const TASK: &str = r#"
image: host
instruction: Copy the flag from in.txt to out.txt.
secrets: {flag: "flag{%hex16%}"}
setup:
  files: [{path: in.txt, text: "${flag}\n"}]
  run: echo "$SEED" > number.txt
artefacts: [out.txt]
checks:
  - {name: flag, file: out.txt, equals: "${flag}\n"}
solution: cp in.txt out.txt
"#;

/// The flag that the build before drew: a function of the seed alone.
fn flag_of_seed(seed: u64) -> String {
    let digest = Sha256::digest(format!("secret of a terminal\0{seed}\0flag\01"));
    format!("flag{{{}}}", &hex::encode(digest)[..16])
}

fn with_sandboxes(config: &mut Config) {
    config.sandbox = SandboxChoice::Local;
    config.images = std::env::var_os("PALESTRA_IMAGES").map(Into::into);
}

async fn publish(server: &TestServer, task: &str) {
    let request = server.request(reqwest::Method::POST, &format!("/v1/environments?name={NAME}"));
    let answer =
        request.header("content-type", "application/yaml").body(task.to_owned()).send().await.expect("an answer");
    assert!(answer.status().is_success(), "{}", answer.text().await.expect("text"));
}

/// A server with the task.
async fn server() -> TestServer {
    let server = TestServer::start_with(with_sandboxes).await;
    publish(&server, TASK).await;
    server
}

async fn open(server: &TestServer, verify: &str) -> (String, String) {
    let body = json!({"environment": NAME, "seed": SEED, "verify": verify});
    let opened = server.post("/v1/sessions", &body).await.ok();
    let text = |field: &str| opened[field].as_str().expect("text").to_owned();
    (format!("/v1/sessions/{}", text("id")), text("episode"))
}

async fn say(server: &TestServer, session: &str, text: &str) -> Value {
    server.post(&format!("{session}/step"), &json!({"action": {"text": text}})).await.ok()
}

/// The flag that lies in a session's place, and the number that its set-up was told.
async fn hidden(server: &TestServer, session: &str) -> (String, String) {
    let step = say(server, session, "cat in.txt number.txt").await;
    let text = step["observation"]["text"].as_str().expect("text");
    // What a server that was started anew has to say comes before.
    let mut lines = text.lines().rev().map(str::to_owned);
    let number = lines.next().expect("a number");
    (lines.next().expect("a flag"), number)
}

async fn score(server: &TestServer, session: &str) -> Value {
    let verdict = server.post(&format!("{session}/verify"), &json!({})).await.ok();
    assert_eq!(verdict["status"], json!("scored"), "{verdict}");
    verdict["score"].clone()
}

fn no_sandboxes() -> bool {
    let none = std::env::var_os("PALESTRA_IMAGES").is_none();
    if none {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
    }
    none
}

/// Lets episodes look as the build before stored them.
fn without_keys(data: &TempDir) {
    let database = rusqlite::Connection::open(data.path().join("palestra.db")).expect("the file opens");
    let changed = database.execute("UPDATE episodes SET secret_key = NULL", []).expect("the statement runs");
    assert!(changed > 0, "there are episodes");
}

#[tokio::test]
async fn one_seed_hides_other_values_in_every_episode_and_on_every_server() {
    if no_sandboxes() {
        return;
    }
    let (one, other) = (server().await, server().await);
    let mut seen = Vec::new();
    let (session, _) = open(&one, "on_end").await;
    seen.push(hidden(&one, &session).await);
    let (second, _) = open(&one, "on_end").await;
    seen.push(hidden(&one, &second).await);
    one.post(&format!("{second}/reset"), &json!({"seed": SEED})).await.ok();
    seen.push(hidden(&one, &second).await);
    let (third, _) = open(&other, "on_end").await;
    seen.push(hidden(&other, &third).await);
    for (place, (flag, number)) in seen.iter().enumerate() {
        assert!(flag.starts_with("flag{") && flag.len() == 22, "{flag}");
        assert_ne!(*flag, flag_of_seed(SEED), "the flag follows from the seed");
        assert_ne!(*number, SEED.to_string(), "what set-up scripts hide by SEED follows from the seed");
        let number: u64 = number.parse().expect("a number");
        assert_ne!(*flag, flag_of_seed(number), "the number that a set-up may show leads to the flag");
        assert!(seen[..place].iter().all(|(before, _)| before != flag), "{seen:?}");
    }
    say(&one, &session, "cp in.txt out.txt").await;
    assert_eq!(score(&one, &session).await, json!(1.0));
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn what_goes_on_from_an_episode_keeps_its_hidden_values_also_under_another_root_secret() {
    if no_sandboxes() {
        return;
    }
    let server = server().await;
    let (session, episode) = open(&server, "on_end").await;
    let first = hidden(&server, &session).await;
    let snapshot = server.post(&format!("{session}/snapshots"), &json!({})).await.ok();
    let forked = server.post(&format!("{session}/fork"), &json!({"allow_inexact": true})).await.ok();
    let copy = format!("/v1/sessions/{}", forked["data"][0]["id"].as_str().expect("a copy"));
    assert_eq!(hidden(&server, &copy).await, first);
    let restored = server.post(&format!("{session}/restore"), &json!({"snapshot": snapshot["id"]})).await.ok();
    assert_ne!(restored["episode"], json!(episode));
    assert_eq!(hidden(&server, &session).await, first);
    let begun = server.post("/v1/sessions", &json!({"from": {"snapshot": snapshot["id"]}})).await.ok();
    let begun = format!("/v1/sessions/{}", begun["id"].as_str().expect("an id"));
    assert_eq!(hidden(&server, &begun).await, first);
    say(&server, &begun, "cp in.txt out.txt").await;
    assert_eq!(score(&server, &begun).await, json!(1.0));
    say(&server, &session, "cp in.txt out.txt").await;
    let kept = restored["episode"].as_str().expect("an id").to_owned();
    let data = server.stop().await;

    // The server's own secret changes; sessions go on from their disks, and are judged as they began.
    std::fs::remove_file(data.path().join("secret")).expect("the root secret");
    let server = TestServer::start_in(data, with_sandboxes).await;
    assert_eq!(hidden(&server, &session).await, first);
    assert_eq!(score(&server, &session).await, json!(1.0));
    say(&server, &copy, &format!("echo '{}' > out.txt", first.0)).await;
    assert_eq!(score(&server, &copy).await, json!(1.0));
    publish(&server, &TASK.replace("name: flag,", "name: the flag,")).await;
    let again = server.post(&format!("/v1/episodes/{kept}/verify"), &json!({"version": 2})).await.ok();
    assert_eq!((&again["status"], &again["score"]), (&json!("scored"), &json!(1.0)), "{again}");

    // Nothing that is answered holds the key.
    let data = server.stop().await;
    let database = rusqlite::Connection::open(data.path().join("palestra.db")).expect("the file opens");
    let key: String =
        database.query_row("SELECT secret_key FROM episodes WHERE id = ?1", [&kept], |row| row.get(0)).expect("a key");
    assert_eq!(key.len(), 64, "a key");
    for (table, column) in [("answers", "answer"), ("states", "state"), ("verdicts", "verdict"), ("steps", "answer")] {
        let sql = format!("SELECT COUNT(*) FROM {table} WHERE instr({column}, ?1)");
        let count: i64 = database.query_row(&sql, [&key], |row| row.get(0)).expect("a count");
        assert_eq!(count, 0, "{table} holds a key");
    }
}

#[tokio::test]
async fn sessions_of_the_build_before_end_as_they_would_have() {
    if no_sandboxes() {
        return;
    }
    let server = server().await;
    // Their places hold what followed from the seed.
    let answer = format!("echo '{}' > out.txt", flag_of_seed(SEED));
    let (live, _) = open(&server, "on_end").await;
    say(&server, &live, &answer).await;
    let (judged, episode) = open(&server, "on_end").await;
    say(&server, &judged, &answer).await;
    assert_eq!(score(&server, &judged).await, json!(0.0), "this build hides something else");
    let data = server.stop().await;
    without_keys(&data);

    let server = TestServer::start_in(data, with_sandboxes).await;
    assert_eq!(score(&server, &live).await, json!(1.0));
    publish(&server, &TASK.replace("name: flag,", "name: the flag,")).await;
    let again = server.post(&format!("/v1/episodes/{episode}/verify"), &json!({"version": 2})).await.ok();
    assert_eq!((&again["status"], &again["score"]), (&json!("scored"), &json!(1.0)), "{again}");
    server.stop().await;
}
