//! Apps over the API: published, played by tools, on the screen and on the page, forked, brought back, and judged.

use std::collections::BTreeMap;

use palestra_apps::app::App;
use palestra_apps::task::draw_key::DrawKey;
use palestra_apps::task::outcome::Rule;
use palestra_auth::DEFAULT_TENANT;
use palestra_protocol::key::{CreateKey, Scope};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::server::{Answer, TestServer, read};

const TOOLSHED: &str = include_str!("../apps/toolshed/app.yaml");

async fn publish_yaml(server: &TestServer, text: &str) -> Answer {
    let request = server.request(Method::POST, "/v1/environments");
    read(request.header("content-type", "application/yaml").body(text.to_owned())).await
}

async fn with_toolshed() -> TestServer {
    let server = TestServer::start().await;
    assert_eq!(publish_yaml(&server, TOOLSHED).await.status, StatusCode::CREATED);
    server
}

/// A session at a task of the template `lend_tool` (an even seed) or of its twin (an odd one).
async fn open(server: &TestServer, seed: u64, config: &Value) -> Value {
    let task = json!({"split": "train", "seed": seed});
    let body = json!({"environment": "app/toolshed", "task": task, "seed": 5, "config": config});
    server.post("/v1/sessions", &body).await.ok()
}

async fn call(server: &TestServer, session: &Value, tool: &str, arguments: Value) -> Value {
    let path = format!("/v1/sessions/{}/step", session["id"].as_str().unwrap());
    server.post(&path, &json!({"action": {"tool": tool, "arguments": arguments}})).await.ok()
}

/// Tool, member and days of an instruction such as "Lend the X to Y for 3 days."
fn asked(session: &Value) -> (String, String, u64) {
    let text = session["task"]["messages"][1]["content"].as_str().unwrap();
    let (tool, rest) = text.strip_prefix("Lend the ").unwrap().split_once(" to ").unwrap();
    let (member, days) = rest.split_once(" for ").unwrap();
    (tool.to_owned(), member.to_owned(), days.split(' ').next().unwrap().parse().unwrap())
}

/// The rows that are asked for, found as a policy would.
async fn found(server: &TestServer, session: &Value) -> (Value, Value, u64) {
    let (tool, member, days) = asked(session);
    let tools = call(server, session, "tools", json!({"search": tool})).await;
    let members = call(server, session, "members", json!({"search": member})).await;
    let first = |step: &Value| step["observation"]["data"]["items"][0]["id"].clone();
    (first(&tools), first(&members), days)
}

fn names(session: &Value) -> Vec<&str> {
    let tools = session["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

fn check<'a>(verdict: &'a Value, name: &str) -> &'a Value {
    let checks = verdict["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"].as_str().unwrap().contains(name)).unwrap_or_else(|| panic!("{verdict}"))
}

