//! A calendar of one month at a time, in which a day is chosen.

use jiff::civil::Date;
use jiff::{Span, ToSpan as _};
use serde_json::json;

use crate::words::long;
use crate::{Draw, Level, Task, Wanted, Widget, named};

pub(super) const WIDGET: Widget =
    Widget { name: "month-picker", about: "Chooses a day in a calendar of one month at a time.", draw };

const BODY: &str = r##"<div class="card"><div class="row"><button class="plain" id="before" aria-label="Previous month">‹</button>
<h2 id="month" aria-live="polite"></h2><button class="plain" id="after" aria-label="Next month">›</button></div>
<div id="days" role="group" aria-label="Days"></div></div>
<p>Chosen: <output id="chosen">nothing</output></p><button id="send">Submit</button>"##;
const STYLE: &str = "#days{display:grid;grid-template-columns:repeat(7,1fr);gap:4px}#days button{padding:6px 0}h2{font-size:1rem;min-width:10em;text-align:center}";
const SCRIPT: &str = r##"
let [year, month] = data.shown;
let chosen = null;
const show = () => {
  $("#month").textContent = `${MONTHS[month - 1]} ${year}`;
  const first = (new Date(Date.UTC(year, month - 1, 1)).getUTCDay() + 6) % 7;
  const count = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const days = [...Array(first)].map(() => el("span"));
  for (let day = 1; day <= count; day += 1) {
    const date = `${year}-${two(month)}-${two(day)}`;
    const pressed = date === chosen ? "true" : "false";
    days.push(el("button", { class: "plain", "aria-pressed": pressed, "aria-label": `${day} ${MONTHS[month - 1]} ${year}`, onclick: () => { chosen = date; show(); } }, String(day)));
  }
  $("#days").replaceChildren(...days);
  $("#chosen").textContent = chosen ?? "nothing";
};
const turn = (by) => { month += by; if (month < 1) { month = 12; year -= 1; } if (month > 12) { month = 1; year += 1; } show(); };
$("#before").onclick = () => turn(-1);
$("#after").onclick = () => turn(1);
$("#send").onclick = () => send({ day: chosen });
show();
"##;

/// Months between the one that is shown and the one that is wanted.
fn distance(draw: &mut Draw) -> i64 {
    match draw.level {
        Level::One => 0,
        Level::Two => draw.number(1..=2),
        Level::Three => draw.number(3..=6) * if draw.once_in(2) { -1 } else { 1 },
        Level::Four => draw.number(7..=12) * if draw.once_in(2) { -1 } else { 1 },
    }
}

fn draw(draw: &mut Draw) -> Task {
    let day = draw.day();
    let months = distance(draw);
    let shown = day.saturating_sub(Span::new().months(months));
    // At the last level the day has to be worked out.
    let (words, wanted) = if draw.level == Level::Four {
        let days = draw.number(2..=6);
        (format!("the day {days} days after {}", long(day)), day.saturating_add(days.days()))
    } else {
        (long(day), day)
    };
    let between = months_between(shown, wanted);
    let turn = named("button", if between < 0 { "Previous month" } else { "Next month" });
    let mut solution: Vec<String> = (0..between.abs()).map(|_| format!("click({turn})")).collect();
    solution.push(format!("click({})", named("button", &long(wanted))));
    solution.push(format!("click({})", named("button", "Submit")));
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"shown": [shown.year(), shown.month()]}),
        solution,
        ..Task::new(
            "Choose a day",
            format!("Choose {words} in the calendar, and submit it."),
            Wanted::exactly(&json!({"day": wanted.to_string()})),
        )
    }
}

fn months_between(from: Date, to: Date) -> i64 {
    let months = |day: Date| i64::from(day.year()) * 12 + i64::from(day.month());
    months(to) - months(from)
}
