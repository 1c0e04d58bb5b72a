//! A stay that is chosen in two calendars side by side.

use jiff::ToSpan as _;
use jiff::civil::{Date, date};
use serde_json::json;

use crate::steps::{click, submit};
use crate::words::{WEEKDAYS, long, month, weekday};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "date-range", about: "Chooses the first and the last day of a stay in two calendars.", draw };

const BODY: &str = r##"<div class="row"><button class="plain" id="before">Earlier months</button><button class="plain" id="after">Later months</button></div>
<div id="months"></div><p>Arrival: <output id="from">none</output> · Departure: <output id="to">none</output></p><button id="send">Submit</button>"##;
const STYLE: &str = "#months{display:grid;grid-template-columns:1fr 1fr;gap:16px}.days{display:grid;grid-template-columns:repeat(7,1fr);gap:2px}.days button{padding:4px 0}.days .in{background:#dce8fa}.days [aria-pressed=true]{background:var(--accent);color:#fff}h2{font-size:1rem;margin:4px 0}";
const SCRIPT: &str = r##"
let [year, month] = data.shown;
let from = null, to = null;
const choose = (date) => { if (from === null || to !== null || date <= from) { from = date; to = null; } else to = date; show(); };
const calendar = (year, month) => {
  const first = (new Date(Date.UTC(year, month - 1, 1)).getUTCDay() + 6) % 7;
  const count = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const days = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"].map((name) => el("span", { class: "soft" }, name));
  for (let at = 0; at < first; at += 1) days.push(el("span"));
  for (let day = 1; day <= count; day += 1) {
    const date = `${year}-${two(month)}-${two(day)}`;
    const within = from !== null && to !== null && date > from && date < to;
    days.push(el("button", { class: within ? "plain in" : "plain", "aria-pressed": date === from || date === to ? "true" : "false", "aria-label": `${day} ${MONTHS[month - 1]} ${year}`, "data-day": date, onclick: () => choose(date) }, String(day)));
  }
  const title = `${MONTHS[month - 1]} ${year}`;
  return el("section", {}, el("h2", {}, title), el("div", { class: "days", role: "group", "aria-label": title }, ...days));
};
const show = () => {
  const held = document.activeElement?.dataset?.day;
  $("#months").replaceChildren(calendar(year, month), month === 12 ? calendar(year + 1, 1) : calendar(year, month + 1));
  $("#from").textContent = from ?? "none";
  $("#to").textContent = to ?? "none";
  if (held) $(`[data-day="${held}"]`)?.focus();
};
const turn = (by) => { month += by; if (month < 1) { month += 12; year -= 1; } if (month > 12) { month -= 12; year += 1; } show(); };
$("#before").onclick = () => turn(-2);
$("#after").onclick = () => turn(2);
$("#send").onclick = () => send({ arrival: from, departure: to });
show();
"##;

/// Arrival, departure, and the words for both.
fn stay(draw: &mut Draw) -> (Date, Date, String) {
    let month_start = draw.day().first_of_month();
    let nights = draw.level.of([3, 12, 9, 10]) + draw.number(0..=5);
    match draw.level {
        Level::One | Level::Two => {
            let first = draw.level.of([2, 20, 0, 0]) + draw.number(0..=8);
            let from = month_start.saturating_add((first - 1).days());
            let to = from.saturating_add(nights.days());
            (from, to, format!("Choose {} as the arrival and {} as the departure", long(from), long(to)))
        }
        Level::Three => {
            let from = month_start.saturating_add(draw.number(0..=27).days());
            let words = format!("Choose {} as the arrival and a departure {nights} days later", long(from));
            (from, from.saturating_add(nights.days()), words)
        }
        Level::Four => {
            let (wanted, week) = (draw.number(0..=6), draw.number(1..=2));
            let to_first = (wanted - weekday(month_start)).rem_euclid(7);
            let from = month_start.saturating_add((to_first + 7 * week).days());
            let to_name = draw.number(0..=6);
            let to = from.saturating_add(((to_name - wanted - 1).rem_euclid(7) + 8).days());
            let name = |at: i64| WEEKDAYS[usize::try_from(at).unwrap_or_default()];
            let words = format!(
                "Choose the {} {} of {} {} as the arrival, and as the departure the {} of the days from 8 to 14 days after it",
                if week == 1 { "second" } else { "third" },
                name(wanted),
                month(month_start),
                month_start.year(),
                name(to_name),
            );
            (from, to, words)
        }
    }
}

fn draw(draw: &mut Draw) -> Task {
    let (from, to, words) = stay(draw);
    let back = draw.level.of([0, 0, 2, 3]) * 2;
    let later = draw.once_in(2);
    let steps = back.months();
    let shown = if later { from.saturating_add(steps) } else { from.saturating_sub(steps) }.first_of_month();
    let shown = shown.max(date(2029, 1, 1));
    let turn = click("button", if later { "Earlier months" } else { "Later months" });
    let mut solution = vec![turn; usize::try_from(back / 2).unwrap_or_default()];
    solution.extend([click("button", &long(from)), click("button", &long(to)), submit()]);
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"shown": [shown.year(), shown.month()]}),
        solution,
        ..Task::new(
            "Choose a stay",
            format!("{words}, and submit. Two months show at a time; click the arrival first."),
            Wanted::exactly(&json!({"arrival": from.to_string(), "departure": to.to_string()})),
        )
    }
}
