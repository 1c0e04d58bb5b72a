//! Screen state of one actor, apart from the data: where it is, what it has typed, what is open. And what it does there.

mod act;
mod route;

use std::sync::Arc;

use imbl::Vector;
use palestra_state::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::Tree;
use super::build::{Builder, Read};
pub use super::open_screen::DRAFT_CHARACTERS_MAX;
use super::open_screen::{OpenScreen, Toast};
use crate::kinds::Type;
use crate::run::{CallError, Raised, Reply, World};
use crate::value::Value;

/// Number of screens that one can go back.
pub const ROUTE_DEPTH_MAX: usize = 50;
/// Inputs of one screen that hold something.
pub const DRAFTS_MAX: usize = 2_000;

/// Action of an actor on a screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum GuiAction {
    /// Presses a button, follows a link, turns a checkbox.
    Click {
        /// Id of the element.
        element: String,
    },
    /// Replaces the text of an input.
    Type {
        /// Id of the element.
        element: String,
        /// The new text.
        text: String,
    },
    /// Chooses one of the options.
    Select {
        /// Id of the element.
        element: String,
        /// Value or name of the option.
        option: String,
    },
    /// Shows another part of long texts.
    Scroll {
        /// Direction.
        direction: Direction,
    },
    /// Goes to an address, as links have them.
    Open {
        /// Path and query: `/orders/W123?tab=items`.
        address: String,
    },
    /// Goes to the screen before.
    Back,
    /// Goes to the first screen.
    Home,
}

/// A way to scroll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Towards the beginning.
    Up,
    /// Towards the end.
    Down,
}

/// Outcome of an action on a screen.
#[derive(Debug, Default)]
pub struct ActionOutcome {
    /// Calls that it made, in order: of an action, and of the views that came into sight.
    pub calls: Vec<Called>,
    /// Reason why it did not happen.
    pub error: Option<Raised>,
}

/// A call that an action on a screen made, as a tool call would.
#[derive(Debug)]
pub struct Called {
    /// The action or view.
    pub name: Arc<str>,
    /// Its arguments.
    pub arguments: Map<String, Json>,
    /// Answer.
    pub reply: Result<Reply, Raised>,
}

/// Screen state of one actor. A copy costs a few pointers.
#[derive(Debug, Clone)]
pub struct Viewer {
    /// From home to where one is; never empty.
    pub(super) route: Vector<OpenScreen>,
    pub(super) toast: Option<Toast>,
}

impl Default for Viewer {
    fn default() -> Self {
        Self::new()
    }
}

impl Viewer {
    /// At home.
    #[must_use]
    pub fn new() -> Self {
        Self { route: Vector::unit(OpenScreen::default()), toast: None }
    }

    /// Tree of the screen.
    ///
    /// # Errors
    /// When an expression of the screen is at fault.
    pub fn tree(&self, world: &World) -> Result<Tree, CallError> {
        Ok(self.build(world)?.0)
    }

    /// Tree of the screen, and the views that it reads with their arguments.
    fn build(&self, world: &World) -> Result<(Tree, Vec<Read>), CallError> {
        let place = self.standing(world)?;
        Builder::new(world, place, self.toast.as_ref()).build(self.route.len() > 1)
    }

    /// Where one is and what one has typed, as JSON: `{"route": [{"screen", "args", "inputs", "dialogs", "scroll"}], "toast"}`.
    #[must_use]
    pub fn document(&self, world: &World) -> State {
        let app = world.app();
        let place = |place: &OpenScreen| {
            let screen = &app.screens.screens[place.screen];
            let value = |((name, kind), value): (&(Arc<str>, Type), &Value)| {
                (name.to_string(), world.codec().to_json(value, kind, world.data()))
            };
            let args: Map<String, Json> = screen.args.iter().zip(place.args.iter()).map(value).collect();
            let inputs: Map<String, Json> =
                place.inputs.iter().map(|(key, text)| (key.to_string(), json!(&**text))).collect();
            let dialogs: Vec<&str> = place.dialogs.iter().map(|dialog| &**dialog).collect();
            json!({"screen": &*screen.name, "args": args, "inputs": inputs, "dialogs": dialogs, "scroll": place.scroll})
        };
        let toast = self
            .toast
            .as_ref()
            .map(|toast| json!({"text": &*toast.text, "code": toast.error.as_ref().map(|mark| &*mark.code)}));
        json!({"route": self.route.iter().map(place).collect::<Vec<_>>(), "toast": toast}).into()
    }
}
