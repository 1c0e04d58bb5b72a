//! Things that are dragged into boxes by their kind.

use serde_json::{Map, Value, json};

use crate::steps::{drag, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "sort-bins", about: "Drags things into the boxes of their kinds.", draw };

const BODY: &str = r##"<p class="soft">Drag a thing into a box. With the keyboard: Enter takes a thing, and puts it into the box that has the focus.</p><div id="things" class="row"></div><div id="bins"></div><button id="send">Submit</button>"##;
const STYLE: &str = "#things{min-height:96px;align-content:flex-start}.thing{background:#fff;color:var(--ink);border-color:var(--line);touch-action:none;cursor:grab}.thing[aria-pressed=true]{border-color:var(--accent);background:#e4eefc}.thing.held{position:fixed;z-index:3;pointer-events:none}#bins{display:grid;grid-auto-flow:column;grid-auto-columns:1fr;gap:10px;margin:12px 0}.bin{min-height:190px;border:2px dashed #7d8896;border-radius:8px;padding:8px}.bin h2{font-size:1rem;margin:0 0 6px}";
const SCRIPT: &str = r##"
let held = null;
const put = (thing, to) => { to.append(thing); thing.setAttribute("aria-pressed", "false"); held = null; };
for (const name of data.things) {
  const thing = el("button", { class: "thing", "aria-pressed": "false", "aria-label": name }, name);
  let offset = null;
  thing.addEventListener("pointerdown", (event) => {
    const place = thing.getBoundingClientRect();
    offset = [event.clientX - place.left, event.clientY - place.top];
    thing.setPointerCapture(event.pointerId);
  });
  thing.addEventListener("pointermove", (event) => {
    if (!offset) return;
    thing.classList.add("held");
    thing.style.left = `${event.clientX - offset[0]}px`;
    thing.style.top = `${event.clientY - offset[1]}px`;
  });
  const end = (event) => {
    if (!offset) return;
    offset = null;
    const over = document.elementFromPoint(event.clientX, event.clientY)?.closest(".bin, #things");
    thing.classList.remove("held");
    thing.style.left = thing.style.top = "";
    if (over && !over.contains(thing)) put(thing, over);
  };
  thing.addEventListener("pointerup", end);
  thing.addEventListener("pointercancel", end);
  thing.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    held?.setAttribute("aria-pressed", "false");
    held = held === thing ? null : thing;
    held?.setAttribute("aria-pressed", "true");
  });
  $("#things").append(thing);
}
for (const name of data.bins) {
  const bin = el("div", { class: "bin", role: "group", "aria-label": name, tabindex: 0 }, el("h2", {}, name));
  bin.addEventListener("keydown", (event) => { if (event.key === "Enter" && held) { put(held, bin); bin.focus(); } });
  $("#bins").append(bin);
}
$("#send").onclick = () => send({ bins: Object.fromEntries($$(".bin").flatMap((bin) => $$(".thing", bin).map((thing) => [thing.textContent, bin.getAttribute("aria-label")]))) });
"##;

const KINDS: [(&str, [&str; 8]); 4] = [
    ("Animals", ["otter", "heron", "badger", "trout", "hare", "toad", "moth", "lynx"]),
    ("Fruit", ["plum", "pear", "cherry", "lemon", "apricot", "melon", "quince", "grape"]),
    ("Tools", ["saw", "chisel", "wrench", "pliers", "spade", "drill", "rasp", "hammer"]),
    ("Clothes", ["scarf", "glove", "boot", "jacket", "sock", "apron", "shirt", "belt"]),
];

fn draw(draw: &mut Draw) -> Task {
    let kinds = draw.some(draw.level.of([2, 2, 4, 4]), &KINDS);
    let mut things: Vec<(String, &str)> = Vec::new();
    let (mut bins, mut words): (Vec<&str>, &str) =
        (kinds.iter().map(|kind| kind.0).collect(), "Drag every thing into the box of its kind");
    match draw.level {
        Level::One => {
            let kind = draw.pick(&kinds);
            things.push((draw.pick(&kind.1).to_owned(), kind.0));
        }
        Level::Two | Level::Three => {
            for (name, all) in &kinds {
                let some = draw.some(draw.level.of([0, 2, 2, 0]), all);
                things.extend(some.iter().map(|thing| ((*thing).to_owned(), *name)));
            }
        }
        Level::Four => {
            bins = vec!["Only by 3", "Only by 4", "By 3 and 4", "By neither"];
            words = "Drag every number into the box that fits it: can it be divided without rest only by 3 (not by 4), only by 4, by both, or by neither? Do so with all of them";
            let all = [draw.numbers(7, 13..=99), vec![draw.number(2..=8) * 12, draw.number(2..=5) * 12 + 3]].concat();
            for number in all {
                let bin = match (number % 3, number % 4) {
                    (0, 0) => bins[2],
                    (0, _) => bins[0],
                    (_, 0) => bins[1],
                    _ => bins[3],
                };
                if things.iter().all(|(thing, _)| *thing != number.to_string()) {
                    things.push((number.to_string(), bin));
                }
            }
        }
    }
    let things = draw.shuffled(&things);
    let mut solution: Vec<String> = things.iter().map(|(thing, bin)| drag(("button", thing), ("group", bin))).collect();
    solution.push(submit());
    let wanted: Map<String, Value> = things.iter().map(|(thing, bin)| (thing.clone(), json!(bin))).collect();
    let names: Vec<&String> = things.iter().map(|(thing, _)| thing).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"things": names, "bins": bins}),
        solution,
        ..Task::new("Boxes", format!("{words}, and submit."), Wanted::exactly(&json!({"bins": wanted})))
    }
}
