//! A form with one file.

use serde_json::json;

use super::plain;
use crate::steps::{fill, submit, upload};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "upload-one", about: "Uploads the one right file among several.", draw };

const BODY: &str = r##"<form id="form" class="card"><label>File <input type="file" id="file" required></label><label id="titled">Title <input id="title" autocomplete="off"></label><button id="send">Submit</button></form><p id="told" role="status">No file yet</p>"##;
const SCRIPT: &str = r##"
$("#titled").hidden = !data.title;
$("#file").addEventListener("change", () => { const file = $("#file").files[0]; $("#told").textContent = file ? `${file.name}, ${file.size} bytes` : "No file yet"; });
$("#form").onsubmit = async (event) => {
  event.preventDefault();
  const file = $("#file").files[0];
  send({ name: file.name, content: await file.text(), title: $("#title").value.trim() });
};
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([2, 4, 6, 8]);
    let (thing, day) = (draw.things(1)[0], draw.day());
    let months = draw.numbers(12, 1..=12);
    let names: Vec<String> = match draw.level {
        Level::One | Level::Two => draw.things(count).iter().map(|thing| format!("{thing}.txt")).collect(),
        Level::Three => {
            let ends = ["draft", "final", "final-2", "old", "copy", "notes"];
            ends.iter().map(|end| format!("{thing}-{end}.txt")).collect()
        }
        // The same by month, in another order of the parts of the date.
        Level::Four => (0..count)
            .map(|at| {
                format!("report-{:02}-{:02}-{}.txt", day.day().min(28), months[at], day.year() + i16::from(at % 2 == 0))
            })
            .collect(),
    };
    let (words, wanted) = match draw.level {
        Level::Four => {
            let key = |name: &&String| (name[13..17].to_owned(), name[10..12].to_owned(), name[7..9].to_owned());
            let latest = draw.once_in(2);
            let wanted = if latest { names.iter().max_by_key(key) } else { names.iter().min_by_key(key) };
            let words = format!(
                "the {} of the reports (their names hold day, month and year)",
                if latest { "latest" } else { "earliest" }
            );
            (words, wanted.cloned().unwrap_or_default())
        }
        _ => {
            let wanted = draw.pick(&names);
            (format!("the file {wanted}"), wanted)
        }
    };
    let title = if draw.level > Level::One { format!("For {}", draw.names(1)[0]) } else { String::new() };
    let mut solution = vec![upload("#file", &[&wanted])];
    if !title.is_empty() {
        solution.push(fill("textbox", "Title", &title));
    }
    solution.push(submit());
    let also = if title.is_empty() { String::new() } else { format!(" with the title “{title}”") };
    let all = listed(&draw.shuffled(&names));
    Task {
        body: BODY.to_owned(),
        script: SCRIPT,
        data: json!({"title": !title.is_empty()}),
        files: names.iter().map(|name| plain(name)).collect(),
        solution,
        ..Task::new(
            "Upload",
            format!("Your files are {all}. Upload {words}{also}, and submit."),
            Wanted::exactly(&json!({"name": wanted, "content": format!("This is {wanted}.\n"), "title": title})),
        )
    }
}
