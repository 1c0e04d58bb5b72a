//! One page in the layout of MiniWoB++, as a session sees it, and what its own script told of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use palestra_browser::{Answer, Request, Site};
use parking_lot::Mutex;
use rand::RngExt as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::guard::policy;
use crate::browsed::Pages;
use crate::web::own::media::media_type;
use crate::web::own::packed::Packed;
use crate::web::requests::is_to;
use palestra_environment::state::State;
use palestra_environment::{InfraError, Reaction};

/// Host of the pages.
const HOST: &str = "miniwob.test";
/// The script that all pages share.
pub(super) const CORE: &str = "core/core.js";
/// The folder of the pages.
pub(super) const FOLDER: &str = "miniwob";
/// Where the script of a page tells how it began and ended.
const REPORT: &str = "/-/report";
/// The script that does so.
const SCRIPT: &str = include_str!("report.js");
/// Bytes of what is told.
const REPORT_BYTES_MAX: usize = 64 << 10;

/// The page of one session.
pub(super) struct Page {
    /// Files by path.
    files: Arc<BTreeMap<String, Packed>>,
    /// Its name, without folder and ending.
    name: String,
    /// Seed of its chance.
    chance: String,
    /// Seconds of its episode; none where it says so itself.
    seconds: Option<u32>,
    now_ms: i64,
    /// Known to the script of the page alone: no page shows it.
    secret: String,
    played: Mutex<Played>,
}

#[derive(Clone, Default)]
struct Played {
    /// The task in the words of the page.
    utterance: Option<String>,
    /// The first end of its episode.
    ended: Option<Ended>,
    gave_up: bool,
    going_on: bool,
}

#[derive(Clone)]
struct Ended {
    reward: f64,
    reason: Option<String>,
}

/// A report of the script of a page.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Report {
    Began { utterance: String },
    Ended { reward: Option<f64>, reason: Option<String> },
}

impl Page {
    pub(super) fn new(
        files: Arc<BTreeMap<String, Packed>>,
        (name, chance): (&str, String),
        seconds: Option<u32>,
        now_ms: i64,
    ) -> Self {
        let secret = hex::encode(rand::rng().random::<[u8; 32]>());
        Self { files, name: name.to_owned(), chance, seconds, now_ms, secret, played: Mutex::default() }
    }

    /// Path of the page.
    fn path(&self) -> String {
        format!("/{FOLDER}/{}.html", self.name)
    }

    /// Takes a report of the script of the page. No form can send one: it has another media type and a header of its own.
    fn take(&self, request: &Request) -> Answer {
        let is_of_page = request.header("x-report") == Some(&self.secret)
            && request.header("content-type") == Some("application/json")
            && request.body.len() <= REPORT_BYTES_MAX;
        let report = serde_json::from_slice::<Report>(&request.body).ok().filter(|_| is_of_page);
        let Some(report) = report else { return Answer::text(403, "text/plain", "reports come from the page alone") };
        let mut played = self.played.lock();
        if !played.going_on {
            match report {
                Report::Began { utterance } => drop(played.utterance.get_or_insert(utterance)),
                Report::Ended { reward, reason } => {
                    // A reward that is no number is told as null.
                    played.ended.get_or_insert(Ended { reward: reward.unwrap_or(0.0), reason });
                }
            }
        }
        Answer::Response { status: 204, headers: Vec::new(), body: Vec::new() }
    }

    /// The page itself, at its address alone: no other page counts.
    fn document(&self, request: &Request) -> Answer {
        let page = self.files.get(self.path().trim_start_matches('/'));
        match page.filter(|_| request.url.path() == self.path() && request.url.query().is_none()) {
            Some(page) => {
                let text = String::from_utf8_lossy(&page.0).into_owned();
                fresh("text/html; charset=utf-8", Some(policy(&text)), text)
            }
            None => Answer::text(404, "text/plain", "there is no such page"),
        }
    }

    /// A file that the page is made of.
    fn part(&self, path: &str) -> Answer {
        let path = path.trim_start_matches('/');
        match self.files.get(path) {
            Some(file) if path == CORE => {
                let seconds = self.seconds.unwrap_or(0).to_string();
                let script = SCRIPT
                    .replace("$SECRET", &self.secret)
                    .replace("$CHANCE", &self.chance)
                    .replace("$SECONDS", &seconds);
                fresh(&media_type(path), None, format!("{}\n{script}", String::from_utf8_lossy(&file.0)))
            }
            Some(file) => Answer::text(200, &media_type(path), file.0.as_slice()),
            None => Answer::text(404, "text/plain", "there is no such file"),
        }
    }
}

/// A text that is asked for again each time.
fn fresh(media: &str, policy: Option<String>, text: String) -> Answer {
    let mut headers = vec![
        ("content-type".to_owned(), media.to_owned()),
        ("cache-control".to_owned(), "no-store".to_owned()),
        ("x-content-type-options".to_owned(), "nosniff".to_owned()),
    ];
    headers.extend(policy.map(|policy| ("content-security-policy".to_owned(), policy)));
    Answer::Response { status: 200, headers, body: text.into_bytes() }
}

#[async_trait]
impl Site for Page {
    async fn answer(&self, request: Request) -> Answer {
        if !is_to(HOST, &request) {
            return Answer::Blocked;
        }
        match (request.method.as_str(), request.url.path()) {
            ("POST", REPORT) => self.take(&request),
            ("GET", _) if request.is_document => self.document(&request),
            ("GET", path) => self.part(path),
            _ => Answer::text(405, "text/plain", "these pages take GET"),
        }
    }
}

impl Pages for Page {
    fn host(&self) -> &str {
        HOST
    }

