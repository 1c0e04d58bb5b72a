//! A table that its heads sort, in which one row is chosen.

use serde_json::json;

use crate::steps::{click, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "table-sort", about: "Sorts a table by a column and chooses the row at a rank.", draw };

const BODY: &str = r##"<table><thead><tr><th></th></tr></thead><tbody></tbody></table>
<p>Chosen: <output id="chosen">nothing</output></p><button id="send">Submit</button>"##;
const STYLE: &str = "th button{width:100%;text-align:left}td.number{text-align:right}";
const SCRIPT: &str = r##"
let chosen = null, column = null, descending = false;
const rows = data.rows;
const show = () => {
  const heads = data.heads.map((head, at) => {
    const sorted = at !== column ? "none" : descending ? "descending" : "ascending";
    const press = () => { descending = column === at && !descending; column = at; show(); $$("th button")[at].focus(); };
    return el("th", { scope: "col", "aria-sort": sorted }, el("button", { class: "plain", onclick: press }, head, el("span", { "aria-hidden": "true" }, at !== column ? "" : descending ? " ▼" : " ▲")));
  });
  $("thead tr").replaceChildren(el("th", {}, "Choose"), ...heads);
  const sorted = column === null ? rows : [...rows].sort((a, b) => (a[column] > b[column] ? 1 : -1) * (descending ? -1 : 1));
  $("tbody").replaceChildren(...sorted.map((row) => el("tr", {},
    el("td", {}, el("input", { type: "radio", name: "row", "aria-label": `Choose ${row[0]}`, checked: row[0] === chosen, onchange: () => { chosen = row[0]; $("#chosen").textContent = chosen; } })),
    ...row.map((cell) => el("td", { class: typeof cell === "number" ? "number" : "" }, String(cell))))));
};
$("#send").onclick = () => send({ row: chosen });
show();
"##;

const HEADS: [&str; 5] = ["Article", "Price", "Weight", "Stock", "Town"];

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([5, 10, 18, 30]);
    let goods = draw.goods(count);
    let numbers: Vec<Vec<i64>> = (0..3).map(|_| draw.numbers(count, 10..=199)).collect();
    let towns = draw.towns(3);
    let rows: Vec<(String, [i64; 3], &str)> = (0..count)
        .map(|at| (goods[at].clone(), [numbers[0][at], numbers[1][at], numbers[2][at]], towns[at % 3]))
        .collect();
    let column = draw.place(3);
    let highest = draw.once_in(2);
    let rank: usize = match draw.level {
        Level::One | Level::Two => 0,
        Level::Three => draw.place(3) + 1,
        Level::Four => draw.place(3) + 2,
    };
    let town = (draw.level == Level::Four).then(|| draw.pick(&towns));
    let mut ranked: Vec<_> = rows.iter().filter(|row| town.is_none_or(|town| row.2 == town)).collect();
    ranked.sort_by_key(|row| if highest { -row.1[column] } else { row.1[column] });
    let wanted = ranked[rank].0.clone();
    let order = ["", "second ", "third ", "fourth ", "fifth "][rank];
    let where_from = town.map_or(String::new(), |town| format!(" among those from {town}"));
    let instruction = format!(
        "Choose the article with the {order}{} {}{where_from}, and submit it.",
        if highest { "highest" } else { "lowest" },
        ["price", "weight", "stock"][column]
    );
    let mut solution = vec![click("button", HEADS[column + 1]); if highest { 2 } else { 1 }];
    solution.extend([click("radio", &format!("Choose {wanted}")), submit()]);
    let rows: Vec<_> =
        rows.iter().map(|(name, numbers, town)| json!([name, numbers[0], numbers[1], numbers[2], town])).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"heads": HEADS, "rows": rows}),
        solution,
        ..Task::new("Articles", instruction, Wanted::exactly(&json!({"row": wanted})))
    }
}
