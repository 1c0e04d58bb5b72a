//! A pocket calculator with a memory.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget = Widget { name: "calculator", about: "Works something out with a calculator.", draw };

const BODY: &str = r##"<div class="card" id="calculator"><output id="display" aria-label="Display" aria-live="polite">0</output><div id="keys" role="group" aria-label="Keys"></div></div>
<p class="soft">It calculates from left to right. M+ adds the display to the memory, MR shows the memory, MC empties it.</p><button id="send">Submit</button>"##;
const STYLE: &str = "#calculator{width:320px}#display{display:block;text-align:right;font-size:1.6rem;background:#fff;border:1px solid var(--line);padding:4px 12px;margin-bottom:8px}#keys{display:grid;grid-template-columns:repeat(4,1fr);gap:6px}";
const SCRIPT: &str = r##"
let [left, sign, fresh, memory] = [null, null, true, 0];
const names = { "+": "plus", "−": "minus", "×": "times", "÷": "divided by", "=": "equals", C: "clear", "M+": "add to memory", MR: "recall memory", MC: "empty memory" };
const display = $("#display");
const value = () => Number(display.textContent);
const show = (number) => { display.textContent = Number.isFinite(number) ? String(Number(number.toPrecision(12))) : "Error"; fresh = true; };
const work = () => {
  const right = value();
  if (sign) show({ "+": left + right, "−": left - right, "×": left * right, "÷": left / right }[sign]);
};
const key = (name) => {
  if (/^[0-9.]$/.test(name)) {
    if (fresh) { display.textContent = name === "." ? "0." : name; fresh = false; }
    else if (display.textContent.length < 12 && !(name === "." && display.textContent.includes("."))) display.textContent = display.textContent === "0" && name !== "." ? name : display.textContent + name;
  } else if (name === "C") { [left, sign] = [null, null]; show(0); }
  else if (name === "M+") { if (sign) { work(); sign = null; } memory += value(); fresh = true; }
  else if (name === "MR") show(memory);
  else if (name === "MC") memory = 0;
  else { if (sign && !fresh || name === "=") work(); left = value(); sign = name === "=" ? null : name; fresh = true; }
};
for (const name of ["MC", "MR", "M+", "C", "7", "8", "9", "÷", "4", "5", "6", "×", "1", "2", "3", "−", "0", ".", "=", "+"]) {
  $("#keys").append(el("button", { class: /[0-9.]/.test(name) ? "plain" : "", "aria-label": names[name] ?? name, onclick: () => key(name) }, name));
}
document.addEventListener("keydown", (event) => {
  const name = { "-": "−", "*": "×", "/": "÷" }[event.key] ?? event.key;
  if (/^[0-9.+−×÷=]$/.test(name) && !event.ctrlKey) { key(name); event.preventDefault(); }
});
$("#send").onclick = () => send({ display: value() });
"##;

/// Keys of an expression: digits, and the words of the others.
fn keys(expression: &[&str]) -> Vec<String> {
    let words = expression.iter().flat_map(|part| {
        if part.chars().all(|letter| letter.is_ascii_digit()) {
            part.chars().map(String::from).collect::<Vec<_>>()
        } else {
            vec![(*part).to_owned()]
        }
    });
    words.map(|name| steps::click("button", &name)).collect()
}

fn draw(draw: &mut Draw) -> Task {
    let number = |draw: &mut Draw, from, to| draw.number(from..=to);
    let (a, b) = draw.level.of([(2, 9), (12, 99), (12, 59), (3, 9)]);
    let (a, b) = (number(draw, a, b), number(draw, a, b));
    let (c, d) = (number(draw, 3, 40), number(draw, 4, 19));
    let (at, bt, ct, dt) = (a.to_string(), b.to_string(), c.to_string(), d.to_string());
    let (value, words, expression): (i64, String, Vec<&str>) = match draw.level {
        Level::One => (a + b, format!("Work out {a} + {b}"), vec![&at, "plus", &bt, "equals"]),
        Level::Two => (a * b + c, format!("Work out {a} × {b} + {c}"), vec![&at, "times", &bt, "plus", &ct, "equals"]),
        Level::Three => (
            a * b - c * d,
            format!("Work out the product of {a} and {b} less the product of {c} and {d}"),
            vec![&ct, "times", &dt, "equals", "add to memory", &at, "times", &bt, "minus", "recall memory", "equals"],
        ),
        Level::Four => (
            a * b * 12 - c,
            format!(
                "A shop gets {a} crates. In each crate lie {b} boxes, and each box holds a dozen eggs. {c} eggs are broken. \
                 Work out how many whole eggs the shop has"
            ),
            vec![&at, "times", &bt, "times", "12", "minus", &ct, "equals"],
        ),
    };
    let mut solution = keys(&expression);
    solution.push(steps::submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        solution,
        ..Task::new(
            "Calculator",
            format!("{words}, and submit when the display shows the result."),
            Wanted::exactly(&json!({"display": value})),
        )
    }
}
