//! The whole router without any environment: what every answer has in common.

use std::io::Read as _;

use axum::body::Body;
use axum::http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, Request};
use palestra_protocol::id::SessionId;
use palestra_protocol::key::{CreateKey, Scope};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;
use crate::app::Ground;
use palestra_auth::RootSecret;
use palestra_families::backends::Backends;
use palestra_store::clock::Clock;
use palestra_store::row::NodeRow;
use palestra_store::{self as store, Target};

const ADMIN: &str = "admin-key-for-tests";
const SESSION: &str = "ses_0197a3c2f2a87c53b0a1d5e6f7089abc";

/// The application, and the folder that it keeps everything in.
struct World {
    app: App,
    _folder: tempfile::TempDir,
}

impl std::ops::Deref for World {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

async fn app(change: impl FnOnce(&mut Config)) -> World {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config { admin_key: Some(ADMIN.into()), data: folder.path().to_owned(), ..Config::default() };
    change(&mut config);
    let node = NodeRow { id: "node".to_owned(), incarnation: "1".to_owned() };
    let store = store::open(&Target::Sqlite(folder.path().join("palestra.db"))).await.unwrap();
    store.claim_node(&node).await.unwrap();
    let root = RootSecret::from_text("root");
    let backends = Backends::none(folder.path());
    let ground = Ground { store, kinds: Vec::new(), backends, node, clock: Clock::manual() };
    let app = App::assemble(config, ground, &root, None).await.unwrap();
    World { app, _folder: folder }
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The code of a problem that has everything a problem has.
    fn problem(&self) -> String {
        let problem = self.json();
        assert_eq!(self.headers[CONTENT_TYPE], "application/problem+json");
        assert_eq!(problem["status"], self.status);
        assert_eq!(problem["request_id"], self.headers["x-request-id"].to_str().unwrap());
        let code = problem["code"].as_str().unwrap();
        assert_eq!(problem["type"], format!("/problems/{code}"));
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        code.to_owned()
    }
}

async fn send(app: &App, request: Request<Body>) -> Answer {
    let response = router(app.clone()).oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = axum::body::to_bytes(body, 1 << 24).await.unwrap();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body: body.to_vec() }
}

async fn call(app: &App, credential: &str, method: &str, path: &str, body: impl Into<Body>) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(AUTHORIZATION, format!("Bearer {credential}"))
        .header(CONTENT_TYPE, "application/json");
    send(app, request.body(body.into()).unwrap()).await
}

#[tokio::test]
async fn every_route_but_the_public_ones_needs_a_credential() {
    let app = app(|_| {}).await;
    let api = openapi();
    let mut guarded = 0;
    for (path, item) in api["paths"].as_object().unwrap() {
        let path = path
            .replace("{id}", SESSION)
            .replace("{family}", "a")
            .replace("{name}", "b")
            .replace("{seq}", "1")
            .replace("{env}", "b");
        for method in item.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            let answer =
                send(&app, Request::builder().method(method.as_str()).uri(&path).body(Body::empty()).unwrap()).await;
            if ["/healthz", "/readyz"].contains(&path.as_str()) {
                assert_eq!(answer.status, 200, "{path}");
                continue;
            }
            if path.ends_with("/page/{token}") {
                assert_eq!((answer.status, answer.problem().as_str()), (404, "not_found"), "{method} {path}");
                continue;
            }
            if super::model_calls::is_mounted_at(&path) {
                // In the form of the dialect.
                assert_eq!(answer.status, 401, "{method} {path}");
                assert!(answer.json()["error"]["message"].is_string(), "{method} {path}");
            } else {
                assert_eq!((answer.status, answer.problem().as_str()), (401, "unauthorized"), "{method} {path}");
            }
            assert_eq!(answer.headers[WWW_AUTHENTICATE], "Bearer");
            guarded += 1;
        }
    }
    assert!(guarded > 30, "{guarded}");
}

