//! Looking at a context.

use serde::Serialize;
use serde_json::json;

use super::Context;
use super::state::{ConsoleLine, Dialog, FailedRequest, Tab};
use crate::cdp::CdpError;
use crate::error::BrowserError;
use crate::tree::{FrameTree, Tree};

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
        let mut tabs = Vec::new();
        for target in targets {
            let told = self.chromium.connection.call(None, "Target.getTargetInfo", json!({"targetId": target})).await?;
            let text = |name: &str| told["targetInfo"][name].as_str().unwrap_or_default().to_owned();
            tabs.push(TabView { url: text("url"), title: text("title") });
        }
        // A page that waits for a dialog answers nothing.
        let tree = if is_held_up { Tree::default() } else { self.tree().await? };
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

    /// The accessibility tree of the page in front, over all its frames.
    pub(super) async fn tree(&self) -> Result<Tree, BrowserError> {
        let channel = self.front()?;
        let frames = channel.call("Page.getFrameTree", json!({})).await?;
        let mut found = Vec::new();
        let mut waiting = vec![&frames["frameTree"]];
        while let Some(frame) = waiting.pop() {
            found.push(&frame["frame"]);
            waiting.extend(frame["childFrames"].as_array().into_iter().flatten().rev());
        }
        let mut told = Vec::new();
        for frame in found.into_iter().take(FRAMES_MAX) {
            let id = frame["id"].as_str().unwrap_or_default();
            let owner = if frame["parentId"].is_null() {
                None
            } else {
                match channel.call("DOM.getFrameOwner", json!({"frameId": id})).await {
                    Ok(owner) => owner["backendNodeId"].as_i64(),
                    Err(CdpError::Refused { .. }) => continue,
                    Err(error) => return Err(error.into()),
                }
            };
            match channel.call("Accessibility.getFullAXTree", json!({"frameId": id})).await {
                Ok(mut tree) => told.push((id, owner, tree["nodes"].take())),
                // A frame that went meanwhile.
                Err(CdpError::Refused { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
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
