//! A menu bar with menus in menus.

use serde_json::{Value, json};

use crate::steps::{click, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "menu-bar", about: "Gives commands by a menu bar with submenus.", draw };

const BODY: &str = r##"<ul role="menubar" aria-label="Commands" id="bar"></ul>
<div class="card" id="page"><p>Commands given:</p><ol id="log" aria-label="Commands given"></ol></div><button class="plain" id="clear">Start again</button> <button id="send">Submit</button>"##;
const STYLE: &str = "#bar,#bar ul{list-style:none;margin:0;padding:4px;border:1px solid var(--line);background:#fff;border-radius:6px}#bar{display:flex;gap:4px}#bar ul{position:absolute;z-index:2;min-width:11em;box-shadow:0 4px 12px #0003}#bar li{position:relative;padding:4px 10px;border-radius:4px;cursor:default;white-space:nowrap}#bar li:hover,#bar li:focus{background:#e4eefc}#bar>li>ul{top:100%;left:0}#bar ul ul{top:-5px;left:100%}#page{min-height:220px}";
const SCRIPT: &str = r##"
const log = [];
const bar = $("#bar");
const close = (root) => { for (const item of $$("[aria-expanded=true]", root)) { item.setAttribute("aria-expanded", "false"); $("ul", item).hidden = true; } };
const open = (item) => { close(item.parentElement); item.setAttribute("aria-expanded", "true"); $("ul", item).hidden = false; };
const show = () => $("#log").replaceChildren(...log.map((path) => el("li", {}, path.join(" › "))));
const use = (item) => { log.push(item.path); close(bar); show(); };
const build = ([name, children], above, top) => {
  const item = el("li", { role: "menuitem", tabindex: top ? 0 : -1, "aria-label": name, "aria-haspopup": children.length ? "menu" : null, "aria-expanded": children.length ? "false" : null }, name, children.length && !top ? " ▸" : null);
  item.path = [...above, name];
  if (children.length) item.append(el("ul", { role: "menu", "aria-label": name, hidden: true }, ...children.map((child) => build(child, item.path, false))));
  item.onclick = (event) => {
    event.stopPropagation();
    if (!children.length) use(item);
    else if (item.getAttribute("aria-expanded") === "true") close(item.parentElement);
    else open(item);
  };
  return item;
};
bar.append(...data.menus.map((menu) => build(menu, [], true)));
document.addEventListener("click", () => close(bar));
bar.addEventListener("keydown", (event) => {
  const item = event.target.closest("li"), list = item.parentElement, items = [...list.children];
  const top = list === bar, turn = (by) => items[(items.indexOf(item) + by + items.length) % items.length].focus();
  const into = () => { open(item); $("ul li", item).focus(); };
  const has = item.hasAttribute("aria-expanded");
  if (event.key === (top ? "ArrowRight" : "ArrowDown")) turn(1);
  else if (event.key === (top ? "ArrowLeft" : "ArrowUp")) turn(-1);
  else if (event.key === (top ? "ArrowDown" : "ArrowRight") && has) into();
  else if (event.key === "Enter" || event.key === " ") { if (has) into(); else use(item); }
  else if (event.key === "Escape" || (event.key === "ArrowLeft" && !top)) { const up = list.closest("li"); close(up ? up.parentElement : bar); up?.focus(); }
  else return;
  event.preventDefault();
});
$("#clear").onclick = () => { log.length = 0; show(); };
$("#send").onclick = () => send({ commands: log });
"##;

/// Menus, with what is in them.
fn menus() -> Value {
    json!([
        [
            "File",
            [
                ["New", []],
                ["Open", []],
                ["Export", [["Text", []], ["Image", []], ["Archive", [["Small", []], ["Large", []]]]]],
                ["Print", []],
                ["Share", []],
                ["Close", []]
            ]
        ],
        [
            "Edit",
            [
                ["Undo", []],
                ["Redo", []],
                ["Cut", []],
                ["Copy", []],
                ["Paste", [["Plain", []], ["Formatted", []]]],
                ["Find", []]
            ]
        ],
        [
            "View",
            [
                ["Zoom", [["In", []], ["Out", []], ["Fit", [["Width", []], ["Height", []]]]]],
                ["Rulers", []],
                ["Grid", []]
            ]
        ],
        [
            "Format",
            [
                ["Align", [["Left", []], ["Right", []], ["Centre", []]]],
                ["Case", [["Upper", []], ["Lower", []]]],
                ["Spacing", [["Single", []], ["Double", []]]]
            ]
        ],
    ])
}

/// Paths of all commands of so many parts.
fn paths(menus: &Value, above: &[String], length: usize, found: &mut Vec<Vec<String>>) {
    for menu in menus.as_array().into_iter().flatten() {
        let mut path = above.to_vec();
        path.push(menu[0].as_str().unwrap_or_default().to_owned());
        if menu[1].as_array().is_some_and(Vec::is_empty) && path.len() == length {
            found.push(path.clone());
        }
        paths(&menu[1], &path, length, found);
    }
}

fn draw(draw: &mut Draw) -> Task {
    let menus = menus();
    let lengths: &[usize] = draw.level.of([&[2], &[3], &[3, 2, 4], &[4, 3, 2, 3, 4]]);
    let mut commands: Vec<Vec<String>> = Vec::new();
    for length in lengths {
        let mut found = Vec::new();
        paths(&menus, &[], *length, &mut found);
        found.retain(|path| !commands.contains(path));
        commands.push(draw.pick(&found));
    }
    let mut solution = Vec::new();
    for command in &commands {
        solution.extend(command.iter().map(|name| click("menuitem", name)));
    }
    solution.push(submit());
    let joined: Vec<String> = commands.iter().map(|command| command.join(" › ")).collect();
    let words = match draw.level {
        Level::One | Level::Two => format!("Give the command {}", joined[0]),
        Level::Three => format!("Give these commands in this order: {}", listed(&joined)),
        Level::Four => {
            let turned: Vec<String> = joined.iter().rev().cloned().collect();
            format!("Give these commands, the last of them first and so on to the first of them: {}", listed(&turned))
        }
    };
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"menus": menus}),
        solution,
        ..Task::new(
            "Menus",
            format!("{words}. Give each once and no other. Then submit."),
            Wanted::exactly(&json!({"commands": commands})),
        )
    }
}
