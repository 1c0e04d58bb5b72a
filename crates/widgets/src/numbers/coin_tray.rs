//! A tray of coins from which a sum is paid.

use serde_json::{Map, Value, json};

use crate::steps::{click, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "coin-tray", about: "Pays a sum with few coins.", draw };

const BODY: &str = r##"<table><thead><tr><th>Coin</th><th>There are</th><th>Paid</th></tr></thead><tbody id="coins"></tbody></table>
<p>Sum: <output id="sum">0</output></p><button id="send">Submit</button>"##;
const STYLE: &str = "td .row{gap:12px}td button{padding:0 12px}";
const SCRIPT: &str = r##"
const paid = data.coins.map(() => 0);
const rows = data.coins.map(({ value, stock }, at) => {
  const out = el("output", { "aria-label": `Paid coins of ${value}` }, "0");
  const step = (sign, word, by) => el("button", { class: "plain", "aria-label": `${word} coin of ${value}`, onclick: () => { paid[at] = Math.max(0, Math.min(stock, paid[at] + by)); show(); } }, sign);
  $("#coins").append(el("tr", {}, el("td", {}, String(value)), el("td", {}, String(stock)), el("td", {}, el("div", { class: "row" }, step("−", "Take back a", -1), out, step("+", "Pay a", 1)))));
  return out;
});
const show = () => {
  rows.forEach((out, at) => { out.textContent = paid[at]; });
  if (data.sums) $("#sum").textContent = paid.reduce((sum, count, at) => sum + count * data.coins[at].value, 0);
};
if (!data.sums) $("#sum").parentElement.hidden = true;
$("#send").onclick = () => send(Object.fromEntries(data.coins.map(({ value }, at) => [String(value), paid[at]])));
"##;

/// Every way to pay a sum with the fewest coins: counts in the order of the coins.
fn fewest(coins: &[(i64, i64)], sum: i64) -> Vec<Vec<i64>> {
    let mut ways = vec![(sum, Vec::new())];
    for (value, stock) in coins {
        ways = ways
            .into_iter()
            .flat_map(|(left, counts): (i64, Vec<i64>)| {
                (0..=(*stock).min(left / value)).map(move |count| {
                    (left - count * value, counts.iter().copied().chain([count]).collect::<Vec<i64>>())
                })
            })
            .collect();
    }
    let paid: Vec<Vec<i64>> = ways.into_iter().filter(|(left, _)| *left == 0).map(|(_, counts)| counts).collect();
    let least = paid.iter().map(|counts| counts.iter().sum::<i64>()).min().unwrap_or_default();
    paid.into_iter().filter(|counts| counts.iter().sum::<i64>() == least).collect()
}

fn draw(draw: &mut Draw) -> Task {
    let values: &[i64] = match draw.level {
        Level::One => draw.pick(&[&[10, 50], &[20, 100], &[5, 20], &[2, 10], &[1, 5]]),
        Level::Two => &[5, 10, 20],
        Level::Three => &[1, 2, 5, 10, 20],
        Level::Four => &[1, 5, 7, 12, 20],
    };
    let most = draw.level.of([3, 5, 6, 4]);
    let coins: Vec<(i64, i64)> = values
        .iter()
        .map(|value| (*value, if draw.level == Level::Four { draw.number(2..=most) } else { most }))
        .collect();
    let sum = coins.iter().fold(0, |sum, (value, stock)| {
        let least = i64::from(draw.level == Level::One || *value > 5);
        sum + value * draw.number(least..=(*stock).min(if draw.level == Level::One { 2 } else { 3 }))
    });
    let ways = fewest(&coins, sum);
    let mut solution = Vec::new();
    for ((value, _), count) in coins.iter().zip(&ways[0]) {
        solution.extend((0..*count).map(|_| click("button", &format!("Pay a coin of {value}"))));
    }
    solution.push(submit());
    let state = |counts: &Vec<i64>| {
        let each = coins.iter().zip(counts).map(|((value, _), count)| (value.to_string(), json!(count)));
        Value::Object(each.collect::<Map<String, Value>>())
    };
    let shown: Vec<Value> = coins.iter().map(|(value, stock)| json!({"value": value, "stock": stock})).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"coins": shown, "sums": draw.level <= Level::Two}),
        solution,
        ..Task::new(
            "Pay a sum",
            format!("Pay exactly {sum} with as few coins as there can be, from the coins that there are, and submit."),
            Wanted::OneOf(ways.iter().map(state).collect()),
        )
    }
}
