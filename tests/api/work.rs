//! Work that is done in sandboxes, over HTTP. What happens inside is tried by the packages of sandboxes and of work; here it is how a
//! server offers it, also where it has no sandbox.

use palestra::config::SandboxChoice;
use serde_json::{Value, json};

use crate::support::server::{ADMIN_KEY, TestServer};

async fn call(server: &TestServer, method: reqwest::Method, path: &str, body: Option<Value>) -> (u16, Value) {
    let mut request = server.http.request(method, format!("{}{path}", server.url())).bearer_auth(ADMIN_KEY);
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.expect("an answer");
    (answer.status().as_u16(), answer.json().await.expect("JSON"))
}

async fn post(server: &TestServer, path: &str, body: Value) -> (u16, Value) {
    call(server, reqwest::Method::POST, path, Some(body)).await
}

#[tokio::test]
async fn a_server_without_sandboxes_lists_work_and_says_what_is_missing() {
    let server = TestServer::start().await;
    let (status, listed) = call(&server, reqwest::Method::GET, "/v1/environments?family=terminal", None).await;
    assert_eq!(status, 200);
    assert!(listed["data"].as_array().expect("a list").len() >= 7, "{listed}");
    let (status, problem) = post(&server, "/v1/sessions", json!({"environment": "terminal/files"})).await;
    assert_eq!((status, &problem["code"]), (503, &json!("unavailable")), "{problem}");
    assert!(problem["detail"].as_str().expect("words").contains("palestra doctor"), "{problem}");
    server.stop().await;
}

