//! Actions in a browser: what an agent can do. Each can be written as a tool call and as BrowserGym writes it, with the same effect.

mod parse;
mod tools;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::picture::PictureSettings;

pub use parse::{SyntaxError, parse};
pub use tools::{NAMES, tools};

/// An action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Goes to an address.
    Goto {
        /// The address.
        url: String,
    },
    /// Goes to the page before.
    GoBack {},
    /// Goes to the page after.
    GoForward {},
    /// Loads the page again.
    Reload {},
    /// Presses an element.
    Click {
        /// The element.
        bid: String,
        /// The mouse's button.
        #[serde(default)]
        button: Button,
        /// Keys that are held down.
        #[serde(default)]
        modifiers: Vec<Modifier>,
    },
    /// Presses an element twice.
    Dblclick {
        /// The element.
        bid: String,
        /// The mouse's button.
        #[serde(default)]
        button: Button,
        /// Keys that are held down.
        #[serde(default)]
        modifiers: Vec<Modifier>,
    },
    /// Moves the mouse over an element.
    Hover {
        /// The element.
        bid: String,
    },
    /// Replaces the text of an input.
    Fill {
        /// The element.
        bid: String,
        /// The new text.
        value: String,
        /// True to type the last letter by a key, so that a menu of proposals opens.
        #[serde(default)]
        enable_autocomplete_menu: bool,
    },
    /// Puts a check mark or a radio button on.
    Check {
        /// The element.
        bid: String,
    },
    /// Takes a check mark off.
    Uncheck {
        /// The element.
        bid: String,
    },
    /// Chooses options of a list.
    SelectOption {
        /// The element.
        bid: String,
        /// Values or labels of the options.
        options: OneOrMore,
    },
    /// Presses keys in an element.
    Press {
        /// The element.
        bid: String,
        /// Keys, such as `Control+a`.
        key_comb: String,
    },
    /// Puts the focus on an element.
    Focus {
        /// The element.
        bid: String,
    },
    /// Removes the text of an input.
    Clear {
        /// The element.
        bid: String,
    },
    /// Drags an element to another.
    DragAndDrop {
        /// The element.
        from_bid: String,
        /// Where it is dropped.
        to_bid: String,
    },
    /// Gives files of the task to an input.
    UploadFile {
        /// The element.
        bid: String,
        /// Their names.
        file: OneOrMore,
    },
    /// Turns the mouse's wheel.
    Scroll {
        /// Pixels to the right.
        delta_x: f64,
        /// Pixels down.
        delta_y: f64,
    },
    /// Turns the wheel at a place.
    ScrollAt {
        /// Pixels from the left.
        x: f64,
        /// Pixels from the top.
        y: f64,
        /// Pixels to the right.
        dx: f64,
        /// Pixels down.
        dy: f64,
    },
    /// Moves the mouse to a place.
    MouseMove {
        /// Pixels from the left.
        x: f64,
        /// Pixels from the top.
        y: f64,
    },
    /// Presses a button of the mouse at a place and holds it.
    MouseDown {
        /// Pixels from the left.
        x: f64,
        /// Pixels from the top.
        y: f64,
        /// The mouse's button.
        #[serde(default)]
        button: Button,
    },
    /// Lets a button of the mouse go at a place.
    MouseUp {
        /// Pixels from the left.
        x: f64,
        /// Pixels from the top.
        y: f64,
        /// The mouse's button.
        #[serde(default)]
        button: Button,
    },
    /// Clicks at a place.
    MouseClick {
        /// Pixels from the left.
        x: f64,
        /// Pixels from the top.
        y: f64,
        /// The mouse's button.
        #[serde(default)]
        button: Button,
    },
    /// Clicks twice at a place.
    MouseDblclick {
        /// Pixels from the left.
        x: f64,
        /// Pixels from the top.
        y: f64,
        /// The mouse's button.
        #[serde(default)]
        button: Button,
    },
    /// Drags from a place to another.
    MouseDragAndDrop {
        /// Pixels from the left.
        from_x: f64,
        /// Pixels from the top.
        from_y: f64,
        /// Pixels from the left.
        to_x: f64,
        /// Pixels from the top.
        to_y: f64,
    },
    /// Gives files of the task to the input at a place.
    MouseUploadFile {
        /// Pixels from the left.
        x: f64,
        /// Pixels from the top.
        y: f64,
        /// Their names.
        file: OneOrMore,
    },
    /// Presses a key and holds it.
    KeyboardDown {
        /// The key.
        key: String,
    },
    /// Lets a key go.
    KeyboardUp {
        /// The key.
        key: String,
    },
    /// Presses keys, such as `Control+a`.
    KeyboardPress {
        /// The keys.
        key: String,
    },
    /// Types a text key by key.
    KeyboardType {
        /// The text.
        text: String,
    },
    /// Puts a text where the focus is, without keys.
    KeyboardInsertText {
        /// The text.
        text: String,
    },
    /// Opens a tab, which comes to the front.
    NewTab {},
    /// Closes the tab in front.
    TabClose {},
    /// Brings a tab to the front.
    TabFocus {
        /// Its place, from 0.
        index: u32,
    },
    /// Accepts the dialog of the page.
    DialogAccept {
        /// Text for a prompt.
        #[serde(default)]
        text: Option<String>,
    },
    /// Dismisses the dialog of the page.
    DialogDismiss {},
    /// Waits.
    Noop {
        /// Milliseconds by the clock of the page.
        #[serde(default = "second")]
        wait_ms: f64,
    },
    /// Waits until an element is there.
    WaitFor {
        /// The element, by what is known of it: `role=button[name="Save"]`, `text=Saved`, `css=#done`.
        bid: String,
        /// Most milliseconds by the clock of the page.
        #[serde(default = "second")]
        wait_ms: f64,
    },
    /// Makes a picture of the page; no time passes for it.
    Screenshot(PictureSettings),
    /// Reads the text of the page as a person sees it; no time passes.
    PageText {},
    /// Reads the document of the page as it is now; no time passes.
    PageHtml {},
    /// Says something to the user.
    SendMsgToUser {
        /// The words.
        text: String,
    },
    /// Says that the task cannot be done.
    ReportInfeasible {
        /// Why.
        reason: String,
    },
}

/// A button of the mouse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Button {
    /// The left one.
    #[default]
    Left,
    /// The middle one.
    Middle,
    /// The right one.
    Right,
}

/// A key that changes what others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Modifier {
    /// Alt.
    Alt,
    /// Control.
    Control,
    /// Control, as on Linux.
    ControlOrMeta,
    /// Meta.
    Meta,
    /// Shift.
    Shift,
}

/// One text or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl OneOrMore {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(all) => all,
        }
    }
}

impl Action {
    /// True if it looks closer at a page, which goes on in no way.
    #[must_use]
    pub const fn looks(&self) -> bool {
        matches!(self, Self::Screenshot(_) | Self::PageText {} | Self::PageHtml {})
    }

    /// The action of a tool call.
    ///
    /// # Errors
    /// In words, when there is no such tool or its arguments do not fit.
    pub fn of_call(tool: &str, arguments: &Map<String, Value>) -> Result<Self, String> {
        let mut words = arguments.clone();
        words.insert("action".to_owned(), tool.into());
        serde_json::from_value(Value::Object(words)).map_err(|error| format!("{tool}: {error}"))
    }
}

const fn second() -> f64 {
    1_000.0
}
