//! Pages that are kept, and gone on from in another context: tabs with their histories, storage, cookies, what was entered, what is
//! scrolled, open and copied, and the ids of elements. What lives in the scripts of a page alone is not kept; whether the page is the same
//! all the same is looked at, and told.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Context;
use super::input::Held;
use super::observe::Observed;
use crate::cdp::Channel;
use crate::error::BrowserError;
use crate::site::{Answer, Request};
use crate::tree::{KeptIds, Path};

/// Entries of a history that are kept on each side of the present one.
const HISTORY_MAX: usize = 10;

/// A context's pages at a moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    tabs: Vec<KeptTab>,
    /// Place of the tab in front.
    front: usize,
    cookies: Vec<Value>,
    /// By origin: what it stored for all tabs.
    stored: HashMap<String, Vec<(String, String)>>,
    /// Time of the pages, in milliseconds since 1970.
    now_ms: i64,
    /// Documents that were given chance of their own.
    documents: u32,
    /// Ids of elements of the tab in front.
    ids: KeptIds,
    /// Buttons and modifiers that are held down.
    held: Held,
    /// Words that were copied last.
    clipboard: String,
    /// Something of the page was being dragged, which the browser does by itself.
    dragging: bool,
    /// View of the tab in front, which shows whether going on from here leads to the same.
    seen: String,
    /// A dialog held the page up, and no other page can be brought there.
    held_up: bool,
}

/// A tab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeptTab {
    /// Addresses of its history, in order.
    history: Vec<String>,
    /// Place of the present one.
    place: usize,
    /// By origin: what it stored for this tab.
    stored: HashMap<String, Vec<(String, String)>>,
    /// By frame, as the path of its holder: what was entered, scrolled and opened.
    frames: Vec<(Path, Value)>,
}

/// Documents that stand for those of a history while it is built up: they store what was stored, and show nothing.
pub(crate) struct Stand {
    stored: HashMap<String, Vec<(String, String)>>,
    tab: HashMap<String, Vec<(String, String)>>,
}

impl Stand {
    /// The answer to a request while a history is built up.
    pub(crate) fn answer(&self, request: &Request) -> Answer {
        if !request.is_document {
            return Answer::Blocked;
        }
        let origin = request.url.origin().ascii_serialization();
        let both = [self.stored.get(&origin), self.tab.get(&origin)];
        let words = json!(both.map(|stored| stored.cloned().unwrap_or_default())).to_string().replace('<', "\\u003c");
        Answer::html(200, STAND.replace("$STORED", &words))
    }
}

const STAND: &str = "<!doctype html><title></title><script>
  try {
    const [local, session] = $STORED;
    for (const [key, value] of local) localStorage.setItem(key, value);
    for (const [key, value] of session) sessionStorage.setItem(key, value);
  } catch { }
</script>";