#[tokio::test]
async fn settings_that_do_not_fit_are_named() {
    let server = TestServer::start().await;
    for (config, field) in [(json!({"backend": "moon"}), "config.backend"), (json!({"speed": 3}), "config.speed")] {
        let body = json!({"environment": "terminal/files", "config": config});
        let (status, problem) = post(&server, "/v1/sessions", body).await;
        assert_eq!((status, &problem["errors"][0]["field"]), (422, &json!(field)), "{problem}");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_no_sandbox_can_prove_is_not_published() {
    let server = TestServer::start().await;
    let publish = |kind: &'static str, body: Vec<u8>| {
        let request =
            server.http.post(format!("{}/v1/environments?name=terminal/mine", server.url())).bearer_auth(ADMIN_KEY);
        let request = request.header("content-type", kind).body(body);
        async move {
            let answer = request.send().await.expect("an answer");
            (answer.status().as_u16(), answer.json::<Value>().await.expect("JSON"))
        }
    };
    let broken = publish("application/yaml", b"instruction: 3\nextra: 1\n".to_vec()).await;
    assert_eq!(broken.0, 422, "{broken:?}");
    let task = "instruction: Write done into out.txt.\nartefacts: [out.txt]\nchecks:\n  - {name: done, file: out.txt, contains: done}\n\
                solution: echo done > out.txt\n";
    let (status, problem) = publish("application/yaml", task.as_bytes().to_vec()).await;
    assert_eq!(status, 422, "{problem}");
    assert_eq!(problem["errors"][0]["field"], json!("train-0"), "{problem}");
    let (status, _) = call(&server, reqwest::Method::GET, "/v1/environments/terminal/mine", None).await;
    assert_eq!(status, 404);
    let (status, problem) = publish("application/x-tar", b"no archive".to_vec()).await;
    assert_eq!((status, &problem["code"]), (400, &json!("malformed")), "{problem}");
    server.stop().await;
}

#[tokio::test]
async fn an_episode_without_a_terminal_has_no_recording() {
    let server = TestServer::start().await;
    let (_, opened) = post(&server, "/v1/sessions", json!({"environment": "bench/counter"})).await;
    let path = format!("/v1/episodes/{}/trajectory?format=asciicast", opened["episode"].as_str().expect("an id"));
    let (status, problem) = call(&server, reqwest::Method::GET, &path, None).await;
    assert_eq!((status, &problem["code"]), (409, &json!("not_supported")), "{problem}");
    server.stop().await;
}

#[tokio::test]
async fn a_session_in_a_sandbox_is_played_forked_recorded_and_judged() {
    if std::env::var_os("PALESTRA_IMAGES").is_none() {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
        return;
    }
    let images = std::env::var_os("PALESTRA_IMAGES").map(Into::into);
    let server = TestServer::start_with(|config| {
        config.sandbox = SandboxChoice::Local;
        config.images = images;
    })
    .await;
    let body = json!({"environment": "terminal/files", "task": {"split": "train", "index": 0}, "seed": 5});
    let (status, opened) = post(&server, "/v1/sessions", body).await;
    assert_eq!(status, 201, "{opened}");
    let session = format!("/v1/sessions/{}", opened["id"].as_str().expect("an id"));
    let (_, step) =
        post(&server, &format!("{session}/step"), json!({"seq": 1, "action": {"text": "echo $((6*7)) > n; cat n"}}))
            .await;
    assert_eq!(step["observation"]["text"], json!("42\n"), "{step}");
    // What no sandbox can do is something to read, and no way out of an episode.
    let odd = json!({"action": {"tool": "upload", "arguments": {"path": "a\u{0}b", "text": "x"}}});
    let (_, refused) = post(&server, &format!("{session}/step"), odd).await;
    assert_eq!((&refused["stop_reason"], &refused["truncated"]), (&json!(null), &json!(false)), "{refused}");
    let (status, shown) = call(&server, reqwest::Method::GET, &session, None).await;
    assert_eq!((status, &shown["isolation"]["lines"]["net"]["enforced"]), (200, &json!(true)), "{shown}");
    let (status, snapshot) = post(&server, &format!("{session}/snapshots"), json!({"name": "here"})).await;
    assert_eq!(status, 201, "{snapshot}");
    let (_, forked) = post(&server, &format!("{session}/fork"), json!({"allow_inexact": true})).await;
    assert_eq!(forked["data"][0]["exact"], json!(false), "its processes are not copied: {forked}");
    let copy = format!("/v1/sessions/{}", forked["data"][0]["id"].as_str().expect("a copy"));
    let (_, step) = post(&server, &format!("{copy}/step"), json!({"seq": 3, "action": {"text": "cat n; rm n"}})).await;
    assert!(step["observation"]["text"].as_str().expect("text").contains("42"), "{step}");
    let against = format!("{session}/diff?against={}", snapshot["id"].as_str().expect("an id"));
    let (_, same) = call(&server, reqwest::Method::GET, &against, None).await;
    assert_eq!(same["files"]["data"], json!([]), "{same}");
    post(&server, &format!("{session}/step"), json!({"seq": 3, "action": {"text": "echo more > m"}})).await;
    let (_, changed) = call(&server, reqwest::Method::GET, &against, None).await;
    assert!(changed["files"]["data"].to_string().contains("/home/agent/work/m"), "{changed}");
    let (_, restored) = post(&server, &format!("{session}/restore"), json!({"snapshot": snapshot["id"]})).await;
    assert_eq!(restored["seq"], json!(2), "{restored}");
    let (_, step) =
        post(&server, &format!("{session}/step"), json!({"seq": 3, "action": {"text": "ls m; cat n"}})).await;
    let text = step["observation"]["text"].as_str().expect("text");
    assert!(text.contains("No such file") && text.contains("42"), "{step}");
    let (_, verdict) = post(&server, &format!("{session}/verify"), json!({})).await;
    assert_eq!((&verdict["status"], &verdict["judge"]), (&json!("scored"), &json!("fresh")), "{verdict}");
    assert_eq!(verdict["score"], json!(0.0), "{verdict}");
    // Its place is free; what was judged can still be read.
    let (status, state) = call(&server, reqwest::Method::GET, &format!("{session}/state"), None).await;
    assert_eq!((status, &state["hash"]), (200, &verdict["state"]), "{state}");
    let episode = opened["episode"].as_str().expect("an id");
    let cast = server.http.get(format!("{}/v1/episodes/{episode}/trajectory?format=asciicast", server.url()));
    let cast = cast.bearer_auth(ADMIN_KEY).send().await.expect("an answer").text().await.expect("text");
    assert!(cast.starts_with("{") && cast.contains("\"version\":2"), "{cast}");
    server.stop().await;
}

/// A folder in the public layout as an archive, whose tests want `done` in `/app/out.txt`.
#[tokio::test]
async fn a_terminal_whose_step_was_not_recorded_goes_on_with_its_files_at_once() {
    let Some(images) = std::env::var_os("PALESTRA_IMAGES") else {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
        return;
    };
    let server = TestServer::start_with(|config| {
        config.sandbox = SandboxChoice::Local;
        config.images = Some(images.into());
    })
    .await;
    let body = json!({"environment": "terminal/files", "task": {"split": "train", "index": 0}, "seed": 5});
    let (_, opened) = post(&server, "/v1/sessions", body).await;
    let path = format!("/v1/sessions/{}/step", opened["id"].as_str().expect("an id"));
    let step = async |seq: u64, text: &str| post(&server, &path, json!({"seq": seq, "action": {"text": text}})).await;
    step(1, "echo first > n").await;
    server.sql("CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    let (status, refused) = step(2, "echo second >> n").await;
    assert_eq!((status, &refused["code"]), (503, &json!("not_recorded")), "{refused}");
    server.sql("DROP TRIGGER full").await;
    let (status, again) = step(2, "echo second >> n").await;
    assert_eq!((status, &again["info"]["interrupted"]), (200, &json!(true)), "{again}");
    let (status, next) = step(3, "cat n").await;
    assert_eq!((status, &next["stop_reason"]), (200, &json!(null)), "{next}");
    assert!(next["observation"]["text"].as_str().expect("text").ends_with("first\nsecond\n"), "{next}");
    server.stop().await;
}

fn folder() -> Vec<u8> {
    let test = "#!/bin/bash\nif grep -qs done /app/out.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n";
    let files = [
        ("broken/task.toml", "[environment]\nnetwork_mode = \"no-network\"\n[verifier]\ntimeout_sec = 5.0\n"),
        ("broken/instruction.md", "Write done into out.txt."),
        ("broken/environment/Dockerfile", "FROM ubuntu:24.04\nWORKDIR /app\n"),
        ("broken/tests/test.sh", test),
        ("broken/solution/solve.sh", "#!/bin/bash\necho done > /app/out.txt\n"),
    ];
    let mut archive = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, path, text.as_bytes()).expect("appended");
    }
    archive.into_inner().expect("an archive")
}

