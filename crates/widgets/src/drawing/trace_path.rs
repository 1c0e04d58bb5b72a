//! A path on a canvas, along which the mouse is led with its button held.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "trace-path", about: "Traces a path in one stroke.", draw };

const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
let points = [];
let held = false;
const show = () => {
  wipe();
  for (const path of data.paths) {
    line(path.points, path.colour, 8);
    const [first, last] = [path.points[0], path.points.at(-1)];
    dot(...first, 14, path.colour); words("S", ...first, 14, "white");
    dot(...last, 14, path.colour); words("E", ...last, 14, "white");
  }
  line(points, "black", 3);
};
board.onpointerdown = (event) => { board.setPointerCapture(event.pointerId); held = true; points = [at(event)]; show(); };
board.onpointermove = (event) => { if (held) { points.push(at(event)); show(); } };
board.onpointerup = (event) => { if (held) { held = false; points.push(at(event)); show(); } };
$("#send").onclick = () => send({ points });
show();
"##
);

/// Corners of a path that goes from left to right, up and down.
fn path(draw: &mut Draw, corners: i64) -> Vec<(i64, i64)> {
    let step = 600 / (corners - 1);
    let mut high = draw.once_in(2);
    (0..corners)
        .map(|at| {
            high = !high;
            (60 + at * step, if high { draw.number(40..=220) } else { draw.number(320..=500) })
        })
        .collect()
}

fn draw(draw: &mut Draw) -> Task {
    let corners = draw.level.of([2, 3, 5, 7]);
    let colours = draw.some(2, &["blue", "orange", "green", "purple"]);
    let mut points = path(draw, corners);
    let mut all = vec![json!({"colour": colours[0], "points": points})];
    if draw.level == Level::Four {
        let other = path(draw, 6);
        all.push(json!({"colour": colours[1], "points": other}));
        all = draw.shuffled(&all);
    }
    let backwards = draw.level >= Level::Three;
    if backwards {
        points.reverse();
    }
    let (from, to) = if backwards { ("E", "S") } else { ("S", "E") };
    #[expect(clippy::cast_precision_loss, reason = "places are small numbers")]
    let through = points.iter().map(|(x, y)| [*x as f64, *y as f64]).collect();
    let mut solution = canvas::stroke(&points);
    solution.push(steps::submit());
    Task {
        body: canvas::body(
            "A path",
            "<span class=\"soft\">Hold the button down. A new stroke replaces the one before.</span>",
        ),
        script: SCRIPT,
        data: json!({"paths": all}),
        solution,
        ..Task::new(
            "Trace a path",
            format!(
                "Trace the {} path in one stroke with the mouse's button held, from {from} to {to} around every corner, and \
                 submit.",
                colours[0]
            ),
            Wanted::field("points", Wanted::Path { through, within: 14.0 }),
        )
    }
}
