//! Carrying out actions.

use serde_json::{Value, json};
use url::Url;

use super::Context;
use super::element::Found;
use super::failure::ActionFailure;
use super::input::{Click, bits};
use super::picture::Picture;
use super::read::{Read, Reading};
use super::settle::Rest;
use crate::action::{Action, Button, OneOrMore};
use crate::cdp::CdpError;
use crate::error::BrowserError;

/// Step of the clock while an element is waited for, in milliseconds.
const WAIT_STEP_MS: u32 = 100;
/// Longest wait of one action by the clock of the page, in milliseconds.
const WAIT_MS_MAX: f64 = 60_000.0;

/// Outcome of an action.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Performed {
    /// Why it did not happen, or what is wrong after it.
    pub error: Option<String>,
    /// Words for the user.
    pub message: Option<String>,
    /// Why the task cannot be done.
    pub infeasible: Option<String>,
    /// The picture that was asked for.
    pub picture: Option<Picture>,
    /// The text or the document that was asked for.
    pub read: Option<Read>,
}

impl Context {
    /// Carries out an action, and waits until the page rests.
    ///
    /// # Errors
    /// When the browser fails. An action that does not fit the page is no such failure: [`Performed::error`] tells of it.
    pub async fn perform(&self, action: &Action) -> Result<Performed, BrowserError> {
        let mut performed = Performed::default();
        if action.looks() {
            return self.look(action).await;
        }
        match action {
            Action::SendMsgToUser { text } => performed.message = Some(text.clone()),
            Action::ReportInfeasible { reason } => performed.infeasible = Some(reason.clone()),
            _ => {}
        }
        self.shared.state.lock().asked_for = 0;
        match self.act(action).await {
            Ok(()) => {}
            Err(ActionFailure::Told(words)) => performed.error = Some(words),
            Err(ActionFailure::Broken(error)) => return Err(error),
        }
        let wait = match action {
            Action::Noop { wait_ms } => milliseconds(*wait_ms),
            Action::WaitFor { .. } => 0,
            _ => self.settings.action_ms,
        };
        let rest = self.settle(wait).await?;
        let words = match rest {
            Rest::Quiet | Rest::Dialog => None,
            Rest::Busy => Some("the page does not come to rest: wait with noop, or go somewhere else"),
            Rest::Crashed => Some("the page crashed: reload it, or go somewhere else"),
        };
        if performed.error.is_none() {
            performed.error = words.map(str::to_owned);
        }
        Ok(performed)
    }

    /// Looks closer at the page, which goes on in no way.
    async fn look(&self, action: &Action) -> Result<Performed, BrowserError> {
        let looked = async {
            let mut performed = Performed::default();
            match action {
                Action::Screenshot(settings) => performed.picture = Some(self.picture(settings).await?),
                Action::PageHtml {} => performed.read = Some(self.read(Reading::Html).await?),
                _ => performed.read = Some(self.read(Reading::Text).await?),
            }
            Ok(performed)
        };
        match looked.await {
            Ok(performed) => Ok(performed),
            Err(ActionFailure::Told(words)) => Ok(Performed { error: Some(words), ..Performed::default() }),
            Err(ActionFailure::Broken(error)) => Err(error),
        }
    }

