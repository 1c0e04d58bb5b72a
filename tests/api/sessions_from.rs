//! `POST /v1/sessions` with `from`: new sessions that begin at a snapshot or at a step of a stored episode.

use palestra::config::{Config, SandboxChoice};
use palestra_protocol::session::{CreateSession, Created, Opened, StartPoint, TakeSnapshot};
use reqwest::Method;
use serde_json::{Value, json};

use super::sessions::add;
use super::sql::with_workers;
use crate::support::server::{Answer, TestServer, read};
use palestra_test_support::postgres::Database;

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} in {value}"))
}

fn path(opened: &Value) -> String {
    format!("/v1/sessions/{}", text(opened, "id"))
}

/// A counter that ends at 100 and draws a number with every step.
async fn counter(server: &TestServer) -> Value {
    let body = json!({"environment": "bench/counter", "task": {"split": "train", "index": 4}, "seed": 9,
                      "config": {"target": 100, "draws": true}, "metadata": {"mine": true}});
    server.post("/v1/sessions", &body).await.ok()
}

/// A step with the hash of the state after it.
async fn step(server: &TestServer, session: &str, seq: u64, amount: i64) -> Value {
    let mut step = add(seq, amount);
    step["observe"] = json!({"state_hash": true});
    server.post(&format!("{session}/step"), &step).await.ok()
}

async fn hash(server: &TestServer, session: &str) -> Value {
    server.get(&format!("{session}/state")).await.ok()["hash"].clone()
}

async fn from(server: &TestServer, from: Value) -> Value {
    server.post("/v1/sessions", &json!({"from": from})).await.ok()
}

async fn how_many(server: &TestServer) -> usize {
    server.get("/v1/sessions?limit=1000").await.ok()["data"].as_array().unwrap().len()
}

/// The fields that a session shares with its origin.
fn assert_stands(opened: &Value, origin: &Value, seq: u64) {
    for field in ["environment", "task", "seed"] {
        assert_eq!(opened[field], origin[field], "{field}");
    }
    assert_eq!(opened["seq"], json!(seq), "{opened}");
    assert_eq!((&opened["parent"], &opened["at_seq"]), (&origin["id"], &json!(seq)), "{opened}");
    assert_eq!((&opened["exact"], &opened["attempt"]), (&json!(true), &json!(1)), "{opened}");
    assert!(opened["id"] != origin["id"] && opened["episode"] != origin["episode"], "{opened}");
    assert!(opened["token"].is_string() && opened.get("run").is_none(), "{opened}");
}

