//! A clock face on which hours and minutes are chosen.

use serde_json::json;

use crate::steps::{click, submit};
use crate::words::{clock, half_clock};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "clock-face", about: "Chooses the hour and then the minutes on a clock face.", draw };

const BODY: &str = r##"<div class="row"><output id="time" aria-label="Chosen time"></output></div>
<div class="row" role="group" aria-label="Part"><button class="plain" id="hours">Hours</button><button class="plain" id="minutes">Minutes</button></div>
<div id="face" role="group"></div><button id="send">Submit</button>"##;
const STYLE: &str = "#time{font-size:1.8rem}#face{position:relative;width:300px;height:300px;border:2px solid var(--line);border-radius:50%;margin:12px 0;background:var(--fill)}#face button{position:absolute;width:36px;height:36px;padding:0;border-radius:50%;transform:translate(-50%,-50%)}[aria-pressed=true]{background:var(--accent)!important;color:#fff!important}";
const SCRIPT: &str = r##"
let hour = 0, minute = 0, part = "hours";
const place = (at, far) => `left:${150 + far * Math.sin(at * Math.PI / 6)}px;top:${150 - far * Math.cos(at * Math.PI / 6)}px`;
const show = () => {
  $("#time").textContent = `${two(hour)}:${two(minute)}`;
  for (const name of ["hours", "minutes"]) $("#" + name).setAttribute("aria-pressed", String(name === part));
  const all = [];
  if (part === "hours") {
    for (let at = 0; at < 24; at += 1) all.push([at, two(at), place(at, at < 12 ? 128 : 84), at === hour, `${at} hours`, () => { hour = at; part = "minutes"; }]);
  } else {
    for (let at = 0; at < 12; at += 1) all.push([at, two(at * 5), place(at, 128), at * 5 === minute, `${at * 5} minutes`, () => { minute = at * 5; }]);
  }
  $("#face").setAttribute("aria-label", part === "hours" ? "Hours" : "Minutes");
  $("#face").replaceChildren(...all.map(([, words, style, pressed, name, does]) => el("button", { class: "plain", style, "aria-label": name, "aria-pressed": String(pressed), onclick: () => { does(); show(); $('#face [aria-pressed="true"]')?.focus(); } }, words)));
};
$("#hours").onclick = () => { part = "hours"; show(); };
$("#minutes").onclick = () => { part = "minutes"; show(); };
$("#send").onclick = () => send({ time: `${two(hour)}:${two(minute)}` });
show();
"##;

/// A time of the afternoon as people say it.
fn spoken(minutes: i64) -> String {
    let hour = (minutes / 60 + 11) % 12 + 1;
    let next = hour % 12 + 1;
    let words = match minutes % 60 {
        0 => format!("{hour} o'clock"),
        15 => format!("quarter past {hour}"),
        30 => format!("half past {hour}"),
        45 => format!("quarter to {next}"),
        past if past < 30 => format!("{past} minutes past {hour}"),
        past => format!("{} minutes to {next}", 60 - past),
    };
    format!("{words} in the afternoon")
}

fn draw(draw: &mut Draw) -> Task {
    let hour = draw.number(1..=10);
    let past = 5 * draw.number(1..=11);
    let (minutes, words) = match draw.level {
        Level::One => (hour * 60, clock(hour * 60)),
        Level::Two => (hour * 60 + past, clock(hour * 60 + past)),
        Level::Three => {
            let minutes = (12 + draw.number(1..=4)) * 60 + past;
            (minutes, spoken(minutes))
        }
        Level::Four => {
            let start = (8 + hour) * 60 + past;
            let (hours, more) = (draw.number(1..=4), 5 * draw.number(2..=11));
            let words =
                format!("the time at which a film of {hours} h {more} min ends that begins at {}", half_clock(start));
            (start + hours * 60 + more, words)
        }
    };
    let mut solution = vec![click("button", &format!("{} hours", minutes / 60))];
    if minutes % 60 > 0 {
        solution.push(click("button", &format!("{} minutes", minutes % 60)));
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        solution,
        ..Task::new(
            "Choose a time",
            format!("Choose {words} on the clock face (outer ring 0 to 11 hours, inner ring 12 to 23), and submit."),
            Wanted::exactly(&json!({"time": clock(minutes)})),
        )
    }
}
