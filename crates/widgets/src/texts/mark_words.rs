//! A small editor in which words are made bold or italic.

use serde_json::json;

use crate::steps::{click, press, presses, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "mark-words", about: "Makes words bold or italic in an editor.", draw };

const BODY: &str = r##"<div class="row" role="toolbar" aria-label="Marks"><button class="plain" id="bold" aria-pressed="false"><b>Bold</b></button><button class="plain" id="italic" aria-pressed="false"><i>Italic</i></button></div>
<div id="text" class="card" contenteditable="true" role="textbox" aria-multiline="true" aria-label="Text" spellcheck="false"></div>
<p class="soft">Select words with the mouse, or with Shift and the arrow keys (with Control, word by word). Control+B and Control+I mark too.</p><button id="send">Submit</button>"##;
const STYLE: &str =
    "#text{background:#fff;font-size:1.1rem;min-height:4em}[aria-pressed=true]{background:#dce8fa!important}";
const SCRIPT: &str = r##"
document.execCommand("styleWithCSS", false, false);
const box = $("#text");
data.words.forEach((word, at) => box.append(at ? " " : "", data.bold.includes(at) ? el("b", {}, word) : word));
const marks = ["bold", "italic"];
const state = () => marks.forEach((mark) => $("#" + mark).setAttribute("aria-pressed", String(document.queryCommandState(mark))));
for (const mark of marks) {
  const button = $("#" + mark);
  button.onmousedown = (event) => event.preventDefault();
  button.onclick = () => { document.execCommand(mark); state(); };
}
box.addEventListener("keydown", (event) => {
  const mark = event.ctrlKey && { b: "bold", i: "italic" }[event.key.toLowerCase()];
  if (mark) { event.preventDefault(); document.execCommand(mark); state(); }
});
document.addEventListener("selectionchange", state);
// Each word with its marks; a word that is marked in part counts as such.
const read = () => {
  const letters = [];
  const walk = (node, marks) => {
    if (node.nodeType === Node.TEXT_NODE) { for (const letter of node.data) letters.push([letter, marks]); return; }
    const style = getComputedStyle(node);
    for (const child of node.childNodes) walk(child, `${Number(style.fontWeight) >= 600 ? "b" : ""}${style.fontStyle === "italic" ? "i" : ""}`);
    if (node.tagName === "BR" || node.tagName === "DIV") letters.push([" ", ""]);
  };
  walk(box, "");
  const words = [];
  let word = null;
  for (const [letter, marks] of letters) {
    if (/\s/.test(letter)) { word = null; continue; }
    if (word === null) { word = { text: "", marks: new Set() }; words.push(word); }
    word.text += letter;
    word.marks.add(marks);
  }
  return words.map(({ text, marks }) => [text, marks.size === 1 ? [...marks][0] : "in part"]);
};
$("#send").onclick = () => send({ words: read() });
"##;

/// Keys that select words from a place, and a button that marks them.
fn marked(from: i64, count: i64, button: &str) -> Vec<String> {
    let mut keys = vec![click("textbox", "Text"), press("textbox", "Text", "Control+Home")];
    keys.extend(presses("textbox", "Text", "Control+ArrowRight", from));
    keys.extend(presses("textbox", "Text", "Control+Shift+ArrowRight", count));
    keys.push(click("button", button));
    keys
}

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let mut words: Vec<&str> = Vec::new();
    let (names, things) = (draw.names(3), draw.things(level.of([1, 2, 3, 5])));
    for (name, two) in names.iter().zip(things.chunks(2)) {
        words.extend([*name, "took", "the", two[0]]);
        words.extend(two.get(1).into_iter().flat_map(|thing| ["and", "the", *thing]));
        words.push("home");
    }
    let count = words.len();
    // Words to mark: place, number of words, mark, button.
    let (mut changes, mut before) = (Vec::new(), Vec::new());
    let place = |thing: &str| words.iter().position(|word| *word == thing).unwrap_or_default();
    let told = match level {
        Level::One => {
            changes.push((place(names[0]), 1, "b", "Bold"));
            format!("Make the name {} bold", names[0])
        }
        Level::Two => {
            changes.push((place(things[1]), 1, "b", "Bold"));
            format!("Make the word {} bold", things[1])
        }
        Level::Three => {
            changes.extend([(place(things[2]), 1, "b", "Bold"), (place(things[0]), 1, "i", "Italic")]);
            format!("Make the word {} bold and the word {} italic", things[2], things[0])
        }
        Level::Four => {
            before.push(place(things[1]));
            changes.push((place(things[1]), 1, "", "Bold"));
            changes.push((place(things[2]) - 3, 4, "b", "Bold"));
            changes.push((place(things[4]) - 1, 2, "i", "Italic"));
            format!(
                "Make the word {} plain again, the four words from {} to {} bold, and the word {} with the article before \
                 it italic",
                things[1], names[1], things[2], things[4],
            )
        }
    };
    let mut marks = vec![""; count];
    let mut solution = Vec::new();
    for (at, length, mark, button) in changes {
        marks[at..at + length].fill(mark);
        let number = |count: usize| i64::try_from(count).unwrap_or_default();
        solution.extend(marked(number(at), number(length), button));
        if mark.is_empty() {
            // A space beside the word was selected too, and was not bold: now it is, and all is made plain.
            solution.push(click("button", button));
        }
    }
    solution.push(submit());
    let state: Vec<_> = words.iter().zip(marks).map(|(word, mark)| json!([word, mark])).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"words": words, "bold": before}),
        solution,
        ..Task::new(
            "Mark words",
            format!("{told}. Change nothing else, and submit."),
            Wanted::exactly(&json!({"words": state})),
        )
    }
}
