//! A list of files that are renamed in place.

use serde_json::json;

use crate::steps::{click, fill, press, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "rename-files", about: "Renames files in a list, by name or by a rule.", draw };

const BODY: &str = r##"<p class="soft">Enter keeps a new name, Escape the old one. F2 on the button of a file renames it too.</p><ul id="list" aria-label="Files"></ul><p id="error" role="alert"></p><button id="send">Submit</button>"##;
const STYLE: &str = "#list{list-style:none;padding:0}#list li{display:flex;justify-content:space-between;align-items:center;border-bottom:1px solid var(--line);padding:4px 6px;min-height:46px}#list input{flex:1;margin-right:8px}#error{color:#a02020;min-height:1.5em;margin:0}";
const SCRIPT: &str = r##"
const names = [...data.names];
let open = null;
const show = () => $("#list").replaceChildren(...names.map((name, at) => {
  if (at !== open) {
    const button = el("button", { class: "plain", "aria-label": `Rename ${name}`, onclick: () => begin(at), onkeydown: (event) => { if (event.key === "F2") begin(at); } }, "Rename");
    return el("li", {}, el("span", {}, name), button);
  }
  const input = el("input", { "aria-label": `New name of ${name}`, value: name, autocomplete: "off" });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { open = null; show(); $$("#list button")[at].focus(); }
    if (event.key !== "Enter") return;
    event.preventDefault();
    const wanted = input.value.trim();
    const fault = wanted === "" ? "A file needs a name." : names.some((other, place) => place !== at && other === wanted) ? `There is a file ${wanted} already.` : "";
    $("#error").textContent = fault;
    if (fault) return;
    names[at] = wanted;
    open = null;
    show();
    $$("#list button")[at].focus();
  });
  return el("li", {}, input);
}));
const begin = (at) => { open = at; $("#error").textContent = ""; show(); const input = $("#list input"); input.focus(); input.select(); };
$("#send").onclick = () => send({ names });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([3, 5, 6, 7]);
    let things = draw.things(count + 3);
    let days = draw.numbers(count, 10..=28);
    let old: Vec<String> = match draw.level {
        Level::One | Level::Two => things[..count].iter().map(|thing| format!("{thing}.txt")).collect(),
        Level::Three => {
            (0..count).map(|at| format!("{}{}.jpeg", if at % 2 == 0 { "IMG " } else { "" }, things[at])).collect()
        }
        Level::Four => {
            (0..count).map(|at| format!("{} {}.{:02}.{}.txt", things[at], days[at], at + 3, 2030 + at % 2)).collect()
        }
    };
    let mut new = old.clone();
    let words = match draw.level {
        Level::One | Level::Two => {
            let places: Vec<usize> = (0..count).collect();
            let mut words = Vec::new();
            for (at, thing) in draw.some(draw.level.of([1, 2, 0, 0]), &places).into_iter().zip(&things[count..]) {
                new[at] = format!("{thing}.txt");
                words.push(format!("{} to {}", old[at], new[at]));
            }
            format!("Rename {}", listed(&words))
        }
        Level::Three => {
            for name in &mut new {
                if let Some(rest) = name.strip_prefix("IMG ") {
                    *name = rest.replace(".jpeg", ".jpg");
                }
            }
            "Rename every file whose name begins with “IMG ”: leave out that beginning with its space, and let it end in .jpg instead of .jpeg".to_owned()
        }
        Level::Four => {
            let year = draw.pick(&["2030", "2031"]);
            for (at, name) in new.iter_mut().enumerate() {
                if name.contains(year) {
                    *name = format!("{year}-{:02}-{} {}.txt", at + 3, days[at], things[at]);
                }
            }
            format!(
                "The names hold day, month and year. Rename every file of {year}, so that the date comes first as year, month and day with hyphens, then a space and the rest: vase 12.07.{year}.txt would become {year}-07-12 vase.txt"
            )
        }
    };
    let mut solution = Vec::new();
    for (old, new) in old.iter().zip(&new).filter(|(old, new)| old != new) {
        let input = format!("New name of {old}");
        solution.extend([
            click("button", &format!("Rename {old}")),
            fill("textbox", &input, new),
            press("textbox", &input, "Enter"),
        ]);
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"names": old}),
        solution,
        ..Task::new(
            "Files",
            format!("{words}. Leave all other names as they are, and submit."),
            Wanted::exactly(&json!({"names": new})),
        )
    }
}