    fn start(&self) -> String {
        format!("http://{HOST}{}", self.path())
    }

    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn instruction(&self) -> String {
        self.played.lock().utterance.clone().unwrap_or_default()
    }

    fn copy(&self) -> Self {
        let played = self.played.lock().clone();
        let page = (self.name.as_str(), self.chance.clone());
        Self { played: Mutex::new(played), ..Self::new(Arc::clone(&self.files), page, self.seconds, self.now_ms) }
    }

    fn go_on(&self, going_on: bool) {
        self.played.lock().going_on = going_on;
    }

    fn outcome(&self) -> Result<bool, InfraError> {
        Ok(self.played.lock().ended.is_some())
    }

    fn give_up(&self) -> bool {
        self.played.lock().gave_up = true;
        true
    }

    fn call(&self, tool: &str, _arguments: &Map<String, Value>) -> Reaction {
        Reaction::text(format!("Error: there is no tool {tool}: use those of the browser"))
    }

    fn document(&self) -> State {
        let played = self.played.lock();
        let ended = played.ended.as_ref().map(|ended| json!({"reward": ended.reward, "reason": ended.reason}));
        State::from(json!({
            "page": self.name, "utterance": played.utterance, "ended": ended, "gave_up": played.gave_up,
        }))
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn page() -> Page {
        let file = |path: &str, text: &str| (path.to_owned(), Packed(text.into()));
        let files = BTreeMap::from([
            file("core/core.js", "var core = {};"),
            file("core/core.css", "p {}"),
            file("miniwob/one.html", "<script>1</script>"),
            file("miniwob/two.html", "<script>2</script>"),
        ]);
        Page::new(Arc::new(files), ("one", "c-7".to_owned()), Some(30), 0)
    }

    fn request(method: &str, path: &str, is_document: bool) -> Request {
        Request {
            method: method.to_owned(),
            url: Url::parse(&format!("http://{HOST}{path}")).unwrap(),
            headers: Vec::new(),
            body: Vec::new(),
            is_document,
        }
    }

    async fn status_and_text(page: &Page, request: Request) -> (u16, String) {
        match page.answer(request).await {
            Answer::Response { status, body, .. } => (status, String::from_utf8(body).unwrap()),
            Answer::Blocked => (0, String::new()),
        }
    }

    #[tokio::test]
    async fn only_the_page_of_the_task_is_shown_and_the_secret_nowhere() {
        let page = page();
        for (path, is_document, status) in [
            ("/miniwob/one.html", true, 200),
            ("/miniwob/one.html?record=1", true, 404),
            ("/miniwob/two.html", true, 404),
            ("/core/core.js", true, 404),
            ("/core/core.css", true, 404),
            ("/core/core.css", false, 200),
            ("/core/core.js", false, 200),
            ("/core/../web.yaml", false, 404),
            ("/", true, 404),
        ] {
            let (found, text) = status_and_text(&page, request("GET", path, is_document)).await;
            assert_eq!(found, status, "{path} {is_document}");
            let holds = text.contains(&page.secret);
            assert_eq!(holds, path == "/core/core.js" && !is_document, "the secret in {path}");
        }
        let (_, core) = status_and_text(&page, request("GET", "/core/core.js", false)).await;
        assert!(core.starts_with("var core = {};\n") && core.contains("chance = \"c-7\"") && !core.contains('$'));
        assert_ne!(page.copy().secret, page.secret);
        let mut elsewhere = request("GET", "/miniwob/one.html", true);
        elsewhere.url.set_host(Some("other.test")).unwrap();
        assert_eq!(page.answer(elsewhere).await, Answer::Blocked);
    }

    fn report(media: &str, secret: &str, body: &str) -> Request {
        let headers = [("Content-Type", media), ("X-Report", secret)];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Request { headers, body: body.into(), ..request("POST", REPORT, false) }
    }

    #[tokio::test]
    async fn the_first_report_of_the_page_itself_counts() {
        let page = page();
        let (json, right) = ("application/json", page.secret.clone());
        for (media, secret, body) in [
            (json, "", r#"{"event": "ended", "reward": 1, "reason": null}"#),
            (json, "guess", r#"{"event": "ended", "reward": 1, "reason": null}"#),
            ("text/plain", &right, r#"{"event": "ended", "reward": 1, "reason": null}"#),
            (json, &right, "reward=1"),
            (json, &right, r#"{"event": "other"}"#),
        ] {
            assert_eq!(status_and_text(&page, report(media, secret, body)).await.0, 403, "{media} {body}");
            assert!(!page.outcome().unwrap());
        }
        page.go_on(true);
        status_and_text(&page, report(json, &right, r#"{"event": "ended", "reward": 1, "reason": null}"#)).await;
        assert!(!page.outcome().unwrap(), "what a copy loads has no effect");
        page.go_on(false);
        for body in [
            r#"{"event": "began", "utterance": "Click it."}"#,
            r#"{"event": "ended", "reward": -1, "reason": "timed out"}"#,
            r#"{"event": "ended", "reward": 1, "reason": null}"#,
            r#"{"event": "began", "utterance": "Click that."}"#,
        ] {
            assert_eq!(status_and_text(&page, report(json, &right, body)).await.0, 204, "{body}");
        }
        let state = Pages::document(&page).to_value();
        assert_eq!(state["ended"], json!({"reward": -1.0, "reason": "timed out"}));
        assert_eq!((page.instruction(), page.outcome().unwrap()), ("Click it.".to_owned(), true));
    }

    #[tokio::test]
    async fn a_reward_that_is_no_number_is_none() {
        let page = page();
        let body = r#"{"event": "ended", "reward": null, "reason": null}"#;
        status_and_text(&page, report("application/json", &page.secret, body)).await;
        assert_eq!(Pages::document(&page).to_value()["ended"]["reward"], 0.0);
    }
}
