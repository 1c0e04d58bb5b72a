//! A table of invoices, of which some are ticked.

use serde_json::json;

use crate::steps::{click, set};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "row-select", about: "Ticks the rows of a table that fit a rule.", draw };

const BODY: &str = r##"<table><thead><tr><th><input type="checkbox" id="all" aria-label="Select all"></th><th scope="col">Invoice</th><th scope="col">Customer</th><th scope="col">Amount</th><th scope="col">State</th></tr></thead><tbody></tbody></table>
<p id="count" role="status">0 selected</p><button id="send" disabled>Archive selected</button>"##;
const STYLE: &str = "tr.on{background:#e4eefc}";
const SCRIPT: &str = r##"
const boxes = data.rows.map(([number, ...rest]) => {
  const box = el("input", { type: "checkbox", "aria-label": `Select invoice ${number}`, value: number });
  $("tbody").append(el("tr", {}, el("td", {}, box), ...[number, ...rest].map((cell) => el("td", {}, String(cell)))));
  return box;
});
const count = () => {
  const on = boxes.filter((box) => box.checked);
  for (const box of boxes) box.closest("tr").className = box.checked ? "on" : "";
  $("#count").textContent = `${on.length} selected`;
  $("#send").disabled = on.length === 0;
  $("#all").checked = on.length === boxes.length;
  $("#all").indeterminate = on.length > 0 && on.length < boxes.length;
};
for (const box of boxes) box.addEventListener("change", count);
$("#all").addEventListener("change", () => { for (const box of boxes) box.checked = $("#all").checked; count(); });
$("#send").onclick = () => send({ archived: boxes.filter((box) => box.checked).map((box) => box.value) });
"##;

struct Invoice {
    number: String,
    customer: &'static str,
    amount: i64,
    state: &'static str,
}

fn draw(draw: &mut Draw) -> Task {
    const STATES: [&str; 3] = ["paid", "open", "overdue"];
    let count = draw.level.of([5, 8, 14, 20]);
    let customers = draw.names(4);
    let (numbers, amounts) = (draw.numbers(count, 4_010..=4_199), draw.numbers(count, 20..=400));
    let invoices: Vec<Invoice> = (0..count)
        .map(|at| Invoice {
            number: numbers[at].to_string(),
            customer: if at < 4 { customers[at] } else { draw.pick(&customers) },
            amount: amounts[at],
            state: if at < 3 { STATES[at] } else { draw.pick(&STATES) },
        })
        .collect();
    let state = draw.pick(&STATES);
    let limit = amounts.iter().sum::<i64>() / 20 * 10 / i64::try_from(count).unwrap_or(1) + 10;
    let chosen = draw.some(draw.level.of([1, 3, 0, 0]), &numbers);
    let but = invoices.iter().find(|invoice| invoice.state != state).map_or("", |invoice| invoice.customer);
    let fits = |invoice: &Invoice| match draw.level {
        Level::One | Level::Two => chosen.iter().any(|number| number.to_string() == invoice.number),
        Level::Three => invoice.state == state,
        Level::Four => (invoice.state == state) != (invoice.amount > limit && invoice.customer != but),
    };
    let wanted: Vec<&str> = invoices.iter().filter(|invoice| fits(invoice)).map(|one| one.number.as_str()).collect();
    let rule = match draw.level {
        Level::One => format!("invoice {}", chosen[0]),
        Level::Two => {
            let words: Vec<String> = chosen.iter().map(ToString::to_string).collect();
            format!("invoices {}", listed(&words))
        }
        Level::Three => format!("every invoice that is {state}, and no other"),
        Level::Four => format!(
            "every invoice for which exactly one of these two is true, and no other: it is {state}; it is over {limit} and not of {but}"
        ),
    };
    let mut solution: Vec<String> =
        wanted.iter().map(|number| set(&format!("Select invoice {number}"), true)).collect();
    solution.push(click("button", "Archive selected"));
    let rows: Vec<_> = invoices.iter().map(|one| json!([one.number, one.customer, one.amount, one.state])).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"rows": rows}),
        solution,
        ..Task::new("Invoices", format!("Archive {rule}."), Wanted::in_any_order("archived", &wanted))
    }
}
