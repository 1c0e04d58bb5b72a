//! Sliders of a mixing desk, moved by mouse or keys.

use serde_json::json;

use crate::steps::submit;
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "mouse-sliders", about: "Drags the handles of sliders to values.", draw };

const BODY: &str = r##"<div id="desk"><div id="lines"></div><button id="send">Submit</button></div>"##;
const STYLE: &str = "#desk{position:absolute;left:60px;top:90px;width:640px}.line{position:relative;height:60px}.line b{position:absolute;top:18px}.line output{position:absolute;left:560px;top:18px}.track{position:absolute;left:120px;top:28px;width:400px;height:4px;background:#7d8896;border-radius:2px}.line [role=slider]{position:absolute;top:18px;width:24px;height:24px;margin-left:-12px;border-radius:50%;background:var(--accent);cursor:grab;touch-action:none}";
const SCRIPT: &str = r##"
const values = Object.fromEntries(data.sliders);
for (const [name] of data.sliders) {
  const handle = el("div", { role: "slider", tabindex: 0, "aria-label": name, "aria-valuemin": 0, "aria-valuemax": 100 });
  const shown = el("output", {});
  const set = (value) => {
    values[name] = Math.max(0, Math.min(100, Math.round(value)));
    handle.style.left = `${120 + values[name] * 4}px`;
    handle.setAttribute("aria-valuenow", values[name]);
    shown.textContent = values[name];
  };
  let held = false;
  const line = el("div", { class: "line" }, el("b", {}, name), el("div", { class: "track" }), handle, shown);
  handle.addEventListener("pointerdown", (event) => { held = true; handle.setPointerCapture(event.pointerId); });
  handle.addEventListener("pointermove", (event) => { if (held) set((event.clientX - $(".track", line).getBoundingClientRect().left) / 4); });
  handle.addEventListener("pointerup", () => { held = false; });
  handle.addEventListener("pointercancel", () => { held = false; });
  handle.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: values[name] - 1, ArrowDown: values[name] - 1, ArrowRight: values[name] + 1, ArrowUp: values[name] + 1, PageDown: values[name] - 10, PageUp: values[name] + 10, Home: 0, End: 100 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    set(to);
  });
  set(values[name]);
  $("#lines").append(line);
}
$("#send").onclick = () => send({ values });
"##;

const NAMES: [&str; 6] = ["Bass", "Treble", "Voice", "Drums", "Strings", "Echo"];

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([1, 2, 4, 5]);
    let names = draw.some(count, &NAMES);
    let start: Vec<i64> = (0..count).map(|_| draw.number(4..=9) * 4).collect();
    let mut wanted = start.clone();
    let mut words = Vec::new();
    match draw.level {
        Level::One => wanted[0] = draw.pick(&[0, 100]),
        Level::Two => wanted = (0..count).map(|_| draw.number(11..=19) * 5).collect(),
        Level::Three => wanted = draw.numbers(count, 41..=97),
        Level::Four => {
            let (least, step) = (draw.number(3..=20), draw.number(7..=15));
            wanted = (0..count).map(|at| least + step * i64::try_from(at).unwrap_or_default()).collect();
            words.push(format!(
                "{} to {least}, and each slider below it to {step} more than the one above it",
                names[0]
            ));
        }
    }
    if draw.level < Level::Four {
        words = names.iter().zip(&wanted).map(|(name, value)| format!("{name} to {value}")).collect();
    }
    let within = draw.level.of([3.0, 2.0, 1.0, 1.0]);
    let mut solution = Vec::new();
    for (at, (from, to)) in start.iter().zip(&wanted).enumerate() {
        let line = 90 + 60 * at + 30;
        solution.push(format!("mouse_drag_and_drop({}, {line}, {}, {line})", 180 + from * 4, 180 + to * 4));
    }
    solution.push(submit());
    let values =
        names.iter().zip(&wanted).map(|(name, value)| ((*name).to_owned(), Wanted::near(*value, within))).collect();
    let sliders: Vec<_> = names.iter().zip(&start).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"sliders": sliders}),
        solution,
        ..Task::new(
            "Mixing desk",
            format!("The sliders go from 0 to 100. Set {}, at most {within} off, and submit.", listed(&words)),
            Wanted::field("values", Wanted::Fields(values)),
        )
    }
}
