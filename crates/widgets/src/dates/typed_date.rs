//! Dates that are typed into inputs with a mask.

use jiff::ToSpan as _;
use jiff::civil::Date;
use serde_json::{Map, Value, json};

use crate::steps::{fill, submit};
use crate::words::{WEEKDAYS, long, weekday};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "typed-date", about: "Types dates into inputs that each want another order.", draw };

const MASKS: [&str; 3] = ["DD/MM/YYYY", "MM/DD/YYYY", "YYYY-MM-DD"];
const BODY: &str =
    r##"<div id="fields" class="card"></div><p id="wrong" role="alert"></p><button id="send">Submit</button>"##;
const SCRIPT: &str = r##"
const masked = (text, mask) => {
  const digits = text.replace(/\D/g, "").slice(0, 8);
  let out = "", at = 0;
  for (const sign of mask) {
    if (at >= digits.length) break;
    out += /[DMY]/.test(sign) ? digits[at++] : sign;
  }
  return out;
};
const part = (text, mask, letter) => [...mask].map((sign, at) => sign === letter ? text[at] : "").join("");
const fits = (text, mask) => {
  if (text.length !== 10) return false;
  const [year, month, day] = ["Y", "M", "D"].map((letter) => Number(part(text, mask, letter)));
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
};
const inputs = data.fields.map(({ label, mask }) => {
  const input = el("input", { inputmode: "numeric", placeholder: mask, autocomplete: "off", oninput: () => { input.value = masked(input.value, mask); input.removeAttribute("aria-invalid"); } });
  $("#fields").append(el("label", {}, label + " ", input, el("span", { class: "soft", "aria-hidden": "true" }, " " + mask)));
  return input;
});
$("#send").onclick = () => {
  const at = inputs.findIndex((input, at) => !fits(input.value, data.fields[at].mask));
  if (at < 0) { send(Object.fromEntries(inputs.map((input, at) => [data.fields[at].label, input.value]))); return; }
  inputs[at].setAttribute("aria-invalid", "true");
  $("#wrong").textContent = `${data.fields[at].label}: type a date as ${data.fields[at].mask}.`;
  inputs[at].focus();
};
"##;

fn written(day: Date, mask: &str) -> String {
    mask.replace("DD", &format!("{:02}", day.day()))
        .replace("MM", &format!("{:02}", day.month()))
        .replace("YYYY", &day.year().to_string())
}

/// A day that has to be worked out from another, in words and as it is.
fn worked_out(draw: &mut Draw, from: Date) -> (String, Date) {
    match draw.number(0..=2) {
        0 => {
            let days = draw.number(5..=20);
            (format!("{days} days after {}", long(from)), from.saturating_add(days.days()))
        }
        1 => (format!("the last day of the month in which {} lies", long(from)), from.last_of_month()),
        _ => {
            let wanted = draw.number(0..=6);
            let ahead = (wanted - weekday(from) + 6).rem_euclid(7) + 1;
            let name = WEEKDAYS[usize::try_from(wanted).unwrap_or_default()];
            (format!("the first {name} after {}", long(from)), from.saturating_add(ahead.days()))
        }
    }
}

fn draw(draw: &mut Draw) -> Task {
    let labels = ["Departure", "Return", "Renewal"];
    let count = draw.level.of([1, 1, 2, 3]);
    let masks = draw.shuffled(&MASKS);
    let (mut fields, mut words, mut wanted) = (Vec::new(), Vec::new(), Map::new());
    let mut solution = Vec::new();
    for (label, mask) in labels.into_iter().zip(masks).take(count) {
        let day = draw.day();
        let (told, day) = match draw.level {
            Level::One => (written(day, mask), day),
            Level::Two | Level::Three => (long(day), day),
            Level::Four => worked_out(draw, day),
        };
        words.push(format!("{label}: {told}"));
        fields.push(json!({"label": label, "mask": mask}));
        wanted.insert(label.to_owned(), json!(written(day, mask)));
        solution.push(fill("textbox", label, &written(day, mask)));
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        script: SCRIPT,
        data: json!({"fields": fields}),
        solution,
        ..Task::new(
            "Type dates",
            format!("Type each date in the order that its field wants, and submit. {}.", words.join("; ")),
            Wanted::exactly(&Value::Object(wanted)),
        )
    }
}
