//! Figures in a pattern, and four that might complete it.

use serde_json::{Value, json};

use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "pattern-next", about: "Completes a pattern of figures.", draw };

const CONTROLS: &str = r##"<fieldset class="row" style="border:0;margin:0;padding:0"><legend style="float:left;padding:0 8px 0 0">Figure</legend>
<label style="margin:0"><input type="radio" name="figure" value="A"> A</label><label style="margin:0"><input type="radio" name="figure" value="B"> B</label>
<label style="margin:0"><input type="radio" name="figure" value="C"> C</label><label style="margin:0"><input type="radio" name="figure" value="D"> D</label></fieldset>"##;
const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
$("#data").remove();
const cell = (x, y, one) => {
  line([[x - 45, y - 45], [x + 45, y - 45], [x + 45, y + 45], [x - 45, y + 45], [x - 45, y - 45]], "grey", 1);
  if (one) shape({ ...one, x, y }); else words("?", x, y, 32);
};
data.rows.forEach((row, down) => row.forEach((one, across) => cell(60 + across * 100, 60 + down * 100, one)));
data.options.forEach((one, at) => { cell(150 + at * 140, 450, one); words("ABCD"[at], 150 + at * 140, 515, 20); });
$("#send").onclick = () => send({ figure: $("input:checked")?.value ?? null });
"##
);

/// The figure at a place of the pattern, some of its properties moved on by so many steps.
fn figure(
    draw_level: Level,
    looks: &(Vec<&str>, Vec<&str>, Vec<i64>),
    (across, down): (usize, usize),
    wrong: [usize; 3],
) -> Value {
    let (kinds, colours, halves) = looks;
    let (kind, colour, half) = match draw_level {
        Level::One => (0, across % 2, 0),
        Level::Two => (0, across % 3, across % 2),
        Level::Three => (across % 3, across % 2, across / 2 % 2),
        Level::Four => ((across + 2 * down) % 3, (across + down) % 3, across),
    };
    json!({
        "kind": kinds[(kind + wrong[0]) % 3],
        "colour": colours[(colour + wrong[1]) % 3],
        "half": halves[(half + wrong[2]) % 3],
    })
}

fn draw(draw: &mut Draw) -> Task {
    let looks = (draw.some(3, &canvas::KINDS), draw.some(3, &canvas::COLOURS), draw.shuffled(&[15, 25, 36]));
    let (columns, rows): (usize, usize) = draw.level.of([(6, 1), (7, 1), (7, 1), (3, 3)]);
    let last = (columns - 1, rows - 1);
    let level = draw.level;
    let one = |place, wrong| figure(level, &looks, place, wrong);
    let picture: Vec<Vec<Value>> = (0..rows)
        .map(|down| {
            let cell = |across| if (across, down) == last { Value::Null } else { one((across, down), [0; 3]) };
            (0..columns).map(cell).collect()
        })
        .collect();
    // Each of the others is wrong in one or two ways.
    let wrongs = match draw.level {
        Level::One => [[0, 1, 0], [1, 0, 0], [1, 1, 0]],
        Level::Two | Level::Three => [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
        Level::Four => {
            let way = draw.number(1..=2) as usize;
            [[way, 0, 0], [0, way, 0], [0, 0, way]]
        }
    };
    let ways: Vec<[usize; 3]> = draw.shuffled(&[[0; 3], wrongs[0], wrongs[1], wrongs[2]]);
    let options: Vec<Value> = ways.iter().map(|wrong| one(last, *wrong)).collect();
    let right = ways.iter().position(|wrong| *wrong == [0; 3]).unwrap_or_default();
    let letter = ["A", "B", "C", "D"][right];
    let words = if draw.level == Level::Four {
        "The figures of the square follow rules along the rows and along the columns: in shape, colour and size"
    } else {
        "The row of figures follows a rule in shape, colour and size"
    };
    Task {
        body: canvas::body("A pattern of figures", CONTROLS),
        script: SCRIPT,
        data: json!({"rows": picture, "options": options}),
        solution: vec![steps::check("radio", letter), steps::submit()],
        ..Task::new(
            "Complete the pattern",
            format!("{words}. Choose the figure, A to D, that belongs in the place of the question mark, and submit."),
            Wanted::exactly(&json!({"figure": letter})),
        )
    }
}
