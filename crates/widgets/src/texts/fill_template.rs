//! A letter with blanks, filled from a table.

use serde_json::{Map, Value, json};

use crate::steps::{fill, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "fill-template", about: "Fills the blanks of a letter.", draw };

const BODY: &str = r##"<table><thead><tr><th>Order</th><th>Customer</th><th>Thing</th><th>Pieces</th><th>Price each</th></tr></thead><tbody id="orders"></tbody></table>
<div class="card" id="letter"></div><button id="send">Submit</button>"##;
const STYLE: &str = "#letter{line-height:2.4}#letter input{width:9em;padding:2px 6px}";
const SCRIPT: &str = r##"
for (const order of data.orders) $("#orders").append(el("tr", {}, ...order.map((cell) => el("td", {}, String(cell)))));
const inputs = [];
for (const part of data.letter.split(/(\[[^\]]+\])/)) {
  if (!part.startsWith("[")) { $("#letter").append(part); continue; }
  const input = el("input", { "aria-label": part.slice(1, -1), placeholder: part.slice(1, -1), autocomplete: "off" });
  inputs.push(input);
  $("#letter").append(input);
}
$("#send").onclick = () => send(Object.fromEntries(inputs.map((input) => [input.getAttribute("aria-label"), input.value.trim()])));
"##;

fn draw(draw: &mut Draw) -> Task {
    let rows = draw.level.of([1, 3, 6, 8]);
    let things = draw.things(rows);
    let firsts = draw.names(rows.min(4));
    let surnames = ["Ashby", "Ashdown", "Aston", "Ashworth"];
    let first_number = draw.number(4_100..=4_800);
    let orders: Vec<(i64, String, &str, i64, i64)> = (0..rows)
        .map(|at| {
            let customer = format!("{} {}", firsts[at % firsts.len()], surnames[(at / 2 + at) % 4]);
            let number = first_number + 9 * i64::try_from(at).unwrap_or_default();
            (number, customer, things[at], draw.number(2..=9), draw.number(11..=49))
        })
        .collect();
    let at = draw.place(rows);
    let (number, customer, thing, pieces, price) = &orders[at];
    let (letter, blanks): (&str, Vec<(&str, String)>) = match draw.level {
        Level::One => ("Dear [Customer], thank you for your order.", vec![("Customer", customer.clone())]),
        Level::Two => (
            "Dear [Customer], your order of [Pieces] pieces ([Thing]) is on its way.",
            vec![("Customer", customer.clone()), ("Pieces", pieces.to_string()), ("Thing", (*thing).to_owned())],
        ),
        Level::Three => (
            "Dear [Customer], your order [Order] of [Pieces] pieces ([Thing]) is late. We take 2 off the price of each \
             piece: it is [New price] now.",
            vec![
                ("Customer", customer.clone()),
                ("Order", number.to_string()),
                ("Pieces", pieces.to_string()),
                ("Thing", (*thing).to_owned()),
                ("New price", (price - 2).to_string()),
            ],
        ),
        Level::Four => {
            let initials: String = customer.split(' ').filter_map(|part| part.chars().next()).collect();
            let letter = "Dear [Customer], your order [Order] costs [Total] in all. Please send back one piece ([Thing]); \
                          then it costs [New total]. Reference: [Reference]";
            let reference = format!("{initials}-{number}");
            let blanks = vec![
                ("Customer", customer.clone()),
                ("Order", number.to_string()),
                ("Total", (price * pieces).to_string()),
                ("Thing", (*thing).to_owned()),
                ("New total", (price * (pieces - 1)).to_string()),
                ("Reference", reference),
            ];
            (letter, blanks)
        }
    };
    let which = match draw.level {
        Level::One => "the order in the table".to_owned(),
        Level::Two => format!("order {number}"),
        Level::Three | Level::Four => format!("the order of {pieces} pieces at {price} each, thing: {thing}"),
    };
    let reference = if draw.level == Level::Four {
        " The totals are pieces times price, as plain numbers. The reference is the customer's two initials in capitals, a \
         hyphen, and the number of the order."
    } else {
        ""
    };
    let mut solution: Vec<String> = blanks.iter().map(|(name, value)| fill("textbox", name, value)).collect();
    solution.push(submit());
    let state: Map<String, Value> = blanks.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"orders": orders, "letter": letter}),
        solution,
        ..Task::new(
            "Fill a letter",
            format!("Fill the blanks of the letter for {which}, written as in the table, and submit.{reference}"),
            Wanted::exactly(&Value::Object(state)),
        )
    }
}
