//! A browser of folders and files.

use serde_json::{Value, json};

use crate::steps::click;
use crate::{Draw, Level, Task, Wanted, Widget, named};

pub(super) const WIDGET: Widget =
    Widget { name: "file-browser", about: "Goes through folders, and opens the right file.", draw };

const BODY: &str = r##"<div class="row"><button class="plain" id="up">Up</button><span>Folder: <output id="path"></output></span></div>
<div role="listbox" aria-label="Files" id="list"></div><p id="told" role="status">Nothing selected</p><button id="send" disabled>Open file</button>"##;
const STYLE: &str = "#list{border:1px solid var(--line);border-radius:8px;margin:8px 0;padding:4px;min-height:240px}#list div{display:flex;gap:12px;padding:4px 8px;border-radius:4px;cursor:default}#list div span:nth-child(2){flex:1}[aria-selected=true]{background:#cfe0fa}";
const SCRIPT: &str = r##"
let path = [], chosen = null;
const here = () => path.reduce((folder, name) => folder.find((entry) => entry.name === name).inside, data.files);
const go = (next) => { path = next; chosen = null; show(); $("#list div")?.focus(); };
const select = (entry) => {
  chosen = entry;
  for (const row of $$("#list div")) row.setAttribute("aria-selected", String(row.dataset.name === entry.name));
  $("#told").textContent = entry.inside ? `Folder ${entry.name} selected` : `File ${entry.name} selected, ${entry.size} kB`;
  $("#send").disabled = Boolean(entry.inside);
};
const use = (entry) => { if (entry.inside) go([...path, entry.name]); else send({ open: [...path, entry.name] }); };
const show = () => {
  $("#path").textContent = `/${path.join("/")}`;
  $("#up").disabled = path.length === 0;
  $("#send").disabled = true;
  $("#told").textContent = "Nothing selected";
  $("#list").replaceChildren(...here().map((entry, at) => {
    const row = el("div", { role: "option", tabindex: at ? -1 : 0, "aria-selected": "false", "aria-label": entry.inside ? `Folder ${entry.name}` : `${entry.name}, ${entry.size} kB`, "data-name": entry.name },
      el("span", { "aria-hidden": "true" }, entry.inside ? "📁" : "📄"), el("span", {}, entry.name), el("span", { class: "soft" }, entry.inside ? "" : `${entry.size} kB`));
    row.onclick = () => { select(entry); row.focus(); };
    row.ondblclick = () => use(entry);
    row.onkeydown = (event) => {
      const rows = $$("#list div"), next = rows[at + { ArrowDown: 1, ArrowUp: -1 }[event.key]];
      if (event.key === "Enter") use(entry);
      else if (event.key === " ") select(entry);
      else if (next) { next.focus(); select(here()[rows.indexOf(next)]); }
      else if (event.key === "Backspace" && path.length) go(path.slice(0, -1));
      else return;
      event.preventDefault();
    };
    return row;
  }));
};
$("#up").onclick = () => go(path.slice(0, -1));
$("#send").onclick = () => use(chosen);
show();
"##;

/// A file: its name and its size.
type File = (String, i64);

/// So many files with sizes that differ; the same names may be in other folders.
fn files(draw: &mut Draw, count: usize) -> Vec<File> {
    let sizes = draw.numbers(count, 11..=999);
    let names = draw.things(count);
    names
        .iter()
        .zip(sizes)
        .map(|(name, size)| (format!("{name}.{}", draw.pick(&["txt", "csv", "png"])), size))
        .collect()
}

fn entries(files: &[File]) -> Vec<Value> {
    files.iter().map(|(name, size)| json!({"name": name, "size": size})).collect()
}

fn draw(draw: &mut Draw) -> Task {
    let depth = draw.level.of([0, 1, 2, 3]);
    let folders = draw.teams(4);
    let way: Vec<&str> = (0..depth).map(|_| draw.pick(&folders)).collect();
    let mut inside = files(draw, draw.level.of([4, 4, 5, 9]));
    let wanted = if draw.level == Level::Four {
        // The folder holds files of one kind that only their sizes tell apart.
        for (at, file) in inside.iter_mut().enumerate() {
            let stem = file.0.split('.').next().unwrap_or_default().to_owned();
            file.0 = format!("{stem}.{}", ["png", "txt", "csv"][at % 3]);
        }
        inside.iter().filter(|file| file.0.ends_with(".png")).max_by_key(|file| file.1).cloned()
    } else {
        inside.first().cloned()
    };
    let wanted = wanted.unwrap_or_default();
    inside = draw.shuffled(&inside);
    let mut tree = entries(&inside);
    for step in way.iter().rev() {
        let mut level: Vec<Value> = folders
            .iter()
            .map(|name| {
                let inside = if name == step { tree.clone() } else { entries(&files(draw, 3)) };
                json!({"name": name, "inside": inside})
            })
            .collect();
        level.extend(entries(&files(draw, 2)));
        tree = level;
    }
    let folder = format!("/{}", way.join("/"));
    let words = match draw.level {
        Level::One => format!("Open the file {}", wanted.0),
        Level::Four => format!("Open the largest of the files that end in .png in the folder {folder}"),
        _ => format!("Open the file {} in the folder {folder}", wanted.0),
    };
    let mut solution: Vec<String> =
        way.iter().map(|name| format!("dblclick({})", named("option", &format!("Folder {name}")))).collect();
    solution.push(click("option", &format!("{}, {} kB", wanted.0, wanted.1)));
    solution.push(click("button", "Open file"));
    let mut path = way;
    path.push(&wanted.0);
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"files": tree}),
        solution,
        ..Task::new("Files", format!("{words}."), Wanted::exactly(&json!({"open": path})))
    }
}
