//! A slider with two handles.

use serde_json::json;

use crate::steps::{press, presses, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "price-range", about: "Sets the lowest and the highest price on a slider with two handles.", draw };

const BODY: &str = r##"<div class="card"><div id="rail"></div><p>From <output id="low"></output> to <output id="high"></output></p></div>
<ul id="things"></ul><p class="soft">Arrow keys move a handle by one step, Page Up and Page Down by ten, Home and End to its end. It can be dragged too.</p><button id="send">Submit</button>"##;
const STYLE: &str = "#rail{position:relative;height:8px;margin:16px;background:var(--line);border-radius:4px}#rail span{position:absolute;width:24px;height:24px;top:-8px;margin-left:-12px;border-radius:50%;background:var(--accent);touch-action:none}";
const SCRIPT: &str = r##"
const values = [data.low, data.high];
const rail = $("#rail");
const handles = ["Lowest price", "Highest price"].map((name, at) => {
  const handle = el("span", { role: "slider", tabindex: 0, "aria-label": name });
  rail.append(handle);
  const set = (value) => {
    const steps = Math.round(value / data.step) * data.step;
    values[at] = Math.max(at ? values[0] : 0, Math.min(at ? data.max : values[1], steps));
    show();
  };
  handle.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (by !== undefined) set(values[at] + by * data.step);
    else if (event.key === "Home") set(0);
    else if (event.key === "End") set(data.max);
    else return;
    event.preventDefault();
  });
  handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const box = rail.getBoundingClientRect();
    set((event.clientX - box.left) / box.width * data.max);
  });
  return handle;
});
const show = () => handles.forEach((handle, at) => {
  handle.style.left = `${values[at] / data.max * 100}%`;
  handle.setAttribute("aria-valuemin", at ? values[0] : 0);
  handle.setAttribute("aria-valuemax", at ? data.max : values[1]);
  handle.setAttribute("aria-valuenow", values[at]);
  $(at ? "#high" : "#low").textContent = values[at];
});
for (const [name, price] of data.things) $("#things").append(el("li", {}, `${name}: ${price}`));
$("#send").onclick = () => send({ low: values[0], high: values[1] });
show();
"##;

/// Keys that bring a handle from a value to another.
fn moved(name: &str, from: i64, to: i64, step: i64) -> Vec<String> {
    let steps = (to - from) / step;
    let (page, one) = if steps < 0 { ("PageDown", "ArrowLeft") } else { ("PageUp", "ArrowRight") };
    let mut keys = presses("slider", name, page, steps.abs() / 10);
    keys.extend(presses("slider", name, one, steps.abs() % 10));
    keys
}

fn draw(draw: &mut Draw) -> Task {
    let step = draw.level.of([1, 1, 10, 5]);
    let max = draw.level.of([30, 50, 500, 200]);
    let third = max / step / 3;
    let low = step * draw.number(1..=third);
    let high = step * draw.number(third * 2 - 1..=max / step - 1);
    let mut things = Vec::new();
    let (low, high, words) = match draw.level {
        Level::One => (0, high, format!("Set the highest price to {high}")),
        Level::Two => (low, high, format!("Set the lowest price to {low} and the highest to {high}")),
        Level::Three => {
            let width = high - low;
            (low, high, format!("Set the lowest price to {low} and the highest to {width} more than that"))
        }
        Level::Four => {
            let names = draw.things(8);
            let prices = draw.some(8, &(1..max / step).map(|at| at * step).collect::<Vec<_>>());
            let mut sorted = prices.clone();
            sorted.sort_unstable();
            things = names.into_iter().zip(prices).collect();
            let (under, over) = (draw.place(3) + 1, draw.place(2) + 1);
            let place = |at: usize| ["", "second ", "third ", "fourth "][at];
            let words = format!(
                "Set the lowest price to that of the {}cheapest thing in the list and the highest to that of the {}dearest",
                place(under),
                place(over)
            );
            (sorted[under], sorted[7 - over], words)
        }
    };
    let mut solution = Vec::new();
    if low > 0 {
        solution.push(press("slider", "Lowest price", "Home"));
        solution.extend(moved("Lowest price", 0, low, step));
    }
    solution.extend(moved("Highest price", max, high, step));
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"low": 0, "high": max, "max": max, "step": step, "things": things}),
        solution,
        ..Task::new(
            "Choose prices",
            format!("{words}, and submit."),
            Wanted::exactly(&json!({"low": low, "high": high})),
        )
    }
}
