//! Days on which an event repeats.

use serde_json::{Value, json};

use crate::steps::{check, click, fill, submit};
use crate::words::{WEEKDAYS, listed};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "repeat-days", about: "Sets on which days, how often and until when an event repeats.", draw };

const BODY: &str = r##"<div class="card"><div class="row" role="group" aria-label="Days" id="days"></div>
<label>Every how many weeks <input type="number" id="every" min="1" max="8" value="1"></label>
<fieldset><legend>End</legend><label><input type="radio" name="end" value="never" checked> Never</label>
<label><input type="radio" name="end" value="count"> After a number of events</label>
<label>Number of events <input type="number" id="count" min="1" max="200" value="1" disabled></label></fieldset></div>
<button id="send">Submit</button>"##;
const STYLE: &str = "#days button[aria-pressed=true]{background:var(--accent);color:#fff}fieldset{border:1px solid var(--line);border-radius:8px}input[type=number]{width:5em}";
const SCRIPT: &str = r##"
const on = new Set(data.on);
for (const day of data.days) {
  const button = el("button", { class: "plain", "aria-pressed": String(on.has(day)), onclick: () => { if (!on.delete(day)) on.add(day); button.setAttribute("aria-pressed", String(on.has(day))); } }, day);
  $("#days").append(button);
}
const end = () => $("input[name=end]:checked").value;
for (const radio of $$("input[name=end]")) radio.onchange = () => { $("#count").disabled = end() !== "count"; };
$("#send").onclick = () => send({ days: data.days.filter((day) => on.has(day)), every: Number($("#every").value), events: end() === "count" ? Number($("#count").value) : "none" });
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([1, 3, 3, 4]) + usize::from(draw.level == Level::One && draw.once_in(2));
    let on = draw.some(count, &WEEKDAYS);
    let shown = match draw.level {
        Level::One => Vec::new(),
        _ => draw.some(3, &WEEKDAYS),
    };
    // The sets must not be the same.
    let shown: Vec<&str> =
        if shown.iter().all(|day| on.contains(day)) && shown.len() == on.len() { Vec::new() } else { shown };
    let sorted = |days: &[&str]| -> Vec<&str> { WEEKDAYS.into_iter().filter(|day| days.contains(day)).collect() };
    let (days, every, weeks) = (sorted(&on), draw.number(2..=4), draw.number(5..=9));
    let off: Vec<&str> = WEEKDAYS.into_iter().filter(|day| !on.contains(day)).collect();
    let total = weeks * i64::try_from(days.len()).unwrap_or_default();
    let (words, every, events) = match draw.level {
        Level::One | Level::Two => {
            (format!("Let the event repeat on {} only, every week, without an end", listed(&days)), 1, None)
        }
        Level::Three => (
            format!(
                "Let the event repeat on {} only, every {every} weeks, and end after {total} events",
                listed(&days)
            ),
            every,
            Some(total),
        ),
        Level::Four => (
            format!(
                "Let the event repeat on all days but {}, every {every} weeks, and end after the number of events that \
                 {weeks} such weeks with all their days hold",
                listed(&off)
            ),
            every,
            Some(total),
        ),
    };
    let toggled = WEEKDAYS.into_iter().filter(|day| days.contains(day) != shown.contains(day));
    let mut solution: Vec<String> = toggled.map(|day| click("button", day)).collect();
    if let Some(events) = events {
        solution.push(fill("spinbutton", "Every how many weeks", &every.to_string()));
        solution.push(check("radio", "After a number of events"));
        solution.push(fill("spinbutton", "Number of events", &events.to_string()));
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"days": WEEKDAYS, "on": shown}),
        solution,
        ..Task::new(
            "Repeat an event",
            format!("{words}, and submit."),
            Wanted::exactly(
                &json!({"days": days, "every": every, "events": events.map_or(json!("none"), Value::from)}),
            ),
        )
    }
}
