//! The page of one game. The board lives here: a page passes on inputs and gets what to draw.

use async_trait::async_trait;
use palestra_browser::{Answer, Request, Site};
use palestra_games::{Board, Input, Outcome, Progress, Task, document};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::requests::{is_from_own_page, is_to};
use crate::browsed::Pages;
use palestra_environment::state::State;
use palestra_environment::{InfraError, Reaction};

/// Host of the page.
const HOST: &str = "game.test";
/// Time of the page at the beginning: 2031-05-05T09:00:00Z, a whole multiple of every time between two ticks.
const NOW_MS: i64 = 1_935_738_000_000;

/// The page of a game.
pub(super) struct GamePages {
    instruction: String,
    title: &'static str,
    with_words: bool,
    played: Mutex<Played>,
}

#[derive(Clone)]
struct Played {
    board: Board,
    gave_up: bool,
    going_on: bool,
}

impl GamePages {
    pub(super) fn new(task: Task, with_words: bool) -> Self {
        let Task { instruction, title, board } = task;
        Self { instruction, title, with_words, played: Mutex::new(Played { board, gave_up: false, going_on: false }) }
    }

    /// Takes an input of the page itself, and answers with the board after it.
    fn take(&self, request: &Request) -> Answer {
        if !is_from_own_page(HOST, request) {
            return Answer::text(403, "text/plain", "inputs of other pages are not taken");
        }
        let input: Input = match serde_json::from_slice(&request.body) {
            Ok(input) => input,
            Err(error) => return Answer::text(400, "text/plain", format!("this is no input of a game: {error}")),
        };
        let mut played = self.played.lock();
        if !played.going_on {
            played.board.take(&input);
        }
        match serde_json::to_vec(&played.board.view(self.with_words)) {
            Ok(view) => Answer::text(200, "application/json", view),
            Err(error) => Answer::text(500, "text/plain", error.to_string()),
        }
    }

    fn show(&self) -> Answer {
        match document(self.title, &self.played.lock().board.view(self.with_words)) {
            Ok(page) => Answer::html(200, page),
            Err(error) => Answer::text(500, "text/plain", error.to_string()),
        }
    }
}

#[async_trait]
impl Site for GamePages {
    async fn answer(&self, request: Request) -> Answer {
        if !is_to(HOST, &request) {
            return Answer::Blocked;
        }
        match (request.method.as_str(), request.url.path()) {
            ("GET", "/") => self.show(),
            ("POST", "/input") => self.take(&request),
            ("GET", _) => Answer::text(404, "text/plain", "there is no such page"),
            _ => Answer::text(405, "text/plain", "this page takes GET and POST"),
        }
    }
}

impl Pages for GamePages {
    fn host(&self) -> &str {
        HOST
    }

    fn now_ms(&self) -> i64 {
        NOW_MS
    }

    fn instruction(&self) -> String {
        self.instruction.clone()
    }

    fn copy(&self) -> Self {
        let played = Mutex::new(self.played.lock().clone());
        Self { instruction: self.instruction.clone(), title: self.title, with_words: self.with_words, played }
    }

    fn go_on(&self, going_on: bool) {
        self.played.lock().going_on = going_on;
    }

    fn outcome(&self) -> Result<bool, InfraError> {
        Ok(self.played.lock().board.outcome() != Outcome::Open)
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
        let Progress { done, goal } = played.board.progress();
        State::from(json!({
            "board": played.board, "outcome": played.board.outcome(), "done": done, "goal": goal, "gave_up": played.gave_up,
        }))
    }
}

#[cfg(test)]
mod tests {
    use palestra_widgets::{Draw, Level};

    use super::*;

    fn pages() -> GamePages {
        let game = palestra_games::all().into_iter().find(|game| game.name == "merge").expect("the game");
        GamePages::new((game.draw)(&mut Draw::new(Level::One, 1)), true)
    }

    fn post(origin: &str, body: &str) -> Request {
        Request {
            method: "POST".to_owned(),
            url: "http://game.test/input".parse().expect("an address"),
            headers: vec![("Origin".to_owned(), origin.to_owned())],
            body: body.as_bytes().to_vec(),
            is_document: false,
        }
    }

    async fn status(pages: &GamePages, request: Request) -> u16 {
        let Answer::Response { status, .. } = pages.answer(request).await else { panic!("a response") };
        status
    }

    const OWN: &str = "http://game.test";

    /// Presses keys until one moves something.
    async fn moved(pages: &GamePages) {
        for key in ["ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight"] {
            assert_eq!(status(pages, post(OWN, &json!({"key": key}).to_string())).await, 200);
        }
    }

    #[tokio::test]
    async fn inputs_of_other_pages_and_malformed_ones_change_nothing() {
        let pages = pages();
        let before = pages.document().to_value();
        for origin in ["http://other.test", "null", ""] {
            assert_eq!(status(&pages, post(origin, "{\"key\":\"ArrowUp\"}")).await, 403);
        }
        for body in ["", "{", "{\"key\":1}", "{\"board\":{}}", "[\"tick\"]"] {
            assert_eq!(status(&pages, post(OWN, body)).await, 400, "{body}");
        }
        assert_eq!(pages.document().to_value(), before);
        moved(&pages).await;
        assert_ne!(pages.document().to_value(), before);
    }

    #[tokio::test]
    async fn a_copy_goes_on_by_itself_and_nothing_has_an_effect_while_it_is_loaded() {
        let pages = pages();
        moved(&pages).await;
        let copy = pages.copy();
        let (before, at_copy) = (pages.document().to_value(), copy.document().to_value());
        assert_eq!(before, at_copy);
        copy.go_on(true);
        moved(&copy).await;
        assert_eq!(copy.document().to_value(), at_copy);
        copy.go_on(false);
        moved(&copy).await;
        assert_ne!(copy.document().to_value(), at_copy);
        assert_eq!(pages.document().to_value(), before);
    }
}
