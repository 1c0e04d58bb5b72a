//! Files whose names tell nothing: a preview shows what is in one, and the right one is submitted.

use serde_json::json;

use crate::steps::{submit, upload};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "file-by-content", about: "Looks into files by a preview and submits the right one.", draw };

const BODY: &str = r##"<label>File <input type="file" id="file"></label><div class="card"><b>Preview</b><pre id="preview" role="region" aria-label="Preview" tabindex="0">Nothing yet</pre></div><button id="send" disabled>Submit</button>"##;
const STYLE: &str = "#preview{min-height:160px;margin:6px 0;white-space:pre-wrap}";
const SCRIPT: &str = r##"
let shown = null;
$("#file").addEventListener("change", async () => {
  const file = $("#file").files[0];
  shown = file ? { name: file.name, content: await file.text() } : null;
  $("#preview").textContent = shown ? shown.content : "Nothing yet";
  $("#send").disabled = shown === null;
});
$("#send").onclick = () => send(shown);
"##;

/// A bill: customer, town, amount, state.
type Bill = (&'static str, &'static str, i64, &'static str);

fn content((customer, town, amount, state): &Bill) -> String {
    format!("BILL\nCustomer: {customer}\nTown: {town}\nAmount: {amount}\nState: {state}\n")
}

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([2, 3, 4, 6]);
    let (customers, towns, amounts) = (draw.names(count), draw.towns(2), draw.numbers(count, 20..=900));
    // At the higher levels customers and towns are alike, and several things have to fit.
    let bills: Vec<Bill> = (0..count)
        .map(|at| match draw.level {
            Level::One | Level::Two => (customers[at], towns[at % 2], amounts[at], "open"),
            Level::Three => (customers[at / 2], towns[at % 2], amounts[at], "open"),
            Level::Four => (customers[at % 2], towns[0], amounts[at], if at < 4 { "open" } else { "paid" }),
        })
        .collect();
    let ids = draw.numbers(count, 1_000..=9_999);
    let names: Vec<String> = ids.iter().map(|id| format!("scan-{id}.txt")).collect();
    let (mut wanted, words) = match draw.level {
        Level::One | Level::Two => {
            let at = draw.place(count);
            (at, format!("for {}", bills[at].0))
        }
        Level::Three => {
            let at = draw.place(count);
            (at, format!("for {} in {}", bills[at].0, bills[at].1))
        }
        Level::Four => (0, format!("with the largest amount among those for {} that are open", bills[0].0)),
    };
    if draw.level == Level::Four && bills[2].2 > bills[0].2 {
        wanted = 2;
    }
    // Looks into one file after the other until all were seen, and comes back to the right one.
    let mut order = draw.shuffled(&names);
    if draw.level < Level::Four {
        let place = order.iter().position(|name| *name == names[wanted]).unwrap_or_default();
        order.truncate(place);
    }
    let mut solution: Vec<String> = order.iter().map(|name| upload("#file", &[name])).collect();
    solution.extend([upload("#file", &[&names[wanted]]), submit()]);
    let files: Vec<(String, Vec<u8>)> =
        names.iter().cloned().zip(bills.iter().map(|bill| content(bill).into_bytes())).collect();
    let all = listed(&draw.shuffled(&names));
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        files,
        solution,
        ..Task::new(
            "Bills",
            format!("Your files are {all}; each holds one bill, which the preview shows. Submit the bill {words}."),
            Wanted::exactly(&json!({"name": names[wanted], "content": content(&bills[wanted])})),
        )
    }
}
