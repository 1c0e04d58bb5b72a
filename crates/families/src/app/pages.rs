//! The pages of an app as it runs, for a real browser.

use async_trait::async_trait;
use palestra_apps::html::{self, Frame, Method, PageResponse};
use palestra_browser::{Answer, Request, Site, form_fields};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use palestra_environment::state::State;
use palestra_environment::{InfraError, Reaction};

use super::place::AppPlace;
use crate::browsed::Pages;

/// The pages of an app as it runs.
pub(super) struct AppPages {
    host: String,
    now_ms: i64,
    played: Mutex<Played>,
}

/// The app, and what came of requests that no answer tells.
#[derive(Clone)]
struct Played {
    place: AppPlace,
    /// True once a page ended the task.
    terminated: bool,
    /// A fault of the definition.
    failure: Option<InfraError>,
    /// Pages are loaded as they were: nothing that they ask for has an effect.
    going_on: bool,
}

impl AppPages {
    pub(super) fn new(place: AppPlace, host: String) -> Self {
        let now_ms = place.now().saturating_mul(1_000);
        Self { host, now_ms, played: Mutex::new(Played { place, terminated: false, failure: None, going_on: false }) }
    }
}

impl Pages for AppPages {
    fn host(&self) -> &str {
        &self.host
    }

    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn instruction(&self) -> String {
        self.played.lock().place.instruction()
    }

    fn copy(&self) -> Self {
        let played = self.played.lock().clone();
        Self { host: self.host.clone(), now_ms: self.now_ms, played: Mutex::new(played) }
    }

    fn go_on(&self, going_on: bool) {
        self.played.lock().going_on = going_on;
    }

    fn outcome(&self) -> Result<bool, InfraError> {
        let mut played = self.played.lock();
        played.failure.take().map_or(Ok(played.terminated), Err)
    }

    fn give_up(&self) -> bool {
        self.call("submit", &Map::from_iter([("status".to_owned(), json!("impossible"))])).terminated
    }

    fn call(&self, tool: &str, arguments: &Map<String, Value>) -> Reaction {
        let mut played = self.played.lock();
        let reaction = played.place.call(tool, arguments);
        played.terminated |= reaction.terminated;
        reaction
    }

    fn take_irreversible(&self) -> Vec<String> {
        self.played.lock().place.take_irreversible()
    }

    fn document(&self) -> State {
        self.played.lock().place.document()
    }
}

#[async_trait]
impl Site for AppPages {
    async fn answer(&self, request: Request) -> Answer {
        if request.url.scheme() != "http" || request.url.host_str() != Some(&self.host) || request.url.port().is_some()
        {
            return Answer::Blocked;
        }
        let method = match request.method.as_str() {
            "GET" => Method::Get,
            "POST" => Method::Post,
            _ => return Answer::text(405, "text/plain", "this app takes GET and POST"),
        };
        let form = form_fields(&String::from_utf8_lossy(&request.body));
        let asked = html::PageRequest {
            method,
            path: request.url.path(),
            query: request.url.query().unwrap_or_default(),
            form: &form,
        };
        let mut played = self.played.lock();
        let frame = Frame { grows: true, ..Frame::default() };
        let responded = if played.going_on {
            played.place.clone().respond(&asked, &frame)
        } else {
            played.place.respond(&asked, &frame)
        };
        match responded {
            Ok(PageResponse::Html(page)) => fresh(Answer::html(200, page)),
            Ok(PageResponse::Redirect(address)) => Answer::see_other(&address),
            Ok(PageResponse::Asset(asset)) => Answer::text(200, asset.media, asset.text.as_bytes()),
            Ok(PageResponse::Submit(arguments)) => {
                let ended = played.place.call("submit", &arguments);
                played.terminated |= ended.terminated;
                Answer::see_other("/")
            }
            Ok(PageResponse::Missing) => Answer::html(404, MISSING),
            Ok(PageResponse::Bad(words)) => Answer::text(400, "text/plain; charset=utf-8", words),
            Err(why) => {
                played.failure = Some(InfraError::new(why));
                Answer::text(500, "text/plain; charset=utf-8", "the app failed")
            }
        }
    }
}

const MISSING: &str = "<!doctype html><html lang=\"en\"><title>Not found</title><h1>Not found</h1><p>There is no such page. <a href=\"/\">Go to the first page.</a></p></html>";

/// A page is asked for again each time it is shown: what it shows may have changed.
fn fresh(answer: Answer) -> Answer {
    match answer {
        Answer::Response { status, mut headers, body } => {
            headers.push(("cache-control".to_owned(), "no-store".to_owned()));
            Answer::Response { status, headers, body }
        }
        Answer::Blocked => Answer::Blocked,
    }
}
