//! A code in boxes of one letter each.

use serde_json::json;

use crate::steps::{click, submit};
use crate::{Draw, Level, Task, Wanted, Widget, quoted};

pub(super) const WIDGET: Widget =
    Widget { name: "letter-boxes", about: "Types a code into boxes of one letter each.", draw };

const BODY: &str = r##"<div id="notes"></div><div class="row" id="boxes" role="group" aria-label="Code"></div><p><button id="send">Submit</button></p>"##;
const STYLE: &str = "#boxes input{width:2.4em;text-align:center;font:1.3rem monospace;text-transform:none}#notes p{font-family:monospace;margin:4px 0}";
const SCRIPT: &str = r##"
for (const note of data.notes) $("#notes").append(el("p", {}, note));
const inputs = [];
for (let at = 0; at < data.count; at += 1) {
  const input = el("input", { "aria-label": `Character ${at + 1}`, autocomplete: "off", spellcheck: "false" });
  // What was typed or pasted goes on into the next boxes.
  input.addEventListener("input", () => {
    const letters = [...input.value];
    if (letters.length > 1) letters.forEach((letter, by) => { if (inputs[at + by]) inputs[at + by].value = letter; });
    if (letters.length) (inputs[at + letters.length] ?? inputs.at(-1)).focus();
  });
  input.addEventListener("focus", () => input.select());
  input.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Backspace: input.value ? undefined : at - 1 }[event.key];
    if (to !== undefined && inputs[to]) { event.preventDefault(); inputs[to].focus(); }
  });
  inputs.push(input);
  $("#boxes").append(input);
}
$("#send").onclick = () => send({ code: inputs.map((input) => input.value || " ").join("") });
"##;

fn code(draw: &mut Draw, signs: &str, count: usize) -> String {
    let signs: Vec<char> = signs.chars().collect();
    (0..count).map(|_| draw.pick(&signs)).collect()
}

fn draw(draw: &mut Draw) -> Task {
    const ALIKE: &str = "O0I1lBS58Z2";
    let mut notes = Vec::new();
    let (wanted, words) = match draw.level {
        Level::One => {
            let wanted = code(draw, "123456789", 4);
            (wanted.clone(), format!("Type the code {wanted}"))
        }
        Level::Two => {
            let wanted = code(draw, "ABCDEFGHJKLMNPQRTUVWXY346789", 6);
            (wanted.clone(), format!("Type the code {wanted}"))
        }
        Level::Three => {
            let wanted = code(draw, ALIKE, 8);
            let reversed: String = wanted.chars().rev().collect();
            (
                wanted,
                format!(
                    "Type the code {reversed} backwards, from its last character to its first, with capital and small letters as they are"
                ),
            )
        }
        Level::Four => {
            let parts: Vec<String> = (0..4).map(|_| code(draw, ALIKE, 4)).collect();
            let order = draw.shuffled(&[0_usize, 1, 2, 3]);
            let names = ["North", "East", "South", "West"];
            notes = order.iter().map(|at| format!("{}: {}", names[*at], parts[*at])).collect();
            let turned = draw.place(3);
            let each = parts.iter().enumerate().map(|(at, part)| {
                let part: String = if at == turned { part.chars().rev().collect() } else { part.clone() };
                part[..3].to_owned()
            });
            let wanted: String = each.take(3).collect();
            let words = format!(
                "Type the code made of the parts North, East and South in this order, each without its last character; \
                 write the part {} backwards before you drop its last character",
                names[turned]
            );
            (wanted, words)
        }
    };
    let solution = vec![click("textbox", "Character 1"), format!("keyboard_type({})", quoted(&wanted)), submit()];
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"count": wanted.len(), "notes": notes}),
        solution,
        ..Task::new("Type a code", format!("{words}, and submit."), Wanted::exactly(&json!({"code": wanted})))
    }
}
