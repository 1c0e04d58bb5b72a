//! A text in which words are replaced.

use serde_json::json;

use crate::steps::{fill, submit};
use crate::words::sentence;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "replace-word", about: "Replaces words of a text.", draw };

const BODY: &str = r##"<label>Text <textarea id="text" rows="10" spellcheck="false"></textarea></label>
<div class="row"><label>Find <input id="find" autocomplete="off"></label><label>Replace by <input id="by" autocomplete="off"></label>
<button class="plain" id="all">Replace all</button><span id="told" role="status" class="soft"></span></div><button id="send">Submit</button>"##;
const STYLE: &str = "textarea{width:100%}";
const SCRIPT: &str = r##"
$("#text").value = data.lines.join("\n");
$("#all").onclick = () => {
  const find = $("#find").value;
  if (!find) { $("#told").textContent = "Type what to find."; return; }
  const parts = $("#text").value.split(find);
  $("#text").value = parts.join($("#by").value);
  $("#told").textContent = `${parts.length - 1} replaced.`;
};
$("#send").onclick = () => send({ text: $("#text").value });
"##;
/// Words, and longer ones that begin with them.
const PAIRS: [(&str, &str); 5] =
    [("cart", "carton"), ("car", "carpet"), ("book", "bookshop"), ("rain", "raincoat"), ("tea", "teapot")];

/// Replaces a word where it stands alone.
fn replaced(text: &str, word: &str, by: &str) -> String {
    let words = text.split(' ').map(|part| match part.strip_prefix(word) {
        Some(rest) if rest.chars().all(|sign| !sign.is_alphanumeric()) => format!("{by}{rest}"),
        _ => part.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let (word, longer) = draw.pick(&PAIRS);
    let by = draw.pick(&["sledge", "bicycle", "whistle", "blanket"]);
    let mut lines: Vec<String> = (0..level.of([1, 3, 5, 6])).map(|_| format!("{}.", sentence(draw))).collect();
    let ends = [format!(" Then comes the {word}."), format!(" A {word}, nothing else."), format!(" It was no {word}!")];
    let marked: Vec<usize> = match level {
        Level::One => vec![0],
        Level::Two => vec![0, 1, 2],
        Level::Three | Level::Four => (0..lines.len()).collect(),
    };
    for at in marked {
        lines[at].push_str(&ends[at % 3]);
        if level == Level::Four {
            lines[at].push_str(&format!(" The {longer} is next to the {}.", if at % 2 == 0 { word } else { "lamp" }));
        }
    }
    let (at, name) = draw.pick(&[(1, "second"), (2, "third"), (3, "fourth")]);
    let wanted: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(line, text)| match level {
            Level::One | Level::Two => replaced(text, word, by),
            Level::Three if line == at => replaced(text, word, by),
            Level::Three => text.clone(),
            Level::Four if line == at => replaced(&replaced(text, longer, "lamp"), word, "lamp"),
            Level::Four => replaced(text, word, by),
        })
        .collect();
    let words = match level {
        Level::One => format!("Replace the word {word} by {by}"),
        Level::Two => format!("Replace every {word} by {by}"),
        Level::Three => format!("In the {name} line only, replace {word} by {by}"),
        Level::Four => format!(
            "Replace the word {word} by {by} wherever it is a whole word (leave {longer} as it is), except in the {name} \
             line: there, replace both {word} and {longer} by lamp"
        ),
    };
    let text = wanted.join("\n");
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"lines": lines}),
        solution: vec![fill("textbox", "Text", &text), submit()],
        ..Task::new(
            "Replace words",
            format!("{words}. Change nothing else, and submit."),
            Wanted::exactly(&json!({"text": text})),
        )
    }
}
