//! A list whose items are dragged into an order.

use serde_json::json;

use crate::steps::{drag, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "reorder-list", about: "Drags the items of a list into an order.", draw };

const BODY: &str = r##"<p class="soft">Drag an item onto the place of another, or move it with Alt and the arrow keys.</p><ol id="list" aria-label="Stops"></ol><button id="send">Submit</button>"##;
const STYLE: &str = "#list li{padding:5px 10px;margin:4px 0;border:1px solid var(--line);border-radius:6px;background:var(--fill);cursor:grab}#list .over{border-color:var(--accent);background:#e4eefc}";
const SCRIPT: &str = r##"
let items = [...data.items];
let dragged = null;
const move = (name, to) => {
  items = items.filter((one) => one !== name);
  items.splice(to, 0, name);
  show();
};
const show = () => $("#list").replaceChildren(...items.map((name, at) => {
  const item = el("li", { draggable: "true", tabindex: 0, "aria-label": name, "aria-keyshortcuts": "Alt+ArrowUp Alt+ArrowDown" }, name);
  item.addEventListener("dragstart", (event) => { dragged = name; event.dataTransfer.setData("text/plain", name); event.dataTransfer.effectAllowed = "move"; });
  item.addEventListener("dragover", (event) => { event.preventDefault(); item.className = "over"; });
  item.addEventListener("dragleave", () => { item.className = ""; });
  item.addEventListener("drop", (event) => { event.preventDefault(); if (dragged !== null) move(dragged, at); dragged = null; });
  item.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(items.length - 1, at + by));
    if (event.altKey) move(name, to);
    $$("#list li")[to].focus();
  });
  return item;
}));
$("#send").onclick = () => send({ order: items });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([4, 5, 7, 8]);
    let names: Vec<String> = match draw.level {
        Level::Four => draw
            .goods(count)
            .iter()
            .zip(draw.numbers(count, 12..=99))
            .map(|(good, price)| format!("{good}, {price} each"))
            .collect(),
        Level::Three => draw.goods(count),
        _ => draw.things(count).into_iter().map(str::to_owned).collect(),
    };
    let mut wanted = names.clone();
    let words = match draw.level {
        Level::One => {
            let first = wanted.remove(1 + draw.place(count - 1));
            wanted.insert(0, first.clone());
            format!("Move {first} to the top of the list, and leave the others in their order")
        }
        Level::Two => {
            let (from, to) = (draw.place(2), 3 + draw.place(2));
            let name = wanted.remove(from);
            wanted.insert(to, name);
            let last = wanted.remove(2);
            wanted.insert(0, last);
            format!("Put the list in this order: {}", listed(&wanted))
        }
        Level::Three => {
            wanted.sort_unstable();
            "Put the list in alphabetical order".to_owned()
        }
        Level::Four => {
            let price =
                |name: &str| name.split(", ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<i64>().ok());
            wanted.sort_by_key(|name| std::cmp::Reverse(price(name)));
            // The two dearest come last.
            wanted.rotate_left(2);
            "Put the list in order from the dearest to the cheapest, but with the two dearest at the end, the dearest of all before the other".to_owned()
        }
    };
    let (mut now, mut solution) = (names, Vec::new());
    if now == wanted {
        // In order already: turned about, it is not.
        now.reverse();
    }
    let items = now.clone();
    for at in 0..count {
        if now[at] != wanted[at] {
            solution.push(drag(("listitem", &wanted[at]), ("listitem", &now[at])));
            now.retain(|name| *name != wanted[at]);
            now.insert(at, wanted[at].clone());
        }
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"items": items}),
        solution,
        ..Task::new("Order", format!("{words}. Then submit."), Wanted::exactly(&json!({"order": wanted})))
    }
}
