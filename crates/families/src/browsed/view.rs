//! The view of a browser as an observation.

use palestra_browser::{BrowserError, Observed, Performed};
use palestra_protocol::observation::Observation;
use serde_json::json;

use palestra_environment::{Cause, InfraError, Reaction};

/// The tabs and the page in front, as text and as data.
pub(super) fn shown(observed: &Observed, performed: &Performed) -> Observation {
    let mut text = String::new();
    if let Some(error) = &performed.error {
        text.push_str(&format!("Error: {error}\n"));
    }
    for (place, tab) in observed.tabs.iter().enumerate() {
        let mark = if place == observed.active { " (in front)" } else { "" };
        text.push_str(&format!("Tab {place}{mark}: {} {}\n", tab.title, tab.url));
    }
    if let Some(dialog) = &observed.dialog {
        text.push_str(&format!("The page shows a dialog ({}): {}\n", dialog.kind, dialog.message));
    }
    text.push('\n');
    text.push_str(&observed.text);
    if observed.cut > 0 {
        text.push_str(&format!("\n… {} more nodes are not shown", observed.cut));
    }
    let data = json!({
        "error": performed.error,
        "message": performed.message,
        "infeasible": performed.infeasible,
        "tabs": observed.tabs,
        "active": observed.active,
        "focused": observed.focused,
        "dialog": observed.dialog,
        "console": observed.console,
        "failed_requests": observed.failed_requests,
        "left_out": observed.left_out,
        "nodes": observed.nodes,
        "lines": observed.lines,
    });
    Observation { text, data, ..Observation::default() }
}

/// The answer to what is no action; nothing was looked at for it.
pub(super) fn refused(error: &str) -> Reaction {
    let (text, data) = (format!("Error: {error}"), json!({"error": error}));
    Reaction { observation: Observation { text, data, ..Observation::default() }, ..Reaction::default() }
}

pub(super) fn infra(error: &BrowserError) -> InfraError {
    let cause = match error {
        BrowserError::Busy { retry_after_ms } => Cause::Busy(*retry_after_ms),
        BrowserError::Missing(_) => Cause::Missing,
        BrowserError::Sandbox(palestra_sandbox::SandboxError::Unavailable(_)) => Cause::Missing,
        BrowserError::Sandbox(palestra_sandbox::SandboxError::Exhausted { retry_after_ms }) => {
            Cause::Busy(*retry_after_ms)
        }
        _ => Cause::Broken,
    };
    InfraError { detail: error.to_string(), cause }
}