#[tokio::test]
async fn a_session_token_reaches_its_own_session_and_nothing_else() {
    let app = app(|_| {}).await;
    let session: SessionId = SESSION.parse().unwrap();
    let token = app
        .auth()
        .session_token(&palestra_auth::Principal::admin("default".into()), session, app.clock().now().plus_ms(60_000))
        .unwrap();
    let step = r#"{"action":{"text":"a"}}"#;
    // The engine knows no session, so whoever gets through to it reads 404.
    assert_eq!(call(&app, &token, "POST", &format!("/v1/sessions/{SESSION}/step"), step).await.status, 404);
    assert_eq!(call(&app, &token, "GET", &format!("/v1/sessions/{SESSION}"), "").await.status, 404);
    let other = SessionId::new();
    assert_eq!(call(&app, &token, "POST", &format!("/v1/sessions/{other}/step"), step).await.problem(), "forbidden");
    for (method, path) in [
        ("GET", "/v1/environments"),
        ("POST", "/v1/sessions"),
        ("GET", "/v1/sessions"),
        ("DELETE", "/v1/sessions/S"),
        ("POST", "/v1/sessions/S/verify"),
        ("POST", "/v1/sessions/S/finish"),
        ("POST", "/v1/sessions/S/fork"),
        ("POST", "/v1/sessions/S/reset"),
        ("GET", "/v1/sessions/S/state"),
        ("GET", "/v1/sessions/S/diff"),
        ("POST", "/v1/sessions/S/snapshots"),
        ("GET", "/v1/episodes"),
        ("GET", "/v1/keys"),
        ("POST", "/v1/runs"),
    ] {
        let answer = call(&app, &token, method, &path.replace('S', SESSION), "{}").await;
        assert_eq!(answer.problem(), "forbidden", "{method} {path}");
    }
}

#[tokio::test]
async fn a_key_does_what_its_scopes_say() {
    let app = app(|_| {}).await;
    let request = CreateKey { name: "runner".to_owned(), scopes: vec![Scope::Sessions], expires_at: None };
    let key = app.auth().create_key("default", request).await.unwrap().secret;
    assert_eq!(call(&app, &key, "GET", "/v1/sessions", "").await.status, 200);
    for path in ["/v1/keys", &format!("/v1/sessions/{SESSION}/state"), "/metrics"] {
        assert_eq!(call(&app, &key, "GET", path, "").await.problem(), "forbidden", "{path}");
    }
}

#[tokio::test]
async fn metrics_are_the_operators() {
    let app = app(|_| {}).await;
    let key = async |tenant: &str, scope| {
        let request = CreateKey { name: "a".to_owned(), scopes: vec![scope], expires_at: None };
        app.auth().create_key(tenant, request).await.unwrap().secret
    };
    let asked = async |credential: &str| call(&app, credential, "GET", "/metrics", "").await;
    assert_eq!(send(&app, Request::get("/metrics").body(Body::empty()).unwrap()).await.problem(), "unauthorized");
    assert_eq!(asked("no credential").await.problem(), "unauthorized");
    for scope in [Scope::MetricsRead, Scope::Admin] {
        assert_eq!(asked(&key("default", scope).await).await.status, 200, "{}", scope.as_str());
        assert_eq!(asked(&key("another", scope).await).await.problem(), "forbidden", "{}", scope.as_str());
    }
    assert_eq!(asked(&key("default", Scope::StateRead).await).await.problem(), "forbidden");
    // Reading metrics is all that such a key is for.
    let watcher = key("default", Scope::MetricsRead).await;
    for path in ["/v1/keys", "/v1/sessions", "/v1/jobs", "/v1/environments"] {
        assert_eq!(call(&app, &watcher, "GET", path, "").await.problem(), "forbidden", "{path}");
    }
}

