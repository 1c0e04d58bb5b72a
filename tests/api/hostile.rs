//! Hostile frames and hostile calls, by the thousand and from a seed: nobody else's session changes, nothing inside fails.

use futures::{SinkExt, StreamExt};
use palestra_protocol::key::{CreateKey, Scope};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::sessions::{add, counter};
use super::stream::{Socket, connect};
use crate::support::server::{TestServer, read};

/// Frames of each attacker.
const FRAMES: u64 = 3_000;
/// Frames between two looks at the answers.
const BURST: u64 = 60;
/// Hostile calls of each app.
const CALLS: usize = 120;

/// Values that programs mistake: for another type, for a path, for a statement, for nothing.
fn odd_value(random: &mut ChaCha8Rng) -> Value {
    let texts = [
        "",
        " ",
        "\0",
        "null",
        "NaN",
        "-1",
        "1e999",
        "../../etc/passwd",
        "'; DROP TABLE sessions; --",
        "${1+1}",
        "{{7*7}}",
        "<script>alert(1)</script>",
        "\u{202e}txt",
        "\u{1b}[2J",
        "\u{feff}",
        "ses_0197a3c2f2a87c53b0a1d5e6f7089abc",
        "#W0000001",
        "file:///etc/passwd",
        "http://127.0.0.1/v1/keys",
        "\u{1f468}\u{200d}\u{1f469}",
        "%00",
        "__proto__",
    ];
    match random.random_range(0..9) {
        0 => Value::Null,
        1 => json!(random.random_bool(0.5)),
        2 => json!(i64::MIN),
        3 => json!(u64::MAX),
        4 => json!(1e300),
        5 => json!([[], [[]], {"": {}}]),
        6 => json!("x".repeat(random.random_range(1..20_000))),
        7 => json!(random.random_range(-3..3)),
        _ => json!(texts.choose(random).expect("texts")),
    }
}

/// Replaces, adds, removes or doubles something of a frame.
fn mutated(frame: &Value, random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut frame = frame.clone();
    let fields: Vec<String> = frame.as_object().expect("a frame").keys().cloned().collect();
    let field = fields.choose(random).expect("a field").clone();
    match random.random_range(0..7) {
        0 => frame[&field] = odd_value(random),
        1 => drop(frame.as_object_mut().expect("a frame").remove(&field)),
        2 => frame[odd_value(random).to_string()] = odd_value(random),
        3 => {
            let doubled = format!("{{{}:{},{}", json!(field), odd_value(random), &frame.to_string()[1..]);
            return doubled.into_bytes();
        }
        4 => {
            let depth = random.random_range(1..3_000);
            let nested = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
            return format!("{{{}:{nested},{}", json!(field), &frame.to_string()[1..]).into_bytes();
        }
        5 => {
            let mut bytes = frame.to_string().into_bytes();
            let at = random.random_range(0..bytes.len());
            bytes[at] = random.random_range(0..128);
            return bytes;
        }
        _ => {
            let mut bytes = frame.to_string().into_bytes();
            bytes.truncate(random.random_range(0..bytes.len()));
            return bytes;
        }
    }
    frame.to_string().into_bytes()
}

/// A frame of any operation about a session.
fn frame(session: &Value, id: u64, random: &mut ChaCha8Rng) -> Value {
    let step = json!({"session": session, "seq": random.random_range(0..4), "action": {"text": "1"}});
    let mut frame = match random.random_range(0..11) {
        0 => json!({"op": "create", "environment": "bench/counter", "key": "k"}),
        1 => json!({"op": "reset", "session": session}),
        2 => json!({"op": "steps", "items": [step, step]}),
        3 => json!({"op": "finish", "session": session, "reason": "gave_up"}),
        4 => json!({"op": "verify", "session": session, "wait_ms": 1}),
        5 => json!({"op": "fork", "session": session, "count": 2}),
        6 => json!({"op": "snapshot", "session": session, "name": "here"}),
        7 => json!({"op": "restore", "session": session, "snapshot": "snap_0197a3c2f2a87c53b0a1d5e6f7089abc"}),
        8 => json!({"op": "close", "session": session}),
        9 => json!({"op": "subscribe", "session": session}),
        _ => json!({"op": "step", "session": session, "seq": 1, "action": {"tool": "add", "arguments": {"amount": 3}}}),
    };
    frame["id"] = json!(id);
    frame
}

