//! Apps in a real browser over the API: played by clicks, with the verdict and the state that tools reach.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use palestra::config::SandboxChoice;
use palestra_apps::app::{App, Callable};
use palestra_apps::draw::draw;
use palestra_apps::screen::{Viewer, pilot};
use palestra_apps::task::episode::Episode;
use palestra_apps::task::instance::Instance;
use palestra_environment::spec::split_of;
use palestra_environment::task::Task;
use palestra_environment::{EnvironmentKind, Tasks};
use palestra_families::app::shipped;
use palestra_families::backends::Backends;
use palestra_families::web;
use palestra_protocol::action::Action;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::support::hand::{Hand, irreversible};
use crate::support::server::TestServer;

/// Tasks of each app, unless `PALESTRA_BROWSER_TASKS` names a number of all apps together.
const TASKS_EACH: u64 = 2;
/// Steps that are enough for every task.
const STEPS_MAX: u64 = 400;
/// Tasks that are played at once.
const AT_ONCE: usize = 4;
/// Longest wait for the room of a session that was closed.
const ROOM_MAX: Duration = Duration::from_secs(30);
/// Seed of every session.
const SEED: u64 = 5;

/// A server with browsers; none, said aloud, where this machine has no Chromium or cannot shut it in.
pub(super) async fn with_browsers() -> Option<TestServer> {
    if palestra_browser::find_program().is_none() {
        palestra_test_support::not_tried("a Chromium: install Debian's package chromium-headless-shell");
        return None;
    }
    Some(TestServer::start_with(|config| config.sandbox = SandboxChoice::Local).await)
}

/// Every shipped app, by its name.
fn apps() -> BTreeMap<String, Arc<App>> {
    let load = |app: shipped::Shipped| (app.name(), App::load(&app.files()).expect("a shipped app"));
    shipped::all().into_iter().map(load).collect()
}

/// The task of a seed, as the server draws it.
fn task(app: &Arc<App>, seed: u64) -> Option<Arc<Instance>> {
    let belongs = |content: &Value| split_of(content) == "train";
    let count = app.templates.len();
    let first = usize::try_from(seed).expect("a small seed") % count;
    (0..count).find_map(|offset| draw(app, (first + offset) % count, "train", seed, &belongs).ok())
}

async fn open(server: &TestServer, environment: &str, seed: u64, surface: &str) -> Value {
    let body = json!({
        "environment": environment, "task": {"split": "train", "seed": seed}, "seed": SEED, "config": {"surface": surface},
        "limits": {"steps": STEPS_MAX},
    });
    server.post("/v1/sessions", &body).await.ok()
}

async fn tool(server: &TestServer, session: &Value, name: &str, arguments: &Value) -> Value {
    let path = format!("/v1/sessions/{}/step", session["id"].as_str().expect("an id"));
    let body = json!({"action": {"tool": name, "arguments": arguments}});
    server.post(&path, &body).await.ok()
}

/// State of a session.
async fn whole_state(server: &TestServer, session: &Value) -> Value {
    let path = format!("/v1/sessions/{}/state", session["id"].as_str().expect("an id"));
    server.get(&path).await.ok()["state"].take()
}

/// The same without the counts of its calls: screens read views that a solution by tools need not read.
async fn state(server: &TestServer, session: &Value) -> Value {
    let mut state = whole_state(server, session).await;
    state.as_object_mut().expect("a state").remove("calls").expect("counts");
    state
}

/// The part in which two states differ.
fn different(one: &Value, other: &Value) -> Option<String> {
    assert!(one["data"].is_object(), "{one}");
    let names = one.as_object().expect("a state").keys().chain(other.as_object().expect("a state").keys());
    let name = names.into_iter().find(|name| one[*name] != other[*name])?;
    Some(format!("{name}: {} by tools, {} by clicks", one[name], other[name]).chars().take(2_000).collect())
}