#[tokio::test]
async fn a_snapshot_opens_any_number_of_sessions_after_its_own_has_ended() {
    let server = TestServer::start().await;
    let origin = counter(&server).await;
    let session = path(&origin);
    step(&server, &session, 1, 3).await;
    let second = step(&server, &session, 2, 4).await;
    let snapshot = server.post(&format!("{session}/snapshots"), &json!({"name": "here"})).await.ok();
    let third = step(&server, &session, 3, 5).await;
    server.delete(&session).await.ok();
    let server = TestServer::start_in(server.stop().await, |_| {}).await;
    for _ in 0..2 {
        let opened = from(&server, json!({"snapshot": snapshot["id"]})).await;
        assert_stands(&opened, &origin, 2);
        assert_eq!(opened["observation"], second["observation"]);
        assert_eq!(hash(&server, &path(&opened)).await, second["info"]["state_hash"]);
        // It goes on as the origin went on, and a step that it inherited answers as it did there.
        let next = step(&server, &path(&opened), 3, 5).await;
        assert_eq!(next["observation"], third["observation"]);
        assert_eq!(next["info"]["state_hash"], third["info"]["state_hash"]);
        assert_eq!(step(&server, &path(&opened), 2, 4).await["observation"], second["observation"]);
        let episode = server.get(&format!("/v1/episodes/{}", text(&opened, "episode"))).await.ok();
        assert_eq!(episode["origin"], json!({"episode": origin["episode"], "seq": 2}));
        let trajectory = server.get(&format!("/v1/episodes/{}/trajectory", text(&opened, "episode"))).await.ok();
        assert_eq!(trajectory["steps"].as_array().unwrap().len(), 3);
    }
    let body = json!({"from": {"snapshot": snapshot["id"]}, "count": 3, "metadata": {"other": 1}});
    let group = server.post("/v1/sessions", &body).await.ok();
    let members = group["data"].as_array().unwrap();
    assert_eq!(members.len(), 3);
    for member in members {
        assert_stands(member, &origin, 2);
        assert!(member["group"].is_string() && member["group"] == members[0]["group"]);
        assert_eq!(server.get(&path(member)).await.ok()["metadata"], json!({"other": 1}));
        assert_eq!(step(&server, &path(member), 3, 5).await["observation"], third["observation"]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stored_episode_is_gone_on_with_from_every_step_of_it() {
    let server = TestServer::start().await;
    let origin = counter(&server).await;
    let session = path(&origin);
    let mut hashes = vec![hash(&server, &session).await];
    for seq in 1..=4 {
        hashes.push(step(&server, &session, seq, 10).await["info"]["state_hash"].clone());
    }
    // Ended from outside, so that its last step can be gone on from; and then the session goes on with another episode.
    server.post(&format!("{session}/finish"), &json!({"reason": "gave_up"})).await.ok();
    server.post(&format!("{session}/reset"), &json!({"seed": 77, "task": {"split": "train", "index": 5}})).await.ok();
    server.delete(&session).await.ok();
    let point = |seq: u64| json!({"episode": origin["episode"], "seq": seq});
    for (seq, expected) in (0..).zip(&hashes) {
        let opened = from(&server, point(seq)).await;
        assert_stands(&opened, &origin, seq);
        assert_eq!(hash(&server, &path(&opened)).await, *expected, "after step {seq}");
        assert_eq!(step(&server, &path(&opened), seq + 1, 1).await["seq"], seq + 1);
    }
    // A session that began so is an origin like any other, also once it is rebuilt from its record.
    let child = from(&server, point(3)).await;
    let fourth = step(&server, &path(&child), 4, -7).await;
    let server = TestServer::start_in(server.stop().await, |_| {}).await;
    assert_eq!(hash(&server, &path(&child)).await, fourth["info"]["state_hash"]);
    for (seq, expected) in [(4, &fourth["info"]["state_hash"]), (2, &hashes[2])] {
        let grandchild = from(&server, json!({"episode": child["episode"], "seq": seq})).await;
        assert_stands(&grandchild, &child, seq);
        assert_eq!(hash(&server, &path(&grandchild)).await, *expected);
    }
    let opened = from(&server, point(4)).await;
    let ended = step(&server, &path(&opened), 5, 60).await;
    assert_eq!((&ended["terminated"], &ended["verdict"]["status"]), (&json!(true), &json!("scored")), "{ended}");
    assert_eq!(ended["verdict"]["usage"]["steps"], 5);
    // The step that ended an episode by the rules of its task is no point to go on from; the one before it is.
    let refused = server.post("/v1/sessions", &json!({"from": {"episode": opened["episode"], "seq": 5}})).await;
    assert_eq!((refused.code(), &refused.body["errors"][0]["field"]), ("invalid", &json!("from.seq")));
    from(&server, json!({"episode": opened["episode"], "seq": 4})).await;
    server.stop().await;
}

#[tokio::test]
async fn what_the_origin_decides_may_be_said_again_and_not_otherwise() {
    let server = TestServer::start().await;
    let origin = counter(&server).await;
    step(&server, &path(&origin), 1, 1).await;
    let mut before = how_many(&server).await;
    let point = json!({"episode": origin["episode"], "seq": 1});
    for (field, agrees, differs) in [
        ("environment", json!("bench/counter"), json!("bench/document")),
        ("environment", json!("bench/counter@1"), json!("bench/counter@2")),
        ("task", json!({"id": origin["task"]["id"]}), json!({"split": "train", "index": 5})),
        ("task", json!({"split": "train", "index": 4}), json!({"split": "train"})),
        ("seed", json!(9), json!(8)),
        ("config", json!({"draws": true, "target": 100}), json!({"target": 100})),
    ] {
        let mut body = json!({"from": point});
        body[field] = differs;
        let refused = server.post("/v1/sessions", &body).await;
        assert_eq!((refused.code(), &refused.body["errors"][0]["field"]), ("invalid", &json!(field)), "{body}");
        assert_eq!(how_many(&server).await, before, "{body}");
        body[field] = agrees;
        let opened = server.post("/v1/sessions", &body).await.ok();
        assert_stands(&opened, &origin, 1);
        before += 1;
    }
    server.stop().await;
}

#[tokio::test]
async fn points_that_cannot_be_opened_are_refused_and_leave_nothing_behind() {
    let server = TestServer::start().await;
    let origin = counter(&server).await;
    for seq in 1..=2 {
        step(&server, &path(&origin), seq, 1).await;
    }
    let unrecorded = json!({"environment": "bench/counter", "record": "none"});
    let unrecorded = server.post("/v1/sessions", &unrecorded).await.ok();
    step(&server, &path(&unrecorded), 1, 1).await;
    let unkept = server.post(&format!("{}/snapshots", path(&unrecorded)), &json!({})).await.ok();
    let effect = server.post("/v1/sessions", &json!({"environment": "bench/effect"})).await.ok();
    let gone = server.post("/v1/sessions", &json!({"environment": "bench/counter", "seed": 1234})).await.ok();
    server.sql("UPDATE episodes SET version = 99 WHERE seed = 1234").await;
    let (no_snapshot, no_episode) = ("snap_0197a3c2f2a87c53b0a1d5e6f7089abc", "epi_0197a3c2f2a87c53b0a1d5e6f7089abc");
    let point = |seq: u64| json!({"episode": origin["episode"], "seq": seq});
    let before = how_many(&server).await;
    for (body, code, field) in [
        (json!({"from": {"snapshot": no_snapshot}}), "not_found", None),
        (json!({"from": {"episode": no_episode, "seq": 0}}), "not_found", None),
        (json!({"from": point(3)}), "invalid", Some("from.seq")),
        (json!({"from": point(u64::MAX)}), "invalid", Some("from.seq")),
        (json!({"from": {}}), "invalid", Some("from")),
        (json!({"from": {"episode": origin["episode"]}}), "invalid", Some("from.seq")),
        (json!({"from": {"snapshot": no_snapshot, "seq": 1}}), "invalid", Some("from")),
        (json!({"from": {"snapshot": no_snapshot, "episode": no_episode, "seq": 1}}), "invalid", Some("from")),
        (json!({"from": {"snapshot": "ses_0197a3c2f2a87c53b0a1d5e6f7089abc"}}), "invalid", None),
        (json!({"from": {"snapshot": no_snapshot, "colour": 1}}), "invalid", None),
        (json!({}), "invalid", Some("environment")),
        (json!({"environment": ""}), "invalid", Some("environment")),
        (json!({"from": {"episode": unrecorded["episode"], "seq": 1}}), "not_supported", None),
        (json!({"from": {"snapshot": unkept["id"]}}), "not_supported", None),
        (json!({"from": {"episode": effect["episode"], "seq": 0}}), "not_supported", None),
        (json!({"from": {"episode": gone["episode"], "seq": 0}}), "unknown_environment", None),
        (json!({"from": point(2), "limits": {"steps": 2}}), "invalid", Some("limits.steps")),
        (json!({"from": point(2), "limits": {"calls": 2}}), "invalid", Some("limits.calls")),
        (json!({"from": point(2), "count": 0}), "invalid", Some("count")),
        (json!({"from": point(2), "run": "run_0197a3c2f2a87c53b0a1d5e6f7089abc"}), "not_found", None),
    ] {
        let refused = server.post("/v1/sessions", &body).await;
        assert_eq!(refused.code(), code, "{body}: {}", refused.body);
        if let Some(field) = field {
            assert_eq!(refused.body["errors"][0]["field"], json!(field), "{body}: {}", refused.body);
        }
        assert_eq!(how_many(&server).await, before, "{body}");
    }
    let words = server.post("/v1/sessions", &json!({"from": point(3)})).await.body["detail"].clone();
    assert!(words.as_str().unwrap().contains("2 steps"), "{words}");
    // The beginning of an unrecorded episode is known all the same.
    from(&server, json!({"episode": unrecorded["episode"], "seq": 0})).await;
    server.stop().await;
}

#[tokio::test]
async fn a_point_is_its_tenants_own_and_no_acting_sides() {
    let server = TestServer::start().await;
    let origin = counter(&server).await;
    step(&server, &path(&origin), 1, 1).await;
    let snapshot = server.post(&format!("{}/snapshots", path(&origin)), &json!({})).await.ok();
    let request = serde_json::from_value(json!({"name": "other", "scopes": ["admin"]})).unwrap();
    let other = server.app.auth().create_key("other", request).await.unwrap().secret;
    let url = format!("{}/v1/sessions", server.url());
    let send = |key: &str, point: &Value| read(server.http.post(&url).bearer_auth(key).json(&json!({"from": point})));
    for point in [json!({"snapshot": snapshot["id"]}), json!({"episode": origin["episode"], "seq": 1})] {
        assert_eq!(send(&other, &point).await.code(), "not_found", "{point}");
        assert_eq!(send(text(&origin, "token"), &point).await.code(), "forbidden", "{point}");
        let opened = send(server.key(), &point).await.ok();
        // The token of the new session reaches that one alone.
        let act = |session: &Value| {
            let step = server.http.post(format!("{}{}/step", server.url(), path(session)));
            read(step.bearer_auth(text(&opened, "token")).json(&add(2, 1)))
        };
        assert_eq!(act(&origin).await.code(), "forbidden");
        let seen = act(&opened).await.ok();
        assert_eq!((&seen["seq"], &seen["reward"]), (&json!(2), &Value::Null));
    }
    server.stop().await;
}

#[tokio::test]
async fn opening_from_a_point_with_a_key_acts_once() {
    let server = TestServer::start().await;
    let origin = counter(&server).await;
    step(&server, &path(&origin), 1, 1).await;
    let create = |key: &str, seq: u64, count: u64| {
        let body = json!({"from": {"episode": origin["episode"], "seq": seq}, "count": count});
        read(server.request(Method::POST, "/v1/sessions").header("idempotency-key", key).json(&body))
    };
    let (first, again) = tokio::join!(create("a", 1, 2), create("a", 1, 2));
    let first = first.ok();
    assert_eq!(first, again.ok());
    assert_eq!(how_many(&server).await, 3);
    assert_eq!(create("a", 0, 2).await.code(), "key_reused");
    let server = TestServer::start_in(server.stop().await, |_| {}).await;
    let body = json!({"from": {"episode": origin["episode"], "seq": 1}, "count": 2});
    let request = server.request(Method::POST, "/v1/sessions").header("idempotency-key", "a").json(&body);
    let ids =
        |answer: &Value| answer["data"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&read(request).await.ok()), ids(&first));
    let id = palestra_protocol::id::SessionId::new();
    let named = json!({"id": id, "from": {"episode": origin["episode"], "seq": 1}});
    let one = server.post("/v1/sessions", &named).await.ok();
    assert_eq!(server.post("/v1/sessions", &named).await.ok()["episode"], one["episode"]);
    // As an item of a batch.
    let items = json!({"items": [{"from": {"episode": origin["episode"], "seq": 1}}, {"from": {"episode": origin["episode"], "seq": 7}}]});
    let batch = server.post("/v1/sessions:create", &items).await.ok();
    assert_eq!((&batch["data"][0]["ok"]["seq"], &batch["data"][1]["error"]["code"]), (&json!(1), &json!("invalid")));
    server.stop().await;
}

#[tokio::test]
async fn the_client_opens_sessions_at_points() {
    let server = TestServer::start().await;
    let client = server.client();
    let origin: Opened = serde_json::from_value(counter(&server).await).unwrap();
    step(&server, &format!("/v1/sessions/{}", origin.id), 1, 1).await;
    let snapshot = client.take_snapshot(origin.id, &TakeSnapshot::default(), None).await.unwrap();
    client.close(origin.id).await.unwrap();
    for point in [StartPoint::snapshot(snapshot.id), StartPoint::episode(origin.episode, 1)] {
        let key = format!("{point:?}");
        let opened = client.create_from(point, Some(&key)).await.unwrap();
        assert_eq!((opened.parent, opened.at_seq, opened.seq), (Some(origin.id), Some(1), 1));
        assert_eq!(client.create_from(point, Some(&key)).await.unwrap().id, opened.id);
        let request = CreateSession { from: Some(point), count: Some(2), ..CreateSession::default() };
        let Created::Many(list) = client.create(&request, None).await.unwrap() else { panic!("a list") };
        assert_eq!(list.data.len(), 2);
    }
    server.stop().await;
}

#[tokio::test]
async fn earlier_versions_go_on_as_they_began() {
    let server = TestServer::start().await;
    let body = json!({"environment": "puzzle/n_queens@1", "task": {"split": "train", "seed": 3}});
    let origin = server.post("/v1/sessions", &body).await.ok();
    server.delete(&path(&origin)).await.ok();
    let opened = from(&server, json!({"episode": origin["episode"], "seq": 0})).await;
    assert_eq!(opened["environment"], "puzzle/n_queens@1");
    assert_eq!(opened["messages"], origin["messages"]);
    server.stop().await;
}

#[tokio::test]
async fn a_point_of_one_node_opens_on_another_while_the_first_lives_and_once_it_is_gone() {
    let Some(database) = Database::create().await else { return };
    let url = database.url();
    let shared = |config: &mut Config| {
        config.database_url = Some(url.as_str().into());
        config.secret = Some("a root secret that both nodes of this test share".into());
    };
    let (one, other) = (TestServer::start_with(shared).await, TestServer::start_with(shared).await);
    let origin = counter(&one).await;
    let first = step(&one, &path(&origin), 1, 5).await;
    let snapshot = one.post(&format!("{}/snapshots", path(&origin)), &json!({})).await.ok();
    let second = step(&one, &path(&origin), 2, 6).await;
    let points = [
        (json!({"snapshot": snapshot["id"]}), 1, &first),
        (json!({"episode": origin["episode"], "seq": 2}), 2, &second),
    ];
    let opened = async || {
        for (point, seq, then) in &points {
            let opened = from(&other, point.clone()).await;
            assert_stands(&opened, &origin, *seq);
            assert_eq!(hash(&other, &path(&opened)).await, then["info"]["state_hash"]);
        }
    };
    opened().await;
    // The session itself is held by the first node.
    let refused: Answer = other.post(&format!("{}/step", path(&origin)), &add(3, 1)).await;
    assert_eq!(refused.code(), "session_elsewhere");
    drop(one.stop().await);
    opened().await;
    other.stop().await;
    database.remove().await;
}

#[tokio::test]
async fn databases_go_on_from_a_snapshot_and_from_any_step_on_sqlite() {
    databases_go_on("sqlite").await;
}

#[tokio::test]
async fn databases_go_on_from_a_snapshot_and_from_any_step_on_postgresql() {
    databases_go_on("postgres").await;
}

async fn databases_go_on(engine: &str) {
    let server = TestServer::start_with(with_workers).await;
    let body =
        json!({"environment": "sql/migration", "task": {"split": "train", "index": 0}, "config": {"engine": engine}});
    let origin = server.post("/v1/sessions", &body).await.ok();
    let query = async |server: &TestServer, session: &str, sql: &str| {
        let action = json!({"action": {"tool": "query", "arguments": {"sql": sql}}});
        server.post(&format!("{session}/step"), &action).await.ok()["observation"]["data"].clone()
    };
    let session = path(&origin);
    query(&server, &session, "CREATE TABLE mine (a INTEGER)").await;
    query(&server, &session, "INSERT INTO mine VALUES (1)").await;
    let snapshot = server.post(&format!("{session}/snapshots"), &json!({})).await.ok();
    query(&server, &session, "BEGIN; INSERT INTO mine VALUES (2)").await;
    let then = hash(&server, &session).await;
    query(&server, &session, "DROP TABLE mine").await;
    server.delete(&session).await.ok();
    let server = TestServer::start_in(server.stop().await, with_workers).await;
    let sum = "SELECT coalesce(sum(a), 0) FROM mine";
    for (point, seq, expected) in [
        (json!({"snapshot": snapshot["id"]}), 2, 1),
        (json!({"episode": origin["episode"], "seq": 1}), 1, 0),
        (json!({"episode": origin["episode"], "seq": 3}), 3, 3),
    ] {
        let group = server.post("/v1/sessions", &json!({"from": point, "count": 2})).await.ok();
        for opened in group["data"].as_array().unwrap() {
            assert_stands(opened, &origin, seq);
            if seq == 3 {
                assert_eq!(hash(&server, &path(opened)).await, then);
            }
            let found = query(&server, &path(opened), sum).await;
            assert_eq!(found["results"][0]["rows"][0][0], json!(expected), "{found}");
            query(&server, &path(opened), "INSERT INTO mine VALUES (50)").await;
        }
    }
    let opened = from(&server, json!({"episode": origin["episode"], "seq": 3})).await;
    let submit = json!({"action": {"tool": "submit", "arguments": {}}});
    let ended = server.post(&format!("{}/step", path(&opened)), &submit).await.ok();
    assert_eq!(ended["verdict"]["status"], "scored", "{ended}");
    server.stop().await;
}

fn with_sandboxes(config: &mut Config) {
    config.sandbox = SandboxChoice::Local;
    config.images = std::env::var_os("PALESTRA_IMAGES").map(Into::into);
}

#[tokio::test]
async fn files_go_on_from_a_snapshot_and_what_lies_elsewhere_is_named() {
    if std::env::var_os("PALESTRA_IMAGES").is_none() {
        eprintln!("skipped: no images (PALESTRA_IMAGES)");
        return;
    }
    let server = TestServer::start_with(with_sandboxes).await;
    let body = json!({"environment": "terminal/files", "task": {"split": "train", "index": 0}, "seed": 5,
                      "config": {"backend": "local"}});
    let origin = server.post("/v1/sessions", &body).await.ok();
    let say = async |server: &TestServer, session: &str, text: &str| {
        server.post(&format!("{session}/step"), &json!({"action": {"text": text}})).await.ok()["observation"]["text"]
            .clone()
    };
    let session = path(&origin);
    say(&server, &session, "echo one > mine").await;
    let snapshot = server.post(&format!("{session}/snapshots"), &json!({})).await.ok();
    say(&server, &session, "echo two > mine").await;
    server.delete(&session).await.ok();
    let data = server.stop().await;
    let server = TestServer::start_in(data, with_sandboxes).await;
    // Two ways to name one point; files are all that is kept of it.
    let mut last = Value::Null;
    for point in [json!({"snapshot": snapshot["id"]}), json!({"episode": origin["episode"], "seq": 1})] {
        let group = server.post("/v1/sessions", &json!({"from": point, "count": 2})).await.ok();
        for opened in group["data"].as_array().unwrap() {
            assert_eq!((&opened["parent"], &opened["at_seq"]), (&origin["id"], &json!(1)), "{opened}");
            assert_eq!((&opened["exact"], &opened["seq"]), (&json!(false), &json!(1)), "{opened}");
            let seen = say(&server, &path(opened), "cat mine; echo three > mine").await;
            assert!(seen.as_str().unwrap().contains("one"), "{seen}");
            last = opened.clone();
        }
    }
    // It goes on after a restart, and a point of it is found in the episode that it goes on from.
    let server = TestServer::start_in(server.stop().await, with_sandboxes).await;
    let seen = say(&server, &path(&last), "cat mine").await;
    assert!(seen.as_str().unwrap().contains("three"), "{seen}");
    let opened = from(&server, json!({"episode": last["episode"], "seq": 1})).await;
    let seen = say(&server, &path(&opened), "cat mine").await;
    assert!(seen.as_str().unwrap().contains("one"), "{seen}");
    let verdict = server.post(&format!("{}/verify", path(&opened)), &json!({})).await.ok();
    assert_eq!(verdict["status"], "scored", "{verdict}");
    // Where no snapshot was taken, nothing was kept.
    let refused = server.post("/v1/sessions", &json!({"from": {"episode": origin["episode"], "seq": 2}})).await;
    assert_eq!(refused.code(), "not_supported");
    assert!(text(&refused.body, "detail").contains("snapshot"), "{}", refused.body);
    // Its files lie on the disk of the server that took it.
    let before = how_many(&server).await;
    let data = server.stop().await;
    std::fs::rename(data.path().join("blobs"), data.path().join("elsewhere")).unwrap();
    let server = TestServer::start_in(data, with_sandboxes).await;
    let refused = server.post("/v1/sessions", &json!({"from": {"snapshot": snapshot["id"]}})).await;
    assert_eq!(refused.code(), "unavailable", "{}", refused.body);
    for word in ["sha256:", "blobs"] {
        assert!(text(&refused.body, "detail").contains(word), "{}", refused.body);
    }
    // What the episode asked for then, this server does not have now: that is no fault of the request.
    let server = TestServer::start_in(server.stop().await, |_| {}).await;
    let refused = server.post("/v1/sessions", &json!({"from": {"snapshot": snapshot["id"]}})).await;
    assert_eq!(refused.code(), "unavailable", "{}", refused.body);
    assert!(text(&refused.body, "detail").contains("local"), "{}", refused.body);
    assert_eq!(how_many(&server).await, before);
    server.stop().await;
}
