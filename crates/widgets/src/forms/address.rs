//! Addresses with lists that depend on one another.

use serde_json::{Map, Value, json};

use crate::steps::{fill, select, set, submit};
use crate::{Draw, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "address", about: "Enters addresses by lists that depend on one another.", draw };

const BODY: &str = r##"<div id="addresses"></div><button id="send">Submit</button>"##;
const STYLE: &str = "fieldset{border:1px solid var(--line);border-radius:8px;margin:8px 0}fieldset label{display:grid;grid-template-columns:11em 1fr}fieldset label.flag{display:block}";
const SCRIPT: &str = r##"
const forms = data.kinds.map((kind) => {
  const box = el("fieldset", {}, el("legend", {}, `${kind} address`));
  const field = (name, input) => { box.append(el("label", {}, `${kind} ${name}`, input)); return input; };
  const street = field("street", el("input", { autocomplete: "off" }));
  const lists = data.parts.map((name) => field(name, el("select", { disabled: true })));
  const fill = (at, names) => {
    for (const list of lists.slice(at)) { list.replaceChildren(el("option", { value: "" }, "Choose")); list.disabled = true; }
    if (!names) return;
    lists[at].append(...names.map((name) => el("option", {}, name)));
    lists[at].disabled = false;
  };
  const below = (at) => lists.slice(0, at).reduce((tree, list) => tree?.[list.value], data.places);
  const names = (tree) => Array.isArray(tree) ? tree : tree && Object.keys(tree);
  lists.forEach((list, at) => { list.onchange = () => {
    if (at + 1 === lists.length) return;
    fill(at + 1, null);
    // The next list comes from elsewhere, which takes a moment.
    if (list.value) setTimeout(() => fill(at + 1, names(below(at + 1))), 300);
  }; });
  fill(0, names(data.places));
  const read = () => ({ street: street.value.trim(), ...Object.fromEntries(lists.map((list, at) => [data.parts[at], list.value])) });
  $("#addresses").append(box);
  return { kind, box, read };
});
let same = null;
if (forms.length > 1) {
  same = el("input", { type: "checkbox", checked: true });
  const show = () => { forms[1].box.hidden = same.checked; };
  same.onchange = show;
  forms[0].box.after(el("label", { class: "flag" }, same, " Bill goes to the same address"));
  show();
}
$("#send").onclick = () => send(Object.fromEntries(forms.map(({ kind, read }, at) => [kind, at > 0 && same.checked ? null : read()])));
"##;
const PARTS: [&str; 3] = ["country", "region", "town"];

/// Countries with regions with towns; names of towns come again in other regions.
fn places(draw: &mut Draw) -> Value {
    let countries = ["Norland", "Sudland", "Estland Isles", "Westmark"];
    let regions = ["North Coast", "South Coast", "Upper Hills", "Lower Hills", "Lake Side"];
    let towns = ["Newport", "Newton", "Newbridge", "Oldport", "Oldtown", "Oldbridge", "Kirkton", "Kirkham"];
    let region = |draw: &mut Draw| json!(draw.some(5, &towns));
    let mut all = Map::new();
    for country in countries {
        let each = draw.some(3, &regions).into_iter().map(|name| (name.to_owned(), region(draw))).collect::<Vec<_>>();
        all.insert(country.to_owned(), Value::Object(each.into_iter().collect()));
    }
    Value::Object(all)
}

/// A country, a region in it, and a town in that.
fn somewhere(draw: &mut Draw, places: &Value) -> Vec<String> {
    let mut path = Vec::new();
    let mut at = places;
    while let Some(names) = at.as_object() {
        let names: Vec<String> = names.keys().cloned().collect();
        let name = draw.pick(&names);
        at = &at[&name];
        path.push(name);
    }
    let towns = at.as_array().map(Vec::as_slice).unwrap_or_default();
    path.extend(draw.some(1, towns).first().and_then(Value::as_str).map(str::to_owned));
    path
}

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let places = places(draw);
    let parts = &PARTS[..level.of([1, 2, 3, 3])];
    let kinds = &["Delivery", "Billing"][..level.of([1, 1, 1, 2])];
    let (mut words, mut state, mut solution) = (Vec::new(), Map::new(), Vec::new());
    if kinds.len() > 1 {
        solution.push(set("Bill goes to the same address", false));
    }
    let first = somewhere(draw, &places);
    for (at, kind) in kinds.iter().enumerate() {
        let street = format!("{} {} Street", draw.number(2..=98), draw.pick(&["Mill", "Bridge", "Church", "Station"]));
        let mut path = first.clone();
        if at > 0 {
            // In the same region, but in another town.
            let towns = places[&first[0]][&first[1]].as_array().cloned().unwrap_or_default();
            let others: Vec<Value> = towns.into_iter().filter(|town| *town != json!(first[2])).collect();
            path[2] = draw.pick(&others).as_str().unwrap_or_default().to_owned();
        }
        let shown = path.iter().zip(parts).map(|(name, part)| format!("{part} {name}"));
        words.push(if at == 0 {
            format!("{kind}: street {street}, {}", shown.collect::<Vec<_>>().join(", "))
        } else {
            format!("{kind}: street {street}, town {}, in the same country and region as the delivery", path[2])
        });
        solution.push(fill("textbox", &format!("{kind} street"), &street));
        let mut entry = Map::from_iter([("street".to_owned(), json!(street))]);
        for (part, name) in parts.iter().zip(&path) {
            solution.push(select(&format!("{kind} {part}"), name));
            entry.insert((*part).to_owned(), json!(name));
        }
        state.insert((*kind).to_owned(), Value::Object(entry));
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"kinds": kinds, "parts": parts, "places": places}),
        solution,
        ..Task::new(
            "Addresses",
            format!("Enter the address and submit. {}.", words.join("; ")),
            Wanted::exactly(&Value::Object(state)),
        )
    }
}
