//! Actions of solutions, as BrowserGym writes them.

use crate::{named, quoted};

/// Presses an element.
pub(crate) fn click(role: &str, name: &str) -> String {
    format!("click({})", named(role, name))
}

/// Presses the button that sends.
pub(crate) fn submit() -> String {
    click("button", "Submit")
}

/// Replaces the text of an input.
pub(crate) fn fill(role: &str, name: &str, value: &str) -> String {
    format!("fill({}, {})", named(role, name), quoted(value))
}

/// Presses keys in an element.
pub(crate) fn press(role: &str, name: &str, keys: &str) -> String {
    format!("press({}, {})", named(role, name), quoted(keys))
}

/// Presses keys in an element so often.
pub(crate) fn presses(role: &str, name: &str, keys: &str, times: i64) -> Vec<String> {
    (0..times).map(|_| press(role, name, keys)).collect()
}

/// Puts a check mark or a radio button on, or a check mark off.
pub(crate) fn check(role: &str, name: &str, on: bool) -> String {
    format!("{}({})", if on { "check" } else { "uncheck" }, named(role, name))
}

/// Chooses options of a list.
pub(crate) fn select(role: &str, name: &str, options: &[&str]) -> String {
    let options: Vec<String> = options.iter().map(|option| quoted(option)).collect();
    format!("select_option({}, [{}])", named(role, name), options.join(", "))
}
