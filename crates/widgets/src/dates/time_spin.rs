//! Times that are set by spin buttons.

use serde_json::{Map, Value, json};

use crate::steps::{press, presses, submit};
use crate::words::{clock, half_clock};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "time-spin", about: "Sets times by spin buttons for hours and minutes.", draw };

const BODY: &str = r##"<div id="times"></div><p class="soft">Arrow keys change a part by one step; Page Up and Page Down by a larger one; Home and End go to its ends.</p><button id="send">Submit</button>"##;
const STYLE: &str = ".spin{display:inline-flex;flex-direction:column;align-items:center;gap:2px}.spin [role=spinbutton]{font-size:1.6rem;min-width:2.2em;text-align:center;border:1px solid #7d8896;border-radius:6px;background:#fff}.spin button{padding:0 14px}";
const SCRIPT: &str = r##"
const times = data.times.map(({ label, minutes }) => {
  const parts = { hours: Math.floor(minutes / 60), minutes: minutes % 60 };
  const spin = (part, name, count, step, large) => {
    const words = () => part === "hours" && data.halves ? `${(parts.hours + 11) % 12 + 1} ${parts.hours < 12 ? "AM" : "PM"}` : two(parts[part]);
    const box = el("span", { role: "spinbutton", tabindex: 0, "aria-label": `${label} ${name}`, "aria-valuemin": 0, "aria-valuemax": count - step });
    const set = (value) => {
      parts[part] = (value % count + count) % count;
      box.textContent = words();
      box.setAttribute("aria-valuenow", parts[part]);
      box.setAttribute("aria-valuetext", words());
    };
    box.addEventListener("keydown", (event) => {
      const by = { ArrowUp: step, ArrowDown: -step, PageUp: large, PageDown: -large }[event.key];
      if (by !== undefined) set(parts[part] + by);
      else if (event.key === "Home") set(0);
      else if (event.key === "End") set(count - step);
      else return;
      event.preventDefault();
    });
    set(parts[part]);
    const turn = (sign, by, word) => el("button", { class: "plain", tabindex: -1, "aria-label": `${word} ${label.toLowerCase()} ${name}`, onclick: () => set(parts[part] + by) }, sign);
    return el("span", { class: "spin" }, turn("▲", step, "Raise"), box, turn("▼", -step, "Lower"));
  };
  $("#times").append(el("div", { class: "card row", role: "group", "aria-label": label }, el("b", {}, label), spin("hours", "hours", 24, 1, 6), spin("minutes", "minutes", 60, data.step, data.step * 3)));
  return { label, parts };
});
$("#send").onclick = () => send(Object.fromEntries(times.map(({ label, parts }) => [label, `${two(parts.hours)}:${two(parts.minutes)}`])));
"##;

/// Keys that bring a part to a value from its lower end.
fn spun(name: &str, value: i64, large: i64, step: i64) -> Vec<String> {
    let mut keys = vec![press("spinbutton", name, "Home")];
    keys.extend(presses("spinbutton", name, "PageUp", value / large));
    keys.extend(presses("spinbutton", name, "ArrowUp", value % large / step));
    keys
}

fn draw(draw: &mut Draw) -> Task {
    let step = draw.level.of([15, 5, 5, 5]);
    let start = draw.number(7..=13) * 60 + draw.number(1..=60 / step - 1) * step;
    let length = 60 * draw.number(1..=4) + step * draw.number(1..=9);
    let rest = 5 * draw.number(3..=9);
    let again = start + length + rest;
    let (wanted, words) = match draw.level {
        Level::One => {
            let hour = 60 * draw.number(1..=23);
            (vec![("Alarm", hour)], format!("Set the alarm to {}", clock(hour)))
        }
        Level::Two => (vec![("Alarm", start)], format!("Set the alarm to {}", clock(start))),
        Level::Three => (
            vec![("Start", start), ("End", start + length)],
            format!("Set the start to {} and the end to {}", clock(start), clock(start + length)),
        ),
        Level::Four => (
            vec![("Start", start), ("Pause", start + length), ("Restart", again)],
            format!(
                "The work starts at {}; the pause comes {} hours and {} minutes later; the restart comes {rest} minutes \
                 after the pause. Set all three times",
                half_clock(start),
                length / 60,
                length % 60
            ),
        ),
    };
    let shown = |minutes: i64| (minutes + 6 * 60 + 2 * step) % (24 * 60) / step * step;
    let times: Vec<Value> =
        wanted.iter().map(|(label, minutes)| json!({"label": label, "minutes": shown(*minutes)})).collect();
    let mut solution = Vec::new();
    let mut state = Map::new();
    for (label, minutes) in wanted {
        solution.extend(spun(&format!("{label} hours"), minutes / 60, 6, 1));
        solution.extend(spun(&format!("{label} minutes"), minutes % 60, step * 3, step));
        state.insert(label.to_owned(), json!(clock(minutes)));
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"times": times, "step": step, "halves": draw.level >= Level::Three}),
        solution,
        ..Task::new("Set times", format!("{words}, and submit."), Wanted::exactly(&Value::Object(state)))
    }
}
