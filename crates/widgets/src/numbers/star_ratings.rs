//! Ratings by stars.

use serde_json::{Map, Value, json};

use crate::steps::{check, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "star-ratings", about: "Gives things stars.", draw };

const BODY: &str = r##"<div id="things"></div><button id="send">Submit</button>"##;
const STYLE: &str = "fieldset{border:1px solid var(--line);border-radius:8px;margin:6px 0}.stars label{margin:0;font-size:1.3rem;color:#7d8896}.stars label.on{color:#b36b00}";
const SCRIPT: &str = r##"
const stars = ["1 star", "2 stars", "3 stars", "4 stars", "5 stars"];
for (const { name, note, given } of data.things) {
  const row = el("div", { class: "row stars" });
  const paint = () => { const chosen = Number($("input:checked", row)?.value ?? 0); $$("label", row).forEach((label, at) => label.classList.toggle("on", at < chosen)); };
  stars.forEach((word, at) => row.append(el("label", {}, el("input", { type: "radio", name, value: at + 1, checked: at + 1 === given, "aria-label": `${name}: ${word}`, onchange: paint }), "★")));
  $("#things").append(el("fieldset", {}, el("legend", {}, name), note ? el("span", { class: "soft" }, note) : null, row));
  paint();
}
$("#send").onclick = () => send(Object.fromEntries(data.things.map(({ name }) => [name, Number($(`input[name="${name}"]:checked`)?.value ?? 0)])));
"##;

fn stars(count: i64) -> String {
    if count == 1 { "1 star".to_owned() } else { format!("{count} stars") }
}

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let (shown, told) = (level.of([1, 3, 5, 6]), level.of([1, 2, 4, 6]));
    let kinds = draw.things(if level >= Level::Three { 2 } else { shown });
    // At the upper levels the names are alike.
    let colours = ["Red", "Blue", "Green", "White", "Black", "Brown"];
    let name = |at: usize| {
        if level >= Level::Three { format!("{} {}", colours[at / 2], kinds[at % 2]) } else { kinds[at].to_owned() }
    };
    let names = draw.shuffled(&(0..shown).map(name).collect::<Vec<_>>());
    let points: Vec<i64> = names.iter().map(|_| draw.number(30..=99)).collect();
    let by_points = |points: i64| match points {
        90.. => 5,
        75.. => 4,
        60.. => 3,
        45.. => 2,
        _ => 1,
    };
    let given: Vec<i64> = names.iter().map(|_| if level == Level::Three { draw.number(1..=5) } else { 0 }).collect();
    let mut wanted = given.clone();
    for (at, value) in wanted.iter_mut().take(told).enumerate() {
        let other = if given[at] == 0 { draw.number(1..=5) } else { (given[at] + draw.number(1..=4) - 1) % 5 + 1 };
        *value = if level == Level::Four { by_points(points[at]) } else { other };
    }
    let words = if level == Level::Four {
        "Give each thing stars by its points: 5 stars from 90 points, 4 from 75, 3 from 60, 2 from 45, otherwise 1"
            .to_owned()
    } else {
        let each = names.iter().zip(&wanted).take(told);
        let each: Vec<String> = each.map(|(name, count)| format!("the {name} {}", stars(*count))).collect();
        let rest = if shown > told { "; leave the others as they are" } else { "" };
        format!("Give {}{rest}", each.join(", "))
    };
    let mut solution: Vec<String> =
        (0..told).map(|at| check("radio", &format!("{}: {}", names[at], stars(wanted[at])))).collect();
    solution.push(submit());
    let note = |at: usize| (level == Level::Four).then(|| format!("{} points", points[at]));
    let things: Vec<Value> =
        (0..shown).map(|at| json!({"name": names[at], "note": note(at), "given": given[at]})).collect();
    let things = draw.shuffled(&things);
    let state: Map<String, Value> =
        names.iter().zip(&wanted).map(|(name, count)| (name.clone(), json!(count))).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"things": things}),
        solution,
        ..Task::new("Give stars", format!("{words}, and submit."), Wanted::exactly(&Value::Object(state)))
    }
}
