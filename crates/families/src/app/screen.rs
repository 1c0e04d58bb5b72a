//! The screen of an app: its tools, what is seen of it, and the forms of its page.

use palestra_apps::html::{self, CheckLine, Ended, Frame, Method, Plan, Score, TaskBar};
use palestra_apps::screen::{GuiAction, Tree, Viewer};
use palestra_apps::task::episode::Episode;
use palestra_protocol::observation::Observation;
use palestra_protocol::verdict::Verdict;
use serde_json::{Map, Value, json};

use palestra_environment::tool::function;
use palestra_environment::{PageAnswer, PageCall, PageEnd, PageRequest, Reaction};

/// Names of the tools of the screen.
pub(super) const NAMES: [&str; 7] = ["click", "type", "select", "scroll", "open", "back", "home"];

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
        function("open", "Goes to an address, as links have them.", object(json!({"address": text}))),
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

/// Answers a browser: the present page with the task or the end of the episode in its bar, a file beside it, or calls to make.
pub(super) fn answer(
    viewer: &Viewer,
    episode: &Episode,
    request: &PageRequest<'_>,
    end: Option<PageEnd<'_>>,
) -> Result<PageAnswer, String> {
    let world = episode.world();
    let PageRequest { base, post, path, query, form } = *request;
    let method = if post { Method::Post } else { Method::Get };
    let planned = html::plan(viewer, world, &html::PageRequest { method, path, query, form });
    let show = || {
        let answer = episode.instance().template().goal.answer.as_ref();
        let answers = answer.map(|answer| answer.slots.iter().map(|(name, _)| &**name).collect());
        let task = TaskBar { text: &episode.instance().text, answers: answers.unwrap_or_default() };
        let over = end.map(|end| Ended { verdict: end.verdict.map(score) });
        let frame = Frame { base, task: Some(task), over, grows: false };
        html::page(viewer, world, &frame).map(PageAnswer::Html).map_err(|stop| stop.to_string())
    };
    Ok(match planned.map_err(|error| error.to_string())? {
        Plan::Act(_) | Plan::Submit(_) if end.is_some() && post => PageAnswer::Calls(Vec::new()),
        Plan::Act(_) | Plan::Submit(_) if end.is_some() => show()?,
        Plan::Show => show()?,
        Plan::Act(actions) => PageAnswer::Calls(actions.iter().map(call).collect::<Result<_, _>>()?),
        Plan::Submit(arguments) => PageAnswer::Calls(vec![PageCall { tool: "submit".to_owned(), arguments }]),
        Plan::Asset(asset) => PageAnswer::Asset(asset.media, asset.text.to_string()),
        Plan::Missing => PageAnswer::Missing,
    })
}

/// A verdict as the page shows it.
fn score(verdict: &Verdict) -> Score {
    let check = |check: &palestra_protocol::verdict::Check| CheckLine {
        name: check.name.clone(),
        passed: check.passed,
        evidence: check.evidence.clone(),
    };
    Score {
        score: verdict.score,
        status: verdict.status.as_str().to_owned(),
        checks: verdict.checks.iter().map(check).collect(),
    }
}

/// An action on the screen as a call of its tool.
fn call(action: &GuiAction) -> Result<PageCall, String> {
    let Ok(Value::Object(mut arguments)) = serde_json::to_value(action) else {
        return Err("the form asks for nothing: send a field of the page".to_owned());
    };
    let tool = arguments.remove("action").and_then(|tool| tool.as_str().map(str::to_owned));
    Ok(PageCall { tool: tool.unwrap_or_default(), arguments })
}
