//! Titles whose capital letters are put right.

use serde_json::json;

use crate::steps::{fill, submit};
use crate::words::{capital, sentence};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "capital-letters", about: "Puts capital letters of texts right by a rule.", draw };

const BODY: &str = r##"<div class="card" id="rule"></div><div id="fields"></div><button id="send">Submit</button>"##;
const STYLE: &str = "#fields input{width:100%}";
const SCRIPT: &str = r##"
$("#rule").textContent = data.rule;
const inputs = data.texts.map((text, at) => {
  const input = el("input", { value: text, autocomplete: "off", spellcheck: "false" });
  $("#fields").append(el("label", {}, `Text ${at + 1}`, input));
  return input;
});
$("#send").onclick = () => send({ texts: inputs.map((input) => input.value) });
"##;

/// A title: every word with a capital but small words, save the first and the last word.
fn title(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let small = ["the", "near", "and", "of", "a"];
    let each = words.iter().enumerate().map(|(at, word)| {
        if small.contains(word) && at > 0 && at + 1 < words.len() { (*word).to_owned() } else { capital(word) }
    });
    each.collect::<Vec<_>>().join(" ")
}

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let count = level.of([1, 2, 3, 4]);
    let texts: Vec<String> = (0..count)
        .map(|_| match level {
            Level::One => draw.things(3).join(" "),
            Level::Two => sentence(draw).to_lowercase(),
            Level::Three => format!("{} and the {}", sentence(draw), draw.things(1)[0]).to_lowercase(),
            Level::Four => format!("the {} of {}", draw.things(1)[0], sentence(draw)).to_lowercase(),
        })
        .collect();
    let rule = match level {
        Level::One => "Write all letters as capitals.",
        Level::Two => "Begin every word with a capital; all other letters are small.",
        Level::Three => {
            "Begin every word with a capital, except the words the, near and and. All other letters are small."
        }
        Level::Four => {
            "Texts with an odd number are titles: begin every word with a capital, but the words the, near, and, of, a \
             only where they are first or last. Texts with an even number: only the first letter of the text is a \
             capital, and the last word is all in capitals."
        }
    };
    let right = |at: usize, text: &str| match level {
        Level::One => text.to_uppercase(),
        Level::Two => text.split(' ').map(capital).collect::<Vec<_>>().join(" "),
        Level::Three | Level::Four if level == Level::Three || at.is_multiple_of(2) => title(text),
        Level::Three | Level::Four => {
            let (start, last) = text.rsplit_once(' ').unwrap_or(("", text));
            format!("{} {}", capital(start), last.to_uppercase())
        }
    };
    let wanted: Vec<String> = texts.iter().enumerate().map(|(at, text)| right(at, text)).collect();
    let mut solution: Vec<String> =
        wanted.iter().enumerate().map(|(at, text)| fill("textbox", &format!("Text {}", at + 1), text)).collect();
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"texts": texts, "rule": rule}),
        solution,
        ..Task::new(
            "Capital letters",
            format!("Put the capital letters of each text right by this rule, change nothing else, and submit. {rule}"),
            Wanted::exactly(&json!({"texts": wanted})),
        )
    }
}