/// Plays a task by tools and by clicks; what differs, if something does.
async fn play(server: &TestServer, environment: &str, app: &Arc<App>, seed: u64) -> Result<u64, String> {
    let instance = task(app, seed).ok_or("no task")?;
    let by_tools = open(server, environment, seed, "tools").await;
    let by_clicks = open(server, environment, seed, "browser").await;
    assert_eq!(by_clicks["task"]["messages"][1]["content"], json!(instance.text));
    let episode = Episode::begin(&instance, SEED).map_err(|error| error.to_string())?;
    let mut planned = (episode.world().clone(), Viewer::new());
    let mut hand = Hand::new(server, &by_clicks, episode.world().clone());
    let mut last = Value::Null;
    let submit = ("submit".into(), json!({"status": "ok"}));
    let solution = instance.solution().iter().map(|call| (call.name.clone(), json!(call.arguments)));
    let submits = instance.solution().last().is_some_and(|call| &*call.name == "submit");
    let calls: Vec<(Arc<str>, Value)> = solution.chain((!submits).then_some(submit)).collect();
    let mut told = Vec::new();
    for (name, arguments) in &calls {
        let mut done = Vec::new();
        last = tool(server, &by_tools, name, arguments).await;
        told.extend(irreversible(&last));
        match app.calls.get(name) {
            None if **name == *"wait" => {
                let seconds = arguments["seconds"].as_i64().expect("seconds");
                planned.0.wait(seconds).expect("time passes");
                hand.wait(seconds).await;
            }
            None => {
                hand.step(&json!({"tool": &**name, "arguments": arguments})).await;
            }
            Some(callable) => {
                let (world, viewer) = &mut planned;
                let object = arguments.as_object().expect("arguments");
                let way = match callable {
                    // A view that shows only what one asks for: who acts by clicks does without.
                    Callable::View(_) => pilot::look(world, viewer, name, object).unwrap_or_default(),
                    Callable::Action(_) => {
                        pilot::play(world, viewer, name, object).map_err(|lost| lost.to_string())?.actions
                    }
                };
                for action in &way {
                    hand.perform(action).await.map_err(|error| format!("{name}: {action:?}: {error}"))?;
                }
                done = way;
            }
        }
        if hand.last["observation"]["data"]["error"].is_string() {
            return Err(format!("{name} {arguments}: {}", hand.last["observation"]["text"]));
        }
        if let Some(part) = different(&state(server, &by_tools).await, &state(server, &by_clicks).await) {
            return Err(format!("{name} {arguments} leads elsewhere by {done:?}: {part}"));
        }
    }
    let verdict = |step: &Value| (step["terminated"].clone(), step["verdict"].clone());
    let scores =
        |(ended, verdict): &(Value, Value)| (ended.clone(), verdict["score"].clone(), verdict["checks"].clone());
    let (tools, clicks) = (verdict(&last), verdict(&hand.last));
    if scores(&tools) != scores(&clicks) || tools.1["score"] != json!(1.0) {
        return Err(format!("other verdicts: {} by tools, {} by clicks", tools.1, clicks.1));
    }
    if told != hand.irreversible {
        return Err(format!("not to be undone: {told:?} by tools, {:?} by clicks", hand.irreversible));
    }
    for session in [&by_tools, &by_clicks] {
        server.delete(&format!("/v1/sessions/{}", session["id"].as_str().expect("an id"))).await.ok();
    }
    Ok(hand.steps)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_of_all_apps_are_finished_by_clicks_alone_as_by_tools() {
    let Some(running) = with_browsers().await else { return };
    let named: Option<u64> = std::env::var("PALESTRA_BROWSER_TASKS").ok().and_then(|count| count.parse().ok());
    let only = std::env::var("PALESTRA_BROWSER_APP").ok();
    let apps = apps();
    let each = named.map_or(TASKS_EACH, |all| all.div_ceil(apps.len() as u64));
    let only = |name: &str| only.as_deref().is_none_or(|only| name.ends_with(only));
    let chosen = apps.iter().filter(|(name, _)| only(name));
    // Seeds far apart, so that tasks of several templates have their turn.
    let tasks = chosen.flat_map(|(name, app)| (0..each).map(move |number| (name, app, number * 7 + 1)));
    let server = &running;
    let plays = tasks.map(|(name, app, seed)| async move {
        play(server, name, app, seed).await.map_err(|why| format!("{name} {seed}: {why}"))
    });
    let played: Vec<Result<u64, String>> = stream::iter(plays).buffer_unordered(AT_ONCE).collect().await;
    let steps: u64 = played.iter().filter_map(|played| played.as_ref().ok()).sum();
    let lost: Vec<String> = played.iter().filter_map(|played| played.as_ref().err().cloned()).collect();
    let played = played.len();
    println!("{played} tasks in {steps} steps");
    running.stop().await;
    assert!(lost.is_empty(), "{} of {played} tasks\n{}", lost.len(), lost.join("\n\n"));
}

#[tokio::test]
async fn a_server_without_a_browser_says_what_is_missing() {
    let server = TestServer::start_with(|config| config.chromium = Some(Path::new("/no/chromium").to_owned())).await;
    let body =
        json!({"environment": "app/shop", "task": {"split": "train", "seed": 1}, "config": {"surface": "browser"}});
    let answer = server.post("/v1/sessions", &body).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (503, "unavailable"), "{}", answer.body);
    server.stop().await;
}

