//! Actions as tools, with their parameters.

use serde_json::{Map, Value, json};

/// A parameter: its name, the type that it has, and true if it must be given.
type Parameter = (&'static str, Type, bool);

/// Type of a parameter.
#[derive(Clone, Copy)]
enum Type {
    Element,
    Text,
    Texts,
    Number,
    Place,
    Flag,
    Button,
    Modifiers,
    Scale,
    Format,
}

use Type::{Button, Element, Flag, Format, Modifiers, Number, Place, Scale, Text, Texts};

/// Every action: its name, what it does, its parameters in order.
const ACTIONS: [(&str, &str, &[Parameter]); 42] = [
    ("goto", "Goes to an address.", &[("url", Text, true)]),
    ("go_back", "Goes to the page before.", &[]),
    ("go_forward", "Goes to the page after.", &[]),
    ("reload", "Loads the page again.", &[]),
    (
        "click",
        "Presses an element.",
        &[("bid", Element, true), ("button", Button, false), ("modifiers", Modifiers, false)],
    ),
    (
        "dblclick",
        "Presses an element twice.",
        &[("bid", Element, true), ("button", Button, false), ("modifiers", Modifiers, false)],
    ),
    ("hover", "Moves the mouse over an element.", &[("bid", Element, true)]),
    (
        "fill",
        "Replaces the text of an input.",
        &[("bid", Element, true), ("value", Text, true), ("enable_autocomplete_menu", Flag, false)],
    ),
    ("check", "Puts a check mark or a radio button on.", &[("bid", Element, true)]),
    ("uncheck", "Takes a check mark off.", &[("bid", Element, true)]),
    (
        "select_option",
        "Chooses options of a list, by value or label.",
        &[("bid", Element, true), ("options", Texts, true)],
    ),
    (
        "press",
        "Presses keys in an element, such as Enter or Control+a.",
        &[("bid", Element, true), ("key_comb", Text, true)],
    ),
    ("focus", "Puts the focus on an element.", &[("bid", Element, true)]),
    ("clear", "Removes the text of an input.", &[("bid", Element, true)]),
    ("drag_and_drop", "Drags an element to another.", &[("from_bid", Element, true), ("to_bid", Element, true)]),
    ("upload_file", "Gives files of the task to an input.", &[("bid", Element, true), ("file", Texts, true)]),
    ("scroll", "Turns the mouse's wheel.", &[("delta_x", Number, true), ("delta_y", Number, true)]),
    (
        "scroll_at",
        "Turns the mouse's wheel at a place.",
        &[("x", Number, true), ("y", Number, true), ("dx", Number, true), ("dy", Number, true)],
    ),
    ("mouse_move", "Moves the mouse to a place.", &[("x", Number, true), ("y", Number, true)]),
    (
        "mouse_down",
        "Presses a button of the mouse at a place and holds it.",
        &[("x", Number, true), ("y", Number, true), ("button", Button, false)],
    ),
    (
        "mouse_up",
        "Lets a button of the mouse go at a place.",
        &[("x", Number, true), ("y", Number, true), ("button", Button, false)],
    ),
    ("mouse_click", "Clicks at a place.", &[("x", Number, true), ("y", Number, true), ("button", Button, false)]),
    (
        "mouse_dblclick",
        "Clicks twice at a place.",
        &[("x", Number, true), ("y", Number, true), ("button", Button, false)],
    ),
    (
        "mouse_drag_and_drop",
        "Drags from a place to another.",
        &[("from_x", Number, true), ("from_y", Number, true), ("to_x", Number, true), ("to_y", Number, true)],
    ),
    (
        "mouse_upload_file",
        "Gives files of the task to the input at a place.",
        &[("x", Number, true), ("y", Number, true), ("file", Texts, true)],
    ),
    ("keyboard_down", "Presses a key and holds it.", &[("key", Text, true)]),
    ("keyboard_up", "Lets a key go.", &[("key", Text, true)]),
    ("keyboard_press", "Presses keys, such as Enter or Control+a.", &[("key", Text, true)]),
    ("keyboard_type", "Types a text key by key.", &[("text", Text, true)]),
    ("keyboard_insert_text", "Puts a text where the focus is, without keys.", &[("text", Text, true)]),
    ("new_tab", "Opens a tab, which comes to the front.", &[]),
    ("tab_close", "Closes the tab in front.", &[]),
    ("tab_focus", "Brings a tab to the front, by its place from 0.", &[("index", Place, true)]),
    ("dialog_accept", "Accepts the dialog of the page, with a text for a prompt.", &[("text", Text, false)]),
    ("dialog_dismiss", "Dismisses the dialog of the page.", &[]),
    ("noop", "Waits for milliseconds of the page's clock.", &[("wait_ms", Number, false)]),
    (
        "wait_for",
        "Waits until an element is there, at most for milliseconds of the page's clock.",
        &[("bid", Element, true), ("wait_ms", Number, false)],
    ),
    (
        "screenshot",
        "Makes a picture of what is in sight or of the whole page, with a frame and its id around each element where marks are wanted.",
        &[("marks", Flag, false), ("whole_page", Flag, false), ("scale", Scale, false), ("format", Format, false)],
    ),
    ("page_text", "Reads the text of the page as a person sees it.", &[]),
    ("page_html", "Reads the document of the page as it is now.", &[]),
    ("send_msg_to_user", "Says something to the user.", &[("text", Text, true)]),
    ("report_infeasible", "Says that the task cannot be done.", &[("reason", Text, true)]),
];

/// Names of all actions that a page sees.
pub const NAMES: [&str; 42] = {
    let mut names = [""; 42];
    let mut at = 0;
    while at < ACTIONS.len() {
        names[at] = ACTIONS[at].0;
        at += 1;
    }
    names
};

/// Names of the parameters of an action in their order; `None` where there is no such action.
pub(super) fn parameters(action: &str) -> Option<&'static [&'static str]> {
    static NAMES: std::sync::LazyLock<std::collections::HashMap<&'static str, Vec<&'static str>>> =
        std::sync::LazyLock::new(|| {
            let names = |parameters: &[Parameter]| parameters.iter().map(|(name, ..)| *name).collect();
            ACTIONS.iter().map(|(name, _, parameters)| (*name, names(parameters))).collect()
        });
    NAMES.get(action).map(Vec::as_slice)
}

