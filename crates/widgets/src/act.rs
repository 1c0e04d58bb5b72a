//! Actions of solutions, as BrowserGym writes them, and the states that they lead to.

use serde_json::Value;

use crate::{Wanted, named, quoted};

/// Clicks an element.
pub(crate) fn click(role: &str, name: &str) -> String {
    format!("click({})", named(role, name))
}

/// Clicks the button that sends.
pub(crate) fn submit() -> String {
    click("button", "Submit")
}

/// Replaces the text of an input.
pub(crate) fn fill(role: &str, name: &str, value: &str) -> String {
    format!("fill({}, {})", named(role, name), quoted(value))
}

/// Chooses an option of a drop-down.
pub(crate) fn select(name: &str, option: &str) -> String {
    format!("select_option({}, {})", named("combobox", name), quoted(option))
}

/// Puts a check box on or off.
pub(crate) fn set(name: &str, on: bool) -> String {
    format!("{}({})", if on { "check" } else { "uncheck" }, named("checkbox", name))
}

/// Presses keys in an element.
pub(crate) fn press(role: &str, name: &str, keys: &str) -> String {
    format!("press({}, {})", named(role, name), quoted(keys))
}

/// Drags an element onto another.
pub(crate) fn drag(from: (&str, &str), to: (&str, &str)) -> String {
    format!("drag_and_drop({}, {})", named(from.0, from.1), named(to.0, to.1))
}

/// Gives files to an input that a selector finds.
pub(crate) fn upload(selector: &str, names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    format!("upload_file({}, [{}])", quoted(&format!("css={selector}")), names.join(", "))
}

/// A state with these fields, exactly.
pub(crate) fn fields<const N: usize>(fields: [(&str, Value); N]) -> Wanted {
    Wanted::Fields(fields.into_iter().map(|(name, value)| (name.to_owned(), Wanted::Is(value))).collect())
}

/// A state with one field that lists these in any order.
pub(crate) fn any_order(field: &str, values: &[impl AsRef<str>]) -> Wanted {
    let values = values.iter().map(|value| Value::from(value.as_ref())).collect();
    Wanted::Fields(vec![(field.to_owned(), Wanted::Set(values))])
}

/// A state with one field that is this text.
pub(crate) fn answer(field: &str, text: &str) -> Wanted {
    Wanted::Fields(vec![(field.to_owned(), Wanted::Text(text.to_owned()))])
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}
