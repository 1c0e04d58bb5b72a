//! A list of rows that are changed, added and deleted.

use serde_json::json;

use crate::steps::{click, fill, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "editable-rows", about: "Changes, adds and deletes rows.", draw };

const BODY: &str = r##"<table><thead><tr><th>Thing</th><th>Pieces</th><th>Price</th><th></th></tr></thead><tbody id="rows"></tbody></table>
<p class="row"><button class="plain" id="add">Add row</button><span id="told" role="status" class="soft"></span></p><button id="send">Submit</button>"##;
const STYLE: &str = "td input{width:100%;padding:2px 6px}td button{padding:2px 10px}";
const SCRIPT: &str = r##"
const rows = data.rows;
const names = ["thing", "pieces", "price"];
const show = () => $("#rows").replaceChildren(...rows.map((row, at) => el("tr", {},
  ...names.map((name, column) => el("td", {}, el("input", { value: row[column], autocomplete: "off", "aria-label": `Row ${at + 1} ${name}`, oninput: (event) => { row[column] = event.target.value; } }))),
  el("td", {}, el("button", { class: "plain", "aria-label": `Delete row ${at + 1}`, onclick: () => { rows.splice(at, 1); $("#told").textContent = "A row is deleted; those below move up."; show(); } }, "Delete")))));
$("#add").onclick = () => { rows.push(["", "", ""]); $("#told").textContent = "An empty row is at the end."; show(); $$("#rows tr").at(-1).querySelector("input").focus(); };
$("#send").onclick = () => send({ rows: rows.map((row) => row.map((cell) => cell.trim())) });
show();
"##;

type Row = [String; 3];

fn set(at: usize, column: &str, value: &str) -> String {
    fill("textbox", &format!("Row {} {column}", at + 1), value)
}

fn row(draw: &mut Draw, thing: &str) -> Row {
    [thing.to_owned(), draw.number(1..=40).to_string(), draw.number(5..=90).to_string()]
}

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let count = level.of([3, 3, 5, 7]);
    let things = draw.things(count + 2);
    let mut rows: Vec<Row> = things[..count].iter().map(|thing| row(draw, thing)).collect();
    let new: Vec<Row> = things[count..].iter().take(level.of([0, 1, 1, 2])).map(|thing| row(draw, thing)).collect();
    let (mut words, mut solution, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    if level == Level::Four {
        for at in draw.some(2, &[0_usize, 1, 2, 3, 4, 5, 6]) {
            "0".clone_into(&mut rows[at][1]);
        }
        gone = (0..count).filter(|at| rows[*at][1] == "0").collect();
        words.push("delete every row of which there are 0 pieces".to_owned());
    } else if level == Level::Three {
        gone.push(draw.place(count));
        words.push(format!("delete the row of the {}", rows[gone[0]][0]));
    }
    let shown = rows.clone();
    for at in gone.iter().rev() {
        rows.remove(*at);
        solution.push(click("button", &format!("Delete row {}", at + 1)));
    }
    let rise = draw.number(3..=9);
    if level == Level::Four {
        let dear = draw.number(30..=50);
        for (at, row) in rows.iter_mut().enumerate() {
            let price: i64 = row[2].parse().unwrap_or_default();
            if price < dear {
                row[2] = (price + rise).to_string();
                solution.push(set(at, "price", &row[2]));
            }
        }
        words.push(format!("raise each price that is below {dear} by {rise}, in the rows that stay"));
    } else {
        let at = draw.place(rows.len());
        let pieces: i64 = rows[at][1].parse().unwrap_or_default();
        rows[at][1] = (pieces + rise).to_string();
        words.push(format!("change the pieces of the {} to {}", rows[at][0], rows[at][1]));
        solution.push(set(at, "pieces", &rows[at][1]));
    }
    for row in new {
        solution.push(click("button", "Add row"));
        for (column, value) in ["thing", "pieces", "price"].iter().zip(&row) {
            solution.push(set(rows.len(), column, value));
        }
        words.push(format!("add a row at the end: thing {}, pieces {}, price {}", row[0], row[1], row[2]));
        rows.push(row);
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"rows": shown}),
        solution,
        ..Task::new(
            "Change rows",
            format!("Do this in the table, in this order, and submit: {}.", words.join("; ")),
            Wanted::exactly(&json!({"rows": rows})),
        )
    }
}
