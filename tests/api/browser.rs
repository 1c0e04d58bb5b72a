//! Apps in a real browser over the API: played by clicks, with the verdict and the state that tools reach.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use palestra::config::SandboxChoice;
use palestra_apps::app::{App, Callable};
use palestra_apps::draw::draw;
use palestra_apps::screen::{Viewer, pilot};
use palestra_apps::task::episode::Episode;
use palestra_apps::task::instance::Instance;
use palestra_environment::spec::split_of;
use palestra_families::app::shipped;
use serde_json::{Value, json};

use crate::support::hand::Hand;
use crate::support::server::TestServer;

/// Tasks of each app, unless `PALESTRA_BROWSER_TASKS` names a number of all apps together.
const TASKS_EACH: u64 = 2;
/// Steps that are enough for every task.
const STEPS_MAX: u64 = 400;
/// Seed of every session.
const SEED: u64 = 5;

/// A server with browsers; none, said aloud, where this machine has no Chromium or cannot shut it in.
async fn with_browsers() -> Option<TestServer> {
    if palestra_browser::find_program().is_none() {
        palestra_test_support::not_tried("a Chromium: install Debian's package chromium");
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

/// State of a session, without the counts of its calls: screens read views that a solution by tools need not read.
async fn state(server: &TestServer, session: &Value) -> Value {
    let path = format!("/v1/sessions/{}/state", session["id"].as_str().expect("an id"));
    let mut state = server.get(&path).await.ok()["state"].take();
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
    for (name, arguments) in &calls {
        last = tool(server, &by_tools, name, arguments).await;
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
            }
        }
        if hand.last["observation"]["data"]["error"].is_string() {
            return Err(format!("{name} {arguments}: {}", hand.last["observation"]["text"]));
        }
        if let Some(part) = different(&state(server, &by_tools).await, &state(server, &by_clicks).await) {
            return Err(format!("{name} {arguments} leads elsewhere by clicks: {part}"));
        }
    }
    let verdict = |step: &Value| (step["terminated"].clone(), step["verdict"].clone());
    let scores =
        |(ended, verdict): &(Value, Value)| (ended.clone(), verdict["score"].clone(), verdict["checks"].clone());
    let (tools, clicks) = (verdict(&last), verdict(&hand.last));
    if scores(&tools) != scores(&clicks) || tools.1["score"] != json!(1.0) {
        return Err(format!("other verdicts: {} by tools, {} by clicks", tools.1, clicks.1));
    }
    for session in [&by_tools, &by_clicks] {
        server.delete(&format!("/v1/sessions/{}", session["id"].as_str().expect("an id"))).await.ok();
    }
    Ok(hand.steps)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_of_all_apps_are_finished_by_clicks_alone_as_by_tools() {
    let Some(server) = with_browsers().await else { return };
    let named: Option<u64> = std::env::var("PALESTRA_BROWSER_TASKS").ok().and_then(|count| count.parse().ok());
    let only = std::env::var("PALESTRA_BROWSER_APP").ok();
    let apps = apps();
    let each = named.map_or(TASKS_EACH, |all| all.div_ceil(apps.len() as u64));
    let (mut played, mut steps, mut lost) = (0, 0, Vec::new());
    for (name, app) in apps.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| name.ends_with(only))) {
        for number in 0..each {
            // Seeds far apart, so that tasks of several templates have their turn.
            let seed = number * 7 + 1;
            match play(&server, name, app, seed).await {
                Ok(taken) => steps += taken,
                Err(why) => lost.push(format!("{name} {seed}: {why}")),
            }
            played += 1;
        }
    }
    println!("{played} tasks in {steps} steps");
    server.stop().await;
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
