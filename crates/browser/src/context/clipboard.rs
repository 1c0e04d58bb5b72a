//! The clipboard of a session. A browser has one for all its contexts: what pages copy is kept here instead, and given back where they
//! paste.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Shared;
use super::element::WORLD;
use crate::cdp::Channel;

/// Our listener in each document, with places for the names below.
const SCRIPT: &str = include_str!("../clipboard.js");
/// The function by which it tells the server, in our world alone.
const BINDING: &str = "palestraClipboard";
/// Its function that pastes.
const PASTE: &str = "palestraPaste";
/// Characters that a session's clipboard holds.
const CHARACTERS_MAX: usize = 1 << 20;

/// Commands that set up the listener in all documents of a tab.
pub(super) fn setup() -> [(&'static str, Value); 2] {
    let source = SCRIPT.replace("$BINDING", BINDING).replace("$PASTE", PASTE);
    let source = source.replace("$CHARACTERS_MAX", &CHARACTERS_MAX.to_string());
    [
        ("Runtime.addBinding", json!({"name": BINDING, "executionContextName": WORLD})),
        (
            "Page.addScriptToEvaluateOnNewDocument",
            json!({"source": source, "worldName": WORLD, "runImmediately": true}),
        ),
    ]
}

/// Takes what the listener of a tab tells.
pub(super) fn told(shared: &Arc<Shared>, channel: &Channel, target: &str, params: &Value) {
    if params["name"] != BINDING {
        return;
    }
    let payload = params["payload"].as_str().unwrap_or_default();
    let told: Value = serde_json::from_str(payload).unwrap_or_default();
    if let Some(words) = told["copied"].as_str() {
        let words = words.chars().take(CHARACTERS_MAX).collect();
        return shared.change(|state| state.clipboard = words);
    }
    let words = shared.change(|state| {
        // The page is not at rest before it has them.
        if let Some(tab) = state.tab(target) {
            tab.requests += 1;
        }
        state.clipboard.clone()
    });
    let call = json!({
        "expression": format!("{PASTE}({})", Value::String(words)),
        "contextId": params["executionContextId"],
        "silent": true,
    });
    let (shared, channel, target) = (Arc::clone(shared), channel.clone(), target.to_owned());
    #[expect(clippy::disallowed_methods, reason = "it ends by itself, once the browser has answered")]
    tokio::spawn(async move {
        // Where the document is gone, nothing is pasted.
        let _ = channel.call("Runtime.evaluate", call).await;
        shared.change(|state| state.tab(&target).map(|tab| tab.requests -= 1));
    });
}
