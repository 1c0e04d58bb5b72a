//! A calendar of one month, onto whose days events are dragged.

use jiff::civil::Date;
use jiff::{Span, ToSpan as _};
use serde_json::{Map, Value, json};

use crate::steps::{drag, submit};
use crate::words::{WEEKDAYS, listed};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "calendar-drop", about: "Drags events onto the days of a calendar.", draw };

const BODY: &str = r##"<p class="soft">Drag an event onto a day. With the keyboard: Enter takes an event, and lays it on the day that has the focus.</p><div id="free" class="card row" role="group" aria-label="Without a day"><span class="soft">Without a day:</span></div>
<h2 id="month"></h2><table><thead><tr></tr></thead><tbody></tbody></table><p><button id="send">Submit</button></p>"##;
const STYLE: &str = "main{max-width:900px}h2{font-size:1rem;margin:6px 0}table{table-layout:fixed}td{height:62px;vertical-align:top;font-size:.8rem;padding:2px 4px}.event{display:block;background:#fff3d1;color:var(--ink);border-color:#d8b04a;padding:0 4px;font-size:.8rem;cursor:grab;width:100%;overflow:hidden;text-align:left}#free .event{width:auto}.event[aria-pressed=true]{background:#f0c95a}";
const SCRIPT: &str = r##"
const place = Object.fromEntries(data.events);
let held = null;
const put = (day) => { if (held !== null) place[held] = day; held = null; show(); };
const event = (name) => {
  const button = el("button", { class: "event", draggable: "true", "aria-label": name, "aria-pressed": String(held === name) }, name);
  button.addEventListener("dragstart", (event) => { held = name; event.dataTransfer.setData("text/plain", name); });
  button.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    held = held === name ? null : name;
    for (const one of $$(".event")) one.setAttribute("aria-pressed", String(one.textContent === held));
  });
  return button;
};
const first = new Date(`${data.first}T00:00:00Z`), count = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
$("#month").textContent = first.toLocaleDateString("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
$("thead tr").append(...["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].map((name) => el("th", { scope: "col" }, name)));
const show = () => {
  $$("#free .event").forEach((button) => button.remove());
  $("#free").append(...data.events.map(([name]) => name).filter((name) => place[name] === null).map(event));
  const cells = [...Array((first.getUTCDay() + 6) % 7)].map(() => el("td"));
  for (let day = 1; day <= count; day += 1) {
    const date = `${data.first.slice(0, 8)}${two(day)}`;
    const cell = el("td", { tabindex: 0, "aria-label": `Day ${day}` }, String(day), ...data.events.map(([name]) => name).filter((name) => place[name] === date).map(event));
    cell.addEventListener("dragover", (event) => event.preventDefault());
    cell.addEventListener("drop", (event) => { event.preventDefault(); put(date); });
    cell.addEventListener("keydown", (event) => { if (event.key === "Enter" && held) { put(date); $$("td[tabindex]")[day - 1].focus(); } });
    cells.push(cell);
  }
  const rows = [];
  while (cells.length) rows.push(el("tr", {}, ...cells.splice(0, 7)));
  $("tbody").replaceChildren(...rows);
};
$("#send").onclick = () => send({ events: place });
show();
"##;

const EVENTS: [&str; 6] = ["Concert", "Dentist", "Excursion", "Inventory", "Lecture", "Rehearsal"];
const ORDINALS: [&str; 4] = ["first", "second", "third", "fourth"];

/// The day of the month that is the so-and-so-many-th weekday of its kind, both from 0.
fn nth(first: Date, week: usize, weekday: usize) -> Date {
    let start = usize::try_from(first.weekday().to_monday_zero_offset()).unwrap_or_default();
    let days = (weekday + 7 - start) % 7 + 7 * week;
    first.saturating_add(Span::new().days(i64::try_from(days).unwrap_or_default()))
}

fn draw(draw: &mut Draw) -> Task {
    let first = draw.day().first_of_month();
    let names = draw.some(draw.level.of([1, 2, 4, 5]), &EVENTS);
    // Events that are on a day already, all apart from each other.
    let mut days = draw.numbers(names.len() * 2, 1..=20);
    let mut events: Vec<(&str, Option<Date>, Option<Date>)> = Vec::new();
    let mut words = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let set = draw.level > Level::Two && at % 2 == 0;
        let day = days.pop().unwrap_or(1);
        let now = set.then(|| first.saturating_add((day - 1).days()));
        let (week, weekday) = (draw.place(4), draw.place(7));
        let (wanted, word) = match (draw.level, now) {
            (Level::One | Level::Two, _) => {
                let day = first.saturating_add(draw.number(0..=27).days());
                (day, format!("{name} onto day {}", day.day()))
            }
            (Level::Three, _) | (_, None) => {
                (nth(first, week, weekday), format!("{name} onto the {} {}", ORDINALS[week], WEEKDAYS[weekday]))
            }
            (_, Some(now)) => {
                let later = draw.number(3..=8);
                (now.saturating_add(later.days()), format!("{name} {later} days later than it is now"))
            }
        };
        words.push(word);
        events.push((name, now, Some(wanted)));
    }
    let mut solution: Vec<String> = events
        .iter()
        .filter(|event| event.1 != event.2)
        .filter_map(|(name, _, day)| Some(drag(("button", name), ("cell", &format!("Day {}", (*day)?.day())))))
        .collect();
    solution.push(submit());
    let text = |day: &Option<Date>| day.map(|day| day.to_string());
    let wanted: Map<String, Value> =
        events.iter().map(|(name, _, day)| ((*name).to_owned(), json!(text(day)))).collect();
    let data: Vec<_> = events.iter().map(|(name, day, _)| json!([name, text(day)])).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"first": first.to_string(), "events": data}),
        solution,
        ..Task::new(
            "Calendar",
            format!("Move {}, and submit.", listed(&words)),
            Wanted::exactly(&json!({"events": wanted})),
        )
    }
}
