//! Zones that take files, and open the dialog for files when they are pressed.

use serde_json::{Map, Value, json};

use super::plain;
use crate::steps::submit;
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget, named, quoted};

pub(super) const WIDGET: Widget = Widget {
    name: "drop-zone",
    about: "Gives files to zones that open a dialog for files when they are pressed.",
    draw,
};

const BODY: &str = r##"<div id="zones"></div><p><button id="send">Submit</button></p>"##;
const STYLE: &str = "#zones{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:12px}.zone{min-height:130px;background:var(--fill);color:var(--ink);border:2px dashed #7d8896}.zone.over{border-color:var(--accent)}.zone span{display:block;font-size:.9rem}";
const SCRIPT: &str = r##"
const files = {};
for (const name of data.zones) {
  const input = el("input", { type: "file", hidden: true, tabindex: -1 });
  const told = el("span", { class: "soft" }, "Drop a file here, or press to choose one");
  const zone = el("button", { class: "zone", "aria-label": name, "aria-describedby": `told-${name}`, onclick: () => input.click() }, el("b", {}, name), told);
  told.id = `told-${name}`;
  const take = (list) => { if (list.length) { files[name] = list[0].name; told.textContent = list[0].name; } };
  input.addEventListener("change", () => take(input.files));
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => { event.preventDefault(); zone.classList.remove("over"); take(event.dataTransfer.files); });
  $("#zones").append(el("div", {}, zone, input));
  zone.style.width = "100%";
}
$("#send").onclick = () => send({ files });
"##;

fn draw(draw: &mut Draw) -> Task {
    let (wide, count) = draw.level.of([(1, 2), (2, 4), (3, 6), (4, 8)]);
    let zones = draw.teams(wide);
    let numbers = draw.numbers(count, 101..=199);
    let names: Vec<String> = match draw.level {
        Level::Four => numbers.iter().map(|number| format!("file-{number}.txt")).collect(),
        _ => draw.goods(count).iter().map(|good| format!("{}.txt", good.replace(' ', "-"))).collect(),
    };
    let mut chosen = draw.some(wide, &names);
    let words = if draw.level == Level::Four {
        // Numbers in order: the smallest, the largest, the second smallest, the second largest.
        let mut sorted = names.clone();
        sorted.sort_unstable();
        chosen = vec![sorted[0].clone(), sorted[count - 1].clone(), sorted[1].clone(), sorted[count - 2].clone()];
        format!(
            "Give the file with the smallest number to {}, with the largest to {}, with the second smallest to {}, and with the second largest to {}",
            zones[0], zones[1], zones[2], zones[3]
        )
    } else {
        let words: Vec<String> = zones.iter().zip(&chosen).map(|(zone, file)| format!("{file} to {zone}")).collect();
        format!("Give {}", listed(&words))
    };
    let mut solution: Vec<String> = zones
        .iter()
        .zip(&chosen)
        .map(|(zone, file)| format!("upload_file({}, {})", named("button", zone), quoted(file)))
        .collect();
    solution.push(submit());
    let wanted: Map<String, Value> =
        zones.iter().zip(&chosen).map(|(zone, file)| ((*zone).to_owned(), json!(file))).collect();
    let all = listed(&names);
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"zones": draw.shuffled(&zones)}),
        files: names.iter().map(|name| plain(name)).collect(),
        solution,
        ..Task::new(
            "Zones",
            format!("Your files are {all}. {words}, and submit."),
            Wanted::exactly(&json!({"files": wanted})),
        )
    }
}
