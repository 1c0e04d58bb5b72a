//! A survey of statements with the same answers.

use serde_json::{Map, Value, json};

use crate::steps::{check, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "survey-matrix", about: "Answers the rows of a survey.", draw };

const BODY: &str = r##"<table><thead><tr id="head"></tr></thead><tbody id="rows"></tbody></table><p id="wrong" role="alert"></p><button id="send">Submit</button>"##;
const STYLE: &str = "#head th,#rows td{text-align:center;font-size:.85rem;padding:4px}#rows th{font-weight:normal}";
const SCRIPT: &str = r##"
$("#head").append(el("td", {}), ...data.answers.map((answer) => el("th", { scope: "col" }, answer)));
data.rows.forEach((row, at) => $("#rows").append(el("tr", { role: "radiogroup", "aria-label": row }, el("th", { scope: "row" }, row), ...data.answers.map((answer) => el("td", {}, el("input", { type: "radio", name: `row-${at}`, value: answer, "aria-label": `${row}: ${answer}` }))))));
const answer = (at) => $(`input[name="row-${at}"]:checked`)?.value ?? null;
$("#send").onclick = () => {
  const empty = data.rows.findIndex((_, at) => answer(at) === null);
  if (empty >= 0) { $("#wrong").textContent = `"${data.rows[empty]}" has no answer.`; return; }
  send(Object.fromEntries(data.rows.map((row, at) => [row, answer(at)])));
};
"##;
const ANSWERS: [&str; 5] = ["Not at all", "A little", "Partly", "Mostly", "Fully"];
/// Statements, and their opposites.
const PAIRS: [(&str, &str); 5] = [
    ("The staff were quick", "The staff were slow"),
    ("The room was quiet", "The room was loud"),
    ("The food was good", "The food was bad"),
    ("The way was easy to find", "The way was hard to find"),
    ("The price was fair", "The price was too high"),
];

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let pairs = draw.some(level.of([1, 3, 5, 4]), &PAIRS);
    let mut rows: Vec<(String, usize)> = Vec::new();
    let mut words = Vec::new();
    for (one, other) in pairs {
        let at = draw.place(ANSWERS.len());
        rows.push((one.to_owned(), at));
        words.push(format!("\"{one}\": {}", ANSWERS[at]));
        if level == Level::Four {
            rows.push((other.to_owned(), ANSWERS.len() - 1 - at));
        }
    }
    let mut words = format!("Answer: {}", words.join("; "));
    if level == Level::Three {
        let first = rows[0].1;
        words = format!(
            "Answer \"{}\" with {}, and so every second row of the table, counted from the top with the first \
             row as one that is; answer all the rows between with {}",
            rows[0].0,
            ANSWERS[first],
            ANSWERS[(first + 2) % 5]
        );
        for (at, row) in rows.iter_mut().enumerate() {
            row.1 = if at % 2 == 0 { first } else { (first + 2) % 5 };
        }
    }
    if level == Level::Four {
        words.push_str(
            ". Each of these statements has its opposite in the table: answer that with the mirror image on the scale \
             (Fully becomes Not at all, Mostly becomes A little, Partly stays, and the other way round)",
        );
        rows = draw.shuffled(&rows);
    }
    let mut solution: Vec<String> =
        rows.iter().map(|(row, at)| check("radio", &format!("{row}: {}", ANSWERS[*at]))).collect();
    solution.push(submit());
    let shown: Vec<&String> = rows.iter().map(|(row, _)| row).collect();
    let state: Map<String, Value> = rows.iter().map(|(row, at)| (row.clone(), json!(ANSWERS[*at]))).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"rows": shown, "answers": ANSWERS}),
        solution,
        ..Task::new("Survey", format!("{words}. Then submit."), Wanted::exactly(&Value::Object(state)))
    }
}
