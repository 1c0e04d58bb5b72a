//! Shares in per cent that add up to a hundred.

use serde_json::{Map, Value, json};

use crate::steps::{fill, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "split-percent", about: "Splits a hundred per cent among several.", draw };

const BODY: &str = r##"<div class="card" id="shares"></div><p id="left" role="status"></p><button id="send" disabled>Submit</button>"##;
const STYLE: &str =
    "#shares input{width:6em}#shares label{display:grid;grid-template-columns:8em 7em 1fr;align-items:center}";
const SCRIPT: &str = r##"
const inputs = data.shares.map(({ name, note }) => {
  const input = el("input", { type: "number", min: 0, max: 100, value: 0, "aria-label": name, oninput: () => show() });
  $("#shares").append(el("label", {}, el("span", {}, name), input, el("span", {}, note ? `% · ${note}` : "%")));
  return input;
});
const show = () => {
  const left = 100 - inputs.reduce((sum, input) => sum + Number(input.value), 0);
  $("#left").textContent = left === 0 ? "All is given out." : left > 0 ? `${left} % left to give out.` : `${-left} % too much.`;
  $("#send").disabled = left !== 0;
};
$("#send").onclick = () => send(Object.fromEntries(inputs.map((input, at) => [data.shares[at].name, Number(input.value)])));
show();
"##;

/// Percentages, and the words that tell them.
fn shares(draw: &mut Draw, names: &[&str]) -> (Vec<i64>, String) {
    match draw.level {
        Level::One => {
            let first = draw.number(2..=18) * 5;
            (vec![first, 100 - first], format!("Give {} {first} % and {} {} %", names[0], names[1], 100 - first))
        }
        Level::Two => {
            let (first, second) = (draw.number(11..=40), draw.number(11..=40));
            let words = format!("Give {} {first} %, {} {second} % and {} the rest", names[0], names[1], names[2]);
            (vec![first, second, 100 - first - second], words)
        }
        Level::Three => {
            let (part, more) = (draw.number(5..=12), draw.number(3..=9));
            let shares = vec![part, part * 2, part * 2 + more];
            let words = format!(
                "Give {a} {part} %, {b} twice as much as {a}, {c} {more} percentage points more than {b}, and {d} the rest",
                a = names[0],
                b = names[1],
                c = names[2],
                d = names[3],
            );
            let rest = 100 - shares.iter().sum::<i64>();
            (shares.into_iter().chain([rest]).collect(), words)
        }
        Level::Four => {
            let first = draw.number(5..=14);
            let mut shares = vec![first, first + draw.number(3..=8), draw.number(6..=15), draw.number(6..=15)];
            shares.push(100 - shares.iter().sum::<i64>());
            (shares, "Give each the share, in per cent, that its amount has in the sum of all amounts".to_owned())
        }
    }
}

fn draw(draw: &mut Draw) -> Task {
    let names = draw.names(draw.level.of([2, 3, 4, 5]));
    let (wanted, words) = shares(draw, &names);
    let unit = draw.number(3..=9) * 10;
    let note = |share: i64| (draw.level == Level::Four).then(|| format!("amount: {}", share * unit));
    let shown: Vec<Value> =
        names.iter().zip(&wanted).map(|(name, share)| json!({"name": name, "note": note(*share)})).collect();
    let mut solution: Vec<String> =
        names.iter().zip(&wanted).map(|(name, share)| fill("spinbutton", name, &share.to_string())).collect();
    solution.push(submit());
    let state: Map<String, Value> =
        names.iter().zip(&wanted).map(|(name, share)| ((*name).to_owned(), json!(share))).collect();
    let shown = draw.shuffled(&shown);
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"shares": shown}),
        solution,
        ..Task::new("Split a hundred", format!("{words}, and submit."), Wanted::exactly(&Value::Object(state)))
    }
}
