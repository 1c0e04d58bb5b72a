//! Projects that are deleted and archived, each time with a dialog that asks first.

use serde_json::json;

use crate::steps::{check, click, fill, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget {
    name: "delete-dialog",
    about: "Confirms what is deleted in a dialog, by typing its name where it is asked for.",
    draw,
};

const BODY: &str = r##"<ul id="list"></ul><dialog id="ask" aria-labelledby="title"><h2 id="title"></h2><p id="words"></p>
<label id="typed">Type the name of the project <input id="name" autocomplete="off"></label><label id="hold"><input type="checkbox" id="copy"> Keep a copy</label>
<div class="row"><button class="plain" id="no">Cancel</button><button id="yes">Delete</button></div></dialog><button id="send">Submit</button>"##;
const STYLE: &str = "#list{list-style:none;padding:0}#list li{display:flex;justify-content:space-between;align-items:center;border-bottom:1px solid var(--line);padding:6px}dialog{border:1px solid var(--line);border-radius:10px;padding:20px;max-width:420px}dialog::backdrop{background:#0006}dialog h2{margin:0;font-size:1.1rem}";
const SCRIPT: &str = r##"
let projects = [...data.projects];
const copies = [];
let asked = null;
const dialog = $("#ask");
const show = () => $("#list").replaceChildren(...projects.map((name) => el("li", {}, el("span", {}, name), el("button", { class: "plain", "aria-label": `Delete ${name}`, onclick: () => ask(name) }, "Delete"))));
const ready = () => { $("#yes").disabled = data.typed && $("#name").value !== asked; };
const ask = (name) => {
  asked = name;
  $("#title").textContent = `Delete ${name}?`;
  $("#words").textContent = "The project and everything in it will be gone.";
  $("#name").value = "";
  $("#copy").checked = false;
  ready();
  dialog.showModal();
};
$("#typed").hidden = !data.typed;
$("#hold").hidden = !data.copies;
$("#name").addEventListener("input", ready);
$("#no").onclick = () => dialog.close();
$("#yes").onclick = () => {
  projects = projects.filter((name) => name !== asked);
  if ($("#copy").checked) copies.push(asked);
  dialog.close();
  show();
};
$("#send").onclick = () => send({ projects, copies });
show();
"##;

fn first_word(name: &str) -> String {
    name.split(' ').next().unwrap_or_default().to_owned()
}

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([3, 5, 7, 9]);
    let projects: Vec<String> = match draw.level {
        Level::One | Level::Two => draw.things(count).into_iter().map(str::to_owned).collect(),
        _ => draw.goods(count),
    };
    let mut chosen = draw.some(draw.level.of([1, 2, 2, 3]), &projects);
    let copied = draw.level > Level::Two;
    let (colour, copies) = (first_word(&chosen[0]), chosen[0].clone());
    if draw.level == Level::Four {
        // By a rule, which the one whose copy is kept fits too.
        chosen = projects.iter().filter(|name| first_word(name) == colour || name.len() < 9).cloned().collect();
    }
    let mut solution = Vec::new();
    for name in &chosen {
        solution.push(click("button", &format!("Delete {name}")));
        if draw.level > Level::Two {
            solution.push(fill("textbox", "Type the name of the project", name));
        }
        if copied && *name == copies {
            solution.push(check("checkbox", "Keep a copy"));
        }
        solution.push(click("button", "Delete"));
    }
    solution.push(submit());
    let words = match draw.level {
        Level::One | Level::Two => format!("Delete {}", listed(&chosen)),
        Level::Three => format!("Delete {}, and keep a copy of {} only", listed(&chosen), copies),
        Level::Four => format!(
            "Delete every project whose name begins with “{colour}” or has fewer than 9 characters with its space, and keep a copy of {copies} only"
        ),
    };
    let left: Vec<&String> = projects.iter().filter(|name| !chosen.contains(name)).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"projects": projects, "typed": draw.level > Level::Two, "copies": copied}),
        solution,
        ..Task::new(
            "Projects",
            format!("{words}. Then submit."),
            Wanted::Fields(vec![
                ("projects".to_owned(), Wanted::Is(json!(left))),
                ("copies".to_owned(), Wanted::Set(if copied { vec![json!(copies)] } else { vec![] })),
            ]),
        )
    }
}