/// The actions as tools, in OpenAI's form.
#[must_use]
pub fn tools() -> Vec<Value> {
    ACTIONS.iter().map(|(name, does, parameters)| tool(name, does, parameters)).collect()
}

fn tool(name: &str, does: &str, parameters: &[Parameter]) -> Value {
    let properties: Map<String, Value> =
        parameters.iter().map(|(name, kind, _)| ((*name).to_owned(), schema(*kind))).collect();
    let required: Vec<&str> = parameters.iter().filter(|(.., required)| *required).map(|(name, ..)| *name).collect();
    json!({
        "type": "function",
        "function": {
            "name": name,
            "description": does,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
        },
    })
}

fn schema(kind: Type) -> Value {
    let text = json!({"type": "string", "maxLength": 50_000});
    match kind {
        Element => json!({
            "type": "string",
            "maxLength": 1_000,
            "description": "id of an element, as in brackets in the tree; or role=button[name=\"Save\"], text=Saved, css=#save",
        }),
        Text => text,
        Texts => json!({"anyOf": [text, {"type": "array", "items": text, "maxItems": 100}]}),
        Number => json!({"type": "number", "minimum": -100_000, "maximum": 100_000}),
        Place => json!({"type": "integer", "minimum": 0, "maximum": 1_000}),
        Flag => json!({"type": "boolean"}),
        Scale => json!({"type": "number", "minimum": 0.1, "maximum": 2}),
        Format => json!({"enum": ["png", "webp"]}),
        Button => json!({"enum": ["left", "middle", "right"]}),
        Modifiers => json!({
            "type": "array",
            "maxItems": 5,
            "items": {"enum": ["Alt", "Control", "ControlOrMeta", "Meta", "Shift"]},
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;

    #[test]
    fn every_tool_is_an_action_and_takes_what_it_says() {
        for (name, _, parameters) in ACTIONS {
            let sample = |kind: Type| match kind {
                Element | Text | Texts => json!("a"),
                Number | Scale => json!(1.5),
                Format => json!("webp"),
                Place => json!(1),
                Flag => json!(true),
                Button => json!("right"),
                Modifiers => json!(["Shift"]),
            };
            let all: Map<String, Value> =
                parameters.iter().map(|(name, kind, _)| ((*name).to_owned(), sample(*kind))).collect();
            let needed: Map<String, Value> = parameters
                .iter()
                .filter(|(.., required)| *required)
                .map(|(name, kind, _)| ((*name).to_owned(), sample(*kind)))
                .collect();
            for arguments in [all, needed] {
                let action = Action::of_call(name, &arguments);
                assert!(action.is_ok(), "{name}: {action:?}");
            }
        }
        assert_eq!(NAMES[0], "goto");
    }
}
