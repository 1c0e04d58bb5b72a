//! Steps of solutions: actions as BrowserGym writes them.

use crate::{named, quoted};

/// Clicks an element of a role and a name.
pub(crate) fn click(role: &str, name: &str) -> String {
    format!("click({})", named(role, name))
}

/// Clicks one of several elements that have the same role and name, counted from 0.
pub(crate) fn click_nth(role: &str, name: &str, nth: usize) -> String {
    format!("click({})", named_nth(role, name, nth))
}

/// Clicks the button that sends.
pub(crate) fn submit() -> String {
    click("button", "Submit")
}

/// Replaces the text of an input.
pub(crate) fn fill(role: &str, name: &str, value: &str) -> String {
    format!("fill({}, {})", named(role, name), quoted(value))
}

/// Replaces the text of one of several inputs that have the same role and name, counted from 0.
pub(crate) fn fill_nth(role: &str, name: &str, nth: usize, value: &str) -> String {
    format!("fill({}, {})", named_nth(role, name, nth), quoted(value))
}

/// Puts a check box or a radio button on.
pub(crate) fn check(role: &str, name: &str) -> String {
    format!("check({})", named(role, name))
}

/// Puts a check box on or off.
pub(crate) fn set(name: &str, on: bool) -> String {
    format!("{}({})", if on { "check" } else { "uncheck" }, named("checkbox", name))
}

/// Chooses an option of a drop-down list.
pub(crate) fn select(name: &str, option: &str) -> String {
    format!("select_option({}, {})", named("combobox", name), quoted(option))
}

/// Chooses options of a list that takes several.
pub(crate) fn select_several(name: &str, options: &[&str]) -> String {
    format!("select_option({}, {})", named("listbox", name), all_quoted(options))
}

/// Presses keys in an element.
pub(crate) fn press(role: &str, name: &str, keys: &str) -> String {
    format!("press({}, {})", named(role, name), quoted(keys))
}

/// Presses keys in an element so often.
pub(crate) fn presses(role: &str, name: &str, keys: &str, times: i64) -> Vec<String> {
    (0..times).map(|_| press(role, name, keys)).collect()
}

/// Drags an element onto another.
pub(crate) fn drag(from: (&str, &str), to: (&str, &str)) -> String {
    format!("drag_and_drop({}, {})", named(from.0, from.1), named(to.0, to.1))
}

/// Gives files to an input that a selector finds.
pub(crate) fn upload(selector: &str, names: &[&str]) -> String {
    format!("upload_file({}, {})", quoted(&format!("css={selector}")), all_quoted(names))
}

fn named_nth(role: &str, name: &str, nth: usize) -> String {
    format!("{}[nth={nth}]'", named(role, name).trim_end_matches('\''))
}

fn all_quoted(values: &[&str]) -> String {
    let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
    format!("[{}]", values.join(", "))
}