    async fn act(&self, action: &Action) -> Result<(), ActionFailure> {
        self.refuse_while_held_up(action)?;
        match action {
            Action::Goto { url } => self.go_to(url).await,
            Action::GoBack {} => self.go_in_history(-1).await,
            Action::GoForward {} => self.go_in_history(1).await,
            Action::Reload {} => self.reload().await,
            Action::NewTab {} => self.open_tab("about:blank").await.map_err(Into::into),
            Action::TabClose {} => self.close_tab().await.map_err(Into::into),
            Action::TabFocus { index } => self.focus_tab(*index).await,
            Action::DialogAccept { text } => self.end_dialog(true, text.as_deref()).await,
            Action::DialogDismiss {} => self.end_dialog(false, None).await,
            Action::WaitFor { bid, wait_ms } => self.wait_for(bid, *wait_ms).await,
            Action::Noop { .. } | Action::SendMsgToUser { .. } | Action::ReportInfeasible { .. } => Ok(()),
            Action::Scroll { delta_x, delta_y } => {
                let middle = (f64::from(self.settings.width) / 2.0, f64::from(self.settings.height) / 2.0);
                self.turn_wheel(middle, *delta_x, *delta_y).await
            }
            Action::ScrollAt { x, y, dx, dy } => self.turn_wheel((*x, *y), *dx, *dy).await,
            Action::KeyboardDown { key } => self.hold_key(key).await,
            Action::KeyboardUp { key } => self.let_key_go(key).await,
            Action::KeyboardPress { key } => self.press_keys(key).await,
            Action::KeyboardType { text } => self.type_text(self.held().modifiers(), text).await,
            Action::KeyboardInsertText { text } => self.insert_text(text).await,
            Action::MouseMove { .. }
            | Action::MouseDown { .. }
            | Action::MouseUp { .. }
            | Action::MouseClick { .. }
            | Action::MouseDblclick { .. }
            | Action::MouseDragAndDrop { .. }
            | Action::MouseUploadFile { .. } => self.use_mouse(action).await,
            _ => self.act_on_element(action).await,
        }
    }

    /// A page that shows a dialog or that crashed takes no input.
    fn refuse_while_held_up(&self, action: &Action) -> Result<(), ActionFailure> {
        let leaves = matches!(
            action,
            Action::NewTab {}
                | Action::TabClose {}
                | Action::TabFocus { .. }
                | Action::Noop { .. }
                | Action::SendMsgToUser { .. }
                | Action::ReportInfeasible { .. }
        );
        let moves =
            matches!(action, Action::Goto { .. } | Action::Reload {} | Action::GoBack {} | Action::GoForward {});
        let ends = matches!(action, Action::DialogAccept { .. } | Action::DialogDismiss {});
        let state = self.shared.state.lock();
        let Some(tab) = state.front() else { return Ok(()) };
        match &tab.dialog {
            Some(dialog) if !leaves && !ends => Err(ActionFailure::told(format!(
                "the page shows a dialog ({}: {:?}): use dialog_accept or dialog_dismiss first",
                dialog.kind, dialog.message
            ))),
            None if ends => Err(ActionFailure::told("the page shows no dialog: act on the page itself".to_owned())),
            _ if tab.crashed && !leaves && !moves => {
                Err(ActionFailure::told("the page crashed: reload it, or go somewhere else".to_owned()))
            }
            _ => Ok(()),
        }
    }

    async fn call(&self, method: &'static str, params: Value) -> Result<(), ActionFailure> {
        match self.front()?.call(method, params).await {
            Ok(_) => Ok(()),
            Err(CdpError::Refused { message, .. }) => Err(ActionFailure::told(message)),
            Err(error) => Err(error.into()),
        }
    }

