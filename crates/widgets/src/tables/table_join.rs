//! Two or three tables that are read together.

use serde_json::json;

use crate::steps::{fill, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "table-join", about: "Follows numbers from one table to another to answer a question.", draw };

const BODY: &str =
    r##"<div id="tables"></div><label>Answer <input id="answer"></label><button id="send">Submit</button>"##;
const STYLE: &str = "#tables{display:grid;grid-template-columns:1fr 1fr;gap:16px;align-items:start}caption{text-align:left;font-weight:bold;padding:4px 0}";
const SCRIPT: &str = r##"
for (const { caption, heads, rows } of data.tables) {
  $("#tables").append(el("table", {}, el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, String(cell))))))));
}
$("#send").onclick = () => send({ answer: $("#answer").value });
"##;

fn draw(draw: &mut Draw) -> Task {
    let (customers, orders) = (draw.level.of([4, 6, 8, 9]), draw.level.of([4, 6, 10, 16]));
    let (names, towns, goods) = (draw.names(customers), draw.towns(customers), draw.things(customers));
    let prices = draw.numbers(customers, 3..=40);
    let customer_numbers = draw.numbers(customers, 100..=199);
    let product_numbers = draw.numbers(customers, 700..=799);
    let order_numbers = draw.numbers(orders, 5_000..=5_999);
    let sold: Vec<(i64, usize, usize, i64)> = (0..orders)
        .map(|at| (order_numbers[at], draw.place(customers), draw.place(customers), draw.number(2..=9)))
        .collect();
    let (number, who, what, count) = draw.pick(&sold);
    let (question, wanted) = match draw.level {
        Level::One => (format!("Who placed order {number}? Enter the name"), names[who].to_owned()),
        Level::Two => (
            format!(
                "What thing was ordered in order {number}, and to which town does it go? Enter the thing, a comma and the town, such as: vase, Oslo"
            ),
            format!("{}, {}", goods[what], towns[who]),
        ),
        Level::Three => (
            format!("What is the price of the whole order {number}, all pieces together? Enter the number"),
            (count * prices[what]).to_string(),
        ),
        Level::Four => {
            let total: i64 = sold.iter().filter(|order| order.1 == who).map(|order| order.3 * prices[order.2]).sum();
            (
                format!("What is the price of all orders that go to {} together? Enter the number", towns[who]),
                total.to_string(),
            )
        }
    };
    let orders: Vec<_> = sold
        .iter()
        .map(|order| json!([order.0, customer_numbers[order.1], product_numbers[order.2], order.3]))
        .collect();
    let people: Vec<_> = (0..customers).map(|at| json!([customer_numbers[at], names[at], towns[at]])).collect();
    let products: Vec<_> = (0..customers).map(|at| json!([product_numbers[at], goods[at], prices[at]])).collect();
    let mut tables = vec![
        json!({"caption": "Orders", "heads": ["Order", "Customer", "Product", "Pieces"], "rows": orders}),
        json!({"caption": "Customers", "heads": ["Customer", "Name", "Town"], "rows": people}),
    ];
    if draw.level > Level::One {
        tables.push(json!({"caption": "Products", "heads": ["Product", "Thing", "Price"], "rows": products}));
    }
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"tables": tables}),
        solution: vec![fill("textbox", "Answer", &wanted), submit()],
        ..Task::new("Orders", format!("{question}, and submit it."), Wanted::text("answer", &wanted))
    }
}
