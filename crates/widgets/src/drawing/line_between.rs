//! Dots on a canvas, between which straight lines are drawn with the mouse.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "line-between", about: "Draws straight lines between dots.", draw };

const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
const lines = [];
let present = null;
const show = () => {
  wipe();
  [...lines, present ?? []].forEach((points) => line(points, "blue"));
  data.dots.forEach(([name, x, y]) => { dot(x, y, 6, "black"); words(name, x, y - 20); });
  $("#undo").disabled = lines.length === 0;
};
board.onpointerdown = (event) => { board.setPointerCapture(event.pointerId); present = [at(event)]; show(); };
board.onpointermove = (event) => { if (present) { present.push(at(event)); show(); } };
board.onpointerup = (event) => { if (present) { present.push(at(event)); lines.push(present); present = null; show(); } };
$("#undo").onclick = () => { lines.pop(); show(); };
$("#send").onclick = () => send({ lines });
show();
"##
);

/// Dots that are joined, by their places in the list, and the words for them.
fn pairs(draw: &mut Draw, names: &mut Vec<String>) -> (Vec<(usize, usize)>, String) {
    if draw.level == Level::Four {
        let sum = draw.number(24..=40);
        let mut small: Vec<i64> = draw.some(4, &(1..sum / 2).collect::<Vec<_>>());
        small.sort_unstable();
        // Two more numbers that fit nowhere: their partners lie outside.
        let all = small.iter().flat_map(|one| [*one, sum - one]).chain([sum + 1, sum + 7]);
        *names = all.map(|number| number.to_string()).collect();
        let words = format!(
            "Draw a line from dot to dot for every two numbers that add up to {sum}: each from the smaller number to the \
             larger, the line with the smallest number first, then the next, and so on"
        );
        return ((0..4).map(|at| (2 * at, 2 * at + 1)).collect(), words);
    }
    let count = draw.level.of([1, 2, 3, 0]);
    let pairs: Vec<(usize, usize)> = (0..count).map(|at| (2 * at, 2 * at + 1)).collect();
    let each: Vec<String> = pairs.iter().map(|(from, to)| format!("from {} to {}", names[*from], names[*to])).collect();
    let order = if count > 1 { ", in this order" } else { "" };
    (pairs, format!("Draw a straight line {}{order}", each.join(", then ")))
}

fn draw(draw: &mut Draw) -> Task {
    let letters: Vec<String> = ('A'..='L').map(String::from).collect();
    let mut names = draw.some(draw.level.of([2, 6, 10, 0]), &letters);
    let (pairs, words) = pairs(draw, &mut names);
    let places = canvas::places(draw, names.len());
    let mut dots: Vec<_> = names.iter().zip(&places).map(|(name, (x, y))| json!([name, x, y])).collect();
    dots = draw.shuffled(&dots);
    #[expect(clippy::cast_precision_loss, reason = "places are small numbers")]
    let corner = |at: usize| [places[at].0 as f64, places[at].1 as f64];
    let path = |(from, to): &(usize, usize)| Wanted::Path { through: vec![corner(*from), corner(*to)], within: 14.0 };
    let wanted = Wanted::List(pairs.iter().map(path).collect());
    let drag = |(from, to): &(usize, usize)| canvas::drag(places[*from], places[*to]);
    Task {
        body: canvas::body(
            "Dots with names",
            "<span class=\"soft\">Press at a dot, move, let go at the other.</span><button class=\"plain\" id=\"undo\">Undo</button>",
        ),
        script: SCRIPT,
        data: json!({"dots": dots}),
        solution: pairs.iter().map(drag).chain([steps::submit()]).collect(),
        ..Task::new("Join dots", format!("{words}, and submit."), Wanted::field("lines", wanted))
    }
}
