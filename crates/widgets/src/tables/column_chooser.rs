//! A table whose columns are hidden, shown and moved.

use serde_json::json;

use crate::steps::{click, set, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "column-chooser", about: "Hides, shows and moves the columns of a table.", draw };

const BODY: &str = r##"<fieldset class="card"><legend>Columns</legend><ul id="columns"></ul></fieldset>
<div id="wide"><table><thead><tr></tr></thead><tbody></tbody></table></div><p><button id="send">Submit</button></p>"##;
const STYLE: &str = "#columns{list-style:none;margin:0;padding:0;display:grid;grid-template-columns:1fr 1fr;gap:2px 24px}#columns li{display:flex;gap:4px;align-items:center}#columns label{flex:1;margin:0}#columns button{padding:0 8px}#wide{overflow-x:auto}";
const SCRIPT: &str = r##"
let columns = data.columns.map(([name, shown]) => ({ name, shown }));
const move = (at, by) => { [columns[at], columns[at + by]] = [columns[at + by], columns[at]]; show(); ($$("#columns li")[at + by].querySelector(`button[aria-label$="${by < 0 ? "up" : "down"}"]:enabled`) ?? $$("#columns li")[at + by].querySelector("button:enabled")).focus(); };
const show = () => {
  $("#columns").replaceChildren(...columns.map((column, at) => el("li", {},
    el("label", {}, el("input", { type: "checkbox", checked: column.shown, onchange: (event) => { column.shown = event.target.checked; table(); } }), ` ${column.name}`),
    el("button", { class: "plain", "aria-label": `Move ${column.name} up`, disabled: at === 0, onclick: () => move(at, -1) }, "↑"),
    el("button", { class: "plain", "aria-label": `Move ${column.name} down`, disabled: at === columns.length - 1, onclick: () => move(at, 1) }, "↓"))));
  table();
};
const table = () => {
  const shown = columns.filter((column) => column.shown);
  $("thead tr").replaceChildren(...shown.map((column) => el("th", { scope: "col" }, column.name)));
  $("tbody").replaceChildren(...[0, 1, 2].map((row) => el("tr", {}, ...shown.map((column) => el("td", {}, `${column.name[0]}${row + 1}`)))));
};
$("#send").onclick = () => send({ columns: columns.filter((column) => column.shown).map((column) => column.name) });
show();
"##;

const COLUMNS: [&str; 8] = ["Name", "Town", "Phone", "Email", "Age", "Team", "Role", "Start"];

/// Clicks that bring columns, which start in this order, into another.
fn moves(order: &[&str], wanted: &[&str]) -> Vec<String> {
    let mut order = order.to_vec();
    let mut clicks = Vec::new();
    for (to, name) in wanted.iter().enumerate() {
        let from = order.iter().position(|column| column == name).unwrap_or(to);
        clicks.extend(vec![click("button", &format!("Move {name} up")); from.saturating_sub(to)]);
        let column = order.remove(from);
        order.insert(to, column);
    }
    clicks
}

fn draw(draw: &mut Draw) -> Task {
    let columns = draw.some(draw.level.of([4, 6, 6, 8]), &COLUMNS);
    let mut shown: Vec<bool> = columns.iter().map(|_| draw.level == Level::One || draw.once_in(2)).collect();
    let place = draw.place(columns.len() - 1) + 1;
    // What stands at first is never what is wanted: one column that is wanted is hidden.
    shown[place] = draw.level == Level::One;
    let mut wanted: Vec<&str> = match draw.level {
        Level::One => columns.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, name)| *name).collect(),
        _ => (0..columns.len()).filter(|&at| at == 0 || at == place || draw.once_in(2)).map(|at| columns[at]).collect(),
    };
    let words = match draw.level {
        Level::One => format!("Hide the column {}", columns[place]),
        Level::Two => format!(
            "Show exactly these columns: {}. Keep the order that the columns have",
            listed(&draw.shuffled(&wanted))
        ),
        Level::Three => {
            let name = columns[place];
            wanted.retain(|column| *column != name);
            wanted.insert(0, name);
            format!(
                "Show exactly the columns {}, with {name} before all others, and those in the order that they have",
                listed(&draw.shuffled(&wanted))
            )
        }
        Level::Four => {
            while wanted.len() < 4 {
                let left: Vec<&str> = columns.iter().copied().filter(|name| !wanted.contains(name)).collect();
                wanted.push(draw.pick(&left));
            }
            wanted.sort_unstable();
            if draw.once_in(2) {
                wanted.reverse();
                format!("Show exactly the columns {}, in reverse alphabetical order", listed(&draw.shuffled(&wanted)))
            } else {
                format!("Show exactly the columns {}, in alphabetical order", listed(&draw.shuffled(&wanted)))
            }
        }
    };
    let changed = columns.iter().zip(&shown).filter(|(name, shown)| wanted.contains(*name) != **shown);
    let mut solution: Vec<String> = changed.map(|(name, shown)| set(name, !shown)).collect();
    if draw.level > Level::Two {
        solution.extend(moves(&columns, &wanted));
    }
    solution.push(submit());
    let data: Vec<_> = columns.iter().zip(&shown).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"columns": data}),
        solution,
        ..Task::new("Columns", format!("{words}. Then submit."), Wanted::exactly(&json!({"columns": wanted})))
    }
}
