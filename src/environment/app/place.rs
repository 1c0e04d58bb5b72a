//! An app that runs: calls of the agent in, what they answer out.

use palestra_apps::task::episode::{Episode, Reaction as Answer};
use palestra_protocol::observation::Observation;
use serde_json::{Map, Value};

use crate::environment::state::State;
use crate::environment::surface::Surface;
use crate::environment::{Context, Environment, Input, Reaction};

/// What is said to a turn that calls no tool.
const NO_CALL: &str = "Error: text alone does nothing here. Call a tool; end the task with submit.";

/// Tools of the screen.
pub(super) fn screen_tools() -> Vec<Value> {
    Vec::new()
}

/// An episode of an app. A copy shares all but what either changes later.
#[derive(Clone)]
pub(super) struct AppPlace {
    episode: Episode,
}

impl AppPlace {
    pub(super) fn new(episode: Episode, _surface: Surface) -> Self {
        Self { episode }
    }

    fn call(&mut self, tool: &str, arguments: &Map<String, Value>) -> Reaction {
        match self.episode.call(tool, arguments) {
            Ok(answer) => shown(answer),
            Err(broken) => Reaction::failed(broken),
        }
    }
}

/// What a call answered, as text and as data.
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
        Observation::text(self.episode.instance().text.clone())
    }

    fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Reaction {
        match input {
            Input::Text(_) => Reaction::text(NO_CALL),
            Input::Call { tool, arguments } => self.call(tool, arguments),
        }
    }

    fn state(&self) -> State {
        self.episode.document()
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }
}
