//! Shapes on a canvas, some of which are clicked.

use serde_json::json;

use crate::canvas::{self, Shape};
use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "shape-click", about: "Clicks the shapes on a canvas that are described.", draw };

const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
let clicked = [];
const show = () => {
  wipe();
  data.shapes.forEach((one, index) => { shape(one); if (clicked.includes(index)) ring(one.x, one.y, one.half); });
  $("#count").textContent = `Chosen: ${clicked.length}`;
};
board.onclick = (event) => {
  const [x, y] = at(event);
  const hit = data.shapes.findIndex((one) => Math.hypot(one.x - x, one.y - y) <= one.half);
  if (hit >= 0) { clicked = clicked.includes(hit) ? clicked.filter((one) => one !== hit) : [...clicked, hit]; show(); }
};
$("#send").onclick = () => send({ clicked });
show();
"##
);

fn draw(draw: &mut Draw) -> Task {
    let mut looks = draw.shuffled(&canvas::looks());
    let (kind, colour) = looks[0];
    let wanted: Vec<usize> = match draw.level {
        Level::One => vec![0],
        Level::Two => vec![0, 1],
        Level::Three | Level::Four => (0..4).collect(),
    };
    let words = match draw.level {
        Level::One => format!("Click the {colour} {kind}"),
        Level::Two => format!("Click the {colour} {kind} and the {} {}", looks[1].1, looks[1].0),
        Level::Three => format!("Click every {colour} shape, in any order"),
        Level::Four => format!("Click every {colour} {kind}, from the smallest to the largest"),
    };
    looks = match draw.level {
        Level::One | Level::Two => draw.level.of([&looks[..4], &looks[..9], &[], &[]]).to_vec(),
        Level::Three => {
            let (same, other): (Vec<_>, Vec<_>) = looks.into_iter().partition(|look| look.1 == colour);
            same.into_iter().chain(other.into_iter().take(11)).collect()
        }
        // The others include all that have only the kind or only the colour.
        Level::Four => [(kind, colour); 4].into_iter().chain(looks.into_iter().skip(1).take(17)).collect(),
    };
    let mut shapes: Vec<Shape> = canvas::scatter(draw, &looks);
    if draw.level == Level::Four {
        for (shape, half) in shapes.iter_mut().zip([18, 26, 34, 43]) {
            shape.half = half;
        }
    }
    // Where a shape stands in the list tells nothing.
    let order = draw.shuffled(&(0..shapes.len()).collect::<Vec<_>>());
    let place = |of: usize| order.iter().position(|at| *at == of).unwrap_or_default();
    let clicked: Vec<_> = wanted.iter().map(|at| json!(place(*at))).collect();
    let clicked = if draw.level == Level::Four { Wanted::Is(clicked.into()) } else { Wanted::Set(clicked) };
    let click = |at: &usize| canvas::click_at(shapes[*at].x, shapes[*at].y);
    Task {
        body: canvas::body("Shapes to click", "<span id=\"count\" role=\"status\"></span>"),
        script: SCRIPT,
        data: json!({"shapes": order.iter().map(|at| &shapes[*at]).collect::<Vec<_>>()}),
        solution: wanted.iter().map(click).chain([steps::submit()]).collect(),
        ..Task::new(
            "Choose shapes",
            format!("{words}, and submit. A second click takes a choice back."),
            Wanted::field("clicked", clicked),
        )
    }
}