#[tokio::test]
async fn a_place_that_was_broken_by_who_acts_in_it_is_a_zero_and_no_fault() {
    let Some(images) = std::env::var_os("PALESTRA_IMAGES") else {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
        return;
    };
    let server = TestServer::start_with(|config| {
        config.sandbox = SandboxChoice::Local;
        config.images = Some(images.into());
    })
    .await;
    let request = server.http.post(format!("{}/v1/environments?name=terminal/broken", server.url()));
    let request = request.bearer_auth(ADMIN_KEY).header("content-type", "application/x-tar").body(folder());
    let published = request.send().await.expect("an answer");
    assert_eq!(published.status().as_u16(), 201, "{:?}", published.text().await);
    for command in [
        "cd /; rm -rf /app",
        "kill -9 -1; kill -9 1",
        "rm -rf /usr/bin /usr/lib",
        "rm -f /bin/bash /usr/bin/bash",
        "cd /; rm -rf /app; echo x > /app",
    ] {
        let body = json!({"environment": "terminal/broken", "task": {"split": "train", "index": 0}});
        let (status, opened) = post(&server, "/v1/sessions", body).await;
        assert_eq!(status, 201, "{opened}");
        let session = format!("/v1/sessions/{}", opened["id"].as_str().expect("an id"));
        for action in [json!({"text": command}), json!({"tool": "submit", "arguments": {}})] {
            let (_, step) = post(&server, &format!("{session}/step"), json!({ "action": action })).await;
            assert_ne!(step["stop_reason"], json!("infra_error"), "{command}: {step}");
        }
        let (_, verdict) = post(&server, &format!("{session}/verify"), json!({})).await;
        assert_eq!((&verdict["status"], &verdict["score"]), (&json!("scored"), &json!(0.0)), "{command}: {verdict}");
        assert!(verdict["checks"][0]["evidence"].as_str().is_some_and(|told| !told.is_empty()), "{verdict}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_judge_waits_for_room_and_a_session_is_told_to_come_back() {
    let Some(images) = std::env::var_os("PALESTRA_IMAGES") else {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
        return;
    };
    let server = TestServer::start_with(|config| {
        config.sandbox = SandboxChoice::Local;
        config.images = Some(images.into());
        config.sandboxes_max = 1;
        config.sandboxes_warm = 0;
    })
    .await;
    let body = json!({"environment": "terminal/files", "task": {"split": "train", "index": 0}});
    let (_, opened) = post(&server, "/v1/sessions", body.clone()).await;
    let (status, problem) = post(&server, "/v1/sessions", body).await;
    assert_eq!((status, &problem["code"]), (503, &json!("capacity")), "{problem}");
    let session = format!("/v1/sessions/{}", opened["id"].as_str().expect("an id"));
    let (_, verdict) = post(&server, &format!("{session}/verify"), json!({})).await;
    assert_eq!(verdict["status"], json!("scored"), "{verdict}");
    server.stop().await;
}

#[tokio::test]
async fn tasks_that_are_refused_are_left_out_by_name_where_that_is_asked_for() {
    if std::env::var_os("PALESTRA_IMAGES").is_none() {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
        return;
    }
    let images = std::env::var_os("PALESTRA_IMAGES").map(Into::into);
    let server = TestServer::start_with(|config| {
        config.sandbox = SandboxChoice::Local;
        config.images = images;
    })
    .await;
    let mut archive = tar::Builder::new(Vec::new());
    let test = "#!/bin/bash\n[ -e /app/done ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n";
    let serves = "#!/bin/bash\nkill -0 \"$(cat /app/pid)\"; echo $((1 - $?)) > /logs/verifier/reward.txt\n";
    let serving = "nohup sleep 1000 > /dev/null 2>&1 & echo $! > /app/pid";
    for (name, toml, solution, test) in [
        ("good", "[environment]\nallow_internet = true\n", "touch /app/done", test),
        ("lying", "", "true", test),
        ("greedy", "[environment]\ngpus = 1\n", "touch /app/done", test),
        ("serving", "", serving, serves),
    ] {
        for (path, text) in [
            ("task.toml", toml),
            ("instruction.md", "Make a file."),
            ("environment/Dockerfile", "FROM ubuntu:24.04\nWORKDIR /app\n"),
            ("tests/test.sh", test),
            ("solution/solve.sh", solution),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, format!("{name}/{path}"), text.as_bytes()).expect("appended");
        }
    }
    let archive = archive.into_inner().expect("an archive");
    let publish = |query: &'static str| {
        let url = format!("{}/v1/environments?name=terminal/mixed{query}", server.url());
        let request = server.http.post(url).bearer_auth(ADMIN_KEY).header("content-type", "application/x-tar");
        let request = request.body(archive.clone());
        async move {
            let answer = request.send().await.expect("an answer");
            (answer.status().as_u16(), answer.json::<Value>().await.expect("JSON"))
        }
    };
    let (status, problem) = publish("").await;
    assert_eq!(
        (status, &problem["errors"][0]["file"]),
        (422, &json!("greedy/task.toml: environment.gpus")),
        "{problem}"
    );
    let (status, published) = publish("&keep_going=true").await;
    assert_eq!(status, 201, "{published}");
    assert_eq!(published["environment"]["splits"], json!({"train": 2}), "{published}");
    let notes: Vec<&str> = published["notes"].as_array().expect("notes").iter().filter_map(Value::as_str).collect();
    for words in [
        "left out: greedy/task.toml: environment.gpus: 1: sandboxes have none, leave it out",
        "left out: lying: the solution scores 0",
        "good/task.toml: environment.allow_internet asks for a network",
        "serving: the tests fail on what the solution changed and pass where it ran",
        "serving: the solution passes, and no trainer may learn from such episodes",
    ] {
        assert!(notes.iter().any(|note| note.starts_with(words)), "{words}: {notes:#?}");
    }
    server.stop().await;
}
