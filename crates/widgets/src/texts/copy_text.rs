//! Texts that are copied from one field to another.

use serde_json::json;

use crate::steps::{fill, submit};
use crate::words::sentence;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "copy-text", about: "Copies texts exactly into other fields.", draw };

const BODY: &str = r##"<div id="sources"></div><hr><div id="fields"></div><button id="send">Submit</button>"##;
const STYLE: &str = "textarea,#fields input{width:100%}pre{font:inherit;white-space:pre-wrap;margin:0}";
const SCRIPT: &str = r##"
for (const { name, lines } of data.sources) {
  const area = el("textarea", { readonly: true, rows: Math.min(6, lines.length + 1) });
  area.value = lines.join("\n");
  $("#sources").append(el("label", {}, name, area));
}
const inputs = data.fields.map((name) => {
  const input = el("input", { autocomplete: "off", spellcheck: "false" });
  $("#fields").append(el("label", {}, name, input));
  return input;
});
$("#send").onclick = () => send({ texts: inputs.map((input) => input.value) });
"##;

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let (sources, lines, count) = (level.of([1, 1, 2, 3]), level.of([1, 1, 6, 8]), level.of([1, 2, 2, 3]));
    let sources = if level == Level::Two { 2 } else { sources };
    let mark = |draw: &mut Draw| draw.pick(&[".", "!", "?", "...", ";", " -"]);
    let texts: Vec<Vec<String>> = (0..sources)
        .map(|_| {
            (0..lines)
                .map(|_| match level {
                    Level::One => draw.things(2).join(" "),
                    Level::Two => sentence(draw),
                    Level::Three | Level::Four => {
                        let (line, sign) = (sentence(draw), mark(draw));
                        format!("{line}{sign}")
                    }
                })
                .collect()
        })
        .collect();
    let names = ["Source A", "Source B", "Source C"];
    let fields = ["First copy", "Second copy", "Third copy"];
    let (mut words, mut copies, mut solution) = (Vec::new(), Vec::new(), Vec::new());
    let order = draw.shuffled(&(0..sources).collect::<Vec<_>>());
    for (at, field) in fields.into_iter().enumerate().take(count) {
        let source = order[at % sources];
        let line = draw.place(lines);
        let text = &texts[source][line];
        let (told, copy) = match level {
            Level::One | Level::Two => (names[source].to_owned(), text.clone()),
            Level::Three => (format!("line {} of {}", line + 1, names[source]), text.clone()),
            Level::Four => {
                let below = format!("the last line but {} of {}", line + 1, names[source]);
                let copy = texts[source].iter().rev().nth(line + 1).unwrap_or(&texts[source][0]);
                if line + 1 < lines {
                    (below, copy.clone())
                } else {
                    (format!("the first line of {}", names[source]), copy.clone())
                }
            }
        };
        words.push(format!("{told} into the field {field}"));
        solution.push(fill("textbox", field, &copy));
        copies.push(copy);
    }
    solution.push(submit());
    let shown: Vec<_> = names.iter().zip(&texts).map(|(name, lines)| json!({"name": name, "lines": lines})).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"sources": shown, "fields": &fields[..count]}),
        solution,
        ..Task::new(
            "Copy texts",
            format!("Copy exactly, with all signs: {}. Then submit.", words.join("; ")),
            Wanted::exactly(&json!({"texts": copies})),
        )
    }
}
