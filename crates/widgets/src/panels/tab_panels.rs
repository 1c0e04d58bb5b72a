//! A form on several tabs.

use serde_json::{Map, Value, json};

use crate::steps::{click, fill, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "tab-panels", about: "Fills in fields that lie on several tabs.", draw };

const BODY: &str = r##"<div role="tablist" aria-label="Customer" id="tabs"></div><div id="panels"></div><p><button id="send">Submit</button></p>"##;
const STYLE: &str = "#tabs button{background:var(--fill);color:var(--ink);border:1px solid var(--line);border-bottom:0;border-radius:6px 6px 0 0;margin-right:2px}#tabs [aria-selected=true]{background:#fff;font-weight:bold}[role=tabpanel]{border:1px solid var(--line);padding:8px 16px;min-height:180px}";
const SCRIPT: &str = r##"
const parts = data.tabs.map(({ name, fields }, at) => {
  const tab = el("button", { role: "tab", id: `tab${at}`, "aria-controls": `panel${at}`, onclick: () => show(at) }, name);
  const panel = el("div", { role: "tabpanel", id: `panel${at}`, "aria-labelledby": `tab${at}`, tabindex: 0 }, ...fields.map(([label, value]) => el("label", {}, `${label} `, el("input", { "data-name": `${name} / ${label}`, value }))));
  tab.onkeydown = (event) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: parts.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show((to + parts.length) % parts.length);
    parts[(to + parts.length) % parts.length].tab.focus();
  };
  $("#tabs").append(tab);
  $("#panels").append(panel);
  return { tab, panel };
});
const show = (at) => parts.forEach(({ tab, panel }, one) => {
  panel.hidden = one !== at;
  tab.setAttribute("aria-selected", String(one === at));
  tab.tabIndex = one === at ? 0 : -1;
});
$("#send").onclick = () => send({ fields: Object.fromEntries($$("#panels input").map((input) => [input.dataset.name, input.value.trim()])) });
show(0);
"##;

const TABS: [&str; 5] = ["Home", "Work", "Billing", "Delivery", "Contact"];
const LABELS: [&str; 3] = ["Name", "Town", "Phone"];

fn value(draw: &mut Draw, label: usize) -> String {
    match label {
        0 => draw.names(1)[0].to_owned(),
        1 => draw.towns(1)[0].to_owned(),
        _ => format!("555-{}", draw.number(1_000..=9_999)),
    }
}

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([2, 3, 4, 5]);
    // What has to be filled in, by tab and label; at the last level it is taken from another tab.
    let places: Vec<(usize, usize)> = (0..count).flat_map(|tab| (0..3).map(move |label| (tab, label))).collect();
    let mut before: Vec<Vec<String>> = (0..count)
        .map(|_| (0..3).map(|label| if draw.level > Level::Two { value(draw, label) } else { String::new() }).collect())
        .collect();
    let mut chosen = draw.some(draw.level.of([1, 2, 4, 5]), &places);
    chosen.sort_unstable();
    if draw.level == Level::One {
        chosen = vec![(1, draw.place(3))];
    }
    for (tab, label) in &chosen {
        before[*tab][*label] = String::new();
    }
    let (mut after, mut words, mut solution) = (before.clone(), Vec::new(), Vec::new());
    for &(tab, label) in &chosen {
        let field = format!("{} under {}", LABELS[label], TABS[tab]);
        let full: Vec<usize> = (0..count).filter(|&other| !before[other][label].is_empty()).collect();
        if draw.level == Level::Four && !full.is_empty() {
            let from = draw.pick(&full);
            after[tab][label] = before[from][label].clone();
            words.push(format!("{field} with what is under {} there", TABS[from]));
        } else {
            after[tab][label] = value(draw, label);
            words.push(format!("{field} with {}", after[tab][label]));
        }
        solution.push(click("tab", TABS[tab]));
        solution.push(fill("textbox", LABELS[label], &after[tab][label]));
    }
    solution.push(submit());
    let wanted: Map<String, Value> = places
        .iter()
        .map(|&(tab, label)| (format!("{} / {}", TABS[tab], LABELS[label]), json!(after[tab][label])))
        .collect();
    let tabs: Vec<Value> = (0..count)
        .map(|tab| json!({"name": TABS[tab], "fields": (0..3).map(|label| json!([LABELS[label], before[tab][label]])).collect::<Vec<_>>()}))
        .collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"tabs": tabs}),
        solution,
        ..Task::new(
            "Customer",
            format!("Fill in {}. Leave all other fields as they are, and submit.", listed(&words)),
            Wanted::exactly(&json!({"fields": wanted})),
        )
    }
}