impl Context {
    /// Keeps what its pages show.
    ///
    /// # Errors
    /// When the browser fails.
    pub async fn keep(&self) -> Result<Kept, BrowserError> {
        let seen = self.observe().await?;
        let (channels, front) = {
            let state = self.shared.state.lock();
            let channels: Vec<(Channel, bool)> =
                state.tabs.iter().map(|tab| (tab.channel.clone(), tab.is_held_up())).collect();
            (channels, state.front.min(state.tabs.len().saturating_sub(1)))
        };
        let held_up = channels.get(front).is_none_or(|(_, is_held_up)| *is_held_up);
        let mut stored = HashMap::new();
        let mut tabs = Vec::new();
        for (channel, is_held_up) in &channels {
            tabs.push(self.keep_tab(channel, *is_held_up, &mut stored).await?);
        }
        let ids = match channels.get(front).filter(|_| !held_up) {
            Some((channel, _)) => {
                let nodes = document(channel).await?;
                self.ids.lock().keep(&nodes)
            }
            None => KeptIds::default(),
        };
        let wanted = json!({"browserContextId": self.id});
        let mut cookies = self.chromium.connection.call(None, "Storage.getCookies", wanted).await?;
        let cookies = cookies["cookies"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let (now_ms, documents) = self.clock.lock().moment();
        let (held, dragging) = (self.held(), self.dragged().is_some());
        let clipboard = self.shared.state.lock().clipboard.clone();
        let seen = shown(&seen);
        Ok(Kept { tabs, front, cookies, stored, now_ms, documents, ids, held, clipboard, dragging, seen, held_up })
    }

    async fn keep_tab(
        &self,
        channel: &Channel,
        is_held_up: bool,
        stored: &mut HashMap<String, Vec<(String, String)>>,
    ) -> Result<KeptTab, BrowserError> {
        let told = channel.call("Page.getNavigationHistory", json!({})).await?;
        let addresses = told["entries"].as_array().into_iter().flatten();
        let mut history: Vec<String> =
            addresses.map(|entry| entry["url"].as_str().unwrap_or_default().to_owned()).collect();
        let mut place = told["currentIndex"].as_u64().and_then(|place| usize::try_from(place).ok()).unwrap_or_default();
        history.truncate(place + 1 + HISTORY_MAX);
        let surplus = place.saturating_sub(HISTORY_MAX);
        history.drain(..surplus);
        place -= surplus;
        let mut tab = KeptTab { history, place, stored: HashMap::new(), frames: Vec::new() };
        if is_held_up {
            return Ok(tab);
        }
        for (path, frame) in frames_of(&document(channel).await?) {
            let Some(mut kept) = run_in_frame(channel, &frame, KEEP, &Value::Null).await? else { continue };
            let origin = kept["origin"].as_str().unwrap_or_default().to_owned();
            let pairs = |value: &mut Value| serde_json::from_value(value.take()).unwrap_or_default();
            stored.entry(origin.clone()).or_insert_with(|| pairs(&mut kept["local"]));
            tab.stored.entry(origin).or_insert_with(|| pairs(&mut kept["session"]));
            tab.frames.push((path, kept["entered"].take()));
        }
        Ok(tab)
    }

    /// Brings its pages to where those of another context were kept; it has to be fresh. Answers why what it shows differs, where it does.
    ///
    /// # Errors
    /// When the browser fails.
    pub async fn go_on_from(&self, kept: &Kept) -> Result<Option<String>, BrowserError> {
        if !kept.cookies.is_empty() {
            let cookies = json!({"browserContextId": self.id, "cookies": kept.cookies});
            self.chromium.connection.call(None, "Storage.setCookies", cookies).await?;
        }
        self.clock.lock().go_on_at(kept.now_ms, kept.documents);
        *self.held.lock() = kept.held;
        self.shared.change(|state| kept.clipboard.clone_into(&mut state.clipboard));
        for (place, tab) in kept.tabs.iter().enumerate() {
            if place > 0 {
                self.open_tab("about:blank").await?;
            }
            self.bring_tab(tab, &kept.stored).await?;
        }
        let target = self.shared.state.lock().tabs.get(kept.front).map(|tab| tab.target.clone());
        if let Some(target) = target.filter(|_| kept.tabs.len() > 1) {
            self.chromium.connection.call(None, "Target.activateTarget", json!({"targetId": target})).await?;
            self.shared.change(|state| state.front = kept.front);
        }
        if kept.held_up {
            return Ok(Some(
                "the page showed a dialog or had crashed, and no other page can be brought there".to_owned(),
            ));
        }
        if kept.dragging {
            return Ok(Some("something was being dragged, and that cannot be brought to another page".to_owned()));
        }
        let channel = self.front()?;
        let nodes = document(&channel).await?;
        let (target, loader) = {
            let state = self.shared.state.lock();
            state.front().map(|tab| (tab.target.clone(), tab.document.clone())).unwrap_or_default()
        };
        self.ids.lock().go_on_from(&kept.ids, &nodes, &target, &format!("{target} {loader}"));
        let seen = shown(&self.observe().await?);
        Ok((seen != kept.seen).then(|| first_difference(&kept.seen, &seen)))
    }

    /// Builds up the history of the tab in front with documents that stand for its own, and loads the present one.
    async fn bring_tab(
        &self,
        tab: &KeptTab,
        stored: &HashMap<String, Vec<(String, String)>>,
    ) -> Result<(), BrowserError> {
        let channel = self.front()?;
        let stand = Stand { stored: stored.clone(), tab: tab.stored.clone() };
        self.shared.stand.lock().replace(Arc::new(stand));
        let built = self.build_history(&channel, tab).await;
        self.shared.stand.lock().take();
        built?;
        if tab.history.get(tab.place).is_none_or(|address| address == "about:blank") {
            return Ok(());
        }
        self.renew_scripts().await?;
        channel.call("Page.reload", json!({})).await?;
        self.settle(0).await?;
        if self.is_held_up() {
            return Ok(());
        }
        let frames: HashMap<Path, String> = frames_of(&document(&channel).await?).into_iter().collect();
        for (path, entered) in &tab.frames {
            if let Some(frame) = frames.get(path) {
                run_in_frame(&channel, frame, BRING, entered).await?;
            }
        }
        Ok(())
    }

    async fn build_history(&self, channel: &Channel, tab: &KeptTab) -> Result<(), BrowserError> {
        for address in tab.history.iter().filter(|address| *address != "about:blank") {
            self.arrive(channel, "Page.navigate", json!({"url": address}), address).await?;
        }
        let behind = tab.history.len().saturating_sub(tab.place + 1);
        if behind == 0 {
            return Ok(());
        }
        let told = channel.call("Page.getNavigationHistory", json!({})).await?;
        let entries = told["entries"].as_array().map_or(&[][..], Vec::as_slice);
        if let Some(entry) = entries.len().checked_sub(behind + 1).and_then(|place| entries.get(place)) {
            let address = entry["url"].as_str().unwrap_or_default();
            self.arrive(channel, "Page.navigateToHistoryEntry", json!({"entryId": entry["id"]}), address).await?;
        }
        Ok(())
    }

    /// Goes to an address in the tab in front, and waits until it is there: by another document, or within the one that is shown.
    async fn arrive(
        &self,
        channel: &Channel,
        method: &'static str,
        params: Value,
        address: &str,
    ) -> Result<(), BrowserError> {
        let before = self.documents();
        channel.call(method, params).await?;
        let there = |state: &mut super::state::State| {
            let documents: u64 = state.tabs.iter().map(|tab| tab.documents).sum();
            state.front().is_none_or(|tab| (documents > before || tab.url == address) && tab.is_quiet())
        };
        self.until(there).await
    }
}

/// The part of a view that is compared: the tree with its ids, and the addresses of the tabs.
fn shown(seen: &Observed) -> String {
    let tabs: Vec<&str> = seen.tabs.iter().map(|tab| tab.url.as_str()).collect();
    format!("{}\n{}", tabs.join("\n"), seen.text)
}

fn first_difference(before: &str, now: &str) -> String {
    let mut lines = before.lines().zip(now.lines());
    let line = |text: &str| text.trim().chars().take(120).collect::<String>();
    match lines.find(|(before, now)| before != now) {
        Some((before, now)) => format!("the page shows {:?} where it showed {:?}", line(now), line(before)),
        None => format!("the page shows {} lines where it showed {}", now.lines().count(), before.lines().count()),
    }
}

/// All nodes of a tab, with those of frames and shadow roots.
async fn document(channel: &Channel) -> Result<Vec<Value>, BrowserError> {
    // In a list: a tree of them would be too deep to be read.
    let mut told = channel.call("DOM.getFlattenedDocument", json!({"depth": -1, "pierce": true})).await?;
    Ok(told["nodes"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

/// The frames of a document, each with the path of its holder; that of the page itself is empty.
fn frames_of(nodes: &[Value]) -> Vec<(Path, String)> {
    let mut frames = vec![(Path::default(), String::new())];
    crate::tree::walk(nodes, &mut |path, node| {
        frames.extend(crate::tree::held_frame(node).map(|frame| (path.clone(), frame.to_owned())));
    });
    frames
}

/// Calls a function of ours in a frame, in a world of its own; none where the frame is gone.
async fn run_in_frame(
    channel: &Channel,
    frame: &str,
    function: &str,
    argument: &Value,
) -> Result<Option<Value>, BrowserError> {
    let main;
    let frame = if frame.is_empty() {
        main = channel.call("Page.getFrameTree", json!({})).await?;
        main["frameTree"]["frame"]["id"].as_str().unwrap_or_default()
    } else {
        frame
    };
    let world = json!({"frameId": frame, "worldName": super::element::WORLD});
    let world = match channel.call("Page.createIsolatedWorld", world).await {
        Ok(world) => world,
        Err(crate::cdp::CdpError::Refused { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let call = json!({
        "functionDeclaration": function,
        "executionContextId": world["executionContextId"],
        "arguments": [{"value": argument}],
        "returnByValue": true,
        "silent": true,
    });
    match channel.call("Runtime.callFunctionOn", call).await {
        Ok(mut answer) => Ok(Some(answer["result"]["value"].take()).filter(|value| !value.is_null())),
        Err(crate::cdp::CdpError::Refused { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

const KEEP: &str = include_str!("keep.js");
const BRING: &str = include_str!("bring.js");
