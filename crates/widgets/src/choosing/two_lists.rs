//! Two lists between which things are moved.

use serde_json::json;

use crate::steps::{click, select_several, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "two-lists", about: "Moves things between two lists and orders them.", draw };

const BODY: &str = r##"<div id="both"><div><label for="left">Available</label><select id="left" multiple size="10"></select></div>
<div class="ways"><button class="plain" id="add">Add ›</button><button class="plain" id="remove">‹ Remove</button></div>
<div><label for="right">Taken</label><select id="right" multiple size="10"></select></div>
<div class="ways"><button class="plain" id="up">Up</button><button class="plain" id="down">Down</button></div></div><button id="send">Submit</button>"##;
const STYLE: &str = "#both{display:flex;gap:10px;align-items:center;margin-bottom:12px}#both select{width:200px}.ways{display:flex;flex-direction:column;gap:6px}";
const SCRIPT: &str = r##"
const left = $("#left"), right = $("#right");
const fill = (list, names) => list.append(...names.map((name) => el("option", {}, name)));
fill(left, data.left);
fill(right, data.right);
const move = (from, to) => { const options = [...from.selectedOptions]; to.append(...options); for (const option of options) option.selected = true; for (const option of from.options) option.selected = false; };
$("#add").onclick = () => { for (const option of right.options) option.selected = false; move(left, right); };
$("#remove").onclick = () => { for (const option of left.options) option.selected = false; move(right, left); };
$("#up").onclick = () => { for (const option of [...right.selectedOptions]) { const before = option.previousElementSibling; if (before && !before.selected) before.before(option); } };
$("#down").onclick = () => { for (const option of [...right.selectedOptions].reverse()) { const after = option.nextElementSibling; if (after && !after.selected) after.after(option); } };
$("#send").onclick = () => send({ taken: [...right.options].map((option) => option.value) });
"##;

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let things = draw.things(5);
    let names: Vec<String> = if level >= Level::Three {
        let each = things.iter().flat_map(|thing| ["old", "new"].map(|word| format!("{word} {thing}")));
        draw.shuffled(&each.collect::<Vec<_>>())
    } else {
        things.iter().map(|thing| (*thing).to_owned()).collect()
    };
    let right: Vec<String> = names[..level.of([0, 1, 3, 3])].to_vec();
    let left: Vec<String> = names[right.len()..].to_vec();
    let back = draw.some(level.of([0, 1, 2, 1]), &right);
    let added = draw.some(level.of([1, 2, 3, 3]), &left);
    let mut taken: Vec<String> = right.iter().filter(|name| !back.contains(name)).cloned().collect();
    taken.extend(added.iter().cloned());
    let mut solution = Vec::new();
    let picked =
        |list: &str, names: &[String]| select_several(list, &names.iter().map(String::as_str).collect::<Vec<_>>());
    if !back.is_empty() {
        solution.extend([picked("Taken", &back), click("button", "‹ Remove")]);
    }
    for name in &added {
        solution.extend([picked("Available", std::slice::from_ref(name)), click("button", "Add ›")]);
    }
    let (wanted, order) = if level == Level::Four {
        let mut wanted = taken.clone();
        wanted.sort_by_key(|name| (name.starts_with("new"), name.clone()));
        for (at, name) in wanted.iter().enumerate() {
            let from = taken.iter().position(|other| other == name).unwrap_or(at);
            if from > at {
                solution.push(picked("Taken", std::slice::from_ref(name)));
                solution.extend((at..from).map(|_| click("button", "Up")));
            }
            let name = taken.remove(from);
            taken.insert(at, name);
        }
        let order = ". Order all that are taken: first the old things, then the new ones, each from A to Z";
        (Wanted::exactly(&json!({"taken": wanted})), order)
    } else {
        let all = taken.iter().map(|name| json!(name)).collect();
        (Wanted::field("taken", Wanted::Set(all)), "")
    };
    solution.push(submit());
    let remove = if back.is_empty() { String::new() } else { format!("Move back out of it: {}. ", back.join(", ")) };
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"left": left, "right": right}),
        solution,
        ..Task::new(
            "Two lists",
            format!(
                "{remove}Move into the list Taken: {}{order}. Leave all else where it is, and submit.",
                added.join(", ")
            ),
            wanted,
        )
    }
}
