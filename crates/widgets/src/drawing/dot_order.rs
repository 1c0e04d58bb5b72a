//! Dots with numbers or letters, which are clicked in order.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "dot-order", about: "Joins dots by clicking them in order.", draw };

const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
let order = [];
const show = () => {
  wipe();
  line(order.map((name) => { const one = data.dots.find((dot) => dot.name === name); return [one.x, one.y]; }), "orange");
  for (const one of data.dots) {
    shape({ ...one, half: 22, colour: order.includes(one.name) ? "orange" : "blue" });
    words(one.name, one.x, one.y, 14, "white");
  }
};
board.onclick = (event) => {
  const [x, y] = at(event);
  const hit = data.dots.find((one) => Math.hypot(one.x - x, one.y - y) <= 22);
  if (hit && !order.includes(hit.name)) { order.push(hit.name); show(); }
};
$("#again").onclick = () => { order = []; show(); };
$("#send").onclick = () => send({ order });
show();
"##
);

/// Names of the dots in their order, and the words for it.
fn order(draw: &mut Draw) -> (Vec<String>, &'static str) {
    match draw.level {
        Level::One => ((1..=4).map(|n| n.to_string()).collect(), "from 1 to 4"),
        Level::Two => ((1..=8).map(|n| n.to_string()).collect(), "from 1 to 8"),
        Level::Three => {
            let mut all = draw.some(10, &(10..=99).collect::<Vec<i64>>());
            all.sort_unstable();
            (all.iter().map(i64::to_string).collect(), "from the smallest number to the largest")
        }
        Level::Four => {
            let mut all = draw.some(9, &(10..=99).collect::<Vec<i64>>());
            all.sort_unstable_by(|a, b| b.cmp(a));
            let words = "from the largest number to the smallest, round ones only (leave the squares)";
            (all.iter().map(i64::to_string).collect(), words)
        }
    }
}

fn draw(draw: &mut Draw) -> Task {
    let (order, words) = order(draw);
    let others = if draw.level == Level::Four { 7 } else { 0 };
    let places = canvas::places(draw, order.len() + others);
    let numbers: Vec<String> = (10..=99).map(|n: i64| n.to_string()).filter(|n| !order.contains(n)).collect();
    let squares = draw.some(others, &numbers);
    let names = order.iter().chain(&squares).zip(&places).enumerate();
    let dots: Vec<_> = names
        .map(|(at, (name, (x, y)))| {
            json!({"name": name, "x": x, "y": y, "kind": if at < order.len() { "circle" } else { "square" }})
        })
        .collect();
    let clicks = places.iter().take(order.len()).map(|(x, y)| canvas::click_at(*x, *y));
    Task {
        body: canvas::body("Dots with numbers", "<button class=\"plain\" id=\"again\">Start again</button>"),
        script: SCRIPT,
        data: json!({"dots": draw.shuffled(&dots)}),
        solution: clicks.chain([steps::submit()]).collect(),
        ..Task::new(
            "Dots in order",
            format!("Click the dots in order, {words}, and submit."),
            Wanted::exactly(&json!({"order": order})),
        )
    }
}