    async fn go_to(&self, address: &str) -> Result<(), ActionFailure> {
        let url = Url::parse(address).map_err(|error| {
            ActionFailure::told(format!("{address:?} is no address ({error}): write one such as http://shop.test/"))
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(ActionFailure::told(format!(
                "addresses of the kind {:?} are closed: use http or https",
                url.scheme()
            )));
        }
        self.shared.change(|state| {
            let front = state.front().map(|tab| tab.target.clone());
            front.and_then(|target| state.tab(&target)).map(|tab| tab.crashed = false)
        });
        match self.front()?.call("Page.navigate", json!({"url": url.as_str()})).await {
            Ok(went) => match went["errorText"].as_str() {
                None | Some("net::ERR_ABORTED") => Ok(()),
                Some(error) => Err(ActionFailure::told(format!("{url} cannot be shown: {error}"))),
            },
            Err(CdpError::Refused { message, .. }) => Err(ActionFailure::told(format!("{url}: {message}"))),
            Err(error) => Err(error.into()),
        }
    }

    /// Loads the page again; one that crashed is asked for anew, in a process of its own.
    async fn reload(&self) -> Result<(), ActionFailure> {
        let crashed = self.shared.state.lock().front().filter(|tab| tab.crashed).map(|tab| tab.url.clone());
        match crashed {
            Some(address) => self.go_to(&address).await,
            None => self.call("Page.reload", json!({})).await,
        }
    }

    async fn go_in_history(&self, steps: i64) -> Result<(), ActionFailure> {
        let channel = self.front()?;
        let history = channel.call("Page.getNavigationHistory", json!({})).await?;
        let place = history["currentIndex"].as_i64().unwrap_or_default() + steps;
        let entry = usize::try_from(place).ok().and_then(|place| history["entries"].get(place));
        let entry = entry.filter(|entry| entry["url"] != "about:blank").ok_or_else(|| {
            let side = if steps < 0 { "before" } else { "after" };
            ActionFailure::told(format!("there is no page {side} this one"))
        })?;
        self.call("Page.navigateToHistoryEntry", json!({"entryId": entry["id"]})).await
    }

    async fn end_dialog(&self, accept: bool, text: Option<&str>) -> Result<(), ActionFailure> {
        let mut params = json!({"accept": accept});
        if let Some(text) = text {
            params["promptText"] = text.into();
        }
        let shown = self.shared.state.lock().front().map(|tab| (tab.target.clone(), tab.dialogs_ended));
        self.call("Page.handleJavaScriptDialog", params).await?;
        // The page may show the next one at once.
        let Some((target, before)) = shown else { return Ok(()) };
        self.until(|state| state.tab(&target).is_none_or(|tab| tab.crashed || tab.dialogs_ended > before)).await?;
        Ok(())
    }

    async fn wait_for(&self, name: &str, wait_ms: f64) -> Result<(), ActionFailure> {
        let mut left = milliseconds(wait_ms);
        loop {
            match self.find(name).await {
                Err(ActionFailure::Told(words)) if left == 0 => return Err(ActionFailure::Told(words)),
                Err(ActionFailure::Told(_)) => {}
                found => return found.map(drop),
            }
            let step = left.min(WAIT_STEP_MS);
            self.settle(step).await?;
            left -= step;
        }
    }

    async fn use_mouse(&self, action: &Action) -> Result<(), ActionFailure> {
        let click = |button: Button, count| Click { button, modifiers: 0, count };
        match action {
            Action::MouseMove { x, y } => self.move_mouse((*x, *y)).await,
            Action::MouseDown { x, y, button } => {
                self.move_mouse((*x, *y)).await?;
                self.press_button((*x, *y), click(*button, 1)).await
            }
            Action::MouseUp { x, y, button } => {
                self.move_mouse((*x, *y)).await?;
                self.let_button_go((*x, *y), click(*button, 1)).await
            }
            Action::MouseClick { x, y, button } => self.click_at((*x, *y), click(*button, 1)).await,
            Action::MouseDblclick { x, y, button } => self.click_at((*x, *y), click(*button, 2)).await,
            Action::MouseDragAndDrop { from_x, from_y, to_x, to_y } => {
                self.drag((*from_x, *from_y), (*to_x, *to_y)).await
            }
            Action::MouseUploadFile { x, y, file } => {
                self.click_at((*x, *y), click(Button::Left, 1)).await?;
                self.give_to_chooser(file).await
            }
            _ => Ok(()),
        }
    }

    async fn act_on_element(&self, action: &Action) -> Result<(), ActionFailure> {
        match action {
            Action::Click { bid, button, modifiers } => self.click(bid, *button, bits(modifiers), 1).await,
            Action::Dblclick { bid, button, modifiers } => self.click(bid, *button, bits(modifiers), 2).await,
            Action::Hover { bid } => {
                let place = self.middle(&self.find(bid).await?).await?;
                self.move_mouse(place).await
            }
            Action::Fill { bid, value, enable_autocomplete_menu } => {
                self.fill(bid, value, *enable_autocomplete_menu).await
            }
            Action::Clear { bid } => self.fill(bid, "", false).await,
            Action::Check { bid } => self.set_checked(bid, true).await,
            Action::Uncheck { bid } => self.set_checked(bid, false).await,
            Action::SelectOption { bid, options } => {
                let found = self.find(bid).await?;
                self.run_on(&found, SELECT, json!([options.all()])).await.map(drop)
            }
            Action::Press { bid, key_comb } => {
                self.focus(&self.find(bid).await?).await?;
                self.press_keys(key_comb).await
            }
            Action::Focus { bid } => self.focus(&self.find(bid).await?).await,
            Action::DragAndDrop { from_bid, to_bid } => {
                let to = self.find(to_bid).await?;
                let from = self.middle(&self.find(from_bid).await?).await?;
                let to = self.middle(&to).await?;
                self.drag(from, to).await
            }
            Action::UploadFile { bid, file } => self.upload(bid, file).await,
            _ => Ok(()),
        }
    }

    async fn click(&self, bid: &str, button: Button, modifiers: u32, count: u32) -> Result<(), ActionFailure> {
        let found = self.find(bid).await?;
        // The list of a drop-down is drawn by the desktop, which is not there.
        self.run_on(&found, CLICKABLE, json!([])).await?;
        let place = self.middle(&found).await?;
        self.click_at(place, Click { button, modifiers, count }).await
    }

    async fn focus(&self, found: &Found) -> Result<(), ActionFailure> {
        self.run_on(found, FOCUS, json!([])).await.map(drop)
    }

    async fn fill(&self, bid: &str, value: &str, by_key: bool) -> Result<(), ActionFailure> {
        let found = self.find(bid).await?;
        let prepared = self.run_on(&found, PREPARE_FILL, json!([])).await?;
        if prepared["set"] == true {
            return self.run_on(&found, SET_VALUE, json!([value])).await.map(drop);
        }
        if value.is_empty() {
            return self.press_keys_beside(0, "Delete").await;
        }
        let last = value.char_indices().next_back().filter(|_| by_key);
        let Some((at, letter)) = last else { return self.insert_text(value).await };
        if at > 0 {
            self.insert_text(&value[..at]).await?;
        } else {
            self.press_keys_beside(0, "Delete").await?;
        }
        self.type_text(0, letter.encode_utf8(&mut [0; 4])).await
    }

    async fn set_checked(&self, bid: &str, checked: bool) -> Result<(), ActionFailure> {
        let found = self.find(bid).await?;
        let read = |state: Value| state["checked"] == true;
        if read(self.run_on(&found, CHECKED, json!([])).await?) == checked {
            return Ok(());
        }
        let place = self.middle(&found).await?;
        self.click_at(place, Click { button: Button::Left, modifiers: 0, count: 1 }).await?;
        match self.run_on(&found, CHECKED, json!([])).await {
            Ok(state) if read(state.clone()) != checked => {
                Err(ActionFailure::told(format!("{bid} stays as it is when it is clicked")))
            }
            // A click may lead to another page.
            _ => Ok(()),
        }
    }

    async fn upload(&self, bid: &str, files: &OneOrMore) -> Result<(), ActionFailure> {
        let found = self.find(bid).await?;
        let is_input = self.run_on(&found, IS_FILE_INPUT, json!([])).await?;
        if is_input["is"] == true {
            return self.give_files(json!({"backendNodeId": found.backend}), files).await;
        }
        self.click(bid, Button::Left, 0, 1).await?;
        self.give_to_chooser(files).await
    }

    /// Gives files to the input whose dialog the last click opened.
    async fn give_to_chooser(&self, files: &OneOrMore) -> Result<(), ActionFailure> {
        // What the click did has been told by the time that this is answered.
        self.evaluate("0").await?;
        self.hear().await;
        let chooser = self.shared.change(|state| {
            let front = state.front().map(|tab| tab.target.clone());
            front.and_then(|target| state.tab(&target)).and_then(|tab| tab.chooser.take())
        });
        let chooser = chooser.ok_or_else(|| {
            ActionFailure::told("the click opened no dialog for files: name the input or button that does".to_owned())
        })?;
        self.give_files(json!({"backendNodeId": chooser}), files).await
    }

    async fn give_files(&self, mut params: Value, files: &OneOrMore) -> Result<(), ActionFailure> {
        let mut paths = Vec::new();
        for name in files.all() {
            paths.push(self.place_file(name).await?);
        }
        params["files"] = json!(paths);
        self.call("DOM.setFileInputFiles", params).await
    }

    /// Puts a file of the task where the browser finds it.
    async fn place_file(&self, name: &str) -> Result<String, ActionFailure> {
        let Some((name, bytes)) = self.settings.files.iter().find(|(known, _)| known == name) else {
            let known: Vec<&str> = self.settings.files.iter().map(|(name, _)| name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(ActionFailure::told(format!("there is no file {name:?} to upload; there is: {known}")));
        };
        let sandbox = self.chromium.sandbox();
        let path = format!("/home/agent/files/{}/{name}", self.id);
        let user = sandbox.profile().user.value;
        sandbox.write(&path, 0o644, user, bytes).await.map_err(BrowserError::from)?;
        Ok(path)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is within a minute")]
fn milliseconds(wait_ms: f64) -> u32 {
    if wait_ms.is_nan() { 0 } else { wait_ms.clamp(0.0, WAIT_MS_MAX) as u32 }
}

const CLICKABLE: &str = "function () {
  if (this.tagName === 'OPTION') return { error: 'it is an option: use select_option on its list' };
  if (this.tagName === 'SELECT' && !this.multiple && this.size < 2) return { error: 'it is a drop-down list: use select_option' };
  if (this.disabled) return { error: 'it is disabled' };
  return {};
}";

const FOCUS: &str = "function () {
  if (this.disabled) return { error: 'it is disabled' };
  this.focus();
  return {};
}";

const PREPARE_FILL: &str = "function () {
  const types = ['button', 'checkbox', 'file', 'hidden', 'image', 'radio', 'reset', 'submit'];
  const set = ['color', 'date', 'datetime-local', 'month', 'range', 'time', 'week'];
  const input = this.tagName === 'INPUT';
  if (input && types.includes(this.type)) return { error: `it is an input of type ${this.type}, which takes no text` };
  if (!input && this.tagName !== 'TEXTAREA' && !this.isContentEditable) return { error: 'it takes no text: fill an input' };
  if (!this.checkVisibility({ visibilityProperty: true })) return { error: 'it cannot be seen: open or wait for what hides it' };
  if (this.disabled) return { error: 'it is disabled' };
  if (this.readOnly) return { error: 'it can only be read' };
  this.focus();
  if (input && set.includes(this.type)) return { set: true };
  if (this.select) this.select();
  else {
    const range = document.createRange();
    range.selectNodeContents(this);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  }
  return {};
}";

const SET_VALUE: &str = "function (value) {
  this.value = value;
  if (this.value !== value) return { error: `it does not take ${JSON.stringify(value)} (type ${this.type})` };
  this.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  this.dispatchEvent(new Event('change', { bubbles: true }));
  return {};
}";

