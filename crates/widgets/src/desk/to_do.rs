//! A list of things to do.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget = Widget { name: "to-do", about: "Keeps a list of things to do in order.", draw };

const BODY: &str = r##"<form id="form" class="row"><input id="new" aria-label="New entry" autocomplete="off"><button>Add</button></form><ul id="list" aria-label="To do"></ul><button id="send">Submit</button>"##;
const STYLE: &str = "#list{list-style:none;padding:0}#list li{display:flex;gap:8px;align-items:center;border-bottom:1px solid var(--line);padding:4px}#list label{flex:1;margin:0}#list button{padding:0 8px;font-size:14px}";
const SCRIPT: &str = r##"
const entries = data.entries.map(([text, done]) => ({ text, done }));
let renamed = null;
const show = (focus) => {
  $("#list").replaceChildren(...entries.map((entry, at) => {
    const action = (verb, act, more) => el("button", { class: "plain", "aria-label": `${verb} ${entry.text}`.replace(/^(Up|Down) (.*)$/, (all, way, text) => `Move ${text} ${way.toLowerCase()}`), onclick: act, ...more }, verb);
    const move = (by) => () => { entries.splice(at, 1); entries.splice(at + by, 0, entry); show(); };
    if (renamed === entry) {
      const input = el("input", { "aria-label": `New name of ${entry.text}`, value: entry.text, onkeydown: (event) => { if (event.key === "Enter") keep(); if (event.key === "Escape") { renamed = null; show(); } } });
      const keep = () => { entry.text = input.value.trim() || entry.text; renamed = null; show(); };
      return el("li", {}, input, el("button", { onclick: keep }, "Keep"));
    }
    const box = el("input", { type: "checkbox", checked: entry.done, onchange: () => { entry.done = box.checked; } });
    return el("li", {}, el("label", {}, box, ` ${entry.text}`), action("Up", move(-1), { disabled: at === 0 }), action("Down", move(1), { disabled: at === entries.length - 1 }),
      action("Rename", () => { renamed = entry; show(); $("#list input:not([type])").select(); }), action("Delete", () => { entries.splice(at, 1); show(); }));
  }));
};
$("#form").onsubmit = (event) => {
  event.preventDefault();
  const text = $("#new").value.trim();
  if (text) { entries.push({ text, done: false }); $("#new").value = ""; show(); }
};
$("#send").onclick = () => send({ entries: entries.map(({ text, done }) => [text, done]) });
show();
"##;

type Entries = Vec<(String, bool)>;

/// Entries that are wanted, the words for it, and the steps to it.
fn change(draw: &mut Draw, given: &Entries, new: &[String]) -> (Entries, String, Vec<String>) {
    let mut entries = given.clone();
    let mut solution = Vec::new();
    let order = draw.shuffled(&(0..given.len()).collect::<Vec<_>>());
    let name = |at: usize| given[order[at]].0.as_str();
    let add = |solution: &mut Vec<String>| {
        solution.extend([steps::fill("textbox", "New entry", &new[0]), steps::click("button", "Add")]);
    };
    let words = match draw.level {
        Level::One => {
            add(&mut solution);
            format!("Add the entry \"{}\"", new[0])
        }
        Level::Two | Level::Three => {
            let many = draw.level == Level::Three;
            add(&mut solution);
            for at in 0..if many { 2 } else { 1 } {
                entries[order[at]].1 = true;
                solution.push(steps::check("checkbox", name(at)));
            }
            let mut words = format!("Add the entry \"{}\", tick \"{}\"", new[0], name(0));
            if many {
                entries[order[3]].0.clone_from(&new[1]);
                solution.push(steps::click("button", &format!("Rename {}", name(3))));
                solution.push(steps::fill("textbox", &format!("New name of {}", name(3)), &new[1]));
                solution.push(steps::click("button", "Keep"));
                words = format!("{words} and \"{}\", rename \"{}\" to \"{}\"", name(1), name(3), new[1]);
            }
            solution.push(steps::click("button", &format!("Delete {}", name(2))));
            entries.retain(|(text, _)| text != name(2));
            format!("{words}, and delete \"{}\"", name(2))
        }
        Level::Four => {
            let done: Vec<String> = given.iter().filter(|entry| entry.1).map(|entry| entry.0.clone()).collect();
            solution.extend(done.iter().map(|text| steps::click("button", &format!("Delete {text}"))));
            entries.retain(|entry| !entry.1);
            // Entries are moved up, one place at a time.
            for end in 1..entries.len() {
                for at in (1..=end).rev() {
                    if entries[at - 1].0 > entries[at].0 {
                        solution.push(steps::click("button", &format!("Move {} up", entries[at].0)));
                        entries.swap(at - 1, at);
                    }
                }
            }
            add(&mut solution);
            let words =
                "Delete all entries that are ticked, bring the others into alphabetical order, and then add at the end";
            format!("{words} \"{}\"", new[0])
        }
    };
    entries.push((new[0].clone(), false));
    (entries, words, solution)
}

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([2, 4, 6, 7]);
    let things = draw.things(count + 2);
    let verbs = ["Buy the", "Clean the", "Mend the", "Paint the"];
    let texts: Vec<String> = things.iter().map(|thing| format!("{} {thing}", draw.pick(&verbs))).collect();
    let given: Entries = texts[..count]
        .iter()
        .enumerate()
        .map(|(at, text)| (text.clone(), draw.level == Level::Four && at % 3 == 1))
        .collect();
    let (entries, words, mut solution) = change(draw, &given, &texts[count..]);
    solution.push(steps::submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"entries": given}),
        solution,
        ..Task::new("To do", format!("{words}. Then submit."), Wanted::exactly(&json!({"entries": entries})))
    }
}
