//! Shapes that are chosen by a box drawn around them.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "lasso", about: "Chooses shapes with boxes drawn around them.", draw };

const CONTROLS: &str = r##"<label style="margin:0"><input type="checkbox" id="add"> Add to the selection</label>
<button class="plain" id="none">Select nothing</button><span id="count" role="status"></span>"##;
const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
let selected = new Set();
let from = null;
let to = null;
const show = () => {
  wipe();
  data.shapes.forEach((one, index) => { shape(one); if (selected.has(index)) ring(one.x, one.y, one.half); });
  if (from) { ctx.setLineDash([6, 4]); line([from, [to[0], from[1]], to, [from[0], to[1]], from], "black", 1); ctx.setLineDash([]); }
  $("#count").textContent = `Selected: ${selected.size}`;
};
const finish = () => {
  const [left, right] = [from[0], to[0]].sort((a, b) => a - b);
  const [top, bottom] = [from[1], to[1]].sort((a, b) => a - b);
  const add = $("#add").checked;
  const click = right - left < 4 && bottom - top < 4;
  const hit = ({ x, y, half }) => (click ? Math.hypot(x - left, y - top) <= half : x - half >= left && x + half <= right && y - half >= top && y + half <= bottom);
  const hits = data.shapes.map((one, index) => (hit(one) ? index : -1)).filter((index) => index >= 0);
  if (!add) selected = new Set(hits);
  else hits.forEach((index) => { if (click && selected.has(index)) selected.delete(index); else selected.add(index); });
  from = null;
};
board.onpointerdown = (event) => { board.setPointerCapture(event.pointerId); from = at(event); to = from; };
board.onpointermove = (event) => { if (from) { to = at(event); show(); } };
board.onpointerup = (event) => { if (from) { to = at(event); finish(); show(); } };
$("#none").onclick = () => { selected = new Set(); show(); };
$("#send").onclick = () => send({ selected: [...selected] });
show();
"##
);

/// Blocks of cells to be chosen: column, row, width, height.
fn blocks(draw: &mut Draw) -> Vec<(i64, i64, i64, i64)> {
    match draw.level {
        Level::One => vec![(draw.number(0..=4), draw.number(0..=3), 2, 1)],
        Level::Two => vec![(draw.number(0..=3), draw.number(0..=2), 3, 2)],
        Level::Three => vec![(0, draw.number(0..=2), 2, 2), (draw.number(3..=4), draw.number(0..=2), 2, 2)],
        Level::Four => vec![(0, draw.number(0..=1), 3, 3), (4, draw.number(0..=2), 2, 2)],
    }
}

fn draw(draw: &mut Draw) -> Task {
    let blocks = blocks(draw);
    let colour = draw.pick(&canvas::COLOURS);
    let others: Vec<_> = canvas::COLOURS.into_iter().filter(|other| *other != colour).collect();
    // A shape of another colour in the middle of the large block.
    let hole = (draw.level == Level::Four).then(|| (1, blocks[0].1 + 1));
    let inside = |column: i64, row: i64| {
        let within = |(left, top, width, height): &(i64, i64, i64, i64)| {
            (*left..left + width).contains(&column) && (*top..top + height).contains(&row)
        };
        blocks.iter().any(within) && hole != Some((column, row))
    };
    let (mut shapes, mut wanted) = (Vec::new(), Vec::new());
    for row in 0..4 {
        for column in 0..6 {
            let chosen = inside(column, row);
            if chosen {
                wanted.push(json!(shapes.len()));
            }
            shapes.push(canvas::Shape {
                kind: draw.pick(&canvas::KINDS),
                colour: if chosen { colour } else { draw.pick(&others) },
                x: 60 + 120 * column,
                y: 70 + 140 * row,
                half: draw.number(20..=38),
            });
        }
    }
    let mut solution = Vec::new();
    for (at, (left, top, width, height)) in blocks.iter().enumerate() {
        if at == 1 {
            solution.push(steps::check("checkbox", "Add to the selection"));
        }
        let from = (120 * left + 2, 140 * top + 2);
        solution.push(canvas::drag(from, (from.0 + 120 * width - 4, from.1 + 140 * height - 4)));
    }
    solution.extend(hole.map(|(column, row)| canvas::click_at(60 + 120 * column, 70 + 140 * row)));
    solution.push(steps::submit());
    Task {
        body: canvas::body("Shapes to select", CONTROLS),
        script: SCRIPT,
        data: json!({"shapes": shapes}),
        solution,
        ..Task::new(
            "Select with a box",
            format!(
                "Select all {colour} shapes and no others, and submit. Drag a box around shapes to select them; a click \
                 selects one. With \"Add to the selection\", a box adds shapes, and a click takes a selected one out."
            ),
            Wanted::field("selected", Wanted::Set(wanted)),
        )
    }
}
