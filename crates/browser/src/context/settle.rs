//! The way of a tab to rest after an action: what it loads arrives, its clock moves on, and what its timers started arrives too.

use std::time::Duration;

use futures::future::try_join_all;
use futures::try_join;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Context;
use super::state::Tab;
use crate::cdp::{CdpError, Channel};
use crate::error::BrowserError;

/// Longest real time for a page to come to rest.
const REST_MAX: Duration = Duration::from_secs(15);
/// Longest real time until a tab is there that a link asked for: the browser opens none where it may not.
const TAB_ASKED_FOR_MAX: Duration = Duration::from_secs(2);
/// Longest real time that the scripts of a page run for one advance of its clock.
const SCRIPTS_MAX: Duration = Duration::from_secs(5);
/// Answers that the scripts of a page go on from one after the other, for one advance of its clock.
const ANSWERS_MAX: u32 = 100;
/// Documents that one action may lead to, one after the other.
const ROUNDS_MAX: u32 = 8;

/// State in which a tab rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing moves.
    Quiet,
    /// A dialog holds it up.
    Dialog,
    /// It still loads, or its scripts do not end.
    Busy,
    /// Its renderer crashed.
    Crashed,
}

impl Context {
    /// Waits until the tab in front rests, and moves the clock of its pages on by `milliseconds`.
    pub(super) async fn settle(&self, milliseconds: u32) -> Result<Rest, BrowserError> {
        let deadline = Instant::now() + REST_MAX;
        let breathe = self.clock.lock().breathe();
        self.in_every_frame(&breathe).await?;
        let mut rest = self.rest(deadline).await?;
        let now_ms = {
            let mut clock = self.clock.lock();
            clock.now_ms += i64::from(milliseconds);
            clock.now_ms
        };
        for _ in 0..ROUNDS_MAX {
            if rest != Rest::Quiet {
                break;
            }
            let before = self.documents();
            try_join!(self.renew_scripts(), self.advance_to(now_ms))?;
            rest = self.rest(deadline).await?;
            if self.documents() == before {
                break;
            }
        }
        Ok(rest)
    }

    /// Waits until the tab in front is quiet and its scripts have gone on from what they were answered.
    async fn rest(&self, deadline: Instant) -> Result<Rest, BrowserError> {
        self.await_tabs().await;
        let mut rest = self.wait_until_quiet(deadline).await?;
        for _ in 0..ANSWERS_MAX {
            let is_answered = |state: &mut super::state::State| {
                state.front_mut().is_some_and(|tab| std::mem::take(&mut tab.is_answered))
            };
            if rest != Rest::Quiet || !self.shared.change(is_answered) {
                break;
            }
            let breathe = self.clock.lock().breathe();
            self.in_every_frame(&breathe).await?;
            rest = self.wait_until_quiet(deadline).await?;
        }
        Ok(rest)
    }

    /// Waits for the tabs that links asked for: a click may be answered before the browser tells of them.
    async fn await_tabs(&self) {
        self.hear().await;
        let mut changes = self.shared.changes.subscribe();
        let are_there = || self.shared.state.lock().asked_for <= 0;
        let opened = async { while !are_there() && changes.changed().await.is_ok() {} };
        if tokio::time::timeout(TAB_ASKED_FOR_MAX, opened).await.is_err() {
            // Where none comes, there is none to look at, and none to wait for again.
            self.shared.state.lock().asked_for = 0;
        }
    }

    pub(super) fn documents(&self) -> u64 {
        self.shared.state.lock().tabs.iter().map(|tab| tab.documents).sum()
    }

    async fn wait_until_quiet(&self, deadline: Instant) -> Result<Rest, BrowserError> {
        let mut changes = self.shared.changes.subscribe();
        self.shared.state.lock().await_told();
        let quiet = async {
            loop {
                changes.borrow_and_update();
                {
                    let state = self.shared.state.lock();
                    match state.front() {
                        Some(tab) if tab.is_quiet() => return Ok(rest_of(tab)),
                        Some(_) => {}
                        None => return Err(BrowserError::Gone(self.why_gone())),
                    }
                }
                if changes.changed().await.is_err() {
                    return Err(BrowserError::Gone(self.why_gone()));
                }
            }
        };
        tokio::time::timeout_at(deadline, quiet).await.unwrap_or(Ok(Rest::Busy))
    }

