//! Tabs that are a web component: tabs in its shadow tree, panels in its slots.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, steps, text};

pub(super) const WIDGET: Widget =
    Widget { name: "fold-tabs", about: "Sets check boxes in the panels of a web component of tabs.", draw };

const TABS: [&str; 5] = ["Kitchen", "Garden", "Garage", "Attic", "Cellar"];
const SCRIPT: &str = r##"
customElements.define("fold-tabs", class extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: "open" });
    const panels = [...this.children];
    const style = el("style", {}, "[role=tab]{font:inherit;padding:6px 12px;border:1px solid #c9d0da;background:#fff;cursor:pointer}[aria-selected=true]{background:#1f5fbf;color:#fff}:focus-visible{outline:3px solid #f0a500}[role=tabpanel]{padding:8px}");
    const tabs = panels.map((panel, at) => el("button", { role: "tab", onclick: () => this.open(at), onkeydown: (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) { const next = (at + by + panels.length) % panels.length; this.open(next); tabs[next].focus(); }
    } }, panel.dataset.title));
    const slots = panels.map((panel, at) => { panel.slot = `panel${at}`; return el("div", { role: "tabpanel", "aria-label": panel.dataset.title }, el("slot", { name: `panel${at}` })); });
    this.open = (chosen) => {
      tabs.forEach((tab, at) => { tab.setAttribute("aria-selected", String(at === chosen)); tab.tabIndex = at === chosen ? 0 : -1; });
      slots.forEach((slot, at) => { slot.hidden = at !== chosen; });
    };
    root.append(style, el("div", { role: "tablist", "aria-label": "Rooms" }, ...tabs), ...slots);
    this.open(0);
  }
});
$("#send").onclick = () => send({ ticked: $$("input:checked").map((input) => input.value) });
"##;

fn draw(draw: &mut Draw) -> Task {
    let (tabs, each) = draw.level.of([(2, 2), (3, 3), (4, 4), (5, 4)]);
    let titles = draw.some(tabs, &TABS);
    let things = draw.things(tabs * each);
    let given: Vec<bool> = (0..things.len()).map(|_| draw.level == Level::Four && draw.once_in(3)).collect();
    let places = draw.shuffled(&(each..tabs * each).collect::<Vec<_>>());
    let mut wanted = given.clone();
    let words = match draw.level {
        Level::One | Level::Two | Level::Three => {
            let chosen = &places[..draw.level.of([1, 2, 4, 0])];
            let mut named = Vec::new();
            for at in chosen {
                wanted[*at] = true;
                named.push(match draw.level {
                    Level::Three => format!("the {}", things[*at]),
                    _ => format!("the {} in the {}", things[*at], titles[at / each].to_lowercase()),
                });
            }
            let search = if draw.level == Level::Three { " (look for them in the rooms)" } else { "" };
            format!("Tick {}{search}, and nothing else", named.join(", "))
        }
        Level::Four => {
            let (all, none) = (draw.number(1..=2), draw.number(3..=4));
            for (at, ticked) in wanted.iter_mut().enumerate() {
                let room = i64::try_from(at / each).unwrap_or_default();
                *ticked = if room == all {
                    true
                } else if room == none {
                    false
                } else {
                    !given[at]
                };
            }
            let room = |at: i64| titles[usize::try_from(at).unwrap_or_default()].to_lowercase();
            format!(
                "Tick everything in the {} and nothing in the {}; in every other room, tick what is not ticked now and take \
                 the ticks off what is",
                room(all),
                room(none)
            )
        }
    };
    let mut solution = Vec::new();
    for (tab, title) in titles.iter().enumerate() {
        let changed: Vec<usize> = (tab * each..(tab + 1) * each).filter(|at| given[*at] != wanted[*at]).collect();
        if !changed.is_empty() {
            solution.push(steps::click("tab", title));
        }
        solution.extend(changed.iter().map(|at| steps::click("checkbox", things[*at])));
    }
    solution.push(steps::submit());
    let panel = |(tab, title): (usize, &&str)| {
        let boxes: String = (tab * each..(tab + 1) * each)
            .map(|at| {
                let checked = if given[at] { " checked" } else { "" };
                let thing = text(things[at]);
                format!("<label><input type=\"checkbox\" value=\"{thing}\"{checked}> {thing}</label>")
            })
            .collect();
        format!("<div data-title=\"{title}\">{boxes}</div>")
    };
    let panels: String = titles.iter().enumerate().map(panel).collect();
    let ticked = things.iter().zip(&wanted).filter(|(_, wanted)| **wanted).map(|(thing, _)| json!(thing)).collect();
    Task {
        body: format!("<div class=\"card\"><fold-tabs>{panels}</fold-tabs></div><button id=\"send\">Submit</button>"),
        script: SCRIPT,
        solution,
        ..Task::new("Rooms", format!("{words}. Then submit."), Wanted::field("ticked", Wanted::Set(ticked)))
    }
}
