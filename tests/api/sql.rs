//! Databases to act in, over HTTP. What engines, rooms and judges do is tried by their own package; here it is how a server offers
//! them: played, rewound, forked, restored, picked up after a restart, judged, published.

use std::collections::BTreeMap;

use palestra::config::Config;
use reqwest::Method;
use serde_json::{Value, json};

use super::environments::play_every_version;
use crate::support::server::{TestServer, read};

/// A server whose workers are run by the program itself: a test is no program that could.
pub(super) fn with_workers(config: &mut Config) {
    config.sqlite_worker = Some(env!("CARGO_BIN_EXE_palestra").into());
    config.sqlite_workers = 1;
    config.sql_postgres_warm = 1;
}

async fn open(server: &TestServer, engine: &str, environment: &str) -> String {
    let body =
        json!({"environment": environment, "task": {"split": "train", "index": 0}, "config": {"engine": engine}});
    path(&server.post("/v1/sessions", &body).await.ok())
}

fn path(opened: &Value) -> String {
    format!("/v1/sessions/{}", opened["id"].as_str().expect("an id"))
}

async fn query(server: &TestServer, session: &str, sql: &str) -> Value {
    tool(server, session, "query", json!({"sql": sql})).await
}

async fn tool(server: &TestServer, session: &str, tool: &str, arguments: Value) -> Value {
    let action = json!({"action": {"tool": tool, "arguments": arguments}});
    server.post(&format!("{session}/step"), &action).await.ok()["observation"]["data"].clone()
}

fn first_value(data: &Value) -> &Value {
    &data["results"][0]["rows"][0][0]
}

/// A folder of one database with questions.
pub(super) fn folder() -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        (
            "pond.sql",
            "CREATE TABLE duck (id INTEGER PRIMARY KEY, name TEXT NOT NULL, weight INTEGER);\n\
             INSERT INTO duck VALUES (1, 'Ada', 900), (2, 'Bo', 1200), (3, 'Cy', NULL), (4, 'Di', 1500);\n"
                .to_owned(),
        ),
        (
            "questions.json",
            json!([
                {"db": "pond", "query": "How many ducks weigh more than 1000?",
                 "gold": "SELECT count(*) FROM duck WHERE weight > 1000"},
                {"db": "pond", "query": "Names of the ducks, heaviest first, of those that were weighed.",
                 "gold": "SELECT name FROM duck WHERE weight IS NOT NULL ORDER BY weight DESC"},
            ])
            .to_string(),
        ),
    ])
}

fn archive(files: &BTreeMap<&'static str, String>) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, text.as_bytes()).expect("it fits");
    }
    archive.into_inner().expect("an archive")
}

pub(super) async fn publish(server: &TestServer, name: &str, files: &BTreeMap<&'static str, String>) -> (u16, Value) {
    let request = server.request(Method::POST, &format!("/v1/environments?name={name}"));
    let answer = read(request.header("content-type", "application/x-tar").body(archive(files))).await;
    (answer.status.as_u16(), answer.body)
}

#[tokio::test]
async fn earlier_versions_of_shipped_databases_are_still_played() {
    let server = TestServer::start_with(with_workers).await;
    let databases = [("sql/migration", 2), ("sql/policy", 2), ("sql/repair", 2), ("sql/tuning", 2)];
    play_every_version(&server, &databases).await;
    server.stop().await;
}

