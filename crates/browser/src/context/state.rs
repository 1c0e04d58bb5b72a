//! State of the tabs of a context, as events tell it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Serialize;

use crate::cdp::{Arrivals, Channel};

/// Lines of the console that are kept until they are looked at.
const LINES_MAX: usize = 100;
/// Characters of such a line.
const LINE_CHARACTERS_MAX: usize = 500;

/// State of a context.
#[derive(Default)]
pub(crate) struct State {
    /// In the order in which they were opened.
    pub(crate) tabs: Vec<Tab>,
    /// Place of the tab that is in front.
    pub(crate) front: usize,
    pub(crate) console: VecDeque<ConsoleLine>,
    pub(crate) failed: VecDeque<FailedRequest>,
    /// Lines and requests that were not kept.
    pub(crate) left_out: u64,
    /// Tabs that links asked for since the action began, less those that are there: either may be told of first.
    pub(crate) asked_for: i32,
    /// Words that a page copied last.
    pub(crate) clipboard: String,
}

/// A tab.
pub(crate) struct Tab {
    pub(crate) channel: Channel,
    pub(crate) target: String,
    pub(crate) url: String,
    /// Events of it that arrived.
    pub(crate) arrivals: Arrivals,
    /// Events of it that were taken note of.
    pub(crate) noted: u64,
    /// Events of it to take note of before it counts as quiet.
    pub(crate) awaited: u64,
    /// Frames that load.
    pub(crate) loading: BTreeSet<String>,
    /// Requests that are being answered.
    pub(crate) requests: usize,
    /// Requests of scripts whose answers have not arrived whole.
    pub(crate) calls: BTreeSet<String>,
    /// True if such an answer arrived that the script may not have gone on from.
    pub(crate) is_answered: bool,
    pub(crate) dialog: Option<Dialog>,
    /// Dialogs that were answered.
    pub(crate) dialogs_ended: u64,
    /// The document of its main frame.
    pub(crate) document: String,
    /// The script that runs before those of its documents.
    pub(crate) script: String,
    /// True once it is set up.
    pub(crate) is_open: bool,
    /// By frame: the context of its scripts.
    pub(crate) scripts: BTreeMap<String, i64>,
    /// True while its first document is on its way to where nobody answers: it is asked for again.
    pub(crate) is_ahead: bool,
    /// Documents that began, as far as they were counted.
    pub(crate) documents: u64,
    /// The input that asks for files.
    pub(crate) chooser: Option<i64>,
    /// Data that is being dragged, where the page lets it be dragged by the browser.
    pub(crate) drag: Option<serde_json::Value>,
    /// True once its renderer crashed.
    pub(crate) crashed: bool,
}

/// A dialog that a page opened, and that holds it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub kind: String,
    /// Its text.
    pub message: String,
    /// Text that a prompt holds at first.
    pub default_text: String,
}

/// A line of the console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsoleLine {
    /// `log`, `warning`, `error`, ...
    pub level: String,
    /// Its text.
    pub text: String,
}

/// A request that got no good answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedRequest {
    /// Its address.
    pub url: String,
    /// Status code; 0 where the address may not be reached.
    pub status: u16,
}

impl State {
    /// The tab in front.
    pub(crate) fn front(&self) -> Option<&Tab> {
        self.tabs.get(self.front).or_else(|| self.tabs.last())
    }

    pub(crate) fn front_mut(&mut self) -> Option<&mut Tab> {
        let place = self.front.min(self.tabs.len().saturating_sub(1));
        self.tabs.get_mut(place)
    }

    pub(crate) fn tab(&mut self, target: &str) -> Option<&mut Tab> {
        self.tabs.iter_mut().find(|tab| tab.target == target)
    }

    /// Lets no tab count as quiet before all is taken note of that was told of it until now: an answer may be here ahead of it.
    pub(crate) fn await_told(&mut self) {
        for tab in &mut self.tabs {
            tab.awaited = tab.arrivals.count();
        }
    }

    pub(crate) fn remove(&mut self, target: &str) {
        let Some(place) = self.tabs.iter().position(|tab| tab.target == target) else { return };
        self.tabs.remove(place);
        if self.front >= place && self.front > 0 {
            self.front -= 1;
        }
    }

    pub(crate) fn print(&mut self, level: &str, text: &str) {
        let text = text.chars().take(LINE_CHARACTERS_MAX).collect();
        self.left_out += keep(&mut self.console, ConsoleLine { level: level.to_owned(), text });
    }

    pub(crate) fn fail(&mut self, url: &str, status: u16) {
        let url = url.chars().take(LINE_CHARACTERS_MAX).collect();
        self.left_out += keep(&mut self.failed, FailedRequest { url, status });
    }
}

/// Keeps the last of them; how many had to go.
fn keep<T>(kept: &mut VecDeque<T>, next: T) -> u64 {
    kept.push_back(next);
    u64::from(kept.len() > LINES_MAX && kept.pop_front().is_some())
}

impl Tab {
    pub(crate) const fn new(channel: Channel, target: String, is_ahead: bool, arrivals: Arrivals) -> Self {
        Self {
            channel,
            target,
            url: String::new(),
            arrivals,
            noted: 0,
            awaited: 0,
            loading: BTreeSet::new(),
            requests: 0,
            calls: BTreeSet::new(),
            is_answered: false,
            dialog: None,
            dialogs_ended: 0,
            document: String::new(),
            script: String::new(),
            is_open: false,
            scripts: BTreeMap::new(),
            is_ahead,
            documents: 0,
            chooser: None,
            drag: None,
            crashed: false,
        }
    }

    /// True if it answers nothing: it waits for a dialog, or its renderer crashed.
    pub(crate) fn is_held_up(&self) -> bool {
        self.crashed || self.dialog.is_some()
    }

    /// True once all is taken note of that is awaited.
    pub(crate) const fn is_told(&self) -> bool {
        self.noted >= self.awaited
    }

    /// True if nothing is under way that ends by itself.
    pub(crate) fn is_quiet(&self) -> bool {
        let awaits_nothing = self.loading.is_empty() && self.requests == 0 && self.calls.is_empty();
        self.is_held_up() || (self.is_open && !self.is_ahead && self.is_told() && awaits_nothing)
    }
}
