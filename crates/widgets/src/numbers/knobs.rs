//! Knobs that are turned by keys or the wheel.

use serde_json::{Map, Value, json};

use crate::steps::{presses, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "knobs", about: "Turns knobs by keys or buttons.", draw };

const BODY: &str = r##"<div class="row" id="knobs"></div><p class="soft">Arrow keys turn a knob by one mark, Page Up and Page Down by five.</p><button id="send">Submit</button>"##;
const STYLE: &str = ".knob{text-align:center;min-width:120px}.dial{width:72px;height:72px;border-radius:50%;border:3px solid var(--accent);margin:6px auto;background:#fff}.dial::before{content:'';display:block;width:4px;height:26px;margin:2px auto;background:var(--accent)}.knob .row{justify-content:center}";
const SCRIPT: &str = r##"
const knobs = data.knobs.map(({ name, value }) => {
  const knob = { name, value };
  const dial = el("div", { class: "dial", role: "slider", tabindex: 0, "aria-label": name, "aria-valuemin": 0, "aria-valuemax": data.max });
  const out = el("output", { "aria-hidden": "true" });
  const turn = (by) => {
    knob.value = data.round ? (knob.value + by + data.max + 1) % (data.max + 1) : Math.max(0, Math.min(data.max, knob.value + by));
    dial.setAttribute("aria-valuenow", knob.value);
    dial.style.transform = `rotate(${knob.value / (data.max + (data.round ? 1 : 0)) * (data.round ? 360 : 270) - (data.round ? 0 : 135)}deg)`;
    out.textContent = knob.value;
  };
  dial.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    turn(by);
  });
  dial.addEventListener("wheel", (event) => { event.preventDefault(); turn(event.deltaY < 0 ? 1 : -1); }, { passive: false });
  const button = (sign, word, by) => el("button", { class: "plain", "aria-label": `${word} ${name}`, onclick: () => turn(by) }, sign);
  $("#knobs").append(el("div", { class: "card knob" }, el("b", {}, name), dial, el("div", { class: "row" }, button("−", "Lower", -1), out, button("+", "Raise", 1))));
  turn(0);
  return knob;
});
$("#send").onclick = () => send(Object.fromEntries(knobs.map(({ name, value }) => [name, value])));
"##;

fn turned(name: &str, by: i64) -> Vec<String> {
    let (page, one) = if by < 0 { ("PageDown", "ArrowDown") } else { ("PageUp", "ArrowUp") };
    let mut keys = presses("slider", name, page, by.abs() / 5);
    keys.extend(presses("slider", name, one, by.abs() % 5));
    keys
}

fn draw(draw: &mut Draw) -> Task {
    let names = draw.some(draw.level.of([1, 2, 3, 3]), &["Volume", "Tone", "Speed", "Heat", "Light", "Focus"]);
    let max = draw.level.of([10, 20, 40, 35]);
    let starts: Vec<i64> = names.iter().map(|_| draw.number(4..=max / 2)).collect();
    let mut wanted: Vec<i64> = starts
        .iter()
        .map(|start| {
            let by = draw.number(2..=max / 2 - 2);
            if draw.once_in(2) && *start >= by { start - by } else { start + by }
        })
        .collect();
    let words = if draw.level == Level::Four {
        // These knobs go round: behind their last mark comes the first.
        let (one, two) = (draw.number(10..=18), draw.number(6..=12));
        wanted[0] = (starts[0] - one).rem_euclid(max + 1);
        wanted[1] = (starts[1] + starts[0]).rem_euclid(max + 1);
        wanted[2] = (wanted[0] + two).rem_euclid(max + 1);
        format!(
            "The knobs go round: above 35 comes 0, and below 0 comes 35. Turn {a} down by {one} marks. Turn {b} up by as \
             many marks as {a} showed at first. Turn {c} until it stands {two} marks above the new place of {a}",
            a = names[0],
            b = names[1],
            c = names[2],
        )
    } else {
        let told: Vec<String> = names.iter().zip(&wanted).map(|(name, value)| format!("{name} to {value}")).collect();
        format!("Turn {}", told.join(" and "))
    };
    let mut solution: Vec<String> =
        names.iter().zip(starts.iter().zip(&wanted)).flat_map(|(name, (from, to))| turned(name, to - from)).collect();
    solution.push(submit());
    let knobs: Vec<Value> =
        names.iter().zip(&starts).map(|(name, value)| json!({"name": name, "value": value})).collect();
    let state: Map<String, Value> =
        names.iter().zip(&wanted).map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"knobs": knobs, "max": max, "round": draw.level == Level::Four}),
        solution,
        ..Task::new("Turn knobs", format!("{words}, and submit."), Wanted::exactly(&Value::Object(state)))
    }
}