#[tokio::test]
async fn an_app_is_published_and_played_by_its_tools() {
    let server = with_toolshed().await;
    let environment = server.get("/v1/environments/app/toolshed").await.ok();
    assert_eq!((&environment["family"], &environment["templates"]), (&json!("app"), &json!(2)));
    let session = open(&server, 0, &json!({})).await;
    assert_eq!(names(&session), ["tools", "members", "loans", "lend", "give_back", "submit"]);
    assert!(session.get("page").is_none(), "{session}");
    let system = session["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("tool shed") && system.contains("2031-05-05"), "{system}");
    let (tool, member, days) = found(&server, &session).await;
    let wrong = call(&server, &session, "lend", json!({"tool": "T0", "member": member, "days": days})).await;
    assert_eq!(wrong["observation"]["data"]["error"]["code"], "tool_not_found");
    let misfit = call(&server, &session, "lend", json!({"tool": tool})).await;
    assert!(misfit["observation"]["text"].as_str().unwrap().starts_with("Error"), "{misfit}");
    let lent = call(&server, &session, "lend", json!({"tool": tool, "member": member, "days": days})).await;
    assert!(lent["observation"]["data"]["loan"].is_string(), "{lent}");
    let busy = call(&server, &session, "lend", json!({"tool": tool, "member": member, "days": days})).await;
    let error = &busy["observation"]["data"]["error"];
    assert_eq!(
        (&error["code"], &error["kind"], &error["field"]),
        (&json!("tool_busy"), &json!("conflict"), &json!("tool"))
    );
    let ended = call(&server, &session, "submit", json!({"status": "ok"})).await;
    assert_eq!((&ended["terminated"], &ended["verdict"]["strict"]), (&json!(true), &json!(1)), "{ended}");
    assert_eq!((&ended["verdict"]["verifier"]["name"], &ended["reward"]), (&json!("state-goals"), &json!(1.0)));
    server.stop().await;
}

#[tokio::test]
async fn a_verdict_names_the_clause_that_failed_with_before_and_after() {
    let server = with_toolshed().await;
    let session = open(&server, 0, &json!({})).await;
    let (tool, member, days) = found(&server, &session).await;
    call(&server, &session, "lend", json!({"tool": tool, "member": member, "days": days + 1})).await;
    let ended = call(&server, &session, "submit", json!({"status": "ok"})).await;
    assert_eq!((&ended["verdict"]["status"], &ended["verdict"]["strict"]), (&json!("scored"), &json!(0)));
    let balance = check(&ended["verdict"], "t.who");
    assert_eq!(balance["passed"], false);
    let evidence = balance["evidence"].as_str().unwrap();
    assert!(evidence.contains("balance") && evidence.contains("was") && evidence.contains("expected"), "{evidence}");
    // The twin: nothing may change, and the code says why.
    let twin = open(&server, 1, &json!({})).await;
    let (tool, member, days) = found(&server, &twin).await;
    let refused = call(&server, &twin, "lend", json!({"tool": tool, "member": member, "days": days})).await;
    assert_eq!(refused["observation"]["data"]["error"]["code"], "blocked");
    let ended = call(&server, &twin, "submit", json!({"status": "refused", "code": "blocked", "about": member})).await;
    assert_eq!(ended["verdict"]["strict"], 1, "{ended}");
    server.stop().await;
}

#[tokio::test]
async fn forks_part_and_differences_are_told_by_row() {
    let server = with_toolshed().await;
    let session = open(&server, 0, &json!({})).await;
    let (tool, member, days) = found(&server, &session).await;
    let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    let forks = server.post(&format!("{path}/fork"), &json!({"count": 2})).await.ok();
    let fork = &forks["data"][0];
    assert_eq!(names(fork), names(&session));
    call(&server, fork, "lend", json!({"tool": tool, "member": member, "days": days})).await;
    let diff =
        format!("/v1/sessions/{}/diff?against={}", fork["id"].as_str().unwrap(), session["id"].as_str().unwrap());
    let diff = server.get(&diff).await.ok();
    assert_ne!(diff["from"], diff["to"]);
    let rows = &diff["rows"];
    assert_eq!(
        (&rows["created"][0]["table"], &rows["counts"]),
        (&json!("loan"), &json!({"created": 1, "updated": 2, "deleted": 0}))
    );
    let changed = rows["updated"].as_array().unwrap().iter().find(|row| row["table"] == "tool").unwrap();
    assert_eq!((&changed["id"], &changed["changed"]), (&tool, &json!({"state": {"before": "in", "after": "out"}})));
    let same = format!("{path}/diff?against={}", forks["data"][1]["id"].as_str().unwrap());
    assert_eq!(server.get(&same).await.ok()["rows"]["counts"], json!({"created": 0, "updated": 0, "deleted": 0}));
    let counter = super::sessions::counter(&server).await;
    let of_counter = format!("/v1/sessions/{id}/diff?against={id}", id = counter["id"].as_str().unwrap());
    assert!(server.get(&of_counter).await.ok().get("rows").is_none());
    server.stop().await;
}

#[tokio::test]
async fn a_published_app_and_its_sessions_outlive_the_server() {
    let server = with_toolshed().await;
    let session = open(&server, 0, &json!({"surface": "both"})).await;
    let (tool, member, days) = found(&server, &session).await;
    call(&server, &session, "lend", json!({"tool": tool, "member": member, "days": days})).await;
    call(&server, &session, "home", json!({})).await;
    let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    let before = server.get(&format!("{path}/state")).await.ok();
    let server = TestServer::start_in(server.stop().await, |_| {}).await;
    let after = server.get(&format!("{path}/state")).await.ok();
    assert_eq!(before, after);
    let ended = call(&server, &session, "submit", json!({"status": "ok"})).await;
    assert_eq!(ended["verdict"]["strict"], 1, "{ended}");
    let page = session["page"].as_str().unwrap();
    let over = server.http.get(format!("{}{page}", server.url())).send().await.unwrap();
    assert!(over.text().await.unwrap().contains("over"));
    server.stop().await;
}

#[tokio::test]
async fn sessions_begin_with_a_state_of_the_callers_and_bad_ones_are_refused_at_their_place() {
    let server = with_toolshed().await;
    let plain = open(&server, 0, &json!({})).await;
    let (tool, member, days) = found(&server, &plain).await;
    let (tool_id, member_id) = (tool.as_str().unwrap(), member.as_str().unwrap());
    let config = json!({"state": {"member": {member_id: {"blocked": true}}}});
    let session = open(&server, 0, &config).await;
    let refused = call(&server, &session, "lend", json!({"tool": tool, "member": member, "days": days})).await;
    assert_eq!(refused["observation"]["data"]["error"]["code"], "blocked");
    for (state, field) in [
        (json!({"member": {member_id: {"blocked": "yes"}}}), format!("config.state.member.{member_id}.blocked")),
        (json!({"tool": {tool_id: {"colour": "red"}}}), format!("config.state.tool.{tool_id}.colour")),
        (json!({"members": {}}), "config.state.members".to_owned()),
        (json!({"member": {member_id: {"balance": "-5.00"}}}), "config.state".to_owned()),
        (json!([1]), "config.state".to_owned()),
    ] {
        let body = json!({"environment": "app/toolshed", "task": {"id": "train-0"}, "config": {"state": state}});
        let answer = server.post("/v1/sessions", &body).await;
        assert_eq!((answer.code(), &answer.body["errors"][0]["field"]), ("invalid", &json!(field)), "{}", answer.body);
    }
    for (config, field) in [
        (json!({"surface": "vr"}), "config.surface"),
        (json!({"surface": 1}), "config.surface"),
        (json!({"x": 1}), "config.x"),
    ] {
        let body = json!({"environment": "app/toolshed", "task": {"id": "train-0"}, "config": config});
        let answer = server.post("/v1/sessions", &body).await;
        assert_eq!((answer.code(), &answer.body["errors"][0]["field"]), ("invalid", &json!(field)));
    }
    server.stop().await;
}

/// The id of an element on the screen, by a part of its name.
fn element(observation: &Value, role: &str, name: &str) -> String {
    fn walk<'a>(element: &'a Value, role: &str, name: &str) -> Option<&'a str> {
        let fits = element["role"] == role && element["name"].as_str().is_some_and(|text| text.contains(name));
        if fits {
            return element["id"].as_str();
        }
        element["children"].as_array().into_iter().flatten().find_map(|child| walk(child, role, name))
    }
    let tree = &observation["content"][0];
    assert_eq!(tree["type"], "tree");
    let found = tree["elements"].as_array().unwrap().iter().find_map(|element| walk(element, role, name));
    found.unwrap_or_else(|| panic!("no {role} {name} in {}", observation["text"])).to_owned()
}

