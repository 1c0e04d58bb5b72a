//! A shop whose shelves are left by the trail of links above them.

use serde_json::json;

use crate::steps::{click, submit};
use crate::words::listed;
use crate::{Draw, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget {
    name: "breadcrumb",
    about: "Goes up by a trail of links and down by shelves, and marks some of them.",
    draw,
};

const BODY: &str = r##"<nav aria-label="Trail" id="trail"></nav>
<div class="card"><h2 id="here"></h2><ul id="below"></ul><button class="plain" id="mark"></button></div>
<p>Marked: <output id="marked">nothing</output></p><button id="send">Submit</button>"##;
const STYLE: &str = "h2{font-size:1.1rem;margin:0}#trail{padding:4px 0}#trail a+a::before,#trail a+span::before{content:'› ' / '';color:var(--soft)}#trail>*{margin-right:8px}";
const SCRIPT: &str = r##"
let path = [...data.start];
const marked = [];
const link = (name, to) => el("a", { href: `#${to.join("/")}`, onclick: (event) => { event.preventDefault(); path = to; show(); } }, name);
const show = () => {
  const parts = ["Shop", ...path];
  $("#trail").replaceChildren(...parts.map((name, at) => (at === path.length ? el("span", { "aria-current": "page" }, name) : link(name, path.slice(0, at)))));
  $("#here").textContent = parts.at(-1);
  $("#below").replaceChildren(...(data.shelves[path.length] ?? []).map((name) => el("li", {}, link(name, [...path, name]))));
  const on = marked.some((one) => one.join("/") === path.join("/"));
  $("#mark").textContent = on ? "Unmark this shelf" : "Mark this shelf";
  $("#mark").onclick = () => {
    if (on) marked.splice(marked.findIndex((one) => one.join("/") === path.join("/")), 1); else marked.push(path);
    show();
  };
  $("#marked").textContent = marked.map((one) => ["Shop", ...one].join(" › ")).join("; ") || "nothing";
};
$("#send").onclick = () => send({ marked });
show();
"##;

const SHELVES: [[&str; 4]; 4] = [
    ["Kitchen", "Garden", "Office", "Bath"],
    ["Wood", "Steel", "Glass", "Paper"],
    ["Small", "Medium", "Large", "Huge"],
    ["New", "Used", "Repaired", "On sale"],
];

fn draw(draw: &mut Draw) -> Task {
    let depth: usize = draw.level.of([2, 3, 3, 4]);
    let shelves: Vec<Vec<&str>> = SHELVES.iter().take(depth).map(|names| draw.shuffled(names)).collect();
    let start: Vec<&str> = shelves.iter().map(|names| names[0]).collect();
    // So many levels up for each shelf that is marked, and then down to another.
    let ups: &[(usize, usize)] = draw.level.of([&[(1, 0)], &[(2, 1)], &[(2, 2), (3, 3)], &[(3, 2), (2, 3), (4, 4)]]);
    let (mut path, mut marked, mut solution) = (start.clone(), Vec::new(), Vec::new());
    for (at, (up, down)) in ups.iter().enumerate() {
        path.truncate(depth.min(path.len()).saturating_sub(*up));
        solution.push(click("link", path.last().copied().unwrap_or("Shop")));
        for _ in 0..*down {
            if let Some(names) = shelves.get(path.len()) {
                // Shelves other than those of the start, and other ones each time.
                let name = names[at % 3 + 1];
                path.push(name);
                solution.push(click("link", name));
            }
        }
        solution.push(click("button", "Mark this shelf"));
        marked.push(path.clone());
    }
    solution.push(submit());
    let words: Vec<String> = marked.iter().map(|path| format!("Shop › {}", path.join(" › "))).collect();
    let order = if marked.len() > 1 { " in this order" } else { "" };
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"start": start, "shelves": shelves}),
        solution,
        ..Task::new(
            "Shop",
            format!("Mark{order} {}, and submit.", listed(&words)),
            Wanted::exactly(&json!({"marked": marked})),
        )
    }
}
