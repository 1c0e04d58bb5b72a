//! The pages of one site, the record of what was asked for, and the first answer.

use std::sync::Arc;

use async_trait::async_trait;
use palestra_browser::{Answer, Request, Site, form_fields};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::record::Record;
use super::requests::is_to;
use crate::browsed::Pages;
use palestra_environment::state::State;
use palestra_environment::{InfraError, Reaction};

/// Host of the pages.
pub(super) const HOST: &str = "site.test";
/// Time of the pages at the beginning: 2031-05-05T09:00:00Z.
const NOW_MS: i64 = 1_935_738_000_000;
/// Characters of an answer that are kept: the right ones are shorter.
const ANSWER_CHARACTERS_MAX: usize = 1_000;

/// The pages of a site.
pub(super) struct SitePages {
    question: String,
    site: Arc<palestra_sites::Site>,
    played: Mutex<Played>,
}

#[derive(Clone)]
struct Played {
    record: Record,
    now_ms: i64,
    /// The answer that was told first.
    answer: Option<String>,
    gave_up: bool,
    going_on: bool,
}

impl Played {
    const fn is_over(&self) -> bool {
        self.answer.is_some() || self.gave_up
    }
}

impl SitePages {
    pub(super) fn new(question: String, site: palestra_sites::Site) -> Self {
        let played =
            Played { record: Record::default(), now_ms: NOW_MS, answer: None, gave_up: false, going_on: false };
        Self { question, site: Arc::new(site), played: Mutex::new(played) }
    }

    fn respond(&self, request: &Request) -> Answer {
        if !is_to(HOST, request) {
            return Answer::Blocked;
        }
        if request.method != "GET" {
            return Answer::text(405, "text/plain", "this site answers only GET: follow its links, or search");
        }
        let fields = form_fields(request.url.query().unwrap_or_default());
        let query = fields.iter().find(|(name, _)| name == "q").map_or("", |(_, query)| query);
        let (status, media, body) = match self.site.get(request.url.path(), query) {
            Some((media, body)) => (200, media, body),
            None => (404, "text/html; charset=utf-8", self.site.missing()),
        };
        // Nothing is kept by the browser, so that the record has every page as often as it was shown.
        let headers = [("content-type", media), ("cache-control", "no-store")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Answer::Response { status, headers, body: body.into_bytes() }
    }
}

#[async_trait]
impl Site for SitePages {
    async fn answer(&self, request: Request) -> Answer {
        let answer = self.respond(&request);
        let mut played = self.played.lock();
        if !played.going_on && !played.is_over() {
            let now_ms = played.now_ms;
            played.record.add(&request, &answer, now_ms);
        }
        answer
    }
}

impl Pages for SitePages {
    fn host(&self) -> &str {
        HOST
    }

    fn now_ms(&self) -> i64 {
        NOW_MS
    }

    fn instruction(&self) -> String {
        self.question.clone()
    }

    fn copy(&self) -> Self {
        let played = Mutex::new(self.played.lock().clone());
        Self { question: self.question.clone(), site: Arc::clone(&self.site), played }
    }

    fn go_on(&self, going_on: bool) {
        self.played.lock().going_on = going_on;
    }

    fn set_time(&self, now_ms: i64) {
        self.played.lock().now_ms = now_ms;
    }

    fn outcome(&self) -> Result<bool, InfraError> {
        Ok(self.played.lock().is_over())
    }

    fn give_up(&self) -> bool {
        let mut played = self.played.lock();
        played.gave_up = played.gave_up || played.answer.is_none();
        true
    }

    fn told(&self, words: &str) -> bool {
        let mut played = self.played.lock();
        if !played.is_over() {
            played.answer = Some(words.chars().take(ANSWER_CHARACTERS_MAX).collect());
        }
        true
    }

    fn call(&self, tool: &str, _arguments: &Map<String, Value>) -> Reaction {
        Reaction::text(format!("Error: there is no tool {tool}: use those of the browser"))
    }

    fn document(&self) -> State {
        let played = self.played.lock();
        let (read, har) = (played.record.read(), played.record.har());
        State::from(json!({"answer": played.answer, "gave_up": played.gave_up, "read": read, "har": har}))
    }
}