#[tokio::test]
async fn the_screen_is_offered_by_setting_and_shows_what_was_done() {
    let server = with_toolshed().await;
    let gui = open(&server, 0, &json!({"surface": "gui"})).await;
    assert_eq!(names(&gui), ["click", "type", "select", "scroll", "open", "back", "home", "submit"]);
    assert_eq!(gui["task"]["tools"], gui["tools"]);
    let seen = gui["observation"]["text"].as_str().unwrap();
    assert!(seen.starts_with("Lend the ") && seen.contains('['), "{seen}");
    assert_eq!(gui["messages"][1]["content"], gui["observation"]["text"]);
    // A tool of the other surface is none of this session's.
    let refused = call(&server, &gui, "tools", json!({})).await;
    assert!(refused["observation"]["text"].as_str().unwrap().contains("no tool named"), "{refused}");
    let link = element(&gui["observation"], "link", "Tools");
    let listed = call(&server, &gui, "click", json!({"element": link})).await;
    assert_ne!(listed["observation"]["text"], gui["observation"]["text"]);
    let nowhere = call(&server, &gui, "click", json!({"element": "no/such"})).await;
    assert!(nowhere["observation"]["data"]["error"]["code"].is_string(), "{nowhere}");
    let state = server.get(&format!("/v1/sessions/{}/state?pointer=/screen", gui["id"].as_str().unwrap())).await.ok();
    assert!(state["state"]["route"].as_array().unwrap().len() > 1, "{state}");
    let both = open(&server, 0, &json!({"surface": "both"})).await;
    assert!(["click", "lend", "submit"].iter().all(|name| names(&both).contains(name)));
    let listed = server
        .post(
            &format!("/v1/sessions/{}/mcp", gui["id"].as_str().unwrap()),
            &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}),
        )
        .await
        .ok();
    assert_eq!(listed["result"]["tools"][0]["name"], "click", "{listed}");
    server.stop().await;
}

