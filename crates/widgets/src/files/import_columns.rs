//! A table of a file that is imported: its columns are told what they are.

use serde_json::{Map, Value, json};

use crate::steps::{check, select, submit, upload};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget {
    name: "import-columns",
    about: "Imports a file of comma-separated values and tells what its columns are.",
    draw,
};

const BODY: &str = r##"<label>File <input type="file" id="file" accept=".csv"></label><div id="map" hidden><label><input type="checkbox" id="head"> The first row holds names</label><div id="wide"><table><thead><tr></tr></thead><tbody></tbody></table></div>
<p id="error" role="alert"></p><button id="send">Submit</button></div>"##;
const STYLE: &str = "main{max-width:1000px}#wide{overflow-x:auto}#error{color:#a02020}td.name{font-weight:bold}";
const SCRIPT: &str = r##"
let rows = [], name = "";
const kinds = () => $$("thead select").map((input) => input.value);
$("#file").addEventListener("change", async () => {
  const file = $("#file").files[0];
  if (!file) return;
  name = file.name;
  rows = (await file.text()).trim().split("\n").map((line) => line.split(","));
  $("#map").hidden = false;
  $("thead tr").replaceChildren(...rows[0].map((cell, at) => el("th", { scope: "col" }, el("select", { "aria-label": `Column ${at + 1}` }, ...["Ignore", ...data.kinds].map((kind) => el("option", {}, kind))))));
  show();
});
const show = () => $("tbody").replaceChildren(...rows.slice(0, 5).map((row, at) => el("tr", {}, ...row.map((cell) => el("td", { class: at === 0 && $("#head").checked ? "name" : "" }, cell)))));
$("#head").addEventListener("change", show);
$("#send").onclick = () => {
  const chosen = kinds();
  const twice = chosen.find((kind, at) => kind !== "Ignore" && chosen.indexOf(kind) !== at);
  const missing = data.kinds.find((kind) => !chosen.includes(kind));
  if (twice || missing) { $("#error").textContent = twice ? `Two columns are ${twice}.` : `No column is ${missing}.`; return; }
  send({ file: name, head: $("#head").checked, columns: Object.fromEntries(data.kinds.map((kind) => [kind, chosen.indexOf(kind) + 1])) });
};
"##;

/// Kinds of columns: the kind, the name in a file that is clear, the name in one that is less so.
const KINDS: [(&str, &str, &str); 5] = [
    ("First name", "First name", "fname"),
    ("Town", "Town", "place"),
    ("Email", "Email", "contact"),
    ("Birthday", "Birthday", "born"),
    ("Amount", "Amount", "sum"),
];

fn cell(draw: &mut Draw, kind: &str) -> String {
    match kind {
        "First name" => draw.names(1)[0].to_owned(),
        "Town" => draw.towns(1)[0].to_owned(),
        "Email" => format!("{}{}@mail.test", draw.things(1)[0], draw.number(1..=99)),
        "Birthday" => format!("{}-{:02}-{:02}", draw.number(1950..=2010), draw.number(1..=12), draw.number(1..=28)),
        "Amount" => draw.number(10..=9_000).to_string(),
        "Joined" => format!("{}-{:02}-{:02}", draw.number(2024..=2030), draw.number(1..=12), draw.number(1..=28)),
        _ => format!("x{}", draw.number(100..=999)),
    }
}

fn draw(draw: &mut Draw) -> Task {
    let kinds = match draw.level {
        Level::One => draw.some(2, &KINDS),
        Level::Two => draw.some(3, &KINDS),
        Level::Three => draw.some(4, &KINDS),
        Level::Four => KINDS.to_vec(),
    };
    let mut columns: Vec<(&str, &str, &str)> = kinds.clone();
    if draw.level > Level::One {
        columns.push(("Key", "Key", "id"));
    }
    if draw.level == Level::Four {
        columns.push(("Joined", "Joined", "since"));
    }
    let columns = draw.shuffled(&columns);
    // At the last level no row holds names: what is in the cells has to tell it.
    let head = draw.level < Level::Four;
    let name = |column: &(&str, &str, &str)| {
        if draw.level == Level::Three { column.2.to_owned() } else { column.1.to_owned() }
    };
    let mut lines = if head { vec![columns.iter().map(name).collect::<Vec<_>>().join(",")] } else { vec![] };
    for _ in 0..draw.level.of([3, 4, 6, 8]) {
        lines.push(columns.iter().map(|column| cell(draw, column.0)).collect::<Vec<_>>().join(","));
    }
    let file = format!("{}.csv", draw.things(1)[0]);
    let mut solution = vec![upload("#file", &[&file])];
    if head {
        solution.push(check("checkbox", "The first row holds names"));
    }
    let mut wanted = Map::new();
    for (at, (kind, ..)) in columns.iter().enumerate() {
        if kinds.iter().any(|one| one.0 == *kind) {
            solution.push(select(&format!("Column {}", at + 1), kind));
            wanted.insert((*kind).to_owned(), Value::from(at + 1));
        }
    }
    solution.push(submit());
    let mut hints = String::new();
    if draw.level == Level::Three {
        hints = " The names in the file are not those of the form: fname is the first name, place the town, contact the email, born the birthday, sum the amount.".to_owned();
    }
    if draw.level == Level::Four {
        hints = " One of the two columns of days is that of the birthdays; the other tells since when somebody has been a member, which was after 2023 for everybody and is ignored.".to_owned();
    }
    let names: Vec<&str> = kinds.iter().map(|kind| kind.0).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"kinds": names}),
        files: vec![(file.clone(), format!("{}\n", lines.join("\n")).into_bytes())],
        solution,
        ..Task::new(
            "Import",
            format!(
                "Import your file {file}: tell whether its first row holds names, and which column is which; every other column is ignored.{hints} Then submit."
            ),
            Wanted::exactly(&json!({"file": file, "head": head, "columns": wanted})),
        )
    }
}
