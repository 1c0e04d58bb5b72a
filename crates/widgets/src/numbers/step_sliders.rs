//! Sliders that move in steps.

use serde_json::{Map, Value, json};

use crate::steps::{fill, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "step-sliders", about: "Moves sliders to values.", draw };

const BODY: &str = r##"<div class="card" id="sliders"></div><button id="send">Submit</button>"##;
const STYLE: &str = "#sliders label{display:grid;grid-template-columns:8em 1fr 4em;gap:12px;align-items:center}";
const SCRIPT: &str = r##"
const inputs = data.sliders.map(({ name, value }) => {
  const out = el("output", { "aria-hidden": "true" }, String(value));
  const input = el("input", { type: "range", min: 0, max: data.max, step: data.step, value, "aria-label": name, oninput: () => { out.textContent = input.value; } });
  $("#sliders").append(el("label", {}, el("span", {}, name), input, out));
  return input;
});
$("#send").onclick = () => send(Object.fromEntries(inputs.map((input, at) => [data.sliders[at].name, Number(input.value)])));
"##;
const NAMES: [&str; 8] = ["Bass", "Treble", "Echo", "Gain", "Reverb", "Balance", "Presence", "Tempo"];

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let (count, moved) = (level.of([1, 3, 5, 5]), level.of([1, 2, 3, 4]));
    let (max, step) = (level.of([10, 100, 100, 100]), level.of([1, 10, 5, 5]));
    let names = draw.some(count, &NAMES);
    let value = |draw: &mut Draw| step * draw.number(max / step / 5..=max / step * 2 / 5);
    let mut values: Vec<i64> = (0..count).map(|_| value(draw)).collect();
    let sliders: Vec<Value> =
        names.iter().zip(&values).map(|(name, value)| json!({"name": name, "value": value})).collect();
    let more = 5 * draw.number(1..=4);
    let base = values[0];
    for value in values.iter_mut().take(moved) {
        *value = step * draw.number(max / step / 2..=max / step);
    }
    let words = if level == Level::Four {
        values[0] = base + more;
        values[1] = values[0] * 2 - base;
        values[2] = max - values[0];
        values[3] = (values[1] + values[2]) / 10 * 5;
        format!(
            "Raise {} by {more} from where it is now. Raise the value that {} then has by the same number once more, and \
             set {} to that. Set {} to 100 less the new value of {}, and {} to half the sum of {} and {}, rounded down \
             to a multiple of 5",
            names[0], names[0], names[1], names[2], names[0], names[3], names[1], names[2],
        )
    } else {
        let told: Vec<String> =
            names.iter().zip(&values).take(moved).map(|(name, value)| format!("{name} to {value}")).collect();
        format!("Set {}", told.join(", "))
    };
    let rest = if count > moved { "; leave all others as they are" } else { "" };
    let mut solution: Vec<String> =
        names.iter().zip(&values).take(moved).map(|(name, value)| fill("slider", name, &value.to_string())).collect();
    solution.push(submit());
    let state: Map<String, Value> =
        names.iter().zip(&values).map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let mut sliders = sliders;
    if level >= Level::Three {
        sliders = draw.shuffled(&sliders);
    }
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"sliders": sliders, "max": max, "step": step}),
        solution,
        ..Task::new("Move sliders", format!("{words}{rest}, and submit."), Wanted::exactly(&Value::Object(state)))
    }
}
