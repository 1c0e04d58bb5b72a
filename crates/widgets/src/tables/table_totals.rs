//! A bill whose sums are worked out and entered.

use serde_json::json;

use crate::steps::{fill, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "table-totals", about: "Works out the sums of a bill and enters them in its foot.", draw };

const BODY: &str = r##"<table><thead><tr><th scope="col">Article</th><th scope="col">Quantity</th><th scope="col">Price of one</th></tr></thead><tbody></tbody><tfoot></tfoot></table>
<p><button id="send">Submit</button></p>"##;
const STYLE: &str =
    "td,tfoot th{text-align:right}tfoot th{background:var(--fill)}tfoot input{width:9em;text-align:right}";
const SCRIPT: &str = r##"
$("tbody").append(...data.rows.map(([name, count, price]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, String(count)), el("td", {}, String(price)))));
$("tfoot").append(...data.sums.map((name) => el("tr", {}, el("th", { scope: "row", colspan: 2 }, name), el("td", {}, el("input", { type: "number", "aria-label": name })))));
$("#send").onclick = () => send({ sums: $$("tfoot input").map((input) => (input.value === "" ? null : Number(input.value))) });
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([3, 4, 5, 7]);
    let goods = draw.goods(count);
    // Prices by twenty, so that every percentage is a whole number.
    let rows: Vec<(String, i64, i64)> = goods
        .into_iter()
        .map(|name| {
            let quantity = if draw.level == Level::One { 1 } else { draw.number(2..=14) };
            (name, quantity, draw.number(2..=30) * 20)
        })
        .collect();
    let sum: i64 = rows.iter().map(|row| row.1 * row.2).sum();
    let bulk = draw.number(6..=9);
    let off: i64 = rows.iter().filter(|row| row.1 >= bulk).map(|row| row.1 * row.2 / 10).sum();
    let (sums, values, words) = match draw.level {
        Level::One => (vec!["Total"], vec![sum], "Enter the total of the bill".to_owned()),
        Level::Two => (vec!["Total"], vec![sum], "Enter the total of the bill, quantities times prices".to_owned()),
        Level::Three => (
            vec!["Subtotal", "Discount", "Total"],
            vec![sum, sum / 20, sum - sum / 20],
            "Enter the subtotal of all lines, the discount of 5 percent of it as a positive number, and the total less the discount".to_owned(),
        ),
        Level::Four => {
            let net = sum - off;
            (
                vec!["Subtotal", "Discount", "Net"],
                vec![sum, off, net],
                format!("Enter the subtotal of all lines, the discount as a positive number, and the net, which is the subtotal less the discount. Only lines with a quantity of {bulk} or more have a discount: 10 percent of the line"),
            )
        }
    };
    let mut solution: Vec<String> =
        sums.iter().zip(&values).map(|(name, value)| fill("spinbutton", name, &value.to_string())).collect();
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"rows": rows, "sums": sums}),
        solution,
        ..Task::new("Bill", format!("{words}. Then submit."), Wanted::exactly(&json!({"sums": values})))
    }
}