    /// Moves the clocks of all documents of the tab to a time.
    async fn advance_to(&self, now_ms: i64) -> Result<(), BrowserError> {
        let expression = self.clock.lock().advance_to(now_ms);
        self.in_every_frame(&expression).await
    }

    async fn in_every_frame(&self, expression: &str) -> Result<(), BrowserError> {
        let (channel, frames) = {
            let state = self.shared.state.lock();
            let Some(tab) = state.front() else { return Err(BrowserError::Gone(self.why_gone())) };
            (tab.channel.clone(), tab.scripts.values().copied().collect::<Vec<_>>())
        };
        for frame in frames {
            self.run_in(&channel, frame, expression).await?;
        }
        Ok(())
    }

    /// Runs an expression in a frame up to its end, a dialog, or the end of the frame.
    async fn run_in(&self, channel: &Channel, frame: i64, expression: &str) -> Result<(), BrowserError> {
        let params = json!({"expression": expression, "contextId": frame, "awaitPromise": true, "silent": true});
        tokio::select! {
            ran = channel.call("Runtime.evaluate", params) => match ran {
                // A frame that went on to another document meanwhile.
                Ok(_) | Err(CdpError::Refused { .. }) => Ok(()),
                Err(error) => Err(error.into()),
            },
            () = self.held_up() => Ok(()),
            () = tokio::time::sleep(SCRIPTS_MAX) => {
                channel.post(&[("Runtime.terminateExecution", json!({}))]).await.map_err(Into::into)
            }
        }
    }

    /// True if the tab in front answers nothing.
    pub(super) fn is_held_up(&self) -> bool {
        self.shared.state.lock().front().is_none_or(Tab::is_held_up)
    }

    /// Waits until the tab in front answers nothing.
    pub(super) async fn held_up(&self) {
        let mut changes = self.shared.changes.subscribe();
        while !self.is_held_up() && changes.changed().await.is_ok() {}
    }

    /// Waits until all is taken note of that was told of the tab in front until now; no longer than for a page to rest.
    pub(super) async fn hear(&self) {
        let mut changes = self.shared.changes.subscribe();
        self.shared.state.lock().await_told();
        let is_told = || self.shared.state.lock().front().is_none_or(Tab::is_told);
        let heard = async { while !is_told() && changes.changed().await.is_ok() {} };
        // What is told later is heard later: nothing is wrong with the page.
        let _ = tokio::time::timeout(REST_MAX, heard).await;
    }

    /// Gives documents that begin from now on the present time.
    pub(super) async fn renew_scripts(&self) -> Result<(), BrowserError> {
        let script = self.clock.lock().script();
        if let Some(tailored) = self.setup.0.lock().as_mut() {
            script.clone_into(&mut tailored.script);
        }
        let tabs: Vec<(Channel, String)> = {
            let state = self.shared.state.lock();
            state.tabs.iter().map(|tab| (tab.channel.clone(), tab.script.clone())).collect()
        };
        try_join_all(tabs.into_iter().map(|(channel, former)| {
            let script = &script;
            async move {
                // In one message: no document begins between them.
                let remove = ("Page.removeScriptToEvaluateOnNewDocument", json!({"identifier": former}));
                let add = json!({"source": script, "runImmediately": false});
                let add = ("Page.addScriptToEvaluateOnNewDocument", add);
                let added = match channel.call_after(&[remove], add).await {
                    Ok(added) => added,
                    // A tab that was closed meanwhile.
                    Err(CdpError::Refused { .. }) => return Ok(()),
                    Err(error) => return Err(BrowserError::from(error)),
                };
                let id = added["identifier"].as_str().unwrap_or_default().to_owned();
                self.shared.change(|state| {
                    let tab = state.tabs.iter_mut().find(|tab| tab.channel.session == channel.session);
                    tab.map(|tab| tab.script = id)
                });
                Ok(())
            }
        }))
        .await
        .map(drop)
    }

    /// The value of an expression in the main frame of the tab in front.
    pub(super) async fn evaluate(&self, expression: &str) -> Result<Value, BrowserError> {
        let params = json!({"expression": expression, "returnByValue": true, "silent": true});
        let mut answer = self.front()?.call("Runtime.evaluate", params).await?;
        Ok(answer["result"]["value"].take())
    }
}

fn rest_of(tab: &Tab) -> Rest {
    if tab.crashed {
        Rest::Crashed
    } else if tab.dialog.is_some() {
        Rest::Dialog
    } else {
        Rest::Quiet
    }
}
