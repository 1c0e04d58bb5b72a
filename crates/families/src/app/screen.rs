//! The screen of an app: its tools, what is seen of it, and the forms of its page.

use palestra_apps::html;
use palestra_apps::screen::{GuiAction, Tree, Viewer};
use palestra_apps::task::episode::Episode;
use palestra_protocol::observation::Observation;
use serde_json::{Map, Value, json};

use palestra_environment::tool::function;
use palestra_environment::{PageCall, Reaction};

/// Names of the tools of the screen.
pub(super) const NAMES: [&str; 6] = ["click", "type", "select", "scroll", "back", "home"];
/// Names of fields of the form that ends the task begin so.
const END: &str = "end:";
/// Names of fields with answers begin so.
const ANSWER: &str = "end:answer:";

/// Tools of the screen.
pub(super) fn tools() -> Vec<Value> {
    let element =
        json!({"type": "string", "maxLength": 1_000, "description": "id of an element, as in brackets on the screen"});
    let text = json!({"type": "string", "maxLength": 20_000});
    let object = |properties: Value| {
        let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
        json!({"type": "object", "required": required, "additionalProperties": false, "properties": properties})
    };
    vec![
        function("click", "Presses a button, follows a link, turns a checkbox.", object(json!({"element": element}))),
        function("type", "Replaces the text of an input.", object(json!({"element": element, "text": text}))),
        function(
            "select",
            "Chooses one of the options of an element.",
            object(json!({"element": element, "option": text})),
        ),
        function("scroll", "Shows another part of long texts.", object(json!({"direction": {"enum": ["up", "down"]}}))),
        function("back", "Goes to the screen before.", object(json!({}))),
        function("home", "Goes to the first screen.", object(json!({}))),
    ]
}

/// Does something on the screen, and looks at it.
pub(super) fn act(viewer: &mut Viewer, episode: &mut Episode, tool: &str, arguments: &Map<String, Value>) -> Reaction {
    let mut words = arguments.clone();
    words.insert("action".to_owned(), json!(tool));
    let action: GuiAction = match serde_json::from_value(Value::Object(words)) {
        Ok(action) => action,
        Err(error) => return Reaction::text(format!("Error: bad arguments for {tool}: {error}.")),
    };
    let shown = match viewer.act(episode.world_mut(), &action) {
        Ok(shown) => shown,
        Err(stop) => return Reaction::failed(stop.to_string()),
    };
    let data = shown.error.map_or(Value::Null, |raised| raised.to_json());
    match viewer.tree(episode.world()) {
        Ok(tree) => Reaction { observation: Observation { data, ..seen(&tree) }, ..Reaction::default() },
        Err(stop) => Reaction::failed(stop.to_string()),
    }
}

/// The observation of a screen.
pub(super) fn seen(tree: &Tree) -> Observation {
    // A tree holds texts, numbers and lists: it always has a JSON form.
    let mut block = serde_json::to_value(tree).unwrap_or_default();
    if let Some(members) = block.as_object_mut() {
        members.insert("type".to_owned(), json!("tree"));
    }
    Observation { text: tree.to_string(), content: vec![block], ..Observation::default() }
}

/// The screen as a page, with a form at its end that ends the task.
pub(super) fn page(tree: &Tree, episode: &Episode, path: &str) -> String {
    let page = html::page(tree, path);
    let form = end_form(episode, path);
    match page.rfind("</body>") {
        Some(end) => format!("{}{form}{}", &page[..end], &page[end..]),
        None => page + &form,
    }
}

fn end_form(episode: &Episode, path: &str) -> String {
    let slots = episode.instance().template().goal.answer.as_ref().map(|answer| answer.slots.as_slice());
    let mut answers = String::new();
    for (name, _) in slots.unwrap_or_default() {
        // Names are words of the definition, and hold nothing that would have to be escaped.
        answers.push_str(&format!("<label>{name} <input name=\"{ANSWER}{name}\"></label> "));
    }
    format!(
        "<form method=\"post\" action=\"{path}\" aria-label=\"End the task\">{answers}\
         <label>The task is <select name=\"{END}status\"><option value=\"ok\">done</option>\
         <option value=\"impossible\">impossible</option><option value=\"refused\">refused</option></select></label> \
         <label>because of <input name=\"{END}code\" placeholder=\"error code\"></label> \
         <label>about <input name=\"{END}about\" placeholder=\"id\"></label> \
         <button type=\"submit\">End the task</button></form>"
    )
}

/// The calls that a form of the page stands for. What an input holds already is not entered again.
pub(super) fn calls_of_form(tree: &Tree, fields: &[(String, String)]) -> Result<Vec<PageCall>, String> {
    if fields.iter().any(|(name, _)| name.starts_with(END)) {
        return end(fields).map(|call| vec![call]);
    }
    let actions = html::actions(fields).map_err(|error| error.to_string())?;
    let holds = |id: &str, text: &str| tree.find(id).is_some_and(|element| element.value.as_deref() == Some(text));
    let changes = |action: &GuiAction| match action {
        GuiAction::Type { element, text } => !holds(element, text),
        GuiAction::Select { element, option } => !holds(element, option),
        _ => true,
    };
    actions.iter().filter(|action| changes(action)).map(call).collect()
}

/// An action on the screen as a call of its tool.
fn call(action: &GuiAction) -> Result<PageCall, String> {
    let Ok(Value::Object(mut arguments)) = serde_json::to_value(action) else {
        return Err("the form asks for nothing: send a field of the page".to_owned());
    };
    let tool = arguments.remove("action").and_then(|tool| tool.as_str().map(str::to_owned));
    Ok(PageCall { tool: tool.unwrap_or_default(), arguments })
}

fn end(fields: &[(String, String)]) -> Result<PageCall, String> {
    let (mut arguments, mut answers) = (Map::new(), Map::new());
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        if let Some(slot) = name.strip_prefix(ANSWER) {
            answers.insert(slot.to_owned(), json!(value));
        } else if let Some(field) = name.strip_prefix(END) {
            arguments.insert(field.to_owned(), json!(value));
        } else {
            return Err(format!(
                "the page has no field {:?}: send fields that it has",
                name.chars().take(100).collect::<String>()
            ));
        }
    }
    if !answers.is_empty() {
        arguments.insert("answers".to_owned(), Value::Object(answers));
    }
    Ok(PageCall { tool: "submit".to_owned(), arguments })
}
