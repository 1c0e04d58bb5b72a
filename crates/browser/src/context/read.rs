//! Text and documents of pages.

use serde_json::{Value, json};

use super::Context;
use super::element::WORLD;
use super::failure::ActionFailure;

/// Most characters of a document or a text.
const CHARACTERS_MAX: usize = 2_000_000;

/// Part of a page that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Its text as a person sees it.
    Text,
    /// Its document as it is now.
    Html,
}

/// The text or the document of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The part that was read.
    pub reading: Reading,
    /// The characters.
    pub text: String,
    /// Characters that are missing at the end.
    pub cut: usize,
}

impl Context {
    /// Reads the page in front, without its frames.
    ///
    /// # Errors
    /// When the browser fails, or the page in front waits for a dialog or crashed.
    pub async fn read(&self, reading: Reading) -> Result<Read, ActionFailure> {
        if self.is_held_up() {
            return Err(ActionFailure::told("the page cannot be read now: end its dialog, or reload it".to_owned()));
        }
        let channel = self.front()?;
        let main = self.shared.state.lock().front().map(|tab| tab.target.clone());
        let world = channel.call("Page.createIsolatedWorld", json!({"frameId": main, "worldName": WORLD})).await?;
        let call = json!({
            "functionDeclaration": READ,
            "executionContextId": world["executionContextId"],
            "arguments": [{"value": reading == Reading::Html}, {"value": CHARACTERS_MAX}],
            "returnByValue": true,
            "silent": true,
        });
        let mut told = channel.call("Runtime.callFunctionOn", call).await?;
        let cut = told["result"]["value"]["cut"].as_u64().and_then(|cut| usize::try_from(cut).ok());
        match told["result"]["value"]["text"].take() {
            Value::String(text) => Ok(Read { reading, text, cut: cut.unwrap_or_default() }),
            _ => Err(ActionFailure::told("the page cannot be read: wait with noop, or reload it".to_owned())),
        }
    }
}

const READ: &str = "function (html, most) {
  const { doctype, documentElement: root } = document;
  const head = doctype ? `<!doctype ${doctype.name}>\\n` : '';
  const whole = html ? head + (root ? root.outerHTML : '') : (document.body ? document.body.innerText : '');
  return { text: whole.slice(0, most).toWellFormed(), cut: Math.max(0, whole.length - most) };
}";
