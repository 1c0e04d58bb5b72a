//! The pages of one widget, and the first state that they sent.

use std::sync::Arc;

use async_trait::async_trait;
use palestra_browser::{Answer, Request, Site, form_fields};
use palestra_widgets::{Task, document, sent};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::requests::{is_from_own_page, is_to};
use crate::browsed::Pages;
use palestra_environment::state::State;
use palestra_environment::{InfraError, Reaction};

/// Host of the pages.
const HOST: &str = "widget.test";
/// Time of the pages at the beginning: 2031-05-05T09:00:00Z.
const NOW_MS: i64 = 1_935_738_000_000;

/// The pages of a widget.
pub(super) struct WidgetPages {
    task: Arc<Task>,
    played: Mutex<Played>,
}

#[derive(Clone, Default)]
struct Played {
    /// State that was sent first; what is sent later does not count.
    sent: Option<Value>,
    gave_up: bool,
    going_on: bool,
}

impl WidgetPages {
    pub(super) fn new(task: Arc<Task>) -> Self {
        Self { task, played: Mutex::default() }
    }

    /// Takes a form of the page itself.
    fn take(&self, request: &Request) -> Answer {
        if !is_from_own_page(HOST, request) {
            return Answer::text(403, "text/plain", "forms of other pages are not taken");
        }
        let fields = form_fields(&String::from_utf8_lossy(&request.body));
        let state = fields.iter().find(|(name, _)| name == "state").map(|(_, state)| state);
        let state = state.and_then(|state| serde_json::from_str(state).ok()).unwrap_or_default();
        let mut played = self.played.lock();
        if !played.going_on {
            played.sent.get_or_insert(state);
        }
        Answer::see_other("/sent")
    }
}

#[async_trait]
impl Site for WidgetPages {
    async fn answer(&self, request: Request) -> Answer {
        if !is_to(HOST, &request) {
            return Answer::Blocked;
        }
        match (request.method.as_str(), request.url.path()) {
            ("GET", "/") => Answer::html(200, document(&self.task)),
            ("GET", "/sent") => Answer::html(200, sent()),
            ("POST", "/submit") => self.take(&request),
            ("GET", path) => match self.task.documents.get(path) {
                Some(document) => Answer::html(200, document.as_bytes()),
                None => Answer::text(404, "text/plain", "there is no such page"),
            },
            _ => Answer::text(405, "text/plain", "this page takes GET and POST"),
        }
    }
}

impl Pages for WidgetPages {
    fn host(&self) -> &str {
        HOST
    }

    fn now_ms(&self) -> i64 {
        NOW_MS
    }

    fn files(&self) -> Vec<(String, Vec<u8>)> {
        self.task.files.clone()
    }

    fn instruction(&self) -> String {
        self.task.instruction.clone()
    }

    fn copy(&self) -> Self {
        Self { task: Arc::clone(&self.task), played: Mutex::new(self.played.lock().clone()) }
    }

    fn go_on(&self, going_on: bool) {
        self.played.lock().going_on = going_on;
    }

    fn outcome(&self) -> Result<bool, InfraError> {
        Ok(self.played.lock().sent.is_some())
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
        State::from(json!({"sent": played.sent.is_some(), "state": played.sent, "gave_up": played.gave_up}))
    }
}
