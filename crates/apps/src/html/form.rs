//! Translation of a posted form into actions on the screen.

use serde_json::{Map, Value as Json};

use crate::screen::{Direction, GuiAction};

/// Most fields of one post.
pub const FIELDS_MAX: usize = 4_000;

/// Prefix of fields that hold text, before the id of their element.
pub(super) const TEXT: &str = "text:";
/// Prefix of fields that hold an option, before the id of their element.
pub(super) const OPTION: &str = "option:";
/// The field that names the element that was pressed.
pub(super) const ELEMENT: &str = "element";
/// The field that leaves the screen: `back` or `home`.
pub(super) const GO: &str = "go";
/// The field that scrolls: `up` or `down`.
pub(super) const SCROLL: &str = "scroll";
/// The field with a dialog that is to be open for the others.
pub(super) const OPEN: &str = "open";
/// The field with the address that the browser goes to afterwards.
const THEN: &str = "then";
/// Names of fields of the form that ends the task begin so.
const END: &str = "end:";
/// Names of fields with answers begin so.
const ANSWER: &str = "end:answer:";
/// The field with the text for the element named beside it.
const VALUE: &str = "value";

/// Reason why fields are no actions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotActions {
    /// A field that no page has.
    #[error("there is no field {0:?}")]
    UnknownField(String),
    /// A value that the field does not take.
    #[error("the field {0} does not take this value")]
    Value(&'static str),
    /// There are too many fields.
    #[error("a post has at most {FIELDS_MAX} fields")]
    TooMany,
}

/// The actions that the fields of a link or a posted form stand for: inputs in their order, then what was pressed. Of several
/// fields with one name the last counts, as a checkbox stands behind a hidden `false`.
///
/// `element=ID` presses an element, and with `value=TEXT` types into it; `text:ID` and `option:ID` are the inputs of a form;
/// `go=back|home` and `scroll=up|down` are for all screens; `then=ADDRESS` goes on from there;
/// `open=ID` is left to [`plan`](super::plan).
///
/// # Errors
/// When a field or its value is none that a page has.
pub fn actions(fields: &[(String, String)]) -> Result<Vec<GuiAction>, NotActions> {
    if fields.len() > FIELDS_MAX {
        return Err(NotActions::TooMany);
    }
    let mut inputs: Vec<GuiAction> = Vec::new();
    let (mut pressed, mut value, mut moved) = (None, None, None);
    for (name, content) in fields {
        if let Some(id) = name.strip_prefix(TEXT) {
            put(&mut inputs, id, GuiAction::Type { element: id.to_owned(), text: lines(content) });
        } else if let Some(id) = name.strip_prefix(OPTION) {
            put(&mut inputs, id, GuiAction::Select { element: id.to_owned(), option: content.clone() });
        } else {
            match (name.as_str(), content.as_str()) {
                (ELEMENT, _) => pressed = Some(content.clone()),
                (VALUE, _) => value = Some(lines(content)),
                (OPEN, _) => {}
                (THEN, address) => moved = Some(GuiAction::Open { address: address.to_owned() }),
                (GO, "back") => moved = Some(GuiAction::Back),
                (GO, "home") => moved = Some(GuiAction::Home),
                (GO, _) => return Err(NotActions::Value(GO)),
                (SCROLL, "up") => moved = Some(GuiAction::Scroll { direction: Direction::Up }),
                (SCROLL, "down") => moved = Some(GuiAction::Scroll { direction: Direction::Down }),
                (SCROLL, _) => return Err(NotActions::Value(SCROLL)),
                _ => return Err(NotActions::UnknownField(name.chars().take(100).collect())),
            }
        }
    }
    inputs.extend(match (pressed, value) {
        (Some(element), Some(text)) => Some(GuiAction::Type { element, text }),
        (Some(element), None) => Some(GuiAction::Click { element }),
        (None, Some(_)) => return Err(NotActions::Value(VALUE)),
        (None, None) => None,
    });
    inputs.extend(moved);
    Ok(inputs)
}

/// The arguments of `submit`, where fields are those of the form that ends the task.
///
/// # Errors
/// When another field stands among them.
pub fn ending(fields: &[(String, String)]) -> Result<Option<Map<String, Json>>, NotActions> {
    if !fields.iter().any(|(name, _)| name.starts_with(END)) {
        return Ok(None);
    }
    let (mut arguments, mut answers) = (Map::new(), Map::new());
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        if let Some(slot) = name.strip_prefix(ANSWER) {
            answers.insert(slot.to_owned(), value.as_str().into());
        } else if let Some(field) = name.strip_prefix(END) {
            arguments.insert(field.to_owned(), value.as_str().into());
        } else {
            return Err(NotActions::UnknownField(name.chars().take(100).collect()));
        }
    }
    if !answers.is_empty() {
        arguments.insert("answers".to_owned(), Json::Object(answers));
    }
    Ok(Some(arguments))
}

/// Takes a later field in the place of an earlier one.
fn put(inputs: &mut Vec<GuiAction>, id: &str, action: GuiAction) {
    let same = |known: &&mut GuiAction| matches!(known, GuiAction::Type { element, .. } | GuiAction::Select { element, .. } if *element == id);
    match inputs.iter_mut().find(same) {
        Some(known) => *known = action,
        None => inputs.push(action),
    }
}

/// Browsers end lines by two characters.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}
