//! A long table with a header that stays in sight, in which rows are ticked.

use serde_json::json;

use super::{boxed, labels};
use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "long-table", about: "Finds rows of a long table and ticks them.", draw };

const STATES: [&str; 3] = ["paid", "late", "open"];
const CONTROLS: &str = r##"<span id="count" role="status"></span><button id="send">Submit</button>"##;
const INNER: &str = r##"<table aria-label="Orders"><thead><tr><th scope="col">Tick</th><th scope="col">Order</th><th scope="col">Town</th><th scope="col">State</th><th scope="col">Days</th></tr></thead><tbody></tbody></table>"##;
const SCRIPT: &str = r##"
const count = () => { $("#count").textContent = `Ticked: ${$$("input:checked").length}`; };
for (const [name, town, state, days] of data.rows) {
  $("tbody").append(el("tr", {}, el("td", {}, el("input", { type: "checkbox", value: name, "aria-label": `Tick ${name}`, onchange: count })),
    el("th", { scope: "row" }, name), el("td", {}, town), el("td", {}, state), el("td", {}, String(days))));
}
$("#send").onclick = () => send({ ticked: $$("input:checked").map((input) => input.value) });
count();
"##;

struct Row {
    name: String,
    town: &'static str,
    state: &'static str,
    days: i64,
}

/// Rows that are wanted, and the words for them.
fn choose(draw: &mut Draw, towns: &[&'static str], rows: &mut [Row]) -> (Vec<usize>, String) {
    let places = draw.some(6, &(0..rows.len()).collect::<Vec<_>>());
    if draw.level < Level::Three {
        let chosen = places[..draw.level.of([1, 3, 0, 0])].to_vec();
        let names: Vec<&str> = chosen.iter().map(|at| rows[*at].name.as_str()).collect();
        return (chosen.clone(), format!("Tick the rows of these orders and no others: {}", names.join(", ")));
    }
    let (town, least) = (draw.pick(towns), draw.number(15..=25));
    let strict = draw.level == Level::Four;
    let fits = |row: &Row| row.state == "late" && row.town == town && (!strict || row.days > least);
    let mut left = 4;
    for (at, row) in rows.iter_mut().enumerate() {
        if places[..3].contains(&at) {
            (row.state, row.town, row.days) = ("late", town, least + 1 + draw.number(0..=9));
        } else if fits(row) {
            // At most a few more than the three that are sure to be there.
            left -= 1;
            if left < 0 {
                row.state = "paid";
            }
        }
    }
    let chosen = (0..rows.len()).filter(|at| fits(&rows[*at])).collect();
    let more = if strict { format!(" and has more than {least} days") } else { String::new() };
    (chosen, format!("Tick every order from {town} that is late{more}, and no others"))
}

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([20, 50, 60, 110]);
    let towns = draw.towns(4);
    let mut rows: Vec<Row> = labels(draw, count)
        .into_iter()
        .map(|name| Row { name, town: draw.pick(&towns), state: draw.pick(&STATES), days: draw.number(1..=40) })
        .collect();
    let (mut chosen, words) = choose(draw, &towns, &mut rows);
    // From above: a row that is scrolled to from below can come to lie under the header.
    chosen.sort_unstable();
    let click = |at: &usize| steps::check("checkbox", &format!("Tick {}", rows[*at].name));
    let listed: Vec<_> = rows.iter().map(|row| json!([row.name, row.town, row.state, row.days])).collect();
    Task {
        body: boxed("Orders", CONTROLS, INNER),
        style: "thead th{position:sticky;top:0;background:var(--fill);z-index:1;box-shadow:0 1px 0 var(--line)}",
        script: SCRIPT,
        data: json!({"rows": listed}),
        solution: chosen.iter().map(click).chain([steps::submit()]).collect(),
        ..Task::new(
            "Orders",
            format!("{words}. Then submit."),
            Wanted::field("ticked", Wanted::Set(chosen.iter().map(|at| json!(rows[*at].name)).collect())),
        )
    }
}