#[tokio::test]
async fn the_page_needs_nothing_but_its_path_and_acts_in_its_session_alone() {
    let server = with_toolshed().await;
    let session = open(&server, 0, &json!({"surface": "gui"})).await;
    let other = open(&server, 0, &json!({"surface": "gui"})).await;
    let page = session["page"].as_str().unwrap();
    let at = |path: &str| format!("{}{path}", server.url());
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let shown = browser.get(at(page)).send().await.unwrap();
    assert_eq!(shown.status(), StatusCode::OK);
    let headers = shown.headers().clone();
    assert!(headers["content-type"].to_str().unwrap().starts_with("text/html"));
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(
        (&headers["cache-control"], &headers["referrer-policy"]),
        (&"no-store".parse().unwrap(), &"no-referrer".parse().unwrap())
    );
    let html = shown.text().await.unwrap();
    assert!(html.contains("End the task") && !html.contains("<script>") && policy.contains("sandbox"), "{html}");
    let style = browser.get(at(&format!("{page}/theme/base.css"))).send().await.unwrap();
    assert!(style.headers()["content-type"].to_str().unwrap().starts_with("text/css"));
    // Neither a guess, nor another session's path, nor the session's own token opens it.
    let token = page.rsplit('/').next().unwrap();
    let id = |session: &Value| session["id"].as_str().unwrap().to_owned();
    for path in [
        format!("/v1/sessions/{}/page/{token}", id(&other)),
        format!("/v1/sessions/{}/page/{}", id(&session), session["token"].as_str().unwrap()),
        format!("{page}x"),
        format!("/v1/sessions/{}/page/a", id(&session)),
    ] {
        assert_eq!(browser.get(at(&path)).send().await.unwrap().status(), StatusCode::NOT_FOUND, "{path}");
        assert_eq!(browser.post(at(&path)).send().await.unwrap().status(), StatusCode::NOT_FOUND, "{path}");
    }
    // And what opens it is no credential anywhere else.
    let step = read(
        browser
            .post(at(&format!("/v1/sessions/{}/step", id(&session))))
            .bearer_auth(token)
            .json(&json!({"action": {"text": ""}})),
    );
    assert_eq!(step.await.status, StatusCode::UNAUTHORIZED);
    // A link is a turn.
    let there = format!("{page}/tools");
    assert!(html.contains(&format!("href=\"{there}\"")), "{html}");
    let followed = browser.get(at(&there)).send().await.unwrap();
    assert_eq!((followed.status(), followed.headers()["location"].to_str().unwrap()), (StatusCode::SEE_OTHER, &*there));
    assert_eq!(browser.get(at(&there)).send().await.unwrap().status(), StatusCode::OK);
    let state = server.get(&format!("/v1/sessions/{}", id(&session))).await.ok();
    assert_eq!(state["seq"], 1);
    let recorded = server.get(&format!("/v1/episodes/{}/steps/1", session["episode"].as_str().unwrap())).await.ok();
    assert_eq!(recorded["action"], json!({"tool": "open", "arguments": {"address": "/tools"}}));
    let form = |fields: &str| {
        let request = browser.post(at(page)).header("content-type", "application/x-www-form-urlencoded");
        request.body(fields.to_owned())
    };
    let unknown = read(form("nosuch=1")).await;
    assert_eq!(unknown.code(), "invalid");
    // The end of the task, and what is shown then.
    let ended = form("end%3Astatus=ok&end%3Acode=").send().await.unwrap();
    assert_eq!(ended.status(), StatusCode::SEE_OTHER);
    let over = browser.get(at(page)).send().await.unwrap();
    assert_eq!(over.status(), StatusCode::OK);
    let over = over.text().await.unwrap();
    // The last screen stays. Who has the path acts in the session, and sees no verdict unless it was opened so.
    assert!(over.contains("episode is over") && !over.contains("Score") && !over.contains("End the task"), "{over}");
    let elsewhere = browser.get(at(&format!("{page}/tools"))).send().await.unwrap();
    assert_eq!(elsewhere.status(), StatusCode::OK);
    let late = form("go=home").send().await.unwrap();
    assert_eq!(late.status(), StatusCode::SEE_OTHER);
    assert_eq!(server.get(&format!("/v1/sessions/{}", id(&session))).await.ok()["seq"], 2);
    server.delete(&format!("/v1/sessions/{}", id(&session))).await.ok();
    assert_eq!(browser.get(at(page)).send().await.unwrap().status(), StatusCode::GONE);
    server.stop().await;
}