/// Takes a step as BrowserGym writes it.
async fn act(server: &TestServer, session: &Value, action: &str) -> Value {
    let path = format!("/v1/sessions/{}/step", session["id"].as_str().expect("an id"));
    server.post(&path, &json!({"action": {"text": action}})).await.ok()
}

fn text(step: &Value) -> &str {
    step["observation"]["text"].as_str().expect("text")
}

/// Id of the first element whose line has these words.
fn id_of<'t>(text: &'t str, words: &str) -> &'t str {
    let line = text.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {text}"));
    line.trim().trim_start_matches('[').split(']').next().expect("an id")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_in_a_browser_is_forked_restored_and_outlives_its_server() {
    let Some(server) = with_browsers().await else { return };
    let session = open(&server, "app/mail", 1, "browser").await;
    act(&server, &session, "fill('role=searchbox[name=\"Search mail\"]', 'invoice')").await;
    let snapshot = format!("/v1/sessions/{}/snapshots", session["id"].as_str().unwrap());
    let snapshot = server.post(&snapshot, &json!({})).await.ok();
    let seen = act(&server, &session, "noop(0)").await;
    let search = id_of(text(&seen), "button 'Search'").to_owned();
    let fork = format!("/v1/sessions/{}/fork", session["id"].as_str().unwrap());
    let copies = server.post(&fork, &json!({"count": 2})).await.ok();
    // What was typed is there, and the ids of the first name the same elements.
    for copy in copies["data"].as_array().unwrap() {
        let found = act(&server, copy, &format!("click('{search}')")).await;
        assert_eq!(found["observation"]["data"].get("differs"), None, "{found}");
        assert_eq!(found["observation"]["data"]["tabs"][0]["url"], json!("http://mail.test/mails?q=invoice"));
        server.delete(&format!("/v1/sessions/{}", copy["id"].as_str().unwrap())).await.ok();
    }
    let still = act(&server, &session, "noop(0)").await;
    assert_eq!(still["observation"]["data"]["tabs"][0]["url"], json!("http://mail.test/"));
    act(&server, &session, "clear('role=searchbox[name=\"Search mail\"]')").await;
    let restore = format!("/v1/sessions/{}/restore", session["id"].as_str().unwrap());
    server.post(&restore, &json!({"snapshot": snapshot["id"]})).await.ok();
    let back = act(&server, &session, "noop(0)").await;
    assert!(text(&back).contains("value='invoice'"), "{}", text(&back));
    // The next server takes the recorded actions again.
    let data = server.stop().await;
    let server = TestServer::start_in(data, |config| config.sandbox = SandboxChoice::Local).await;
    let again = act(&server, &session, &format!("click('{search}')")).await;
    assert_eq!(again["observation"]["data"]["tabs"][0]["url"], json!("http://mail.test/mails?q=invoice"), "{again}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_stand_beside_pages_and_contexts_are_bounded() {
    if with_browsers().await.is_none() {
        return;
    }
    let server = TestServer::start_with(|config| {
        config.sandbox = SandboxChoice::Local;
        (config.browsers_max, config.browser_sessions_max, config.browser_warm) = (1, 1, 0);
    })
    .await;
    let session = open(&server, "app/shop", 3, "hybrid").await;
    let listed = tool(&server, &session, "orders", &json!({"page": 1})).await;
    assert!(listed["observation"]["data"]["items"].is_array(), "{listed}");
    let seen = act(&server, &session, "click('role=link[name=\"Orders\"]')").await;
    assert_eq!(seen["observation"]["data"]["tabs"][0]["url"], json!("http://shop.test/orders"), "{}", text(&seen));
    for (action, why) in [
        ("click('99999')", "no element"),
        ("click(", "belongs here"),
        ("import os", "there is no action"),
        ("goto('http://127.0.0.1/')", "cannot"),
    ] {
        let refused = act(&server, &session, action).await;
        let told = refused["observation"]["data"]["error"].as_str().expect("an error");
        assert!(told.contains(why), "{action}: {told}");
        assert_eq!((&refused["terminated"], &refused["stop_reason"]), (&json!(false), &Value::Null));
    }
    let body =
        json!({"environment": "app/shop", "task": {"split": "train", "seed": 1}, "config": {"surface": "browser"}});
    let full = server.post("/v1/sessions", &body).await;
    assert_eq!((full.status.as_u16(), full.code()), (503, "capacity"), "{}", full.body);
    server.delete(&format!("/v1/sessions/{}", session["id"].as_str().unwrap())).await.ok();
    // Its context is removed after the answer.
    let begun = Instant::now();
    let next = loop {
        let answer = server.post("/v1/sessions", &body).await;
        if answer.status.is_success() {
            break answer.body;
        }
        assert!(answer.code() == "capacity" && begun.elapsed() < ROOM_MAX, "no room came back: {}", answer.body);
        tokio::task::yield_now().await;
    };
    let gave_up = act(&server, &next, "report_infeasible('it is sold out')").await;
    assert_eq!((&gave_up["terminated"], &gave_up["verdict"]["score"]), (&json!(true), &json!(0.0)), "{gave_up}");
    server.stop().await;
}

/// An environment of pages, without a browser.
fn web_kind(name: &str) -> Arc<dyn EnvironmentKind> {
    let folder = tempfile::tempdir().expect("a folder");
    let all = web::all(&Backends::none(folder.path()).browsers);
    all.into_iter().find(|kind| kind.spec().name == name).expect("an environment")
}

/// A task of such an environment, the actions that solve it, and what to post for a session of it.
fn web_task(kind: &Arc<dyn EnvironmentKind>, seed: u64, difficulty: f64) -> (Task, Vec<String>, Value) {
    let Tasks::Generated(generator) = kind.tasks() else { panic!("tasks are generated") };
    let task = generator.generate("train", seed, Some(difficulty)).expect("a task");
    let text = |action| {
        let Action::Text(action) = action else { panic!("solutions are BrowserGym's strings") };
        action
    };
    let solution = kind.oracle(&task).expect("a solution").into_iter().map(text).collect();
    let body = json!({
        "environment": kind.spec().name, "task": {"split": "train", "seed": seed, "difficulty": difficulty}, "seed": SEED,
    });
    (task, solution, body)
}

/// Takes actions, none of which fails; the last step.
async fn act_all(server: &TestServer, session: &Value, actions: &[String]) -> Value {
    let mut last = Value::Null;
    for action in actions {
        last = act(server, session, action).await;
        assert_eq!(last["observation"]["data"]["error"], Value::Null, "{action}: {}", text(&last));
    }
    last
}

async fn close(server: &TestServer, session: &Value) {
    server.delete(&format!("/v1/sessions/{}", session["id"].as_str().expect("an id"))).await.ok();
}

/// Plays tasks by their solutions, and by clicks at chance places after a page of the agent's own tried to post to `target`.
async fn are_solved_by_their_solutions_alone(name: &str, draws: [(u64, f64); 4], target: &str) {
    let Some(server) = with_browsers().await else { return };
    let kind = web_kind(name);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut levels = BTreeSet::new();
    for (seed, difficulty) in draws {
        let (task, solution, body) = web_task(&kind, seed, difficulty);
        levels.insert(task.public.metadata["level"].as_u64());
        let solved = server.post("/v1/sessions", &body).await.ok();
        assert_eq!(solved["task"]["messages"][1]["content"], json!(task.public.messages[1].content));
        let last = act_all(&server, &solved, &solution).await;
        assert_eq!((&last["terminated"], &last["verdict"]["score"]), (&json!(true), &json!(1.0)), "{last}");
        let guessed = server.post("/v1/sessions", &body).await.ok();
        // A page of the agent's own is no way to send a state or an input.
        let own = format!("goto('data:text/html,<form method=post action={target}><button>Go</button></form>')");
        act(&server, &guessed, &own).await;
        for _ in 0..3 {
            let Action::Text(action) = kind.random_action(&task, &mut random) else {
                panic!("random clicks are strings")
            };
            act(&server, &guessed, &action).await;
        }
        let finish = format!("/v1/sessions/{}/finish", guessed["id"].as_str().unwrap());
        let ended = server.post(&finish, &json!({"reason": "gave_up"})).await.ok();
        assert_eq!(ended["verdict"]["score"], json!(0.0), "{ended}");
        close(&server, &solved).await;
        close(&server, &guessed).await;
    }
    assert_eq!(levels.len(), 4, "a quarter of the scale is a level");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn widgets_are_solved_by_their_solutions_and_by_nothing_else() {
    let draws = [(7, 0.0), (38, 0.3), (64, 0.6), (97, 1.0)];
    are_solved_by_their_solutions_alone("web/widgets", draws, "http://widget.test/submit").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn games_are_solved_by_their_solutions_and_by_nothing_else() {
    // A seed is the turn of one of the six games.
    let draws = [(1, 0.0), (2, 0.3), (3, 0.6), (4, 1.0)];
    are_solved_by_their_solutions_alone("web/games", draws, "http://game.test/input").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_is_forked_on_its_way_and_is_told_in_words_unless_that_is_off() {
    let Some(server) = with_browsers().await else { return };
    let kind = web_kind("web/games");
    // The fastest snake: its time goes on in the copy as in the first.
    let (_, solution, body) = web_task(&kind, 10, 1.0);
    let (first, rest) = solution.split_at(solution.len() / 2);
    let session = server.post("/v1/sessions", &body).await.ok();
    let seen = act_all(&server, &session, first).await;
    assert!(text(&seen).contains("Row 1:"), "{}", text(&seen));
    let fork = format!("/v1/sessions/{}/fork", session["id"].as_str().unwrap());
    let copy = server.post(&fork, &json!({"count": 1})).await.ok()["data"][0].take();
    for played in [&copy, &session] {
        let begins = act_all(&server, played, &rest[..1]).await;
        assert_eq!(begins["observation"]["data"].get("differs"), None, "{begins}");
        let last = act_all(&server, played, &rest[1..]).await;
        assert_eq!((&last["terminated"], &last["verdict"]["score"]), (&json!(true), &json!(1.0)), "{last}");
        close(&server, played).await;
    }

    let mut silent = body.clone();
    silent["config"] = json!({"text": false});
    let session = server.post("/v1/sessions", &silent).await.ok();
    let seen = act(&server, &session, "keyboard_press('ArrowUp')").await;
    assert!(text(&seen).contains("Board") && !text(&seen).contains("Row 1:"), "{}", text(&seen));
    close(&server, &session).await;
    for (config, field) in [(json!({"text": "no"}), "config.text"), (json!({"speed": 2}), "config.speed")] {
        let mut wrong = body.clone();
        wrong["config"] = config;
        let refused = server.post("/v1/sessions", &wrong).await;
        assert_eq!(
            (refused.code(), &refused.body["errors"][0]["field"]),
            ("invalid", &json!(field)),
            "{}",
            refused.body
        );
    }
    server.stop().await;
}

/// The bytes of a content, read with a token.
async fn blob(server: &TestServer, path: &str, token: &str) -> (u16, String, Vec<u8>) {
    let request = reqwest::Client::new().get(format!("{}{path}", server.url())).bearer_auth(token);
    let answer = request.send().await.expect("an answer");
    let media =
        answer.headers().get("content-type").and_then(|media| media.to_str().ok()).unwrap_or_default().to_owned();
    (answer.status().as_u16(), media, answer.bytes().await.expect("a body").to_vec())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_stand_beside_the_tree_and_are_read_by_their_digests() {
    let Some(server) = with_browsers().await else { return };
    let settings = json!({"surface": "browser", "screenshot": {"format": "webp", "scale": 0.5, "marks": true}});
    let mut body = json!({"environment": "app/shop", "task": {"split": "train", "seed": 3}, "config": settings});
    let session = server.post("/v1/sessions", &body).await.ok();
    let (id, token) = (session["id"].as_str().unwrap(), session["token"].as_str().unwrap());
    let first = &session["observation"]["content"][0];
    assert_eq!(
        (&first["type"], &first["media_type"], &first["width"]),
        (&json!("image"), &json!("image/webp"), &json!(640))
    );
    let search = id_of(session["observation"]["text"].as_str().unwrap(), "searchbox").to_owned();
    assert!(first["marks"].as_array().unwrap().iter().any(|mark| mark["id"] == json!(search)), "{first}");
    let place = |block: &Value| format!("/v1/sessions/{id}/blobs/{}", block["blob"].as_str().unwrap());
    let (status, media, bytes) = blob(&server, &place(first), token).await;
    assert_eq!((status, media.as_str(), &bytes[8..12]), (200, "image/webp", &b"WEBP"[..]));
    assert_eq!(first["size_bytes"], json!(bytes.len()));
    // A session's token reaches its own session alone, and nothing but what its observations named.
    let other = server.post("/v1/sessions", &body).await.ok();
    assert_eq!(blob(&server, &place(first), other["token"].as_str().unwrap()).await.0, 403);
    assert_eq!(blob(&server, &format!("/v1/sessions/{id}/blobs/sha256:00"), token).await.0, 404);
    // Several looks of one turn have a picture each.
    let calls = json!({"action": {"calls": [
        {"id": "a", "tool": "screenshot", "arguments": {"whole_page": true}}, {"id": "b", "tool": "page_html", "arguments": {}},
    ]}});
    let looked = server.post(&format!("/v1/sessions/{id}/step"), &calls).await.ok();
    let kinds: Vec<&str> = looked["observation"]["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|block| block["media_type"].as_str())
        .collect();
    assert_eq!(kinds, ["image/webp", "image/png", "image/webp", "text/html; charset=utf-8"]);
    let document = blob(&server, &place(&looked["observation"]["content"][3]), token).await;
    assert!(document.2.starts_with(b"<!doctype html>"), "{}", String::from_utf8_lossy(&document.2));
    // What a copy has not seen itself is in the episode that it was made of.
    let copies = server.post(&format!("/v1/sessions/{id}/fork"), &json!({})).await.ok();
    let copy = &copies["data"][0];
    let stored =
        format!("/v1/episodes/{}/blobs/{}", copy["episode"].as_str().unwrap(), first["blob"].as_str().unwrap());
    assert_eq!(blob(&server, &stored, server.key()).await.2, bytes);
    // Pictures outlive the server, and a session goes on whose record has them.
    let data = server.stop().await;
    let server = TestServer::start_in(data, |config| config.sandbox = SandboxChoice::Local).await;
    assert_eq!(blob(&server, &stored, server.key()).await.2, bytes);
    let again = act(&server, &session, "noop(0)").await;
    assert_eq!(again["observation"]["content"][0]["type"], json!("image"), "{again}");
    // Where nothing is recorded, the picture itself stands in the observation.
    body["record"] = json!("none");
    let fleeting = server.post("/v1/sessions", &body).await.ok();
    let block = &fleeting["observation"]["content"][0];
    assert!(
        block["data"].as_str().is_some_and(|data| data.starts_with("UklGR")) && block.get("blob").is_none(),
        "{block}"
    );
    // There are no pictures where there is no browser.
    let body =
        json!({"environment": "app/shop", "task": {"split": "train", "seed": 3}, "config": {"screenshot": true}});
    let refused = server.post("/v1/sessions", &body).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (422, "invalid"), "{}", refused.body);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_episode_becomes_a_page_and_a_trace() {
    let Some(server) = with_browsers().await else { return };
    let config = json!({"surface": "browser", "record": true});
    let body = json!({"environment": "app/shop", "task": {"split": "train", "seed": 3}, "config": config});
    let session = server.post("/v1/sessions", &body).await.ok();
    act(&server, &session, "click('role=link[name=\"Orders\"]')").await;
    let wrong = act(&server, &session, "click('99999')").await;
    let blocks = wrong["observation"]["content"].as_array().unwrap();
    let kinds: Vec<(&Value, &Value)> = blocks.iter().map(|block| (&block["type"], &block["media_type"])).collect();
    let expected = [(json!("image"), json!("image/webp")), (json!("network"), json!("application/json"))];
    assert_eq!(kinds, expected.each_ref().map(|(kind, media)| (kind, media)));
    assert_eq!(blocks[1]["requests"], json!(0), "nothing was asked for: {}", blocks[1]);
    let episode = session["episode"].as_str().unwrap();
    // What was seen first is told too, also of a copy, which did not see it.
    let fork = format!("/v1/sessions/{}/fork", session["id"].as_str().unwrap());
    let copy = server.post(&fork, &json!({"count": 1})).await.ok()["data"][0].take();
    for told in [episode, copy["episode"].as_str().unwrap()] {
        let told = server.get(&format!("/v1/episodes/{told}/trajectory")).await.ok();
        assert_eq!(told["opening"]["content"], session["observation"]["content"]);
        assert_eq!(told["opening"]["text"], session["observation"]["text"]);
    }
    close(&server, &copy).await;
    let recording = async |form: &str| {
        let path = format!("/v1/episodes/{episode}/trajectory?format={form}");
        blob(&server, &path, server.key()).await
    };
    let (status, media, page) = recording("html").await;
    let page = String::from_utf8(page).expect("a page is text");
    assert_eq!((status, media.as_str()), (200, "text/html; charset=utf-8"));
    let parts =
        ["data:image/webp;base64,UklGR", "http://shop.test/orders", "there is no element", "the beginning", "<script>"];
    for part in parts {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("</script>").count(), 2, "nothing in the data ends the element that it stands in");
    let (status, media, trace) = recording("playwright").await;
    assert_eq!((status, media.as_str(), &trace[..4]), (200, "application/zip", &b"PK\x03\x04"[..]));
    // What is in the archive is not compressed.
    let trace = String::from_utf8_lossy(&trace).into_owned();
    for part in
        ["trace.trace", "trace.network", "resources/", "context-options", "screencast-frame", "resource-snapshot"]
    {
        assert!(trace.contains(part), "{part}");
    }
    server.stop().await;
}

/// Rows of an endless list that a page shows, and the address of the page.
fn shown_rows(step: &Value) -> (u64, &str) {
    let said = text(step).split(" shown").next().and_then(|before| before.rsplit(['\'', ' ']).next());
    let rows = said.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{}", text(step)));
    (rows, step["observation"]["data"]["tabs"][0]["url"].as_str().expect("an address"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_list_goes_on_as_one_comes_near_its_end() {
    let Some(server) = with_browsers().await else { return };
    let session = open(&server, "app/mail", 1, "browser").await;
    let first = act(&server, &session, "goto('http://mail.test/mails')").await;
    let (rows, _) = shown_rows(&first);
    assert!(rows > 1, "{}", text(&first));
    let second = act(&server, &session, "scroll(0, 5000)").await;
    assert_eq!(shown_rows(&second), (2 * rows, "http://mail.test/mails?page=2"));
    let third = act(&server, &session, "scroll(0, 5000)").await;
    let (all, address) = shown_rows(&third);
    assert!(all > 2 * rows && address == "http://mail.test/mails?page=3", "{}", text(&third));
    // Elements that were there stay what they are.
    let id = id_of(text(&first), "button 'Star").to_owned();
    assert!(text(&third).contains(&format!("[{id}] button")), "{}", text(&third));
    // A copy has the same page, and so has whoever comes back from elsewhere or loads it again.
    let fork = format!("/v1/sessions/{}/fork", session["id"].as_str().unwrap());
    let copy = server.post(&fork, &json!({"count": 1})).await.ok()["data"][0].take();
    let copied = act(&server, &copy, "noop(0)").await;
    assert_eq!((copied["observation"]["data"].get("differs"), shown_rows(&copied)), (None, (all, address)));
    close(&server, &copy).await;
    let elsewhere = act(&server, &session, "click('css=main li:first-child .row-link')").await;
    assert!(!text(&elsewhere).contains(" shown"), "{}", text(&elsewhere));
    assert_eq!(shown_rows(&act(&server, &session, "go_back()").await), (all, address));
    assert_eq!(shown_rows(&act(&server, &session, "reload()").await), (all, address));
    // What is done at a row leads back to all of them.
    let starred = act(&server, &session, "click('css=li:first-child button[aria-label^=\"Star:\"]')").await;
    assert_eq!(shown_rows(&starred), (all, address), "{}", text(&starred));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_input_offers_what_fits_and_it_is_taken_by_a_key_or_a_click() {
    let Some(server) = with_browsers().await else { return };
    let session = open(&server, "app/shop", 3, "browser").await;
    let seen = act(&server, &session, "noop(0)").await;
    assert!(!text(&seen).contains("option"), "nothing is offered before one types: {}", text(&seen));
    let id = id_of(text(&seen), "searchbox 'Search products'").to_owned();
    let typed = act(&server, &session, &format!("fill('{id}', 'e')")).await;
    let offers: Vec<&str> = text(&typed).lines().filter(|line| line.contains("option '")).collect();
    assert!(offers.len() > 1 && text(&typed).contains("listbox 'Suggestions'"), "{}", text(&typed));
    let name = offers[0].split("· ").nth(1).and_then(|name| name.split('\'').next()).expect("a product").to_owned();
    // By keys: the first one; and away, without a choice.
    act(&server, &session, "keyboard_press('ArrowDown')").await;
    let taken = act(&server, &session, "keyboard_press('Enter')").await;
    assert!(text(&taken).contains(&name) && !text(&taken).contains("option '"), "{}", text(&taken));
    assert_eq!(taken["observation"]["data"]["tabs"][0]["url"], json!("http://shop.test/"), "nothing was sent yet");
    act(&server, &session, &format!("fill('{id}', 'e')")).await;
    let left = act(&server, &session, "keyboard_press('Escape')").await;
    assert!(!text(&left).contains("option '"), "{}", text(&left));
    // By a click, and then it is looked for.
    let typed = act(&server, &session, &format!("fill('{id}', '{}')", &name[..3])).await;
    let option = id_of(text(&typed), &format!("· {name}")).to_owned();
    act(&server, &session, &format!("click('{option}')")).await;
    let found = act(&server, &session, "keyboard_press('Enter')").await;
    let address = found["observation"]["data"]["tabs"][0]["url"].as_str().expect("an address");
    assert!(address.starts_with("http://shop.test/products?q=") && text(&found).contains(&name), "{}", text(&found));
    server.stop().await;
}

/// Takes the actions of a solution; the last step.
async fn follow(server: &TestServer, session: &Value, solution: Vec<Action>) -> Value {
    let mut last = Value::Null;
    for action in solution {
        let Action::Text(action) = action else { panic!("solutions are BrowserGym's strings") };
        last = act(server, session, &action).await;
        assert_eq!(last["observation"]["data"]["error"], Value::Null, "{action}: {}", text(&last));
    }
    last
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_about_sites_are_answered_with_their_proof_and_by_nothing_else() {
    let Some(server) = with_browsers().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let kinds = web::all(&Backends::none(folder.path()).browsers);
    let kind = kinds.iter().find(|kind| kind.spec().name == "web/sites").expect("the sites");
    let Tasks::Generated(generator) = kind.tasks() else { panic!("tasks are generated") };
    for (seed, difficulty) in [(7, 0.0), (38, 0.3), (21, 0.6), (50, 1.0)] {
        let task = generator.generate("train", seed, Some(difficulty)).expect("a task");
        let body = json!({
            "environment": "web/sites", "task": {"split": "train", "seed": seed, "difficulty": difficulty}, "seed": SEED,
        });
        let mut solution = kind.oracle(&task).expect("a solution");
        let answer = solution.split_off(solution.len() - 1);
        let session = server.post("/v1/sessions", &body).await.ok();
        // One copy answers at once, the other where its model stands after some clicks.
        let fork = format!("/v1/sessions/{}/fork", session["id"].as_str().unwrap());
        let blind = server.post(&fork, &json!({"count": 1})).await.ok()["data"][0].take();
        follow(&server, &session, solution.clone()).await;
        let copy = server.post(&fork, &json!({"count": 1})).await.ok()["data"][0].take();
        for (session, score) in [(&session, 1.0), (&copy, 1.0), (&blind, 0.0)] {
            let ended = follow(&server, session, answer.clone()).await;
            assert_eq!((&ended["terminated"], &ended["verdict"]["score"]), (&json!(true), &json!(score)), "{ended}");
            let checks = ended["verdict"]["checks"].as_array().expect("checks");
            assert!(checks.iter().any(|check| check["name"] == "part proof"), "{ended}");
        }
        let entries = whole_state(&server, &session).await["har"]["log"]["entries"].take();
        assert_eq!(entries, whole_state(&server, &copy).await["har"]["log"]["entries"], "a copy has the record");
        let documents = entries.as_array().expect("entries").iter().filter(|entry| entry["response"]["status"] == 200);
        assert!(documents.count() > solution.len(), "{entries}");
        for session in [&session, &copy, &blind] {
            server.delete(&format!("/v1/sessions/{}", session["id"].as_str().unwrap())).await.ok();
        }
    }
    server.stop().await;
}
