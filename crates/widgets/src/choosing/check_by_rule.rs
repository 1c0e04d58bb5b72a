//! Check boxes that are put on by a rule.

use serde_json::json;

use crate::steps::{set, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "check-by-rule", about: "Checks boxes by names or by a rule.", draw };

const BODY: &str = r##"<fieldset><legend>Things</legend><div id="things"></div></fieldset><p><output id="count"></output> checked</p><button id="send">Submit</button>"##;
const STYLE: &str = "fieldset{border:1px solid var(--line);border-radius:8px}#things{columns:2}#things label{margin:2px 0;break-inside:avoid}";
const SCRIPT: &str = r##"
const inputs = data.things.map(({ name, note, on }) => {
  const input = el("input", { type: "checkbox", checked: on, "aria-label": name, onchange: () => count() });
  $("#things").append(el("label", {}, input, " ", name, note ? el("span", { class: "soft" }, ` · ${note}`) : null));
  return input;
});
const count = () => { $("#count").textContent = inputs.filter((input) => input.checked).length; };
$("#send").onclick = () => send({ checked: data.things.filter((_, at) => inputs[at].checked).map(({ name }) => name) });
count();
"##;

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let count = level.of([4, 7, 10, 14]);
    let names = draw.things(count);
    let facts: Vec<(i64, &str, bool)> =
        names.iter().map(|_| (draw.number(3..=60), draw.pick(&["wood", "metal", "glass"]), draw.once_in(3))).collect();
    let price = draw.number(20..=35);
    let material = draw.pick(&["wood", "metal", "glass"]);
    let listed = draw.some(level.of([1, 3, 0, 0]), &names);
    let right: Vec<bool> = names
        .iter()
        .zip(&facts)
        .map(|(name, (cost, made_of, used))| match level {
            Level::One | Level::Two => listed.contains(name),
            Level::Three => *cost < price,
            Level::Four => (*made_of == material && *cost >= price) || (*made_of != material && *used && *cost < price),
        })
        .collect();
    let words = match level {
        Level::One | Level::Two => format!("Check {} and nothing else", listed.join(", ")),
        Level::Three => format!("Check every thing that costs less than {price} and nothing else"),
        Level::Four => format!(
            "Check every thing of {material} that costs {price} or more, and every used thing that is not of {material} and \
             costs less than {price}; nothing else may be checked"
        ),
    };
    let mut on: Vec<bool> = names.iter().map(|_| level > Level::One && draw.once_in(3)).collect();
    if on == right {
        on[0] = !on[0];
    }
    let mut solution: Vec<String> =
        (0..count).filter(|at| on[*at] != right[*at]).map(|at| set(names[at], right[at])).collect();
    solution.push(submit());
    let note = |(cost, made_of, used): &(i64, &str, bool)| match level {
        Level::One | Level::Two => None,
        Level::Three => Some(format!("costs {cost}")),
        Level::Four => Some(format!("{made_of}, {}, costs {cost}", if *used { "used" } else { "new" })),
    };
    let shown: Vec<_> =
        (0..count).map(|at| json!({"name": names[at], "note": note(&facts[at]), "on": on[at]})).collect();
    let wanted = (0..count).filter(|at| right[*at]).map(|at| json!(names[at])).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"things": shown}),
        solution,
        ..Task::new("Check things", format!("{words}. Then submit."), Wanted::field("checked", Wanted::Set(wanted)))
    }
}