#[tokio::test]
async fn the_page_of_an_ended_episode_shows_its_verdict_where_the_session_was_opened_so() {
    let server = with_toolshed().await;
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let session = open(&server, 0, &json!({"surface": "gui", "show_verdict": true})).await;
    let page = format!("{}{}", server.url(), session["page"].as_str().unwrap());
    let shown = async || browser.get(&page).send().await.unwrap().text().await.unwrap();
    assert!(!shown().await.contains("Score"));
    let form = browser.post(&page).header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(form.body("end%3Astatus=ok&end%3Acode=").send().await.unwrap().status(), StatusCode::SEE_OTHER);
    let over = shown().await;
    let session = server.get(&format!("/v1/sessions/{}", session["id"].as_str().unwrap())).await.ok();
    let verdict = server.get(&format!("/v1/episodes/{}/verdicts", session["episode"].as_str().unwrap())).await.ok();
    let checks = verdict["data"][0]["checks"].as_array().expect("checks").clone();
    assert!(!checks.is_empty());
    for said in checks.iter().map(|check| check["name"].as_str().unwrap()).chain(["Score", "episode is over"]) {
        assert!(over.contains(said), "{said}: {over}");
    }
    for (config, field) in [
        (json!({"show_verdict": true}), "config.show_verdict"),
        (json!({"surface": "browser", "show_verdict": true}), "config.show_verdict"),
        (json!({"surface": "gui", "show_verdict": "yes"}), "config.show_verdict"),
    ] {
        let body = json!({"environment": "app/toolshed", "config": config});
        let refused = server.post("/v1/sessions", &body).await;
        assert!(refused.code() == "invalid" && refused.body.to_string().contains(field), "{}", refused.body);
    }
    server.stop().await;
}