#[tokio::test]
async fn refusals_of_the_framework_look_like_our_own() {
    let app = app(|config| config.body_bytes_max = 2_000).await;
    let deep = format!("{{\"environment\":\"a/b\",\"metadata\":{}{}}}", "[".repeat(900), "]".repeat(900));
    let long = format!("{{\"environment\":\"{}\"}}", "a".repeat(3_000));
    for (method, path, body, code) in [
        ("GET", "/nowhere", "", "not_found"),
        ("GET", "/v1/nowhere", "", "not_found"),
        ("GET", "/v1/sessions/ses_1", "", "not_found"),
        ("GET", "/v1/sessions/%FF", "", "not_found"),
        ("GET", "/v1/sessions/epi_0197a3c2f2a87c53b0a1d5e6f7089abc", "", "not_found"),
        ("PATCH", "/v1/sessions", "", "method_not_allowed"),
        ("GET", "/v1/sessions?limit=0", "", "malformed"),
        ("GET", "/v1/sessions?limit=x", "", "malformed"),
        ("GET", "/v1/sessions?colour=red", "", "malformed"),
        ("GET", "/v1/sessions?run=ses_1", "", "malformed"),
        ("GET", "/v1/sessions?cursor=abc", "", "malformed"),
        ("GET", "/v1/sessions?task=%00", "", "malformed"),
        ("GET", "/v1/stream", "", "malformed"),
        ("POST", "/v1/sessions", "{", "malformed"),
        ("POST", "/v1/sessions", deep.as_str(), "malformed"),
        ("POST", "/v1/sessions", long.as_str(), "too_large"),
        ("POST", "/v1/sessions", r#"{"environment":1}"#, "invalid"),
        ("POST", "/v1/sessions", r#"{"environment":"a/b","colour":"red"}"#, "invalid"),
        ("POST", "/v1/keys", r#"{"name":"a\u0000b","scopes":["admin"]}"#, "invalid"),
        ("POST", "/v1/keys", r#"{"name":"a","scopes":[]}"#, "invalid"),
        ("POST", "/v1/keys", r#"{"name":"a","scopes":["king"]}"#, "invalid"),
    ] {
        let answer = call(&app, ADMIN, method, path, body.to_owned()).await;
        assert_eq!(answer.problem(), code, "{method} {path} {body:.80}");
    }
}

#[tokio::test]
async fn a_wrong_method_is_told_the_right_ones() {
    let app = app(|_| {}).await;
    let answer = call(&app, ADMIN, "PUT", "/v1/sessions", "").await;
    assert_eq!(answer.problem(), "method_not_allowed");
    let allowed = answer.headers[ALLOW].to_str().unwrap();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
}

#[tokio::test]
async fn a_content_type_that_is_not_read_is_named() {
    let app = app(|_| {}).await;
    let request = Request::post("/v1/sessions").header(AUTHORIZATION, format!("Bearer {ADMIN}"));
    let request = request.header(CONTENT_TYPE, "text/plain").body(Body::from("{}")).unwrap();
    assert_eq!(send(&app, request).await.problem(), "unsupported_media_type");
}

#[tokio::test]
async fn a_sane_request_id_is_kept_and_others_are_replaced() {
    let app = app(|_| {}).await;
    for (given, kept) in [("trace-1.2_3", true), ("with space", false), ("", false), (&*"a".repeat(129), false)] {
        let request = Request::get("/healthz").header("x-request-id", given).body(Body::empty()).unwrap();
        let answer = send(&app, request).await;
        assert_eq!(answer.headers["x-request-id"].to_str().unwrap() == given, kept, "{given}");
        assert!(!answer.headers["x-request-id"].is_empty());
    }
}

#[tokio::test]
async fn a_panic_is_answered_without_its_words() {
    let stack = Router::<()>::new()
        .route("/", axum::routing::get(async || -> StatusCode { panic!("the inside") }))
        .layer(middleware::from_fn(edge::pass));
    let response = stack.oneshot(Request::get("/").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 500);
    let body = axum::body::to_bytes(response.into_body(), 4_096).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    assert!(text.contains("\"internal\"") && !text.contains("the inside"), "{text}");
}

#[tokio::test]
async fn a_server_that_stops_is_not_ready() {
    let app = app(|_| {}).await;
    assert_eq!(call(&app, "", "GET", "/readyz", "").await.status, 200);
    app.shutdown().cancel();
    let answer = call(&app, "", "GET", "/readyz", "").await;
    assert_eq!((answer.status, answer.problem().as_str()), (503, "draining"));
    assert_eq!(answer.headers[RETRY_AFTER], "1");
    assert_eq!(call(&app, "", "GET", "/healthz", "").await.status, 200);
}

#[tokio::test]
async fn origins_are_closed_until_they_are_named() {
    let origin = "https://example.org";
    let preflight = || {
        Request::options("/v1/sessions")
            .header(ORIGIN, origin)
            .header("access-control-request-method", "POST")
            .body(Body::empty())
            .unwrap()
    };
    let header = "access-control-allow-origin";
    assert!(!send(&app(|_| {}).await.app, preflight()).await.headers.contains_key(header));
    let open = app(|config| config.cors_origins = vec![origin.to_owned()]).await;
    let answer = send(&open, preflight()).await;
    assert_eq!(answer.headers[header], origin);
    let sent = answer.headers["access-control-allow-headers"].to_str().unwrap();
    assert!(
        ["authorization", "mcp-protocol-version", "mcp-method", "mcp-name"].iter().all(|name| sent.contains(name)),
        "{sent}"
    );
}

#[tokio::test]
async fn keys_are_made_listed_and_revoked() {
    let app = app(|_| {}).await;
    let made = call(&app, ADMIN, "POST", "/v1/keys", r#"{"name":"a","scopes":["sessions"]}"#).await;
    assert_eq!(made.status, 201);
    let (id, secret) =
        (made.json()["id"].as_str().unwrap().to_owned(), made.json()["secret"].as_str().unwrap().to_owned());
    let me = call(&app, &secret, "GET", "/v1/whoami", "").await.json();
    assert_eq!(me, json!({"tenant": "default", "scopes": ["sessions"], "key": id, "session": null}));
    let listed = call(&app, ADMIN, "GET", "/v1/keys", "").await;
    assert_eq!(listed.json()["data"][0]["id"], id);
    assert!(!String::from_utf8(listed.body).unwrap().contains(&secret));
    assert_eq!(call(&app, ADMIN, "DELETE", &format!("/v1/keys/{id}"), "").await.status, 204);
    assert_eq!(call(&app, &secret, "GET", "/v1/whoami", "").await.problem(), "unauthorized");
    let unknown = palestra_protocol::id::KeyId::new();
    assert_eq!(call(&app, ADMIN, "DELETE", &format!("/v1/keys/{unknown}"), "").await.problem(), "not_found");
}

#[tokio::test]
async fn metrics_count_routes_and_not_paths() {
    let app = app(|config| config.metrics_public = true).await;
    call(&app, ADMIN, "GET", &format!("/v1/sessions/{SESSION}"), "").await;
    let text = String::from_utf8(call(&app, "", "GET", "/metrics", "").await.body).unwrap();
    assert!(text.contains("route=\"/v1/sessions/{id}\""), "{text}");
    assert!(!text.contains(SESSION));
}

#[tokio::test]
async fn the_documentation_needs_nothing_from_elsewhere() {
    let app = app(|_| {}).await;
    let page = call(&app, "", "GET", "/docs/", "").await;
    // It is kept packed, and nobody asked for another coding.
    assert_eq!((page.status, page.headers["content-encoding"].as_bytes()), (200, &b"gzip"[..]));
    let mut html = String::new();
    flate2::read::GzDecoder::new(page.body.as_slice()).read_to_string(&mut html).unwrap();
    assert!(html.contains("swagger-ui-bundle.js") && !html.contains("https://"), "{html}");
    assert_eq!(call(&app, "", "GET", "/openapi.json", "").await.json()["info"]["title"], "Palestra");
    for (path, part) in
        [("", "<h1 id=\"palestra\">"), ("/sessions", "id=\"stepping\""), ("?search=fork", "<mark>fork</mark>")]
    {
        let page = call(&app, "", "GET", &format!("/docs/guide{path}"), "").await;
        assert_eq!((page.status, page.headers["content-type"].as_bytes()), (200, &b"text/html; charset=utf-8"[..]));
        assert!(page.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
        let html = String::from_utf8(page.body).unwrap();
        assert!(html.contains(part) && !html.contains("<script") && !html.contains("<link"), "{path}: {html}");
    }
    let long = format!("/docs/guide?search={}", "a".repeat(201));
    for (path, code) in
        [("/docs/guide/nothing", "not_found"), (&long, "malformed"), ("/docs/guide?sort=1", "malformed")]
    {
        assert_eq!(call(&app, "", "GET", path, "").await.json()["code"], code, "{path}");
    }
}

#[test]
fn the_committed_api_document_is_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi/openapi.json");
    let generated = format!("{}\n", serde_json::to_string_pretty(&openapi()).unwrap());
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == generated, "openapi/openapi.json is out of date: run the test again with UPDATE_OPENAPI=1");
}

#[test]
fn the_api_document_allows_no_body_that_is_null() {
    let document = openapi();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| item.as_object().unwrap().values().map(move |it| (path, it)));
    for (path, operation) in operations {
        for content in operation["requestBody"]["content"].as_object().into_iter().flat_map(|all| all.values()) {
            assert!(!content["schema"].to_string().contains("\"null\""), "{path}: {}", content["schema"]);
        }
    }
}

#[test]
fn generators_of_clients_find_a_name_for_each_operation_and_variant() {
    fn nameless(value: &Value) {
        match value {
            Value::Object(fields) => {
                let variants = ["oneOf", "anyOf"].iter().filter_map(|key| fields.get(*key)?.as_array()).flatten();
                variants.for_each(|variant| {
                    assert!(variant.get("properties").is_none(), "a variant without a name: {variant}");
                });
                fields.values().for_each(nameless);
            }
            Value::Array(values) => values.iter().for_each(nameless),
            _ => {}
        }
    }
    let document = openapi();
    nameless(&document);
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|item| item.as_object().unwrap().values());
    let operations = operations.map(|operation| operation["operationId"].as_str().expect("an id").to_owned());
    // Generators write `Page_Session` and `page-session` as `PageSession`.
    let class = |name: &String| name.replace(['_', '-'], "").to_lowercase();
    let schemas = document["components"]["schemas"].as_object().unwrap().keys().map(class);
    for mut names in [operations.collect::<Vec<_>>(), schemas.collect()] {
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert!(names.len() > 90 && twice.is_none(), "{} names, and twice: {twice:?}", names.len());
    }
}

#[test]
fn every_reference_of_the_api_document_leads_somewhere() {
    fn check(value: &Value, root: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    assert!(root.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
                }
                fields.values().for_each(|value| check(value, root));
            }
            Value::Array(values) => values.iter().for_each(|value| check(value, root)),
            _ => {}
        }
    }
    let root = openapi();
    check(&root, &root);
}
