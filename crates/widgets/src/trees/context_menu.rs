//! A list of notes, each with a menu that the right button of the mouse opens.

use serde_json::json;

use crate::steps::{click, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget, named};

pub(super) const WIDGET: Widget =
    Widget { name: "context-menu", about: "Opens the context menus of notes and gives commands there.", draw };

const BODY: &str = r##"<p class="soft">The right mouse button, or Shift+F10, opens the menu of a note.</p><ul id="notes" aria-label="Notes"></ul>
<ul role="menu" aria-label="Commands" id="menu" hidden></ul><button id="send">Submit</button>"##;
const STYLE: &str = "#notes{list-style:none;padding:0;border:1px solid var(--line);border-radius:8px}#notes button{display:flex;justify-content:space-between;width:100%;background:#fff;color:var(--ink);border:0;border-bottom:1px solid var(--line);border-radius:0;text-align:left}#menu{position:fixed;list-style:none;margin:0;padding:4px;background:#fff;border:1px solid var(--line);border-radius:6px;box-shadow:0 4px 12px #0003;min-width:10em}#menu li{padding:4px 10px;border-radius:4px;cursor:default}#menu li:hover,#menu li:focus{background:#e4eefc}";
const SCRIPT: &str = r##"
let notes = data.notes.map((name) => ({ name, pinned: false, done: false }));
const menu = $("#menu");
let from = null;
const close = () => { menu.hidden = true; };
const commands = {
  "Move to top": (note) => { notes = [note, ...notes.filter((one) => one !== note)]; },
  "Move to bottom": (note) => { notes = [...notes.filter((one) => one !== note), note]; },
  "Pin": (note) => { note.pinned = !note.pinned; },
  "Mark as done": (note) => { note.done = !note.done; },
  "Delete": (note) => { notes = notes.filter((one) => one !== note); },
};
const open = (note, button, x, y) => {
  from = button;
  menu.replaceChildren(...Object.entries(commands).map(([name, act]) => el("li", { role: "menuitem", tabindex: -1, onclick: () => { act(note); close(); show(); } }, name)));
  menu.style.left = `${x}px`;
  menu.style.top = `${y}px`;
  menu.hidden = false;
  const over = menu.getBoundingClientRect().bottom - innerHeight + 8;
  if (over > 0) menu.style.top = `${Math.max(0, y - over)}px`;
  $("li", menu).focus();
};
const show = () => $("#notes").replaceChildren(...notes.map((note) => {
  const button = el("button", { "aria-haspopup": "menu", "aria-label": note.name }, el("span", {}, note.name), el("span", { class: "soft" }, `${note.pinned ? "pinned " : ""}${note.done ? "done" : ""}`));
  button.addEventListener("contextmenu", (event) => { event.preventDefault(); open(note, button, event.clientX, event.clientY); });
  button.addEventListener("keydown", (event) => {
    if ((event.key === "F10" && event.shiftKey) || event.key === "ContextMenu") { event.preventDefault(); const place = button.getBoundingClientRect(); open(note, button, place.left + 20, place.bottom); }
  });
  return el("li", {}, button);
}));
menu.addEventListener("keydown", (event) => {
  const items = $$("li", menu), at = items.indexOf(document.activeElement);
  if (event.key === "ArrowDown") items[(at + 1) % items.length].focus();
  else if (event.key === "ArrowUp") items[(at + items.length - 1) % items.length].focus();
  else if (event.key === "Enter" || event.key === " ") items[at]?.click();
  else if (event.key === "Escape") { close(); from.focus(); }
  else return;
  event.preventDefault();
});
document.addEventListener("click", (event) => { if (!menu.contains(event.target)) close(); });
$("#send").onclick = () => send({ notes });
show();
"##;

#[derive(Clone, PartialEq)]
struct Note {
    name: String,
    pinned: bool,
    done: bool,
}

const COMMANDS: [&str; 5] = ["Delete", "Pin", "Mark as done", "Move to top", "Move to bottom"];

fn obey(notes: &mut Vec<Note>, name: &str, command: &str) {
    let Some(at) = notes.iter().position(|note| note.name == name) else { return };
    match command {
        "Pin" => notes[at].pinned = true,
        "Mark as done" => notes[at].done = true,
        _ => {
            let note = notes.remove(at);
            match command {
                "Move to top" => notes.insert(0, note),
                "Move to bottom" => notes.push(note),
                _ => {}
            }
        }
    }
}

fn draw(draw: &mut Draw) -> Task {
    let names = draw.goods(draw.level.of([4, 6, 8, 10]));
    let mut notes: Vec<Note> =
        names.iter().map(|name| Note { name: name.clone(), pinned: false, done: false }).collect();
    let inner = &names[1..names.len() - 1];
    let commands: Vec<(String, &str)> = match draw.level {
        Level::One => vec![(draw.pick(inner), "Delete")],
        Level::Two => draw.some(2, inner).into_iter().zip(draw.some(2, &COMMANDS)).collect(),
        Level::Three => draw.some(4, inner).into_iter().zip(draw.some(4, &COMMANDS)).collect(),
        // Every third note, and what is last after that.
        Level::Four => {
            let mut commands: Vec<(String, &str)> =
                names.iter().skip(2).step_by(3).map(|name| (name.clone(), "Delete")).collect();
            commands.push((names[9].clone(), "Move to top"));
            commands.push((names[7].clone(), "Pin"));
            commands.push((names[0].clone(), "Mark as done"));
            commands
        }
    };
    let words = match draw.level {
        Level::Four => "Delete every third note (the third, the sixth and so on, counted before anything is deleted). Then move what is last to the top; then pin the note that is last now, and mark the second note as done".to_owned(),
        _ => {
            let words: Vec<String> = commands.iter().map(|(name, command)| format!("“{command}” for {name}")).collect();
            format!("Give the command {}{}", listed(&words), if words.len() > 1 { ", in this order" } else { "" })
        }
    };
    let mut solution = Vec::new();
    for (name, command) in &commands {
        obey(&mut notes, name, command);
        solution.push(format!("click({}, 'right')", named("button", name)));
        solution.push(click("menuitem", command));
    }
    solution.push(submit());
    let after: Vec<_> =
        notes.iter().map(|note| json!({"name": note.name, "pinned": note.pinned, "done": note.done})).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"notes": names}),
        solution,
        ..Task::new("Notes", format!("{words}. Then submit."), Wanted::exactly(&json!({"notes": after})))
    }
}
