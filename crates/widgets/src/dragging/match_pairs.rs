//! Two columns, whose entries are joined by lines that are drawn with the mouse.

use serde_json::{Map, Value, json};

use crate::steps::{drag, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget {
    name: "match-pairs",
    about: "Draws lines from the entries of one column to those of another that belong to them.",
    draw,
};

const BODY: &str = r##"<p class="soft">Draw a line with the mouse, or press Enter on an entry at the left and then on one at the right. A new line from an entry takes the place of the old one.</p>
<div id="field"><svg aria-hidden="true"></svg><div id="left" role="group" aria-label="Left"></div><div id="right" role="group" aria-label="Right"></div></div><p id="told" role="status">No lines</p><button id="send">Submit</button>"##;
const STYLE: &str = "#field{position:relative;display:flex;justify-content:space-between}#field svg{position:absolute;inset:0;width:100%;height:100%;pointer-events:none}#field svg line{stroke:var(--accent);stroke-width:3}#left,#right{display:grid;gap:8px;width:200px}#field button{background:var(--fill);color:var(--ink);border-color:var(--line);touch-action:none;user-select:none}#field button[aria-pressed=true]{border-color:var(--accent);background:#e4eefc}";
const SCRIPT: &str = r##"
const pairs = {};
let from = null;
const side = (id, names) => names.map((name) => { const button = el("button", { "aria-pressed": "false" }, name); $(id).append(button); return button; });
const left = side("#left", data.left), right = side("#right", data.right);
const show = () => {
  for (const button of left) button.setAttribute("aria-pressed", String(button.textContent === from));
  const field = $("#field").getBoundingClientRect();
  $("svg").replaceChildren(...Object.entries(pairs).map(([one, two]) => {
    const a = left[data.left.indexOf(one)].getBoundingClientRect(), b = right[data.right.indexOf(two)].getBoundingClientRect();
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [name, value] of Object.entries({ x1: a.right - field.left, y1: a.top + a.height / 2 - field.top, x2: b.left - field.left, y2: b.top + b.height / 2 - field.top })) line.setAttribute(name, value);
    return line;
  }));
  $("#told").textContent = Object.entries(pairs).map(([one, two]) => `${one} to ${two}`).join(", ") || "No lines";
};
const take = (button) => {
  if (left.includes(button)) from = button.textContent;
  else if (right.includes(button) && from !== null) { pairs[from] = button.textContent; from = null; }
  show();
};
document.addEventListener("pointerdown", (event) => { if (left.includes(event.target)) take(event.target); });
document.addEventListener("pointerup", (event) => { const over = document.elementFromPoint(event.clientX, event.clientY); if (right.includes(over)) take(over); });
$("#field").addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); take(event.target); } });
$("#send").onclick = () => send({ pairs });
show();
"##;

const WORDS: [(&str, &str); 12] = [
    ("three", "3"),
    ("eight", "8"),
    ("eleven", "11"),
    ("twelve", "12"),
    ("thirteen", "13"),
    ("fifteen", "15"),
    ("thirty", "30"),
    ("fifty", "50"),
    ("eighty", "80"),
    ("eighteen", "18"),
    ("twenty", "20"),
    ("ninety", "90"),
];
const OPPOSITES: [(&str, &str); 12] = [
    ("hot", "cold"),
    ("early", "late"),
    ("deep", "shallow"),
    ("rough", "smooth"),
    ("full", "empty"),
    ("brave", "cowardly"),
    ("wide", "narrow"),
    ("cheap", "dear"),
    ("bright", "dim"),
    ("tight", "loose"),
    ("wet", "dry"),
    ("noisy", "quiet"),
];

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([2, 4, 6, 6]);
    let (pairs, others, words): (Vec<(String, String)>, Vec<String>, &str) = match draw.level {
        Level::One | Level::Two => {
            let some = draw.some(count, &WORDS);
            let pairs = some.iter().map(|(one, two)| ((*one).to_owned(), (*two).to_owned())).collect();
            (pairs, vec![], "Draw a line from each word to its number")
        }
        Level::Three => {
            let some = draw.some(count + 2, &OPPOSITES);
            let pairs = some.iter().take(count).map(|(one, two)| ((*one).to_owned(), (*two).to_owned())).collect();
            let others = some[count..].iter().map(|(_, two)| (*two).to_owned()).collect();
            (
                pairs,
                others,
                "Draw a line from each word at the left to its opposite; two words at the right stay without a line",
            )
        }
        Level::Four => {
            let results = draw.numbers(count + 3, 21..=60);
            let pairs = results.iter().take(count).map(|result| {
                let part = draw.number(3..=17);
                let sum = if draw.once_in(2) {
                    format!("{} + {part}", result - part)
                } else {
                    format!("{} − {part}", result + part)
                };
                (sum, result.to_string())
            });
            let pairs = pairs.collect();
            let others = results[count..].iter().map(ToString::to_string).collect();
            (pairs, others, "Draw a line from each sum to its result; three numbers stay without a line")
        }
    };
    let left: Vec<&String> = pairs.iter().map(|(one, _)| one).collect();
    let right: Vec<&String> = pairs.iter().map(|(_, two)| two).chain(&others).collect();
    let right = draw.shuffled(&right);
    let mut solution: Vec<String> = pairs.iter().map(|(one, two)| drag(("button", one), ("button", two))).collect();
    solution.push(submit());
    let wanted: Map<String, Value> = pairs.iter().map(|(one, two)| (one.clone(), json!(two))).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"left": left, "right": right}),
        solution,
        ..Task::new("Pairs", format!("{words}. Then submit."), Wanted::exactly(&json!({"pairs": wanted})))
    }
}
