//! An app that runs: calls of the agent in, what they answer out.

use std::sync::Arc;

use palestra_apps::html::{self, Frame, PageResponse};
use palestra_apps::screen::Viewer;
use palestra_apps::task::episode::{Episode, Reaction as Answer};
use palestra_protocol::observation::Observation;
use serde_json::{Map, Value};

use super::screen;
use super::settings::Settings;
use palestra_environment::state::{Object, State};
use palestra_environment::{Context, Environment, Input, PageAnswer, PageEnd, PageRequest, Reaction};

/// The answer to a turn that calls no tool.
const NO_CALL: &str = "Error: text alone does nothing here. Call a tool; end the task with submit.";

/// An episode of an app. A copy shares all but what either changes later.
#[derive(Clone)]
pub(super) struct AppPlace {
    episode: Episode,
    /// The state of the screen, where there is one.
    viewer: Option<Viewer>,
    /// True if the page of the episode shows its verdict at the end.
    shows_verdict: bool,
}

impl AppPlace {
    pub(super) fn new(episode: Episode, settings: &Settings<'_>) -> Self {
        let Settings { surface, shows_verdict, .. } = *settings;
        let viewer = (surface.has_screen() || surface.has_browser()).then(Viewer::new);
        Self { episode, viewer, shows_verdict }
    }

    /// The task in words.
    pub(super) fn instruction(&self) -> String {
        self.episode.instance().text.clone()
    }

    /// Its virtual time, in seconds since 1970.
    pub(super) fn now(&self) -> i64 {
        self.episode.world().now()
    }

    /// Its data as one document, without a screen.
    pub(super) fn document(&self) -> State {
        self.episode.document()
    }

    /// Answers a request of a browser.
    ///
    /// # Errors
    /// In words, when the definition is at fault.
    pub(super) fn respond(
        &mut self,
        request: &html::PageRequest<'_>,
        frame: &Frame<'_>,
    ) -> Result<PageResponse, String> {
        let viewer = self.viewer.as_mut().ok_or("this session has no pages: choose the surface browser")?;
        let answered = html::respond(viewer, self.episode.world_mut(), request, frame);
        answered.map(|(_, response)| response).map_err(|stop| stop.to_string())
    }

    pub(super) fn call(&mut self, tool: &str, arguments: &Map<String, Value>) -> Reaction {
        let reaction = match self.viewer.as_mut().filter(|_| screen::NAMES.contains(&tool)) {
            Some(viewer) => screen::act(viewer, &mut self.episode, tool, arguments),
            None => self.episode.call(tool, arguments).map_or_else(Reaction::failed, shown),
        };
        Reaction { irreversible: self.take_irreversible(), ..reaction }
    }

    /// Names of actions since it was last asked that nothing takes back.
    pub(super) fn take_irreversible(&mut self) -> Vec<String> {
        self.episode.world_mut().take_irreversible().iter().map(ToString::to_string).collect()
    }
}

/// The answer of a call, as text and as data.
fn shown(answer: Answer) -> Reaction {
    let Answer { data, raised, terminated } = answer;
    let text = match raised {
        Some(raised) => format!("Error ({}): {}", raised.code, raised.text),
        None => data.to_string(),
    };
    Reaction { observation: Observation { text, data, ..Observation::default() }, terminated, ..Reaction::default() }
}

impl Environment for AppPlace {
    fn observe(&self) -> Observation {
        let instruction = &self.episode.instance().text;
        let Some(viewer) = &self.viewer else { return Observation::text(instruction.clone()) };
        match viewer.tree(self.episode.world()) {
            Ok(tree) => {
                let seen = screen::seen(&tree);
                Observation { text: format!("{instruction}\n\n{}", seen.text), ..seen }
            }
            // The first action on the screen meets the same fault, and reports it as a failure.
            Err(_) => Observation::text(instruction.clone()),
        }
    }

    fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Reaction {
        match input {
            Input::Text(_) => Reaction::text(NO_CALL),
            Input::Call { tool, arguments } => self.call(tool, arguments),
        }
    }

    fn state(&self) -> State {
        let document = self.episode.document();
        let (Some(viewer), State::Object(document)) = (&self.viewer, &document) else { return document };
        let mut with_screen: Object = (**document).clone();
        with_screen.members_mut().insert("screen".into(), viewer.document(self.episode.world()));
        State::Object(Arc::new(with_screen))
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    fn page(&self, request: &PageRequest<'_>, end: Option<PageEnd<'_>>) -> Result<PageAnswer, String> {
        let end = end.map(|end| PageEnd { verdict: end.verdict.filter(|_| self.shows_verdict) });
        match &self.viewer {
            Some(viewer) => screen::answer(viewer, &self.episode, request, end),
            None => Ok(PageAnswer::None),
        }
    }

    fn page_address(&self) -> Option<String> {
        self.viewer.as_ref()?.address(self.episode.world()).ok()
    }
}
