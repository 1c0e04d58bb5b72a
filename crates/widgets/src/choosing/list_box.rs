//! A list box in which several options are chosen.

use serde_json::json;

use crate::steps::{select_several, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "list-box", about: "Chooses several options of one list box.", draw };

const BODY: &str = r##"<label for="list">Stock</label><select id="list" multiple size="12"></select><p><output id="count">0</output> chosen. Control and click adds one to those that are chosen.</p><button id="send">Submit</button>"##;
const STYLE: &str = "select{width:320px}";
const SCRIPT: &str = r##"
const list = $("#list");
for (const option of data.options) list.append(el("option", { selected: data.chosen.includes(option) }, option));
const chosen = () => [...list.selectedOptions].map((option) => option.value);
const count = () => { $("#count").textContent = chosen().length; };
list.onchange = count;
count();
$("#send").onclick = () => send({ chosen: chosen() });
"##;
const COLOURS: [&str; 6] = ["red", "dark red", "blue", "light blue", "green", "white"];

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let things = draw.things(level.of([6, 10, 4, 5]));
    let mut options: Vec<(String, i64)> = Vec::new();
    for thing in things {
        if level <= Level::Two {
            options.push((thing.to_owned(), 0));
            continue;
        }
        for colour in draw.some(5, &COLOURS) {
            let pieces = draw.number(0..=40);
            let name = if level == Level::Four {
                format!("{thing}, {colour}: {pieces}")
            } else {
                format!("{thing}, {colour}")
            };
            options.push((name, pieces));
        }
    }
    let options = draw.shuffled(&options);
    let names: Vec<String> = options.iter().map(|(name, _)| name.clone()).collect();
    let (wanted, words) = if level == Level::Four {
        let rare = options.iter().filter(|(name, _)| !name.contains("blue")).map(|(_, pieces)| *pieces).min();
        let least = draw.number(8..=14).max(rare.unwrap_or_default() + 1);
        let fits = |(name, pieces): &&(String, i64)| *pieces < least && !name.contains("blue");
        let wanted: Vec<String> = options.iter().filter(fits).map(|(name, _)| name.clone()).collect();
        (wanted, format!("every option of fewer than {least} pieces that is neither blue nor light blue"))
    } else {
        let wanted = draw.some(level.of([1, 3, 5, 0]), &names);
        let words = wanted.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join("; ");
        (wanted, words)
    };
    // Others are chosen at first.
    let chosen: Vec<&String> =
        names.iter().filter(|name| !wanted.contains(name)).take(level.of([0, 1, 2, 3])).collect();
    let taken: Vec<&str> = wanted.iter().map(String::as_str).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"options": names, "chosen": chosen}),
        solution: vec![select_several("Stock", &taken), submit()],
        ..Task::new(
            "Choose in a list",
            format!("Choose {words} in the list, and nothing else, and submit."),
            Wanted::field("chosen", Wanted::Set(wanted.iter().map(|name| json!(name)).collect())),
        )
    }
}