const CHECKED: &str = "function () {
  if (this.type === 'checkbox' || this.type === 'radio') return { checked: this.checked };
  const checked = this.getAttribute('aria-checked') ?? this.getAttribute('aria-pressed');
  if (checked !== null) return { checked: checked === 'true' };
  return { error: 'it can be neither on nor off' };
}";

const SELECT: &str = "function (wanted) {
  if (this.tagName !== 'SELECT') return { error: 'it is no list of options' };
  if (!this.checkVisibility({ visibilityProperty: true })) return { error: 'it cannot be seen: open or wait for what hides it' };
  if (this.disabled) return { error: 'it is disabled' };
  const options = [...this.options];
  const chosen = [];
  for (const word of wanted) {
    const found = options.find((option) => option.value === word)
      ?? options.find((option) => option.label.trim() === word.trim() || option.text.trim() === word.trim());
    if (!found) {
      const known = options.slice(0, 20).map((option) => JSON.stringify(option.label.trim())).join(', ');
      return { error: `there is no option ${JSON.stringify(word)}; there are ${known}` };
    }
    if (found.disabled) return { error: `the option ${JSON.stringify(word)} is disabled` };
    chosen.push(found);
  }
  if (!this.multiple && chosen.length !== 1) return { error: 'it takes exactly one option' };
  this.focus();
  for (const option of options) option.selected = chosen.includes(option);
  this.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  this.dispatchEvent(new Event('change', { bubbles: true }));
  return {};
}";

const IS_FILE_INPUT: &str = "function () {
  return { is: this.tagName === 'INPUT' && this.type === 'file' };
}";
