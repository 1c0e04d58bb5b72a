//! A form with several files, given at once or one after the other.

use serde_json::json;

use super::plain;
use crate::steps::{click, submit, upload};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "upload-several", about: "Uploads all files that fit, and none that does not.", draw };

const BODY: &str = r##"<div class="card"><label>Add files <input type="file" id="file" multiple></label><ul id="list" aria-label="Files to send"></ul></div><p id="told" role="status"></p><button id="send">Submit</button>"##;
const STYLE: &str = "#list li{margin:4px 0}#list button{padding:0 8px;margin-left:8px}";
const SCRIPT: &str = r##"
let files = [...data.there];
const show = () => {
  $("#list").replaceChildren(...files.map((name) => el("li", {}, name, el("button", { class: "plain", "aria-label": `Remove ${name}`, onclick: () => { files = files.filter((one) => one !== name); show(); } }, "Remove"))));
  $("#told").textContent = `${files.length} files`;
  $("#send").disabled = files.length === 0;
};
$("#file").addEventListener("change", () => {
  for (const file of $("#file").files) if (!files.includes(file.name)) files.push(file.name);
  $("#file").value = "";
  show();
});
$("#send").onclick = () => send({ files });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    const ENDS: [&str; 4] = ["png", "txt", "csv", "pdf"];
    let count = draw.level.of([3, 5, 8, 12]);
    let things = draw.things(count);
    let names: Vec<String> = things.iter().enumerate().map(|(at, thing)| format!("{thing}.{}", ENDS[at % 4])).collect();
    let end = draw.pick(&ENDS);
    let letters = ["a", "e", "r"];
    let letter = draw.pick(&letters);
    let mut there: Vec<String> = Vec::new();
    let wanted: Vec<String> = match draw.level {
        Level::One => draw.some(2, &names),
        Level::Two => draw.some(3, &names),
        Level::Three => names.iter().filter(|name| name.ends_with(end)).cloned().collect(),
        Level::Four => {
            // Some are in the list already; not all of them belong there.
            there = names[..3].to_vec();
            names
                .iter()
                .filter(|name| name.ends_with(end) || name[..name.len() - 4].contains(letter))
                .cloned()
                .collect()
        }
    };
    let words = match draw.level {
        Level::One | Level::Two => format!("Send {}", listed(&wanted)),
        Level::Three => format!("Send every file of yours that ends in .{end}, and no other"),
        Level::Four => format!(
            "The list of files to send must hold every file that ends in .{end}, and every file whose name has the letter {letter} before the dot, and no other: add what is missing, and remove what does not belong there"
        ),
    };
    let mut solution: Vec<String> = there
        .iter()
        .filter(|name| !wanted.contains(name))
        .map(|name| click("button", &format!("Remove {name}")))
        .collect();
    let new: Vec<&str> = wanted.iter().filter(|name| !there.contains(name)).map(String::as_str).collect();
    if !new.is_empty() {
        solution.push(upload("#file", &new));
    }
    solution.push(submit());
    let all = listed(&draw.shuffled(&names));
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"there": there}),
        files: names.iter().map(|name| plain(name)).collect(),
        solution,
        ..Task::new(
            "Send files",
            format!("Your files are {all}. {words}. Then submit."),
            Wanted::in_any_order("files", &wanted),
        )
    }
}