#[tokio::test]
async fn settings_that_do_not_fit_are_named() {
    let server = TestServer::start_with(with_workers).await;
    for (config, field) in [(json!({"engine": "oracle"}), "config.engine"), (json!({"speed": 3}), "config.speed")] {
        let body = json!({"environment": "sql/policy", "config": config});
        let refused = server.post("/v1/sessions", &body).await;
        assert_eq!((refused.status.as_u16(), &refused.body["errors"][0]["field"]), (422, &json!(field)));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_session_is_played_rewound_forked_restored_and_judged_on_sqlite() {
    played("sqlite").await;
}

#[tokio::test]
async fn a_session_is_played_rewound_forked_restored_and_judged_on_postgresql() {
    played("postgres").await;
}

/// On a table of its own, so that it does not matter which task it is.
async fn played(engine: &str) {
    let server = TestServer::start_with(with_workers).await;
    let session = open(&server, engine, "sql/migration").await;
    query(&server, &session, "CREATE TABLE mine (a INTEGER)").await;
    query(&server, &session, "INSERT INTO mine VALUES (1)").await;
    query(&server, &session, "BEGIN; INSERT INTO mine VALUES (2)").await;
    let failed = query(&server, &session, "SELECT nothing FROM mine").await;
    assert!(failed["error"]["message"].as_str().expect("words").contains("nothing"), "{failed}");
    query(&server, &session, "ROLLBACK").await;
    let found = query(&server, &session, "SELECT count(*) FROM mine").await;
    assert_eq!(first_value(&found), &json!(1), "{found}");
    let rewound = tool(&server, &session, "rewind", json!({"to_seq": 1})).await;
    assert_eq!(rewound["error"], Value::Null, "{rewound}");
    let found = query(&server, &session, "SELECT count(*) FROM mine").await;
    assert_eq!(first_value(&found), &json!(0), "{found}");

    let snapshot = server.post(&format!("{session}/snapshots"), &json!({"name": "empty"})).await.ok();
    let forked = server.post(&format!("{session}/fork"), &json!({"count": 2})).await.ok();
    let copy = path(&forked["data"][1]);
    query(&server, &copy, "INSERT INTO mine VALUES (7)").await;
    let found = query(&server, &copy, "SELECT a FROM mine").await;
    assert_eq!(first_value(&found), &json!(7), "{found}");
    let found = query(&server, &session, "SELECT count(*) FROM mine").await;
    assert_eq!(first_value(&found), &json!(0), "a fork acts on its own: {found}");
    let earlier = server.post(&format!("{session}/fork"), &json!({"at_seq": 2})).await.ok();
    let earlier = path(&earlier["data"][0]);
    let found = query(&server, &earlier, "SELECT count(*) FROM mine").await;
    assert_eq!(first_value(&found), &json!(1), "{found}");

    query(&server, &session, "DROP TABLE mine").await;
    let restored = server.post(&format!("{session}/restore"), &json!({"snapshot": snapshot["id"]})).await.ok();
    assert_eq!(restored["seq"], snapshot["seq"], "{restored}");
    let found = query(&server, &session, "SELECT count(*) FROM mine").await;
    assert_eq!(first_value(&found), &json!(0), "{found}");

    // A new process knows what the sessions did.
    let server = TestServer::start_in(server.stop().await, with_workers).await;
    let found = query(&server, &copy, "SELECT a FROM mine").await;
    assert_eq!(first_value(&found), &json!(7), "{found}");
    let submit = json!({"action": {"tool": "submit", "arguments": {}}});
    let step = server.post(&format!("{copy}/step"), &submit).await.ok();
    assert_eq!(step["terminated"], json!(true), "{step}");
    let verdict = server.post(&format!("{copy}/verify"), &json!({})).await.ok();
    assert_eq!((&verdict["status"], &verdict["judge"]), (&json!("scored"), &json!("fresh")), "{verdict}");
    assert!(verdict["score"].as_f64().is_some_and(|score| score < 1.0), "{verdict}");
    let server = TestServer::start_in(server.stop().await, with_workers).await;
    let state = server.get(&format!("{copy}/state")).await.ok();
    assert_eq!(state["hash"], verdict["state"], "{state}");
    server.stop().await;
}

#[tokio::test]
async fn a_folder_of_databases_becomes_an_environment_on_both_engines() {
    let server = TestServer::start_with(with_workers).await;
    let (status, published) = publish(&server, "sql/pond", &folder()).await;
    assert_eq!(status, 201, "{published}");
    assert_eq!(
        published["environment"]["splits"]
            .as_object()
            .expect("splits")
            .values()
            .map(|n| n.as_u64().unwrap_or(0))
            .sum::<u64>(),
        2
    );
    let split = published["environment"]["splits"].as_object().expect("splits").keys().next().expect("one").clone();
    let (status, again) = publish(&server, "sql/pond", &folder()).await;
    assert_eq!((status, &again["environment"]["digest"]), (200, &published["environment"]["digest"]), "{again}");
    for engine in ["sqlite", "postgres"] {
        for (sql, score) in [
            ("SELECT sum(CASE WHEN weight > 1000 THEN 1 ELSE 0 END) AS n FROM duck", 1.0),
            ("SELECT 2", 0.0),
            ("SELECT count(*) FROM duck WHERE weight >= 1200", 0.0),
            ("SELECT count(*) FROM goose", 0.0),
        ] {
            let body =
                json!({"environment": "sql/pond", "task": {"split": split, "index": 0}, "config": {"engine": engine}});
            let session = path(&server.post("/v1/sessions", &body).await.ok());
            let action = json!({"seq": 1, "action": {"tool": "submit", "arguments": {"sql": sql}}});
            let step = server.post(&format!("{session}/step"), &action).await.ok();
            assert_eq!(step["verdict"]["status"], json!("scored"), "{step}");
            assert_eq!(step["verdict"]["score"], json!(score), "{sql} on {engine}: {step}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn questions_that_a_constant_answers_are_refused_or_left_out() {
    let server = TestServer::start_with(with_workers).await;
    let question = |query: &str, gold: Value| json!({"db": "pond", "query": query, "gold": gold});
    let fine =
        question("How many ducks, or how heavy?", json!(["SELECT count(*) FROM duck", "SELECT sum(weight) FROM duck"]));
    let constant = question("What is the answer?", json!("SELECT 42"));
    let mut files = folder();
    files.insert("questions.json", json!([constant, fine]).to_string());
    let (status, problem) = publish(&server, "sql/pond", &files).await;
    assert_eq!((status, &problem["errors"][0]["file"]), (422, &json!("questions.json: question 1")), "{problem}");
    let detail = problem["errors"][0]["detail"].as_str().expect("words");
    assert!(detail.contains("a query that writes the result out is right on every data"), "{detail}");
    let (status, published) = publish(&server, "sql/pond&keep_going=true", &files).await;
    assert_eq!(status, 201, "{published}");
    assert_eq!(published["environment"]["splits"], json!({"test": 1}));
    let notes = published["notes"].to_string();
    assert!(notes.contains("left out: questions.json: question 1: a query that writes"), "{notes}");
    for (sql, score) in
        [("SELECT count(id) FROM duck", 1.0), ("SELECT total(weight) FROM duck", 1.0), ("SELECT 4", 0.0)]
    {
        let body = json!({"environment": "sql/pond", "task": {"split": "test", "index": 0}});
        let session = path(&server.post("/v1/sessions", &body).await.ok());
        let action = json!({"seq": 1, "action": {"tool": "submit", "arguments": {"sql": sql}}});
        let step = server.post(&format!("{session}/step"), &action).await.ok();
        assert_eq!(step["verdict"]["score"], json!(score), "{sql}: {step}");
    }
    files.insert("questions.json", json!([constant]).to_string());
    let (status, problem) = publish(&server, "sql/pond&keep_going=true", &files).await;
    assert_eq!(status, 422, "where nothing is left, nothing is published: {problem}");
    server.stop().await;
}

#[tokio::test]
async fn what_cannot_be_proven_is_not_published() {
    let server = TestServer::start_with(with_workers).await;
    let mut broken = folder();
    broken
        .insert("questions.json", json!([{"db": "pond", "query": "?", "gold": "SELECT colour FROM duck"}]).to_string());
    let (status, problem) = publish(&server, "sql/pond", &broken).await;
    assert_eq!(status, 422, "{problem}");
    assert!(problem["errors"][0]["detail"].as_str().expect("words").contains("colour"), "{problem}");
    let mut absent = folder();
    absent.remove("pond.sql");
    let (status, problem) = publish(&server, "sql/pond", &absent).await;
    assert_eq!(status, 422, "{problem}");
    let (status, problem) = publish(&server, "sql/No Name", &folder()).await;
    assert_eq!((status, &problem["errors"][0]["field"]), (422, &json!("name")), "{problem}");
    assert_eq!(server.get("/v1/environments/sql/pond").await.status.as_u16(), 404);
    server.stop().await;
}
