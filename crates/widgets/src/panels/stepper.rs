//! A form in steps, each of which is left only when it is filled in.

use serde_json::json;

use crate::steps::{click, fill, select};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "stepper", about: "Goes through the steps of a booking, back too, and books at the end.", draw };

const BODY: &str = r##"<ol id="steps" aria-label="Steps"></ol><form id="form" novalidate><div id="fields" class="card"></div><p id="error" role="alert"></p>
<div class="row"><button type="button" class="plain" id="back">Back</button><button id="next">Next</button></div></form>"##;
const STYLE: &str = "#steps{display:flex;flex-wrap:wrap;gap:16px;padding:0;list-style-position:inside}#steps [aria-current]{font-weight:bold;color:var(--accent)}#error{color:#a02020;min-height:1.5em;margin:0}dl{display:grid;grid-template-columns:10em 1fr}dd{margin:0}";
const SCRIPT: &str = r##"
let at = 0;
const values = Object.fromEntries(data.steps.flatMap(({ fields }) => fields.map(([name, , value]) => [name, value])));
const show = () => {
  const names = [...data.steps.map(({ name }) => name), "Review"];
  $("#steps").replaceChildren(...names.map((name, place) => el("li", { "aria-current": place === at ? "step" : null }, name)));
  $("#back").disabled = at === 0;
  $("#next").textContent = at === data.steps.length ? "Book" : "Next";
  $("#error").textContent = "";
  if (at === data.steps.length) {
    $("#fields").replaceChildren(el("dl", {}, ...Object.entries(values).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
    return;
  }
  $("#fields").replaceChildren(...data.steps[at].fields.map(([name, options]) => {
    const control = options ? el("select", {}, el("option", { value: "" }, "Choose"), ...options.map((option) => el("option", {}, option))) : el("input", { autocomplete: "off" });
    control.value = values[name];
    control.addEventListener("input", () => { values[name] = control.value; });
    return el("label", {}, `${name} `, control);
  }));
};
$("#back").onclick = () => { at -= 1; show(); };
$("#form").onsubmit = (event) => {
  event.preventDefault();
  if (at === data.steps.length) { send({ booking: values }); return; }
  const empty = data.steps[at].fields.find(([name]) => values[name].trim() === "");
  if (empty) { $("#error").textContent = `${empty[0]} is missing.`; return; }
  at += 1;
  show();
};
show();
"##;

/// A field and its options; none where a text is typed.
type Field = (&'static str, &'static [&'static str]);

/// Steps: a name, and fields.
const STEPS: [(&str, [Field; 2]); 4] = [
    (
        "Journey",
        [("From", &["Alderby", "Brennick", "Dunmere", "Farrow"]), ("To", &["Glenby", "Harwell", "Islip", "Lindale"])],
    ),
    ("Traveller", [("Name", &[]), ("Fare", &["Full", "Child", "Student", "Senior"])]),
    ("Seat", [("Class", &["First", "Second", "Third"]), ("Place", &["Window", "Aisle", "Table"])]),
    (
        "Extras",
        [("Meal", &["None", "Meat", "Fish", "Vegetables"]), ("Luggage", &["None", "Small", "Large", "Bicycle"])],
    ),
];

fn draw(draw: &mut Draw) -> Task {
    let steps = &STEPS[..draw.level.of([1, 2, 3, 4])];
    let mut wanted = Vec::new();
    for (_, step) in steps {
        for (name, options) in step {
            let value = if options.is_empty() { draw.names(1)[0] } else { draw.pick(options) };
            wanted.push((*name, *options, value));
        }
    }
    // At the last level a booking is there, in which some values are wrong.
    let changed: Vec<bool> = wanted.iter().enumerate().map(|(at, _)| draw.level < Level::Four || at % 3 == 1).collect();
    let before: Vec<&str> = wanted
        .iter()
        .zip(&changed)
        .map(|((_, options, value), changed)| match (draw.level, changed) {
            (Level::Four, true) => options.iter().find(|option| *option != value).copied().unwrap_or("Nobody"),
            (Level::Four, false) => value,
            _ => "",
        })
        .collect();
    let mut solution = Vec::new();
    for (at, (name, options, value)) in wanted.iter().enumerate() {
        if changed[at] {
            solution.push(if options.is_empty() { fill("textbox", name, value) } else { select(name, value) });
        }
        if at % 2 == 1 {
            solution.push(click("button", "Next"));
        }
    }
    solution.push(click("button", "Book"));
    let words: Vec<String> = wanted.iter().map(|(name, _, value)| format!("{name}: {value}")).collect();
    let words = words.join("; ");
    let instruction = match draw.level {
        Level::Four => format!("The booking has mistakes. Correct it, so that it is as follows, and book: {words}."),
        _ => format!("Book with these details: {words}."),
    };
    let data: Vec<_> = steps
        .iter()
        .enumerate()
        .map(|(at, (name, step))| {
            let field = |place: usize| {
                json!([step[place].0, (!step[place].1.is_empty()).then_some(step[place].1), before[at * 2 + place]])
            };
            json!({"name": name, "fields": [field(0), field(1)]})
        })
        .collect();
    let booking: serde_json::Map<_, _> =
        wanted.iter().map(|(name, _, value)| ((*name).to_owned(), json!(value))).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"steps": data}),
        solution,
        ..Task::new("Booking", instruction, Wanted::exactly(&json!({"booking": booking})))
    }
}
