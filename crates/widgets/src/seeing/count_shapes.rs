//! Shapes of many colours in a picture, which are counted.

use serde_json::json;

use super::field;
use crate::canvas::{self, Shape};
use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget = Widget { name: "count-shapes", about: "Counts shapes in a picture.", draw };

const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
$("#data").remove();
data.shapes.forEach(shape);
$("#send").onclick = () => send({ numbers: $$(".answer").map((input) => (input.value.trim() === "" ? null : Number(input.value))) });
"##
);

fn draw(draw: &mut Draw) -> Task {
    let count: usize = draw.level.of([6, 14, 20, 24]);
    let kinds = draw.shuffled(&canvas::KINDS);
    let colours = draw.shuffled(&canvas::COLOURS);
    // With fewer looks, those that are counted come often.
    let looks: Vec<_> = (0..count).map(|_| (draw.pick(&kinds[..3]), draw.pick(&colours[..4]))).collect();
    let shapes: Vec<Shape> = canvas::scatter(draw, &looks);
    let how_many = |fits: &dyn Fn(&Shape) -> bool| shapes.iter().filter(|shape| fits(shape)).count();
    let (kind, colour) = (kinds[0], colours[0]);
    let (asked, words): (Vec<usize>, String) = match draw.level {
        Level::One => (vec![how_many(&|shape| shape.colour == colour)], format!("how many {colour} shapes there are")),
        Level::Two => (
            vec![how_many(&|shape| shape.colour == colour && shape.kind == kind)],
            format!("how many {colour} {kind}s there are"),
        ),
        Level::Three => (
            vec![
                how_many(&|shape| shape.colour == colour),
                how_many(&|shape| shape.kind == kind && shape.colour == colours[1]),
            ],
            format!(
                "how many {colour} shapes there are as the first number, how many {} {kind}s as the second",
                colours[1]
            ),
        ),
        Level::Four => (
            vec![
                how_many(&|shape| shape.kind == kind && shape.colour != colour),
                how_many(&|shape| shape.kind != kind && (shape.colour == colours[1] || shape.colour == colours[2])),
            ],
            format!(
                "how many {kind}s are not {colour} as the first number, and how many shapes are {} or {} but no {kind}s as \
                 the second",
                colours[1], colours[2]
            ),
        ),
    };
    let labels = if asked.len() == 1 { vec!["Number"] } else { vec!["First number", "Second number"] };
    let controls: String = labels.iter().map(|label| field(label)).collect();
    let mut solution: Vec<String> =
        labels.iter().zip(&asked).map(|(label, number)| steps::fill("textbox", label, &number.to_string())).collect();
    solution.push(steps::submit());
    Task {
        body: canvas::body("Shapes to count", &controls),
        script: SCRIPT,
        data: json!({"shapes": shapes}),
        solution,
        ..Task::new("Count shapes", format!("Enter {words}, and submit."), Wanted::exactly(&json!({"numbers": asked})))
    }
}