#[tokio::test]
async fn the_same_definition_is_the_same_version_in_whatever_form_it_comes() {
    let server = with_toolshed().await;
    let first = server.get("/v1/environments/app/toolshed").await.ok();
    let again = publish_yaml(&server, TOOLSHED).await;
    assert_eq!((again.status, &again.body["environment"]["digest"]), (StatusCode::OK, &first["digest"]));
    let document = json!({"kind": "app", "files": {"app.yaml": TOOLSHED}});
    assert_eq!(server.post("/v1/environments", &document).await.status, StatusCode::OK);
    let read = server.get("/v1/environments/app/toolshed@1/definition").await.ok();
    assert_eq!(read, document);
    assert_eq!(server.get("/v1/environments/bench/counter/definition").await.code(), "not_supported");
    let session = open(&server, 0, &json!({})).await;
    let changed = TOOLSHED.replace("A club lends tools", "A society lends tools");
    let next = publish_yaml(&server, &changed).await;
    assert_eq!((next.status, &next.body["environment"]["version"]), (StatusCode::CREATED, &json!(2)));
    // What was begun stays with what it began with.
    let ended = call(&server, &session, "submit", json!({"status": "ok"})).await;
    let episode = server.get(&format!("/v1/episodes/{}", ended["episode"].as_str().unwrap())).await.ok();
    assert_eq!(episode["environment"], "app/toolshed@1");
    assert_eq!(server.get("/v1/environments/app/toolshed@1").await.ok()["digest"], first["digest"]);
    assert_eq!(open(&server, 0, &json!({})).await["environment"], "app/toolshed@2");
    server.stop().await;
}

