//! Figures in rows and columns, one of which differs.

use serde_json::json;

use super::choice;
use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "odd-one", about: "Finds the figure that differs from the others.", draw };

const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
$("#data").remove();
data.rows.forEach((row, down) => {
  words(String(down + 1), 20, 80 + down * 80);
  row.forEach((one, across) => {
    if (down === 0) words("ABCDEFGH"[across], 80 + across * 80, 20);
    shape({ ...one, x: 80 + across * 80, y: 80 + down * 80 });
  });
});
$("#send").onclick = () => send({ cell: $$(".answer").map((list) => list.value).join("") });
"##
);

fn draw(draw: &mut Draw) -> Task {
    let (columns, rows) = draw.level.of([(4, 3), (6, 5), (8, 6), (8, 6)]);
    let (column, row) = (draw.place(columns), draw.place(rows));
    let colours = draw.shuffled(&canvas::COLOURS);
    let kinds = draw.shuffled(&canvas::KINDS);
    let turns = draw.shuffled(&[0, 90, 180, 270]);
    let odd_step = 1 + draw.place(2);
    let figure = |across: usize, down: usize| {
        let odd = (across, down) == (column, row);
        match draw.level {
            Level::One => json!({"kind": kinds[0], "colour": colours[usize::from(odd)], "half": 26}),
            Level::Two => json!({"kind": kinds[usize::from(odd)], "colour": colours[across % 3], "half": 26}),
            // An L among mirrored ones, whatever the turn of each.
            Level::Three => {
                let kind = if odd { "flipped" } else { "ell" };
                json!({"kind": kind, "colour": colours[0], "half": 26, "turn": turns[(across * 3 + down * 2) % 4]})
            }
            // Three figures that follow each other along the rows and columns, but for one.
            Level::Four => {
                let at = (across + down + if odd { odd_step } else { 0 }) % 3;
                json!({"kind": "arrow", "colour": colours[(across + 2 * down) % 5], "half": 26, "turn": turns[at]})
            }
        }
    };
    let picture: Vec<Vec<_>> =
        (0..rows).map(|down| (0..columns).map(|across| figure(across, down)).collect()).collect();
    let letters: Vec<String> = ('A'..='H').take(columns).map(String::from).collect();
    let numbers: Vec<String> = (1..=rows).map(|row| row.to_string()).collect();
    let words = match draw.level {
        Level::One => "One shape has another colour than the others",
        Level::Two => "One shape is of another kind than the others, whatever its colour",
        Level::Three => "One figure is the mirror image of the others, however they are turned",
        Level::Four => {
            "The directions of the arrows repeat in threes along every row and every column, but for one arrow that breaks \
             this pattern; colours do not matter"
        }
    };
    let solution =
        vec![steps::select("Column", &letters[column]), steps::select("Row", &numbers[row]), steps::submit()];
    let wanted = format!("{}{}", letters[column], numbers[row]);
    Task {
        body: canvas::body("Figures in rows", &(choice("Column", &letters) + &choice("Row", &numbers))),
        script: SCRIPT,
        data: json!({"rows": picture}),
        solution,
        ..Task::new(
            "The odd one",
            format!("{words}. Choose its column and its row, and submit."),
            Wanted::exactly(&json!({"cell": wanted})),
        )
    }
}
