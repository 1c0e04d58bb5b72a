//! A pad of digits.

use serde_json::json;

use crate::steps::{click, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "number-pad", about: "Enters a code on a pad of digits.", draw };

const BODY: &str = r##"<div class="card" id="pad-box"><p>Code: <output id="code" aria-label="Code"></output></p><div id="pad" role="group" aria-label="Digits"></div></div>
<p id="notes"></p><button id="send">Submit</button>"##;
const STYLE: &str = "#pad-box{width:240px}#pad{display:grid;grid-template-columns:repeat(3,1fr);gap:6px}#pad button{padding:10px 0}#code{font:1.4rem monospace}";
const SCRIPT: &str = r##"
let code = data.entered;
const show = () => { $("#code").textContent = code || "–"; };
const put = (digit) => { if (code.length < 12) code += digit; show(); };
const back = () => { code = code.slice(0, -1); show(); };
const button = (name, does, words = name) => el("button", { class: "plain", "aria-label": name, onclick: does }, words);
const digits = data.order.map((digit) => button(String(digit), () => put(digit)));
$("#pad").append(...digits.slice(0, 9), button("Clear", () => { code = ""; show(); }, "C"), digits[9], button("Delete last digit", back, "⌫"));
$("#notes").textContent = data.notes;
document.addEventListener("keydown", (event) => {
  if (/^\d$/.test(event.key)) put(event.key);
  if (event.key === "Backspace") back();
});
$("#send").onclick = () => send({ code });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let length = draw.level.of([3, 6, 8, 0]);
    let code: String =
        (0..length).map(|_| char::from(b'0' + u8::try_from(draw.place(10)).unwrap_or_default())).collect();
    let (code, notes, words) = match draw.level {
        Level::One | Level::Two => (code.clone(), String::new(), format!("Enter the code {code}")),
        Level::Three => {
            let reversed: String = code.chars().rev().collect();
            (code, String::new(), format!("Enter the code {reversed} backwards, from its last digit to its first"))
        }
        Level::Four => {
            let names = draw.things(3);
            let counts = [draw.number(112..=389), draw.number(112..=389), draw.number(112..=389)];
            let total: i64 = counts.iter().sum();
            let each = names.iter().zip(counts).map(|(name, count)| format!("{name} {count}"));
            let notes = format!("Counts: {}", each.collect::<Vec<_>>().join(", "));
            let first = draw.place(3);
            let words = format!(
                "The code is the sum of all counts, then at once the {} count without its middle digit. Enter it",
                names[first]
            );
            (format!("{total}{}{}", counts[first] / 100, counts[first] % 10), notes, words)
        }
    };
    // Digits of somebody else stand there at the upper levels: some may stay.
    let entered = match draw.level {
        Level::One | Level::Two => String::new(),
        Level::Three | Level::Four => format!("{}{}", &code[..2], draw.number(100..=999)),
    };
    let order = if draw.level >= Level::Three {
        draw.shuffled(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    } else {
        vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 0]
    };
    let mut solution = Vec::new();
    if !entered.is_empty() {
        solution.push(click("button", "Clear"));
    }
    solution.extend(code.chars().map(|digit| click("button", &digit.to_string())));
    solution.push(submit());
    let old = if entered.is_empty() { "" } else { " Digits that stand there already do not count unless they fit." };
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"entered": entered, "order": order, "notes": notes}),
        solution,
        ..Task::new("Enter a code", format!("{words}, and submit.{old}"), Wanted::exactly(&json!({"code": code})))
    }
}