/// Reads until the answer to `last`; `None` where the server hung up.
async fn answers(socket: &mut Socket, last: u64) -> Option<Vec<Value>> {
    let mut answers = Vec::new();
    loop {
        match socket.next().await? {
            Ok(Message::Text(text)) => {
                let answer: Value = serde_json::from_str(&text).expect("answers are JSON");
                let is_last = answer["id"] == last;
                answers.push(answer);
                if is_last {
                    return Some(answers);
                }
            }
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// Sends frames about `session` with a credential. The number of frames that were answered, and of sockets that were ended.
async fn attack(server: &TestServer, credential: &str, session: &Value, seed: u64) -> (usize, usize) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let protocols = format!("palestra.json, bearer.{credential}");
    let mut socket = connect(server, &protocols).await.0;
    let (mut answered, mut ended) = (0, 0);
    for burst in 0..FRAMES / BURST {
        for number in 0..BURST {
            let valid = frame(session, burst * BURST + number, &mut random);
            let bytes = if random.random_range(0..5) == 0 {
                valid.to_string().into_bytes()
            } else {
                mutated(&valid, &mut random)
            };
            // The protocol has no binary messages.
            let message = if number + 1 == BURST && burst % 10 == 9 {
                Message::binary(bytes)
            } else {
                Message::text(String::from_utf8_lossy(&bytes).into_owned())
            };
            if socket.send(message).await.is_err() {
                break;
            }
        }
        let last = u64::MAX - burst;
        let sentinel = json!({"id": last, "op": "dance"});
        let sent = socket.send(Message::text(sentinel.to_string())).await;
        match if sent.is_ok() { answers(&mut socket, last).await } else { None } {
            Some(answers) => {
                for answer in &answers {
                    assert_ne!(answer["error"]["code"], "internal", "{answer}");
                }
                answered += answers.len();
            }
            None => {
                ended += 1;
                socket = connect(server, &protocols).await.0;
            }
        }
    }
    (answered, ended)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_frames_change_no_session_of_others_and_no_frame_fails_inside() {
    let server = TestServer::start().await;
    let (victim, own) = (counter(&server).await, counter(&server).await);
    let path = format!("/v1/sessions/{}", victim["id"].as_str().expect("an id"));
    server.post(&format!("{path}/step"), &add(1, 1)).await.ok();
    let before = server.get(&format!("{path}/state")).await.ok();
    let sessions = server.get("/v1/sessions").await.ok()["data"].as_array().expect("a list").len();

    let key = CreateKey { name: "other".to_owned(), scopes: vec![Scope::Admin], expires_at: None };
    let stranger = server.app.auth().create_key("another", key).await.expect("a key").secret;
    let token = own["token"].as_str().expect("a token");
    for (seed, credential) in [(1, token), (2, &stranger)] {
        let (answered, ended) = attack(&server, credential, &victim["id"], seed).await;
        assert!(answered > 500, "{answered} answers: most frames have to reach the server's own checks");
        assert!(ended < 50, "{ended} sockets ended: frames that are merely wrong are answered");
    }

    let after = server.get(&format!("{path}/state")).await.ok();
    assert_eq!((&after["hash"], &after["seq"]), (&before["hash"], &before["seq"]));
    assert_eq!(server.get("/v1/sessions").await.ok()["data"].as_array().expect("a list").len(), sessions);
    let ended = server.post(&format!("{path}/step"), &add(2, 2)).await.ok();
    assert_eq!((&ended["observation"]["data"], &ended["terminated"]), (&json!({"count": 3}), &json!(true)));
    assert_eq!(
        ended["verdict"]["status"], "scored",
        "the session that was attacked goes on as if nothing had happened"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_calls_of_apps_are_refused_as_observations_and_earn_nothing() {
    let server = TestServer::start().await;
    let listed = server.get("/v1/environments?limit=200").await.ok();
    let names = listed["data"].as_array().expect("a list").iter().filter_map(|row| row["name"].as_str());
    let apps: Vec<&str> = names.filter(|name| name.starts_with("app/")).collect();
    assert!(apps.len() >= 10, "{apps:?}");
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for app in apps {
        let created =
            server.post("/v1/sessions", &json!({"environment": app, "task": {"split": "test", "seed": 1}})).await.ok();
        let path = format!("/v1/sessions/{}", created["id"].as_str().expect("an id"));
        let token = created["token"].as_str().expect("a token");
        let step = format!("{}{path}/step", server.url());
        let tools = created["tools"].as_array().expect("tools");
        for _ in 0..CALLS {
            let tool = &tools.choose(&mut random).expect("a tool")["function"];
            let mut arguments = serde_json::Map::new();
            for name in tool["parameters"]["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
                arguments.insert(name.clone(), odd_value(&mut random));
            }
            if random.random_range(0..8) == 0 {
                arguments.insert(odd_value(&mut random).to_string(), odd_value(&mut random));
            }
            let body = json!({"action": {"tool": tool["name"], "arguments": arguments}});
            let answer = read(server.http.post(&step).bearer_auth(token).json(&body)).await;
            assert!(answer.status.as_u16() < 500, "{app} {body}: {}", answer.body);
            if answer.status.is_success() {
                assert_ne!(answer.body["stop_reason"], "infra_error", "{app} {body}: {}", answer.body);
                if answer.body["terminated"] == true || answer.body["truncated"] == true {
                    break;
                }
            }
        }
        let verdict = server.post(&format!("{path}/verify"), &json!({})).await.ok();
        assert_eq!(verdict["status"], "scored", "{app}: {verdict}");
        assert!(verdict["score"].as_f64().expect("a score") < 1.0, "{app}: {verdict}");
    }
    server.stop().await;
}
