//! Tabs of a context.

use std::time::Duration;

use serde_json::json;

use super::failure::ActionFailure;
use super::{Blank, Context};
use crate::error::BrowserError;

/// Most tabs of one context.
const TABS_MAX: usize = 20;
/// Longest real time for a tab to open or close.
const TAB_MAX: Duration = Duration::from_secs(20);

impl Blank {
    pub(super) fn why_gone(&self) -> String {
        self.chromium.gone().unwrap_or_else(|| "the last tab of the session was closed".to_owned())
    }

    /// Opens a tab, which comes to the front.
    pub(super) async fn open_tab(&self, address: &str) -> Result<(), BrowserError> {
        let target = json!({"url": address, "browserContextId": self.id});
        let made = self.chromium.connection.call(None, "Target.createTarget", target).await?;
        let target = made["targetId"].as_str().unwrap_or_default().to_owned();
        self.until(|state| {
            state.tab(&target).is_some_and(|tab| {
                // The headless shell tells of no address yet, and there is none to wait for.
                tab.is_ahead = false;
                tab.is_open
            })
        })
        .await
    }

    /// Waits until the state fits.
    pub(super) async fn until(&self, fits: impl Fn(&mut super::state::State) -> bool) -> Result<(), BrowserError> {
        let mut changes = self.shared.changes.subscribe();
        let waited = async {
            loop {
                changes.borrow_and_update();
                if fits(&mut self.shared.state.lock()) {
                    return Ok(());
                }
                if let Some(gone) = self.chromium.gone() {
                    return Err(BrowserError::Gone(gone));
                }
                if changes.changed().await.is_err() {
                    return Err(BrowserError::Gone(self.why_gone()));
                }
            }
        };
        let late = |_| {
            Err(BrowserError::Gone(format!(
                "a tab did not open or close within {} s: open a new session",
                TAB_MAX.as_secs()
            )))
        };
        tokio::time::timeout(TAB_MAX, waited).await.unwrap_or_else(late)
    }
}

impl Context {
    /// Closes the tab in front; where it was the last, an empty one is opened.
    pub(super) async fn close_tab(&self) -> Result<(), BrowserError> {
        let Some(target) = self.shared.state.lock().front().map(|tab| tab.target.clone()) else { return Ok(()) };
        let closed = json!({"targetId": target});
        let is_last = self.shared.state.lock().tabs.len() == 1;
        if is_last {
            self.open_tab("about:blank").await?;
        }
        self.chromium.connection.call(None, "Target.closeTarget", closed).await?;
        self.until(|state| state.tab(&target).is_none()).await
    }

    /// Brings a tab to the front.
    pub(super) async fn focus_tab(&self, index: u32) -> Result<(), ActionFailure> {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let target = {
            let state = self.shared.state.lock();
            let count = state.tabs.len();
            let tab = state.tabs.get(place).ok_or_else(|| {
                ActionFailure::told(format!("there is no tab {index}: there are {count}, counted from 0"))
            })?;
            tab.target.clone()
        };
        self.chromium.connection.call(None, "Target.activateTarget", json!({"targetId": target})).await?;
        self.shared.change(|state| state.front = place);
        Ok(())
    }

    /// Closes tabs that pages opened beyond the bound.
    pub(super) async fn close_surplus(&self) -> Result<(), BrowserError> {
        let surplus: Vec<String> = {
            let state = self.shared.state.lock();
            state.tabs.iter().skip(TABS_MAX).map(|tab| tab.target.clone()).collect()
        };
        for target in surplus {
            self.chromium.connection.call(None, "Target.closeTarget", json!({"targetId": target})).await?;
            self.until(|state| state.tab(&target).is_none()).await?;
        }
        Ok(())
    }
}
