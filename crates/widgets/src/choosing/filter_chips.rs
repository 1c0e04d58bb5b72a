//! Chips that filter a list, from which one thing is chosen.

use serde_json::{Map, Value, json};

use crate::steps::{check, click, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "filter-chips", about: "Filters a list by chips and chooses a thing that is left.", draw };

const BODY: &str = r##"<div id="chips"></div><p><output id="count" aria-live="polite"></output></p><ul id="things"></ul><button id="send">Submit</button>"##;
const STYLE: &str = ".row{margin:4px 0}.row button{border-radius:16px;padding:2px 12px}[aria-pressed=true]{background:var(--accent)!important;color:#fff!important}#things{list-style:none;padding:0;max-height:260px;overflow:auto}#things label{margin:2px 0}";
const SCRIPT: &str = r##"
const on = new Map(data.groups.map(({ name }) => [name, null]));
let chosen = null;
for (const { name, values } of data.groups) {
  const chips = values.map((value) => el("button", { class: "plain", "aria-pressed": "false", onclick: () => {
    on.set(name, on.get(name) === value ? null : value);
    chips.forEach((chip, at) => chip.setAttribute("aria-pressed", String(values[at] === on.get(name))));
    show();
  } }, value));
  $("#chips").append(el("div", { class: "row", role: "group", "aria-label": name }, el("span", { class: "soft" }, name), ...chips));
}
const show = () => {
  const left = data.things.filter(({ facts }) => data.groups.every(({ name }, at) => on.get(name) === null || facts[at] === on.get(name)));
  if (!left.some(({ code }) => code === chosen)) chosen = null;
  $("#count").textContent = `${left.length} of ${data.things.length} things`;
  $("#things").replaceChildren(...left.map(({ code, price }) => el("li", {}, el("label", {}, el("input", { type: "radio", name: "thing", checked: code === chosen, "aria-label": code, onchange: () => { chosen = code; } }), ` ${code}: ${price}`))));
};
$("#send").onclick = () => send({ chips: Object.fromEntries(on), thing: chosen });
show();
"##;
const GROUPS: [(&str, [&str; 4]); 4] = [
    ("Kind", ["Lamps", "Desk lamps", "Chairs", "Stools"]),
    ("Colour", ["White", "Off-white", "Grey", "Dark grey"]),
    ("Material", ["Oak", "Ash", "Steel", "Brass"]),
    ("State", ["New", "As new", "Used", "Worn"]),
];

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let groups = &GROUPS[..level.of([1, 2, 3, 4])];
    let values = level.of([3, 3, 4, 4]);
    let right: Vec<&str> = groups.iter().map(|(_, names)| names[draw.place(values)]).collect();
    let count = level.of([6, 12, 24, 36]);
    let first = draw.number(120..=480);
    let prices = draw.some(count, &(10..200).collect::<Vec<i64>>());
    // So many fit all chips; the others differ in one or more.
    let fitting = level.of([1, 2, 3, 4]);
    let mut things: Vec<(String, i64, Vec<&str>)> = Vec::new();
    for (at, price) in prices.iter().enumerate() {
        let mut facts = right.clone();
        if at >= fitting {
            let must = draw.place(groups.len());
            for (place, (_, names)) in groups.iter().enumerate() {
                let others: Vec<&str> = names[..values].iter().copied().filter(|name| *name != right[place]).collect();
                if place == must || draw.once_in(3) {
                    facts[place] = draw.pick(&others);
                }
            }
        }
        things.push((String::new(), *price, facts));
    }
    let mut things = draw.shuffled(&things);
    for (at, thing) in things.iter_mut().enumerate() {
        thing.0 = format!("N-{}", first + 7 * i64::try_from(at).unwrap_or_default());
    }
    let mut left: Vec<_> = things.iter().filter(|(_, _, facts)| *facts == right).collect();
    left.sort_by_key(|(_, price, _)| *price);
    let (at, which) = match level {
        Level::One => (0, "the only thing that is left"),
        Level::Two => (0, "the cheapest thing that is left"),
        Level::Three => (left.len() - 1, "the dearest thing that is left"),
        Level::Four => (1, "the second cheapest thing that is left"),
    };
    let thing = left[at].0.clone();
    let mut solution: Vec<String> = right.iter().map(|chip| click("button", chip)).collect();
    solution.extend([check("radio", &thing), submit()]);
    let chips: Map<String, Value> =
        groups.iter().zip(&right).map(|((name, _), chip)| ((*name).to_owned(), json!(chip))).collect();
    let groups: Vec<_> = groups.iter().map(|(name, names)| json!({"name": name, "values": names[..values]})).collect();
    let shown: Vec<_> =
        things.iter().map(|(code, price, facts)| json!({"code": code, "price": price, "facts": facts})).collect();
    let told: Vec<String> = right.iter().map(|chip| format!("\"{chip}\"")).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"groups": groups, "things": shown}),
        solution,
        ..Task::new(
            "Filter things",
            format!(
                "Put on exactly these chips: {}. Choose {which} (the number behind a thing is its price), and submit.",
                told.join(", ")
            ),
            Wanted::exactly(&json!({"chips": chips, "thing": thing})),
        )
    }
}
