//! A very long list in order, of which only the rows in sight are there.

use serde_json::json;

use super::{boxed, wheel};
use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "virtual-list", about: "Finds rows of a list that holds only what is in sight.", draw };

const CONTROLS: &str = r##"<span id="count" role="status"></span><button id="send">Submit</button>"##;
const INNER: &str = r##"<div id="list" role="list" style="position:relative"></div>"##;
const STYLE: &str = "#list>div{position:absolute;left:0;right:0;height:40px;display:flex;justify-content:space-between;align-items:center;padding:0 12px;border-bottom:1px solid var(--line)}#list button{padding:2px 12px}";
const SCRIPT: &str = r##"
const chosen = new Set();
const HEIGHT = 40;
$("#list").style.height = `${data.orders.length * HEIGHT}px`;
const show = () => {
  const from = Math.floor($("#box").scrollTop / HEIGHT);
  const rows = data.orders.slice(from, from + 13).map((order, at) => el("div", { role: "listitem", "aria-setsize": data.orders.length, "aria-posinset": from + at + 1, style: `top:${(from + at) * HEIGHT}px` },
    el("span", {}, `Order ${order}`),
    el("button", { class: "plain", "aria-label": `Choose order ${order}`, "aria-pressed": String(chosen.has(order)), onclick: () => { if (chosen.has(order)) chosen.delete(order); else chosen.add(order); show(); } }, chosen.has(order) ? "Chosen" : "Choose")));
  $("#list").replaceChildren(...rows);
  $("#count").textContent = `${data.orders.length} orders, chosen: ${chosen.size}`;
};
$("#box").onscroll = show;
$("#send").onclick = () => send({ chosen: [...chosen] });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let count: usize = draw.level.of([40, 300, 900, 2_000]);
    let mut number = draw.number(1_000..=2_000);
    let orders: Vec<i64> = (0..count)
        .map(|_| {
            number += draw.number(1..=6);
            number
        })
        .collect();
    let middle = count / 2 + draw.place(count / 3);
    let (chosen, words) = match draw.level {
        Level::One | Level::Two => (vec![middle], format!("Choose order {}", orders[middle])),
        Level::Three => {
            let early = count / 5 + draw.place(count / 5);
            (vec![early, middle], format!("Choose the orders {} and {}", orders[early], orders[middle]))
        }
        Level::Four => {
            let (low, high) = (orders[middle / 2] + 1, orders[middle] - 1);
            let first = orders.partition_point(|order| *order < low);
            let last = orders.partition_point(|order| *order <= high) - 1;
            let words = format!(
                "Choose the smallest order number that is at least {low}, the largest that is at most {high}, and the last \
                 order of all"
            );
            (vec![first, last, count - 1], words)
        }
    };
    let mut solution = Vec::new();
    let mut top = 0;
    // The last place to which the list can be scrolled: the box is 480 high, less its edges.
    let lowest = i64::try_from(count).unwrap_or_default() * 40 - 478;
    for at in &chosen {
        let wanted = (i64::try_from(*at).unwrap_or_default() * 40 - 200).clamp(0, lowest);
        if wanted != top {
            solution.push(wheel(wanted - top));
            top = wanted;
        }
        solution.push(steps::click("button", &format!("Choose order {}", orders[*at])));
    }
    solution.push(steps::submit());
    Task {
        body: boxed("Orders", CONTROLS, INNER),
        style: STYLE,
        script: SCRIPT,
        data: json!({"orders": orders}),
        solution,
        ..Task::new(
            "Orders by number",
            format!("{words}, and submit."),
            Wanted::field("chosen", Wanted::Set(chosen.iter().map(|at| json!(orders[*at])).collect())),
        )
    }
}
