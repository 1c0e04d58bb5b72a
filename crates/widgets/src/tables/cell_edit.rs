//! A table whose cells are edited in place.

use serde_json::{Value, json};

use crate::steps::submit;
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget, named, quoted};

pub(super) const WIDGET: Widget =
    Widget { name: "cell-edit", about: "Opens cells of a table, and changes what they hold.", draw };

const BODY: &str = r##"<p class="soft">Double-click a cell, or press Enter in it, to edit it. Enter keeps the new value, Escape does not.</p>
<table role="grid" aria-label="Articles"><thead><tr><th scope="col">Article</th><th scope="col">Price</th><th scope="col">Stock</th></tr></thead><tbody></tbody></table>
<p><button id="send">Submit</button></p>"##;
const STYLE: &str = "td[tabindex]{cursor:text;min-width:7em}td input{width:6em;padding:0 4px}";
const SCRIPT: &str = r##"
const rows = data.rows.map((row) => [...row]);
const edit = (cell, row, column) => {
  if ($("input", cell)) return;
  const name = `${data.heads[column]} of ${row[0]}`;
  const input = el("input", { type: "number", min: 0, "aria-label": name, value: row[column] });
  let over = false;
  const end = (keep) => {
    if (over) return;
    over = true;
    if (keep && input.value !== "" && input.checkValidity()) row[column] = Number(input.value);
    cell.replaceChildren(String(row[column]));
    cell.setAttribute("aria-label", `${name}: ${row[column]}`);
  };
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" || event.key === "Escape") { event.preventDefault(); end(event.key === "Enter"); cell.focus(); }
  });
  input.addEventListener("blur", () => end(true));
  cell.replaceChildren(input);
  input.focus();
  input.select();
};
for (const row of rows) {
  const cells = [1, 2].map((column) => {
    const cell = el("td", { role: "gridcell", tabindex: 0, "aria-label": `${data.heads[column]} of ${row[0]}: ${row[column]}` }, String(row[column]));
    cell.addEventListener("dblclick", () => edit(cell, row, column));
    cell.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === "F2") { event.preventDefault(); edit(cell, row, column); } });
    return cell;
  });
  $("tbody").append(el("tr", {}, el("th", { scope: "row" }, row[0]), ...cells));
}
$("#send").onclick = () => send({ rows });
"##;

/// Words for a change, and the rows after it.
fn ask(draw: &mut Draw, rows: &[(String, i64, i64)]) -> (String, Vec<(String, i64, i64)>) {
    let mut after = rows.to_vec();
    if draw.level == Level::Four {
        let limit = after[draw.place(3)].1;
        let more = draw.number(3..=9);
        for row in &mut after {
            if row.1 >= limit {
                row.1 -= 5;
            } else {
                row.2 += more;
            }
        }
        let words = format!(
            "Lower the price of every article that costs {limit} or more by 5, and add {more} to the stock of every other article."
        );
        return (words, after);
    }
    let places: Vec<usize> = (0..rows.len()).collect();
    let chosen = draw.some(draw.level.of([1, 2, 4, 0]), &places);
    let mut words = Vec::new();
    for at in chosen {
        if draw.once_in(2) {
            after[at].1 += draw.number(11..=40);
            words.push(format!("the price of {} to {}", after[at].0, after[at].1));
        } else {
            after[at].2 += draw.number(11..=40);
            words.push(format!("the stock of {} to {}", after[at].0, after[at].2));
        }
    }
    (format!("Change {}.", listed(&words)), after)
}

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([4, 6, 12, 8]);
    // Things that differ in colour alone.
    let goods = draw.goods(count);
    let (prices, stocks) = (draw.numbers(count, 10..=90), draw.numbers(count, 0..=60));
    let rows: Vec<_> = (0..count).map(|at| (goods[at].clone(), prices[at], stocks[at])).collect();
    let (words, after) = ask(draw, &rows);
    let mut solution = Vec::new();
    for (before, after) in rows.iter().zip(&after) {
        for (head, old, new) in [("Price", before.1, after.1), ("Stock", before.2, after.2)] {
            if old != new {
                let input = named("spinbutton", &format!("{head} of {}", before.0));
                solution.push(format!("dblclick({})", named("gridcell", &format!("{head} of {}: {old}", before.0))));
                solution.push(format!("fill({input}, {})", quoted(&new.to_string())));
                solution.push(format!("press({input}, 'Enter')"));
            }
        }
    }
    solution.push(submit());
    let list = |rows: &[(String, i64, i64)]| -> Value { rows.iter().map(|row| json!([row.0, row.1, row.2])).collect() };
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"heads": ["Article", "Price", "Stock"], "rows": list(&rows)}),
        solution,
        ..Task::new(
            "Price list",
            format!("{words} Leave everything else as it is, and submit."),
            Wanted::exactly(&json!({"rows": list(&after)})),
        )
    }
}
