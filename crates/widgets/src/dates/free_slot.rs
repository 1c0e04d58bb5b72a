//! Agendas of several people in which a time is found that suits all.

use serde_json::json;

use crate::steps::{check, submit};
use crate::words::clock;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "free-slot", about: "Finds the earliest time at which everybody is free.", draw };

const BODY: &str = r##"<table><thead><tr id="head"></tr></thead><tbody id="rows"></tbody></table><p><button id="send">Submit</button></p>"##;
const STYLE: &str = "td.busy{background:#f3d9d9}td label{margin:0}td,th{padding:2px 8px}";
const SCRIPT: &str = r##"
$("#head").append(el("th", {}, "Start"), ...data.people.map((name) => el("th", {}, name)));
for (const { time, busy } of data.rows) {
  const start = el("label", {}, el("input", { type: "radio", name: "start", value: time }), " " + time);
  $("#rows").append(el("tr", {}, el("td", {}, start), ...busy.map((what) => el("td", { class: what ? "busy" : "" }, what || "free"))));
}
$("#send").onclick = () => send({ start: $("input[name=start]:checked")?.value ?? null });
"##;
const EVENTS: [&str; 6] = ["meeting", "call", "training", "review", "visit", "travel"];

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([1, 2, 3, 4]);
    let step = draw.level.of([60, 60, 30, 30]);
    let slots = draw.level.of([1, 1, 2, 3]);
    let rows = draw.level.of([8, 9, 16, 18]);
    let people = draw.names(count);
    // One place is free for all; before it, one of them is busy too often for a meeting of that length.
    let first = draw.level.of([2, 3, 6, 9]) + draw.place(3);
    let mut busy = vec![vec![String::new(); count]; rows];
    for (row, cells) in busy.iter_mut().enumerate() {
        let open = (first..first + slots).contains(&row);
        for cell in cells.iter_mut() {
            if !open && draw.once_in(3) {
                EVENTS[draw.place(EVENTS.len())].clone_into(cell);
            }
        }
        if row < first && (first - row) % slots == 1 % slots && cells.iter().all(String::is_empty) {
            let at = draw.place(count);
            draw.pick(&EVENTS).clone_into(&mut cells[at]);
        }
    }
    let earliest = if draw.level == Level::Four { draw.place(3) + 2 } else { 0 };
    let free = |row: &usize| busy[*row..row + slots].iter().flatten().all(String::is_empty);
    let start = (earliest..=rows - slots).find(free).unwrap_or(first);
    let time = |row: usize| clock(8 * 60 + step * i64::try_from(row).unwrap_or_default());
    let wanted = time(start);
    let shown: Vec<_> = busy.iter().enumerate().map(|(row, busy)| json!({"time": time(row), "busy": busy})).collect();
    let not_before = if earliest > 0 { format!(", but not before {}", time(earliest)) } else { String::new() };
    let minutes = step * i64::try_from(slots).unwrap_or_default();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"people": people, "rows": shown}),
        solution: vec![check("radio", &wanted), submit()],
        ..Task::new(
            "Find a free time",
            format!(
                "Each row of the agenda is {step} minutes. Choose the earliest start of {minutes} minutes on end in which \
                 {} free{not_before}, and submit.",
                if count == 1 { format!("{} is", people[0]) } else { "everybody is".to_owned() },
            ),
            Wanted::exactly(&json!({"start": wanted})),
        )
    }
}
