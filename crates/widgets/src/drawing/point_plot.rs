//! A plane of coordinates, on which marks are put.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "point-plot", about: "Puts marks at coordinates of a plane.", draw };

/// Length of one unit; the origin lies at 360, 280.
const UNIT: i64 = 26;
const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
const marks = [];
const UNIT = 26;
const place = ([x, y]) => [360 + x * UNIT, 280 - y * UNIT];
const show = () => {
  wipe();
  for (let at = -10; at <= 10; at += 1) {
    line([place([at, -10]), place([at, 10])], "grey", 0.5);
    line([place([-10, at]), place([10, at])], "grey", 0.5);
    if (at && at % 5 === 0) { words(String(at), ...place([at, -0.6]), 12); words(String(at), ...place([-0.7, at]), 12); }
  }
  line([place([-10, 0]), place([10, 0])]); line([place([0, -10]), place([0, 10])]);
  words("x", ...place([10.4, 0])); words("y", ...place([0, 10.4]));
  data.given.forEach(([name, x, y]) => { dot(...place([x, y]), 6, "blue"); words(name, place([x, y])[0] + 14, place([x, y])[1] - 12, 16, "blue"); });
  marks.forEach((mark, index) => { dot(...place(mark), 5, "red"); words(String(index + 1), place(mark)[0] - 12, place(mark)[1] - 12, 14, "red"); });
  $("#undo").disabled = marks.length === 0;
};
board.onclick = (event) => { const [x, y] = at(event); marks.push([(x - 360) / UNIT, (280 - y) / UNIT]); show(); };
$("#undo").onclick = () => { marks.pop(); show(); };
$("#send").onclick = () => send({ marks });
show();
"##
);

/// Coordinates of a point.
type Point = (i64, i64);

/// Points that are given, points that are wanted, and the words for them.
fn points(draw: &mut Draw) -> (Vec<Point>, Vec<Point>, String) {
    let mut sign = || if draw.once_in(2) { -1 } else { 1 };
    let signs = [sign(), sign(), sign(), sign()];
    match draw.level {
        Level::One => {
            let one = (draw.number(1..=9), draw.number(1..=9));
            (vec![], vec![one], format!("Put a mark at x = {}, y = {}", one.0, one.1))
        }
        Level::Two => {
            let one = (-draw.number(1..=9), signs[0] * draw.number(1..=9));
            let two = (signs[1] * draw.number(1..=9), -draw.number(1..=9));
            let words = format!("Put a mark at ({}, {}), then one at ({}, {})", one.0, one.1, two.0, two.1);
            (vec![], vec![one, two], words)
        }
        Level::Three => {
            let one = (signs[0] * draw.number(1..=9), signs[1] * draw.number(1..=9));
            let words = "Put a mark at the mirror image of A in the y axis, then one at the mirror image of A in the x axis, \
                         then one at the point opposite to A through the origin";
            (vec![one], vec![(-one.0, one.1), (one.0, -one.1), (-one.0, -one.1)], words.to_owned())
        }
        Level::Four => {
            let (ax, ay) = (-draw.number(2..=8), signs[0] * draw.number(0..=3));
            let (across, rise) = (2 * draw.number(2..=4), 2 * signs[1]);
            let (sx, sy) = (draw.number(-1..=2), signs[2] * draw.number(3..=4));
            let (b, c) = ((ax + across, ay + rise), (ax + across + sx, ay + rise + sy));
            let words = "Put a mark at the point D that makes ABCD a parallelogram (its corners in this order), then one at \
                         the middle of the side AB";
            (vec![(ax, ay), b, c], vec![(ax + sx, ay + sy), (ax + across / 2, ay + rise / 2)], words.to_owned())
        }
    }
}

fn draw(draw: &mut Draw) -> Task {
    let (given, wanted, words) = points(draw);
    let given: Vec<_> = given.iter().zip(["A", "B", "C"]).map(|((x, y), name)| json!([name, x, y])).collect();
    let near = |value: i64| Wanted::near(value, 0.3);
    let marks = wanted.iter().map(|(x, y)| Wanted::List(vec![near(*x), near(*y)])).collect();
    let clicks = wanted.iter().map(|(x, y)| canvas::click_at(360 + UNIT * x, 280 - UNIT * y));
    Task {
        body: canvas::body(
            "A plane of coordinates",
            "<span class=\"soft\">A click puts a mark.</span><button class=\"plain\" id=\"undo\">Remove the last mark</button>",
        ),
        script: SCRIPT,
        data: json!({"given": given}),
        solution: clicks.chain([steps::submit()]).collect(),
        ..Task::new("Plot points", format!("{words}, and submit."), Wanted::field("marks", Wanted::List(marks)))
    }
}
