//! Apps whose tasks and rows are data of their author: published, listed, opened by their own ids, and judged.

use std::path::Path;

use palestra::command::check::{CheckArguments, check};
use palestra::config::ConfigArguments;
use palestra_families::app::Files;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::server::{Answer, TestServer};

const HOTEL: [(&str, &str); 3] = [
    ("app.yaml", include_str!("../apps/hotel/app.yaml")),
    ("data.json", include_str!("../apps/hotel/data.json")),
    ("tasks.jsonl", include_str!("../apps/hotel/tasks.jsonl")),
];

fn hotel() -> Files {
    HOTEL.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
}

async fn publish(server: &TestServer, files: &Files) -> Answer {
    server.post("/v1/environments", &json!({"kind": "app", "files": files})).await
}

async fn with_hotel() -> TestServer {
    let server = TestServer::start().await;
    let published = publish(&server, &hotel()).await;
    assert_eq!(published.status, StatusCode::CREATED, "{}", published.body);
    server
}

async fn listed(server: &TestServer, split: &str) -> Vec<(Value, Value)> {
    let page = server.get(&format!("/v1/environments/app/hotel/tasks?split={split}")).await.ok();
    let tasks = page["data"].as_array().expect("a list");
    tasks.iter().map(|task| (task["id"].clone(), task["index"].clone())).collect()
}

async fn open(server: &TestServer, task: Value) -> Answer {
    server.post("/v1/sessions", &json!({"environment": "app/hotel", "task": task})).await
}

/// Opens a task, makes the calls, says that it is done, and answers the verdict.
async fn played(server: &TestServer, task: &str, calls: &[(&str, Value)]) -> Value {
    let session = open(server, json!({"id": task})).await.ok();
    assert_eq!(session["task"]["id"], task);
    let path = format!("/v1/sessions/{}/step", session["id"].as_str().expect("an id"));
    for (tool, arguments) in calls {
        server.post(&path, &json!({"action": {"tool": tool, "arguments": arguments}})).await.ok();
    }
    server.post(&path, &json!({"action": {"tool": "submit", "arguments": {"status": "ok"}}})).await.ok()["verdict"]
        .clone()
}

#[tokio::test]
async fn fixed_tasks_are_listed_by_split_and_found_by_the_ids_of_their_author() {
    let server = with_hotel().await;
    let environment = server.get("/v1/environments/app/hotel").await.ok();
    assert_eq!(environment["splits"], json!({"test": 2, "train": 1}));
    assert_eq!(listed(&server, "test").await, [(json!("desk/17"), json!(0)), (json!("desk/18"), json!(1))]);
    assert_eq!(listed(&server, "train").await, [(json!("desk/19"), json!(0))]);
    let by_index = open(&server, json!({"split": "test", "index": 1})).await.ok();
    assert_eq!(by_index["task"]["id"], "desk/18");
    assert_eq!(by_index["messages"][1]["content"], "What does Noah Khan pay for his night? Say it in the slot price.");
    let by_seed = open(&server, json!({"split": "train", "seed": 12_345})).await.ok();
    assert_eq!(by_seed["task"]["id"], "desk/19");
    for (task, code) in [
        (json!({"id": "desk/20"}), "unknown_task"),
        (json!({"id": "test-0"}), "unknown_task"),
        (json!({"split": "test", "index": 2}), "unknown_task"),
        (json!({"split": "test", "difficulty": 0.5}), "invalid"),
    ] {
        let answer = open(&server, task.clone()).await;
        assert_eq!(answer.code(), code, "{task}: {}", answer.body);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_fixed_task_is_played_over_http_and_judged_by_its_rows() {
    let server = with_hotel().await;
    let cancel = |booking: &str| ("cancel", json!({"booking": booking, "note": "by phone"}));
    let solved = played(&server, "desk/17", &[cancel("#W2378156")]).await;
    assert_eq!((&solved["score"], &solved["strict"]), (&json!(1.0), &json!(1)), "{solved}");
    let idle = played(&server, "desk/17", &[]).await;
    assert_eq!(idle["score"], 0.0, "{idle}");
    let too_much = played(&server, "desk/17", &[cancel("#W2378156"), cancel("#W2378157")]).await;
    assert!(too_much["strict"] == 0.0 && too_much["score"].as_f64().expect("a score") < 1.0, "{too_much}");
    // The third task asserts one thing, and leaves the rest open.
    let open = played(&server, "desk/19", &[cancel("#W2378156"), cancel("#W2378157")]).await;
    assert_eq!(open["score"], 1.0, "{open}");
    server.stop().await;
}

#[tokio::test]
async fn a_weak_fixed_task_is_a_note_and_a_wrong_one_a_fault_at_its_line() {
    let server = TestServer::start().await;
    let mut files = hotel();
    let twice = files["tasks.jsonl"].lines().next().expect("a line").replace("desk/17", "desk/16");
    files.insert("tasks.jsonl".to_owned(), format!("{}{twice}\n", HOTEL[2].1));
    let published = publish(&server, &files).await;
    let notes = published.ok()["notes"].to_string();
    for note in ["desk/16: it has the same text as desk/17", "the solution of desk/17 solves it too"] {
        assert!(notes.contains(note), "{note}: {notes}");
    }
    files.insert("tasks.jsonl".to_owned(), HOTEL[2].1.replace("\"96.00\"", "\"97.00\""));
    let refused = publish(&server, &files).await;
    assert_eq!(refused.code(), "invalid", "{}", refused.body);
    let fault = refused.body["errors"][0]["detail"].as_str().expect("a text");
    assert!(fault.starts_with("tasks.jsonl:1:1: desk/17: the solution does not reach the goal"), "{fault}");
    files.insert("tasks.jsonl".to_owned(), HOTEL[2].1.replace("\"tool\": \"cancel\"", "\"tool\": \"cancle\""));
    let refused = publish(&server, &files).await;
    let fault = &refused.body["errors"][0];
    assert_eq!((&fault["file"], &fault["line"]), (&json!("tasks.jsonl"), &json!(1)), "{}", refused.body);
    server.stop().await;
}

#[tokio::test]
async fn the_check_command_reads_rows_and_tasks_in_the_folder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps/hotel");
    let arguments = CheckArguments {
        apps: vec![folder.display().to_string()],
        seeds: 1,
        calls: 50,
        draws: 10,
        json: true,
        config: ConfigArguments::default(),
    };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let checked = check(&arguments, &mut output, &mut errors).await;
    assert!(checked.is_ok() && errors.is_empty(), "{}", String::from_utf8_lossy(&errors));
    let report: Value = serde_json::from_slice(&output).expect("a line of JSON");
    let fixed = &report["report"]["fixed"];
    assert_eq!((&fixed["tasks"], &fixed["calls"], &fixed["survivors"]), (&json!(3), &json!(6), &json!(0)), "{report}");
}

#[test]
fn the_guide_shows_this_app() {
    let guide = include_str!("../../docs/apps.md");
    for (name, text) in HOTEL {
        assert!(guide.contains(text), "docs/apps.md shows another {}", Path::new("hotel").join(name).display());
    }
}
