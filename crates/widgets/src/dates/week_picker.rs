//! A calendar of whole weeks.

use jiff::ToSpan as _;
use jiff::civil::Date;
use serde_json::json;

use crate::steps::{click, select, submit};
use crate::words::{long, month};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "week-picker", about: "Chooses weeks in a calendar by rows.", draw };

const BODY: &str = r##"<div class="row"><label>Month <select id="month"></select></label><label>Year <select id="year"></select></label></div>
<table><thead><tr><th>Week</th><th>Mo</th><th>Tu</th><th>We</th><th>Th</th><th>Fr</th><th>Sa</th><th>Su</th></tr></thead><tbody id="weeks"></tbody></table>
<p>Chosen: <output id="chosen">none</output></p><button id="send">Submit</button>"##;
const STYLE: &str = "td button{padding:2px 8px}tr.on{background:#dce8fa}.soft{opacity:.7}";
const SCRIPT: &str = r##"
const chosen = new Set();
for (const [at, name] of MONTHS.entries()) $("#month").append(el("option", { value: at, selected: at === data.shown[1] - 1 }, name));
for (let year = 2028; year <= 2034; year += 1) $("#year").append(el("option", { value: year, selected: year === data.shown[0] }, String(year)));
const day = 86400000;
const weekOf = (monday) => {
  const thursday = new Date(monday + 3 * day);
  const year = thursday.getUTCFullYear();
  return [year, Math.floor((thursday - Date.UTC(year, 0, 1)) / (7 * day)) + 1];
};
const show = () => {
  const year = Number($("#year").value), month = Number($("#month").value);
  const first = Date.UTC(year, month, 1);
  const rows = [];
  for (let monday = first - ((new Date(first).getUTCDay() + 6) % 7) * day; monday < Date.UTC(year, month + 1, 1); monday += 7 * day) {
    const [of, week] = weekOf(monday);
    const key = `${of}-W${two(week)}`;
    const cells = [...Array(7)].map((_, at) => { const date = new Date(monday + at * day); return el("td", { class: date.getUTCMonth() === month ? "" : "soft" }, String(date.getUTCDate())); });
    const toggle = () => { if (!chosen.delete(key)) { if (!data.many) chosen.clear(); chosen.add(key); } show(); $(`[data-week="${key}"]`).focus(); };
    rows.push(el("tr", { class: chosen.has(key) ? "on" : "" }, el("td", {}, el("button", { class: "plain", "aria-label": `Week ${week} of ${of}`, "aria-pressed": String(chosen.has(key)), "data-week": key, onclick: toggle }, String(week))), ...cells));
  }
  $("#weeks").replaceChildren(...rows);
  $("#chosen").textContent = [...chosen].sort().join(", ") || "none";
};
$("#month").onchange = $("#year").onchange = show;
$("#send").onclick = () => send({ weeks: [...chosen].sort() });
show();
"##;

/// The year and the number of a day's week (ISO 8601).
fn week(day: Date) -> (i64, i64) {
    let week = day.iso_week_date();
    (i64::from(week.year()), i64::from(week.week()))
}

fn draw(draw: &mut Draw) -> Task {
    let day = draw.day();
    let (days, words) = match draw.level {
        Level::One | Level::Three => {
            let (year, number) = week(day);
            (vec![day], format!("week {number} of {year}"))
        }
        Level::Two => (vec![day], format!("the week in which {} lies", long(day))),
        Level::Four => {
            let apart = draw.number(3..=9);
            let days = vec![day.saturating_add(apart.weeks()), day.saturating_sub(apart.weeks())];
            let words =
                format!("the two weeks that lie {apart} weeks after and {apart} weeks before that of {}", long(day));
            (days, words)
        }
    };
    let shown = if draw.level == Level::One { day } else { day.saturating_add(draw.number(3..=10).months()) };
    let mut solution = Vec::new();
    for day in &days {
        let (year, number) = week(*day);
        solution.push(select("Month", month(*day)));
        solution.push(select("Year", &day.year().to_string()));
        solution.push(click("button", &format!("Week {number} of {year}")));
    }
    solution.push(submit());
    let keys = days.iter().map(|day| json!(format!("{}-W{:02}", week(*day).0, week(*day).1))).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"shown": [shown.year(), shown.month()], "many": days.len() > 1}),
        solution,
        ..Task::new(
            "Choose weeks",
            format!("Choose {words} (weeks begin on Monday; numbers are those of ISO 8601), and submit."),
            Wanted::field("weeks", Wanted::Set(keys)),
        )
    }
}
