//! A list that loads more of itself whenever its end is reached.

use serde_json::json;

use super::{boxed, labels, wheel};
use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "infinite-list", about: "Chooses things of a list that loads as it is scrolled.", draw };

/// Things that are loaded at once.
const BATCH: usize = 12;
const CONTROLS: &str = r##"<span id="count" role="status"></span><button id="send">Submit</button>"##;
const INNER: &str = r##"<ul id="list" style="list-style:none;margin:0;padding:0"></ul><p id="loading" style="margin:8px">More is loaded when you come here.</p>"##;
const SCRIPT: &str = r##"
const chosen = new Set();
const BATCH = 12;
let shown = 0;
let loading = false;
const count = () => { $("#count").textContent = `Chosen: ${chosen.size}`; };
const row = (name) => {
  const button = el("button", { class: "plain", "aria-label": `Choose ${name}`, "aria-pressed": "false", onclick: () => {
    if (chosen.has(name)) chosen.delete(name); else chosen.add(name);
    button.setAttribute("aria-pressed", String(chosen.has(name)));
    button.textContent = chosen.has(name) ? "Chosen" : "Choose";
    count();
  } }, "Choose");
  return el("li", {}, el("span", {}, name), button);
};
const load = () => {
  $("#list").append(...data.things.slice(shown, shown + BATCH).map(row));
  shown = Math.min(data.things.length, shown + BATCH);
  loading = false;
  if (shown === data.things.length) $("#loading").textContent = "This is the end of the list.";
};
$("#box").onscroll = () => {
  const box = $("#box");
  if (loading || shown === data.things.length || box.scrollTop + box.clientHeight < box.scrollHeight - 40) return;
  loading = true;
  setTimeout(load, 200);
};
$("#send").onclick = () => send({ chosen: [...chosen] });
load(); count();
"##;

fn draw(draw: &mut Draw) -> Task {
    let total = BATCH * draw.level.of([3, 5, 8, 10]);
    let things = labels(draw, total);
    let batches: Vec<usize> = match draw.level {
        Level::One => vec![1],
        Level::Two => vec![3],
        Level::Three => vec![2, 6],
        Level::Four => vec![3, 5, 8],
    };
    let mut solution = Vec::new();
    let mut loaded = 0;
    let mut chosen = Vec::new();
    for batch in batches {
        let thing = &things[batch * BATCH + draw.place(BATCH)];
        solution.extend((loaded..batch).map(|_| wheel(9_000)));
        loaded = batch;
        solution.push(steps::click("button", &format!("Choose {thing}")));
        chosen.push(thing.clone());
    }
    solution.push(steps::submit());
    // At the last level, one more that stands at the very end.
    let mut words = format!("Choose {}", draw.shuffled(&chosen).join(", "));
    if draw.level == Level::Four {
        let last = &things[total - 1];
        words.push_str(", and the very last thing of the list");
        let at = solution.len() - 1;
        let mut end: Vec<String> = (loaded..total / BATCH).map(|_| wheel(9_000)).collect();
        end.push(steps::click("button", &format!("Choose {last}")));
        solution.splice(at..at, end);
        chosen.push(last.clone());
    }
    Task {
        body: boxed("Things", CONTROLS, INNER),
        style: "#list li{display:flex;justify-content:space-between;align-items:center;height:44px;padding:0 12px;border-bottom:1px solid var(--line)}",
        script: SCRIPT,
        data: json!({"things": things}),
        solution,
        ..Task::new(
            "Long list",
            format!("{words}, and submit. The list loads more when you scroll to its end."),
            Wanted::field("chosen", Wanted::Set(chosen.into_iter().map(Into::into).collect())),
        )
    }
}
