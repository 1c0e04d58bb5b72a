//! An input that suggests people.

use serde_json::json;

use crate::steps::{click, fill, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "autocomplete", about: "Chooses among suggestions that come while one types.", draw };

const BODY: &str = r##"<div id="box"><label for="who">Person</label><input id="who" role="combobox" aria-autocomplete="list" aria-expanded="false" aria-controls="list" autocomplete="off">
<ul id="list" role="listbox" aria-label="Suggestions" hidden></ul></div><p>Chosen:</p><ul id="chosen"></ul><p class="soft">Suggestions come a moment after you stop typing; there are at most six.</p><button id="send">Submit</button>"##;
const STYLE: &str = "#list{list-style:none;margin:2px 0;padding:0;border:1px solid var(--line);border-radius:6px;max-width:420px}#list li{padding:4px 10px;cursor:pointer}#list [aria-selected=true]{background:#dce8fa}#who{width:320px}";
const SCRIPT: &str = r##"
const input = $("#who"), list = $("#list");
const chosen = [];
let found = [], at = -1, timer = 0;
const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
const paint = () => $$("li", list).forEach((item, place) => { item.setAttribute("aria-selected", String(place === at)); if (place === at) input.setAttribute("aria-activedescendant", item.id); });
const take = (person) => {
  if (!chosen.includes(person)) chosen.push(person);
  input.value = "";
  close();
  show();
};
const show = () => $("#chosen").replaceChildren(...chosen.map((person) => el("li", {}, person + " ", el("button", { class: "plain", "aria-label": `Remove ${person}`, onclick: () => { chosen.splice(chosen.indexOf(person), 1); show(); input.focus(); } }, "×"))));
const suggest = () => {
  const words = input.value.toLowerCase().split(/\s+/).filter((word) => word);
  found = words.length ? data.people.filter((person) => words.every((word) => person.toLowerCase().includes(word))).slice(0, 6) : [];
  at = -1;
  list.replaceChildren(...found.map((person, place) => el("li", { role: "option", id: `option-${place}`, "aria-selected": "false", onmousedown: (event) => event.preventDefault(), onclick: () => take(person) }, person)));
  list.hidden = found.length === 0;
  input.setAttribute("aria-expanded", String(found.length > 0));
};
input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(suggest, 200); });
input.addEventListener("keydown", (event) => {
  if (event.key === "Escape") close();
  if (event.key === "Enter" && at >= 0) take(found[at]);
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by && found.length) { event.preventDefault(); at = (at + by + found.length) % found.length; paint(); }
});
$("#send").onclick = () => send({ chosen });
"##;
const SURNAMES: [&str; 8] = ["Almeida", "Almada", "Alvarez", "Alves", "Andersen", "Anderson", "Andrews", "Andreasen"];
const TEAMS: [&str; 4] = ["Sales", "Stock", "Support", "Security"];
const TOWNS: [&str; 4] = ["Porto", "Portree", "Portland", "Potsdam"];

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let firsts = draw.names(level.of([6, 12, 4, 3]));
    let surnames = draw.some(level.of([1, 2, 8, 4]), &SURNAMES);
    let mut people = Vec::new();
    for first in &firsts {
        for surname in &surnames {
            if level < Level::Four {
                people.push((format!("{first} {surname}"), String::new()));
                continue;
            }
            for team in draw.some(2, &TEAMS) {
                for town in draw.some(2, &TOWNS) {
                    people.push((format!("{first} {surname}"), format!(" ({team}, {town})")));
                }
            }
        }
    }
    let wanted = draw.some(level.of([1, 1, 2, 3]), &people);
    let told: Vec<String> = wanted
        .iter()
        .map(|(name, more)| match more.trim_matches([' ', '(', ')']).split_once(", ") {
            Some((team, town)) => format!("the {name} of {team} who sits in {town}"),
            None => name.clone(),
        })
        .collect();
    let mut solution = Vec::new();
    for (name, more) in &wanted {
        let typed = format!("{name}{}", more.replace(", ", " ").replace([')', '('], ""));
        solution.push(fill("combobox", "Person", &typed));
        solution.push(click("option", &format!("{name}{more}")));
    }
    solution.push(submit());
    let all: Vec<String> = people.iter().map(|(name, more)| format!("{name}{more}")).collect();
    let state = wanted.iter().map(|(name, more)| json!(format!("{name}{more}"))).collect();
    let all = draw.shuffled(&all);
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"people": all}),
        solution,
        ..Task::new(
            "Choose people",
            format!("Choose {} and nobody else from the suggestions, and submit.", told.join("; ")),
            Wanted::field("chosen", Wanted::Set(state)),
        )
    }
}
