//! A form in several steps.

use serde_json::{Map, Value, json};

use crate::steps::{check, click, fill, select, set, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "wizard", about: "Goes through a form of several steps.", draw };

const BODY: &str = r##"<p id="where" class="soft" aria-live="polite"></p><div id="step" class="card"></div><p id="wrong" role="alert"></p>
<div class="row"><button class="plain" id="back">Back</button><button id="next">Next</button><button id="send" hidden>Submit</button></div>"##;
const STYLE: &str = "#step label{margin:6px 0}fieldset{border:0;padding:0;margin:0}";
const SCRIPT: &str = r##"
const entered = { ...data.entered };
let at = 0;
// Steps whose condition does not hold are left out.
const steps = () => data.steps.filter(({ only }) => !only || entered[only[0]] === only[1]);
const control = ({ name, kind, options }) => {
  const put = (value) => { entered[name] = value; };
  if (kind === "choice") return el("fieldset", {}, el("legend", {}, name), ...options.map((option) => el("label", {}, el("input", { type: "radio", name, checked: entered[name] === option, onchange: () => put(option) }), " " + option)));
  if (kind === "list") return el("label", {}, name + " ", el("select", { onchange: (event) => put(event.target.value) }, el("option", { value: "" }, "Choose"), ...options.map((option) => el("option", { selected: entered[name] === option }, option))));
  if (kind === "flag") return el("label", {}, el("input", { type: "checkbox", checked: entered[name] === true, onchange: (event) => put(event.target.checked) }), " " + name);
  return el("label", {}, name + " ", el("input", { type: kind, min: 0, value: entered[name] ?? "", autocomplete: "off", oninput: (event) => put(event.target.value) }));
};
const show = () => {
  const all = steps();
  const last = at === all.length;
  $("#where").textContent = `Step ${at + 1} of ${all.length + 1}: ${last ? "Summary" : all[at].title}`;
  const rows = () => all.flatMap(({ fields }) => fields).map(({ name }) => el("tr", {}, el("th", {}, name), el("td", {}, String(entered[name] ?? "–"))));
  $("#step").replaceChildren(...last ? [el("table", {}, ...rows())] : all[at].fields.map(control));
  $("#back").disabled = at === 0;
  $("#next").hidden = last;
  $("#send").hidden = !last;
  $("#wrong").textContent = "";
};
$("#back").onclick = () => { at -= 1; show(); };
$("#next").onclick = () => {
  const empty = steps()[at].fields.find(({ name, kind }) => kind !== "flag" && !entered[name]);
  if (empty) { $("#wrong").textContent = `${empty.name} is needed.`; return; }
  at += 1;
  show();
};
$("#send").onclick = () => send(Object.fromEntries(steps().flatMap(({ fields }) => fields).map(({ name, kind }) => [name, entered[name] ?? (kind === "flag" ? false : null)])));
show();
"##;

/// A field: its name, its kind, its options.
type Field = (&'static str, &'static str, &'static [&'static str]);

const STEPS: [(&str, &[Field]); 4] = [
    (
        "Room",
        &[("Room", "choice", &["Single", "Single with view", "Double", "Double with view"]), ("Nights", "number", &[])],
    ),
    ("Guest", &[("Guest", "text", &[]), ("Arrival by", "list", &["Train", "Night train", "Car", "Bicycle"])]),
    ("Meals", &[("Meals", "choice", &["Breakfast", "Half board", "Full board"]), ("Vegetarian", "flag", &[])]),
    (
        "Extras",
        &[("Extra", "list", &["Sauna", "Bicycle hire", "Boat hire", "Late departure"]), ("Quiet room", "flag", &[])],
    ),
];
const CAR: (&str, &[Field]) = ("Car", &[("Number plate", "text", &[]), ("Electric", "flag", &[])]);

fn value(draw: &mut Draw, (name, kind, options): Field) -> Value {
    match kind {
        "number" => json!(draw.number(2..=14).to_string()),
        "flag" => json!(draw.once_in(2)),
        "text" if name == "Number plate" => json!(format!("P-{}", draw.number(1_000..=9_999))),
        "text" => json!(format!("{} {}", draw.names(1)[0], draw.pick(&["Ashby", "Brook", "Dale"]))),
        _ => json!(draw.pick(options)),
    }
}

fn act((name, kind, _): Field, value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    match kind {
        "choice" => check("radio", text),
        "list" => select(name, text),
        "flag" => set(name, value == &json!(true)),
        "number" => fill("spinbutton", name, text),
        _ => fill("textbox", name, text),
    }
}

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let mut steps: Vec<(&str, &[Field])> = STEPS[..level.of([1, 2, 4, 4])].to_vec();
    if level == Level::Four {
        // A step that comes only for guests with a car.
        steps.insert(2, CAR);
    }
    let (mut words, mut state, mut entered, mut solution) = (Vec::new(), Map::new(), Map::new(), Vec::new());
    for (_, fields) in &steps {
        for field in *fields {
            let (name, kind, _) = *field;
            let wanted = if name == "Arrival by" && level == Level::Four { json!("Car") } else { value(draw, *field) };
            words.push(match wanted.as_bool() {
                Some(on) => format!("{name}: {}", if on { "yes" } else { "no" }),
                None => format!("{name}: {}", wanted.as_str().unwrap_or_default()),
            });
            // At the upper levels other entries stand there already.
            if level >= Level::Three && kind != "text" {
                let before = if kind == "flag" { json!(true) } else { value(draw, *field) };
                entered.insert(name.to_owned(), before);
            }
            solution.push(act(*field, &wanted));
            state.insert(name.to_owned(), wanted);
        }
        solution.push(click("button", "Next"));
    }
    solution.push(submit());
    if level == Level::Four {
        let nights = draw.number(2..=6);
        entered.insert("Nights".to_owned(), json!((nights + 9).to_string()));
        entered.insert("Arrival by".to_owned(), json!("Train"));
        let wanted = (nights + 9) * 2;
        words[1] = "Nights: twice as many as stand there".to_owned();
        state.insert("Nights".to_owned(), json!(wanted.to_string()));
        solution[1] = fill("spinbutton", "Nights", &wanted.to_string());
    }
    let shown: Vec<Value> = steps
        .iter()
        .map(|(title, fields)| {
            let fields: Vec<Value> = fields
                .iter()
                .map(|(name, kind, options)| json!({"name": name, "kind": kind, "options": options}))
                .collect();
            let only = (*title == "Car").then(|| json!(["Arrival by", "Car"]));
            json!({"title": title, "fields": fields, "only": only})
        })
        .collect();
    let words = if level >= Level::Three { draw.shuffled(&words) } else { words };
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"steps": shown, "entered": entered}),
        solution,
        ..Task::new(
            "Book a room",
            format!("Book a room step by step, and submit the summary. {}.", words.join("; ")),
            Wanted::exactly(&Value::Object(state)),
        )
    }
}
