//! Shapes with letters, which are put in the order of their sizes.

use serde_json::json;

use super::field;
use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "size-order", about: "Compares the sizes of shapes.", draw };

const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
$("#data").remove();
data.shapes.forEach((one, at) => { shape(one); words("ABCDEFGHIJKLMNOPQRST"[at], one.x, one.y + 1, 14, "white"); });
$("#send").onclick = () => send({ letters: $(".answer").value.toUpperCase().replace(/[^A-Z]/g, "") });
"##
);

fn draw(draw: &mut Draw) -> Task {
    let (count, circles): (usize, usize) = draw.level.of([(4, 4), (7, 7), (8, 8), (16, 6)]);
    let colours = draw.shuffled(&canvas::COLOURS);
    let looks: Vec<_> = (0..count)
        .map(|at| {
            if at < circles {
                ("circle", draw.pick(&colours))
            } else {
                (draw.pick(&canvas::KINDS[1..]), draw.pick(&colours))
            }
        })
        .collect();
    let mut shapes = canvas::scatter(draw, &looks);
    // Circles differ by enough to be seen.
    let halves = draw.some(
        circles,
        &draw.level.of([
            [18, 26, 34, 42, 50, 50, 50, 50],
            [16, 21, 26, 31, 36, 41, 46, 51],
            [16, 21, 26, 31, 36, 41, 46, 51],
            [16, 21, 26, 31, 36, 41, 46, 51],
        ])[..circles],
    );
    for (shape, half) in shapes.iter_mut().zip(&halves) {
        shape.half = *half;
    }
    shapes = draw.shuffled(&shapes);
    let mut order: Vec<usize> = (0..count).filter(|at| shapes[*at].kind == "circle").collect();
    order.sort_by_key(|at| shapes[*at].half);
    let (chosen, words): (Vec<usize>, &str) = match draw.level {
        Level::One => (vec![order[count - 1]], "the letter of the largest circle"),
        Level::Two => {
            (vec![order[0], order[count - 1]], "the letters of the smallest and the largest circle, in this order")
        }
        Level::Three => (
            order[count - 4..].iter().rev().copied().collect(),
            "the letters of the four largest circles, the largest first",
        ),
        Level::Four => {
            (order, "the letters of all circles (not of the other shapes), from the smallest to the largest")
        }
    };
    let letters: String = chosen.iter().map(|at| char::from(b'A' + u8::try_from(*at).unwrap_or_default())).collect();
    Task {
        body: canvas::body("Shapes with letters", &field("Letters")),
        script: SCRIPT,
        data: json!({"shapes": shapes}),
        solution: vec![steps::fill("textbox", "Letters", &letters), steps::submit()],
        ..Task::new("Sizes", format!("Enter {words}, and submit."), Wanted::exactly(&json!({"letters": letters})))
    }
}
