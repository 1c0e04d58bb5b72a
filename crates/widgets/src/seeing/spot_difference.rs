//! Two pictures that are alike but for some cells.

use serde_json::{Value, json};

use super::field;
use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "spot-difference", about: "Finds the cells in which two pictures differ.", draw };

const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
$("#data").remove();
const size = data.pictures[0].length;
data.pictures.forEach((picture, side) => picture.forEach((row, down) => row.forEach((one, across) => {
  const [x, y] = [55 + side * 360 + across * 52, 75 + down * 52];
  if (down === 0) words("ABCDEF"[across], x, 28);
  if (across === 0) words(String(down + 1), x - 40, y);
  shape({ ...one, x, y });
})));
line([[350, 20], [350, 60 + size * 52]], "grey", 2);
$("#send").onclick = () => send({ cells: [...new Set($(".answer").value.toUpperCase().match(/[A-F][1-6]/g) ?? [])] });
"##
);

fn draw(draw: &mut Draw) -> Task {
    let size: usize = draw.level.of([3, 4, 5, 6]);
    let cells: Vec<(usize, usize)> = (0..size).flat_map(|down| (0..size).map(move |across| (across, down))).collect();
    let differ = draw.some(draw.level.of([1, 2, 3, 5]), &cells);
    let kinds = ["circle", "square", "triangle", "diamond"];
    let turns = [0, 90, 180, 270];
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for cell in &cells {
        let (colour, kind, turn) = (draw.place(5), draw.place(4), draw.place(4));
        let odd = usize::from(differ.contains(cell));
        let figure = |by: usize| -> Value {
            match draw.level {
                Level::One | Level::Two => {
                    json!({"kind": kinds[kind], "colour": canvas::COLOURS[(colour + by) % 5], "half": 18})
                }
                Level::Three => json!({"kind": kinds[(kind + by) % 4], "colour": canvas::COLOURS[colour], "half": 18}),
                Level::Four => {
                    json!({"kind": "arrow", "colour": canvas::COLOURS[colour], "half": 18, "turn": turns[(turn + by) % 4]})
                }
            }
        };
        left.push(figure(0));
        // By one to three steps, so that all kinds of differences come up.
        right.push(figure(odd * (1 + turn % 3)));
    }
    let rows = |all: Vec<Value>| all.chunks(size).map(<[Value]>::to_vec).collect::<Vec<_>>();
    let name = |(across, down): &(usize, usize)| {
        format!("{}{}", char::from(b'A' + u8::try_from(*across).unwrap_or_default()), down + 1)
    };
    let names: Vec<String> = differ.iter().map(name).collect();
    let many = differ.len();
    let (cells, such) = if many == 1 { ("one cell", "such as B2") } else { ("cells", "such as A1 B2") };
    Task {
        body: canvas::body("Two pictures", &field("Cells")),
        script: SCRIPT,
        data: json!({"pictures": [rows(left), rows(right)]}),
        solution: vec![steps::fill("textbox", "Cells", &names.join(" ")), steps::submit()],
        ..Task::new(
            "Spot the difference",
            format!(
                "The left and the right picture differ in {}. Enter {} ({such}), and submit.",
                if many == 1 { cells.to_owned() } else { format!("{many} {cells}") },
                if many == 1 { "its name" } else { "their names in any order" }
            ),
            Wanted::field("cells", Wanted::Set(names.into_iter().map(Value::from).collect())),
        )
    }
}
