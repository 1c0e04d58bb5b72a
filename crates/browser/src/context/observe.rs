//! Looking at a context.

use futures::future::try_join_all;
use futures::{join, try_join};
use serde::Serialize;
use serde_json::{Value, json};

use super::Context;
use super::state::{ConsoleLine, Dialog, FailedRequest, Tab};
use crate::cdp::{CdpError, Channel};
use crate::error::BrowserError;
use crate::tree::{FrameTree, Node, Tree};

/// Frames of one page that are looked at.
const FRAMES_MAX: usize = 50;

/// View of a context.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Observed {
    /// Its tabs.
    pub tabs: Vec<TabView>,
    /// Place of the tab in front.
    pub active: usize,
    /// The accessibility tree of the tab in front, as text.
    pub text: String,
    /// Nodes of the tree before it was pruned.
    pub nodes: usize,
    /// Lines of the text.
    pub lines: usize,
    /// Nodes that are missing because the text would be too long.
    pub cut: usize,
    /// Id of the element that has the focus.
    pub focused: Option<String>,
    /// The dialog that holds the page up.
    pub dialog: Option<Dialog>,
    /// Lines that pages printed to the console since the last look.
    pub console: Vec<ConsoleLine>,
    /// Requests without a good answer since the last look.
    pub failed_requests: Vec<FailedRequest>,
    /// Lines and requests that were not kept.
    pub left_out: u64,
}

/// A tab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TabView {
    /// Address of its page.
    pub url: String,
    /// Title of its page.
    pub title: String,
}

impl TabView {
    /// Takes address and title from the page itself: the browser's own process hears of what a script made of them a moment later.
    fn correct(&mut self, root: &Node) {
        if let Some(url) = root.properties.iter().find(|(name, _)| name == "url").and_then(|(_, url)| url.as_str()) {
            url.clone_into(&mut self.url);
        }
        if let Some(title) = root.name.as_deref().filter(|title| !title.is_empty()) {
            title.clone_into(&mut self.title);
        }
    }
}

impl Context {
    /// Looks at the tabs and at the page in front.
    ///
    /// # Errors
    /// When the browser fails.
    pub async fn observe(&self) -> Result<Observed, BrowserError> {
        self.close_surplus().await?;
        let (targets, active, dialog, is_held_up) = {
            let state = self.shared.state.lock();
            let targets: Vec<String> = state.tabs.iter().map(|tab| tab.target.clone()).collect();
            let front = state.front();
            let dialog = front.and_then(|tab| tab.dialog.clone());
            let is_held_up = front.is_none_or(Tab::is_held_up);
            (targets, state.front.min(state.tabs.len().saturating_sub(1)), dialog, is_held_up)
        };
        let tabs = try_join_all(targets.into_iter().map(|target| self.view_of(target)));
        // A page that waits for a dialog answers nothing.
        let tree = async { if is_held_up { Ok(Tree::default()) } else { self.tree().await } };
        let (mut tabs, tree) = try_join!(tabs, tree)?;
        if let (Some(front), Some(root)) = (tabs.get_mut(active), tree.nodes.first()) {
            front.correct(root);
        }
        let flat = tree.flatten();
        let focused = tree.nodes.iter().rev().find(|node| node.is("focused")).and_then(|node| node.id.clone());
        let (console, failed_requests, left_out) = self.shared.change(|state| {
            let console = std::mem::take(&mut state.console).into();
            let failed = std::mem::take(&mut state.failed).into();
            (console, failed, std::mem::take(&mut state.left_out))
        });
        Ok(Observed {
            tabs,
            active,
            text: flat.text,
            nodes: flat.nodes,
            lines: flat.lines,
            cut: flat.cut,
            focused,
            dialog,
            console,
            failed_requests,
            left_out,
        })
    }

    async fn view_of(&self, target: String) -> Result<TabView, BrowserError> {
        let told = self.chromium.connection.call(None, "Target.getTargetInfo", json!({"targetId": target})).await?;
        let text = |name: &str| told["targetInfo"][name].as_str().unwrap_or_default().to_owned();
        Ok(TabView { url: text("url"), title: text("title") })
    }

    /// The accessibility tree of the page in front, over all its frames.
    pub(super) async fn tree(&self) -> Result<Tree, BrowserError> {
        let channel = self.front()?;
        let (frames, main) = try_join!(channel.call("Page.getFrameTree", json!({})), tree_of(&channel, json!({})))?;
        let mut found = Vec::new();
        let mut waiting = vec![&frames["frameTree"]];
        while let Some(frame) = waiting.pop() {
            found.push(frame["frame"]["id"].as_str().unwrap_or_default());
            waiting.extend(frame["childFrames"].as_array().into_iter().flatten().rev());
        }
        let (first, inner) = found.split_first().map_or(("", &[][..]), |(first, inner)| (*first, inner));
        let inner = inner.iter().take(FRAMES_MAX - 1).map(|frame| tree_in(&channel, frame));
        let inner = try_join_all(inner).await?.into_iter().flatten();
        let told: Vec<_> = main.map(|nodes| (first, None, nodes)).into_iter().chain(inner).collect();
        let frames: Vec<FrameTree<'_>> = told
            .iter()
            .map(|(frame, owner, nodes)| FrameTree {
                frame,
                owner: *owner,
                nodes: nodes.as_array().map_or(&[][..], Vec::as_slice),
            })
            .collect();
        let document = self.shared.state.lock().front().map(|tab| format!("{} {}", tab.target, tab.document));
        let mut ids = self.ids.lock();
        ids.begin(&document.unwrap_or_default());
        Ok(Tree::of(&frames, &mut ids))
    }
}

/// Nodes of a frame, and the element that it is in.
type Inner<'f> = (&'f str, Option<i64>, Value);

/// Nodes of a frame within a page; `None` where it went meanwhile.
async fn tree_in<'f>(channel: &Channel, frame: &'f str) -> Result<Option<Inner<'f>>, CdpError> {
    let of_frame = json!({"frameId": frame});
    let owner = channel.call("DOM.getFrameOwner", of_frame.clone());
    let (owner, nodes) = join!(owner, tree_of(channel, of_frame));
    match owner {
        Ok(owner) => Ok(nodes?.map(|nodes| (frame, owner["backendNodeId"].as_i64(), nodes))),
        Err(CdpError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Nodes of a frame; `None` where it went meanwhile.
async fn tree_of(channel: &Channel, frame: Value) -> Result<Option<Value>, CdpError> {
    match channel.call("Accessibility.getFullAXTree", frame).await {
        Ok(mut tree) => Ok(Some(tree["nodes"].take())),
        Err(CdpError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
