//! Lines that are brought into an order.

use serde_json::json;

use crate::steps::{click, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "sort-lines", about: "Sorts lines by moving them up and down.", draw };

const BODY: &str =
    r##"<ol id="lines"></ol><p class="visually" id="told" role="status"></p><button id="send">Submit</button>"##;
const STYLE: &str = "#lines li{margin:4px 0}#lines .row{justify-content:space-between;border:1px solid var(--line);border-radius:6px;padding:2px 8px}#lines button{padding:0 10px}";
const SCRIPT: &str = r##"
const lines = data.lines;
const move = (at, by) => {
  const [line] = lines.splice(at, 1);
  lines.splice(at + by, 0, line);
  show();
  $("#told").textContent = `${line} is now number ${at + by + 1}.`;
  const word = by < 0 ? "up" : "down";
  const buttons = $$("#lines li")[at + by].querySelectorAll("button:not(:disabled)");
  ([...buttons].find((button) => button.dataset.way === word) ?? buttons[0]).focus();
};
const show = () => $("#lines").replaceChildren(...lines.map((line, at) => el("li", {}, el("div", { class: "row" }, el("span", {}, line), el("span", {},
  el("button", { class: "plain", "data-way": "up", "aria-label": `Move ${line} up`, disabled: at === 0, onclick: () => move(at, -1) }, "▲"), " ",
  el("button", { class: "plain", "data-way": "down", "aria-label": `Move ${line} down`, disabled: at === lines.length - 1, onclick: () => move(at, 1) }, "▼"))))));
$("#send").onclick = () => send({ lines });
show();
"##;

/// Lines with what they are sorted by, and the words for it.
fn keyed(draw: &mut Draw) -> (Vec<(String, String)>, &'static str) {
    let count = draw.level.of([3, 4, 5, 6]);
    match draw.level {
        Level::One | Level::Two => {
            let lines = draw.things(count).into_iter().map(|name| (name.to_owned(), name.to_owned())).collect();
            (lines, "from A to Z")
        }
        Level::Three => {
            let numbers = draw.some(count, &(5..140).collect::<Vec<i64>>());
            let names = draw.things(count);
            let lines = names
                .into_iter()
                .zip(numbers)
                .map(|(name, size)| (format!("{name}, {size} cm"), format!("{:03}", 999 - size)));
            (lines.collect(), "from the largest to the smallest")
        }
        Level::Four => {
            // Alike in the surname two by two.
            let surnames = draw.some(count / 2, &["Marsh", "Marshall", "Martin", "Marten", "Marlowe"]);
            let names = draw.names(count);
            let lines = names.into_iter().enumerate().map(|(at, name)| {
                (
                    format!("{name} {}", surnames[at % surnames.len()]),
                    format!("{:<10}{name}", surnames[at % surnames.len()]),
                )
            });
            (lines.collect(), "by surname from A to Z, and where the surnames are the same, by first name from Z to A")
        }
    }
}

fn draw(draw: &mut Draw) -> Task {
    let (mut lines, words) = keyed(draw);
    lines.sort_by(|one, two| one.1.cmp(&two.1));
    if draw.level == Level::Four {
        lines.sort_by(|one, two| one.1[..10].cmp(&two.1[..10]).then_with(|| two.1[10..].cmp(&one.1[10..])));
    }
    let wanted: Vec<String> = lines.into_iter().map(|(line, _)| line).collect();
    let mut shown = draw.shuffled(&wanted);
    if draw.level == Level::One {
        // One move is enough.
        shown = wanted.clone();
        let at = draw.place(2);
        shown.swap(at, at + 1);
    } else if shown == wanted {
        shown.reverse();
    }
    let mut solution = Vec::new();
    let mut now = shown.clone();
    for (at, line) in wanted.iter().enumerate() {
        let from = now.iter().position(|other| other == line).unwrap_or(at);
        solution.extend((at..from).map(|_| click("button", &format!("Move {line} up"))));
        let line = now.remove(from);
        now.insert(at, line);
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"lines": shown}),
        solution,
        ..Task::new(
            "Sort lines",
            format!("Sort the lines {words}, and submit."),
            Wanted::exactly(&json!({"lines": wanted})),
        )
    }
}