#[tokio::test]
async fn an_app_is_its_tenants_alone() {
    let server = with_toolshed().await;
    let key = CreateKey { name: "other".to_owned(), scopes: vec![Scope::Admin], expires_at: None };
    let other = server.app.auth().create_key("another", key).await.unwrap().secret;
    assert_ne!(DEFAULT_TENANT, "another");
    let path = format!("{}/v1/environments/app/toolshed", server.url());
    let answer = read(server.http.get(&path).bearer_auth(&other)).await;
    assert_eq!((answer.status, answer.code()), (StatusCode::NOT_FOUND, "unknown_environment"));
    let session = json!({"environment": "app/toolshed"});
    let answer =
        read(server.http.post(format!("{}/v1/sessions", server.url())).bearer_auth(&other).json(&session)).await;
    assert_eq!(answer.code(), "unknown_environment");
    server.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_definition_is_told_with_its_place_and_nothing_is_published() {
    let server = TestServer::start().await;
    let broken = TOOLSHED.replace("check: \"!member.blocked\"", "check: \"!member.locked\"");
    let line = broken.lines().position(|line| line.contains("member.locked")).unwrap() + 1;
    let answer = publish_yaml(&server, &broken).await;
    assert_eq!(answer.code(), "invalid");
    let fault = &answer.body["errors"][0];
    assert_eq!((&fault["file"], &fault["line"]), (&json!("app.yaml"), &json!(line)), "{}", answer.body);
    assert!(fault["column"].as_u64().unwrap() > 1 && fault["field"].as_str().unwrap().contains("lend"), "{fault}");
    // Of two files, the one that is wrong is named.
    let (tables, tasks) = TOOLSHED.split_at(TOOLSHED.find("tasks:").unwrap());
    let files = json!({"app.yaml": tables, "tasks.yaml": tasks.replace("t.who.name", "t.whom.name")});
    let answer = server.post("/v1/environments", &json!({"kind": "app", "files": files})).await;
    assert_eq!(
        (answer.code(), &answer.body["errors"][0]["file"]),
        ("invalid", &json!("tasks.yaml")),
        "{}",
        answer.body
    );
    for (text, says) in [
        (TOOLSHED.replace("answer: {status: refused, code: blocked}", "answer: {status: ok}"), "lend_blocked"),
        (
            TOOLSHED.replace(
                "{do: lend, args: {tool: \"one(r.items, x, x.name == t.tool.name)\", member: \"one(m.items, x, x.name == t.who.name)\", days: t.days}}",
                "{do: loans}",
            ),
            "lend_tool",
        ),
        (TOOLSHED.replace("give_back", "select"), "select"),
        ("app: x\n".to_owned(), "version"),
        ("a: &a [*a]\n".to_owned(), ""),
        (TOOLSHED.replace("n: 40", "n: 100000000"), ""),
    ] {
        let answer = publish_yaml(&server, &text).await;
        assert_eq!(answer.code(), "invalid", "{}", answer.body);
        assert!(answer.body["errors"].to_string().contains(says), "{says}: {}", answer.body);
    }
    for (body, code) in [
        (json!({"kind": "app", "files": {"../app.yaml": TOOLSHED}}), "invalid"),
        (json!({"kind": "app", "files": {"app.yaml": 1}}), "invalid"),
        (json!({"kind": "app"}), "invalid"),
        (json!({"kind": "game", "files": {}}), "invalid"),
        (json!({"kind": "app", "files": {}, "rows": []}), "invalid"),
    ] {
        assert_eq!(server.post("/v1/environments", &body).await.code(), code, "{body:.100}");
    }
    let request = server.request(Method::POST, "/v1/environments?name=app/x");
    let named = read(request.header("content-type", "application/yaml").body(TOOLSHED)).await;
    assert_eq!(named.code(), "malformed");
    assert_eq!(server.get("/v1/environments/app/toolshed").await.code(), "unknown_environment");
    server.stop().await;
}

#[tokio::test]
async fn many_sessions_of_one_task_see_the_same() {
    let server = with_toolshed().await;
    let body = json!({"environment": "app/toolshed", "task": {"split": "test", "index": 4}, "count": 16});
    let made = server.post("/v1/sessions", &body).await.ok();
    let sessions = made["data"].as_array().unwrap();
    assert_eq!(sessions.len(), 16);
    let hash = |session: &Value| {
        let path = format!("/v1/sessions/{}/state?pointer=/data", session["id"].as_str().unwrap());
        let server = &server;
        async move { server.get(&path).await.ok()["hash"].clone() }
    };
    let first = hash(&sessions[0]).await;
    for session in sessions {
        assert_eq!(hash(session).await, first);
        assert_eq!(session["messages"], sessions[0]["messages"]);
    }
    server.stop().await;
}

/// A definition with a fault that so few draws show that no check looks at one.
#[tokio::test]
async fn a_draw_that_shows_a_fault_is_a_problem_that_names_it_and_tells_nothing_hidden() {
    const SEEDS: [u64; 8] = [1_000, 1_002, 1_004, 1_006, 1_008, 1_010, 1_012, 1_014];
    let (days, due) = ("days: {int: 2..7}\n      tool:", "due: \"add_days(init.today, t.days)\"");
    assert_eq!((TOOLSHED.matches(days).count(), TOOLSHED.matches(due).count()), (1, 1));
    let text = TOOLSHED.replace(days, "days: {int: 2..7}\n      number: {int: 0..1000000000}\n      tool:");
    let app = App::load(&BTreeMap::from([("app.yaml".to_owned(), text.clone())])).expect("an app");
    let number = |seed| {
        let ticket = DrawKey { app: &app, template: 0, split: "train", seed, attempt: 0, rule: Rule::Strict };
        ticket.draw(&|_| true).task.expect("a task").parameters()["number"].to_string()
    };
    let numbers = SEEDS.map(number).join(", ");
    let missed = format!("due: \"add_days(init.today, t.number in [{numbers}] ? t.days + 1 : t.days)\"");
    let server = TestServer::start().await;
    let published = publish_yaml(&server, &text.replace(due, &missed)).await;
    assert_eq!(published.status, StatusCode::CREATED, "{}", published.body);
    let mut told = 0;
    for seed in SEEDS {
        let task = json!({"split": "train", "seed": seed});
        let answer = server.post("/v1/sessions", &json!({"environment": "app/toolshed", "task": task})).await;
        // A seed whose first draw belongs to another split has a later one, which is sound.
        if answer.status.is_success() {
            continue;
        }
        assert_eq!((answer.status, answer.code()), (StatusCode::CONFLICT, "faulty_definition"), "{}", answer.body);
        let body = &answer.body;
        assert_eq!(
            (&body["template"], &body["split"], &body["seed"]),
            (&json!("lend_tool"), &json!("train"), &json!(seed))
        );
        assert!(body["environment"].as_str().is_some_and(|name| name.starts_with("app/toolshed@")), "{body}");
        assert_eq!(body["flaw"], "solution_misses");
        assert!(!body.to_string().contains("due"), "{body}");
        told += 1;
    }
    assert!(told > 0, "no first draw belongs to the split");
    server.stop().await;
}
