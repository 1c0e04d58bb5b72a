//! Steps of solutions: actions as BrowserGym writes them.

use crate::{named, quoted};

/// Clicks an element of a role and a name.
pub(crate) fn click(role: &str, name: &str) -> String {
    format!("click({})", named(role, name))
}

/// Clicks one of several elements that have the same role and name, counted from 0.
pub(crate) fn click_nth(role: &str, name: &str, nth: usize) -> String {
    let all = named(role, name);
    format!("click({}[nth={nth}]')", all.trim_end_matches('\''))
}

/// Replaces the text of an element of a role and a name.
pub(crate) fn fill(role: &str, name: &str, value: &str) -> String {
    format!("fill({}, {})", named(role, name), quoted(value))
}

/// Replaces the text of one of several elements that have the same role and name, counted from 0.
pub(crate) fn fill_nth(role: &str, name: &str, nth: usize, value: &str) -> String {
    let all = named(role, name);
    format!("fill({}[nth={nth}]', {})", all.trim_end_matches('\''), quoted(value))
}

/// Puts a check mark or a radio button on.
pub(crate) fn check(role: &str, name: &str) -> String {
    format!("check({})", named(role, name))
}

/// Chooses an option of a list.
pub(crate) fn select(name: &str, option: &str) -> String {
    format!("select_option({}, {})", named("combobox", name), quoted(option))
}

/// Presses keys in an element.
pub(crate) fn press(role: &str, name: &str, keys: &str) -> String {
    format!("press({}, {})", named(role, name), quoted(keys))
}

/// Clicks the page's button to submit.
pub(crate) fn submit() -> String {
    click("button", "Submit")
}
