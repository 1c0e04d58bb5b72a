//! A grid whose cells are painted.

use serde_json::json;

use crate::words::capital;
use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "cell-paint", about: "Paints cells of a grid in colours.", draw };

/// Width of a cell.
const CELL: i64 = 60;
const CONTROLS: &str = r##"<fieldset class="row" style="border:0;margin:0;padding:0"><legend class="soft" style="float:left;padding:0 8px 0 0">Colour</legend>
<label style="margin:0"><input type="radio" name="colour" value="red" checked> Red</label><label style="margin:0"><input type="radio" name="colour" value="blue"> Blue</label>
<label style="margin:0"><input type="radio" name="colour" value="green"> Green</label></fieldset>"##;
const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
const painted = new Map();
const CELL = 60;
const letters = "ABCDEFGHIJ";
const show = () => {
  wipe();
  for (let row = 0; row < data.rows; row += 1) for (let column = 0; column < data.columns; column += 1) {
    const name = `${letters[column]}${row + 1}`;
    const colour = painted.get(name) ?? data.given[name] ?? "white";
    box(40 + column * CELL, 40 + row * CELL, CELL, CELL, "grey");
    box(41 + column * CELL, 41 + row * CELL, CELL - 2, CELL - 2, colour);
  }
  for (let row = 0; row < data.rows; row += 1) words(String(row + 1), 20, 70 + row * CELL);
  for (let column = 0; column < data.columns; column += 1) words(letters[column], 70 + column * CELL, 20);
  if (data.mirror) line([[40 + (data.columns / 2) * CELL, 30], [40 + (data.columns / 2) * CELL, 50 + data.rows * CELL]], "black", 4);
};
board.onclick = (event) => {
  const [column, row] = at(event).map((place) => Math.floor((place - 40) / CELL));
  if (column < 0 || row < 0 || column >= data.columns || row >= data.rows) return;
  const name = `${letters[column]}${row + 1}`;
  const colour = $("input:checked").value;
  if (data.given[name]) return;
  if (painted.get(name) === colour) painted.delete(name); else painted.set(name, colour);
  show();
};
$("#send").onclick = () => send({ painted: [...painted].map(([name, colour]) => `${name} ${colour}`) });
show();
"##
);

/// `B3` of a column and a row from 0.
fn cell((column, row): (i64, i64)) -> String {
    let letter = char::from(b'A' + u8::try_from(column).unwrap_or_default());
    format!("{letter}{}", row + 1)
}

fn draw(draw: &mut Draw) -> Task {
    let mirror = draw.level >= Level::Three;
    let (columns, rows) = draw.level.of([(5, 5), (8, 8), (8, 6), (10, 8)]);
    let free: Vec<(i64, i64)> = (0..if mirror { columns / 2 } else { columns })
        .flat_map(|column| (0..rows).map(move |row| (column, row)))
        .collect();
    let cells = draw.some(draw.level.of([2, 6, 6, 10]), &free);
    let colours = draw.shuffled(&["red", "blue", "green"]);
    let kinds = draw.level.of([1, 2, 1, 3]);
    let coloured: Vec<_> = cells.iter().enumerate().map(|(at, cell)| (*cell, colours[at % kinds])).collect();
    let opposite = |(column, row): (i64, i64)| if mirror { (columns - 1 - column, row) } else { (column, row) };
    let given: serde_json::Map<_, _> =
        coloured.iter().filter(|_| mirror).map(|(place, colour)| (cell(*place), json!(colour))).collect();
    let words = if mirror {
        "Complete the picture: paint the right half so that it is the mirror image of the left half in the thick line, in \
         the same colours"
            .to_owned()
    } else {
        let each: Vec<String> = coloured.iter().map(|(place, colour)| format!("{} {colour}", cell(*place))).collect();
        format!("Paint these cells and no others: {}", each.join(", "))
    };
    let mut solution = Vec::new();
    for colour in &colours[..kinds] {
        solution.push(steps::check("radio", &capital(colour)));
        for (place, _) in coloured.iter().filter(|(_, other)| other == colour) {
            let (column, row) = opposite(*place);
            solution.push(canvas::click_at(40 + CELL * column + CELL / 2, 40 + CELL * row + CELL / 2));
        }
    }
    solution.push(steps::submit());
    let wanted = coloured.iter().map(|(place, colour)| json!(format!("{} {colour}", cell(opposite(*place))))).collect();
    Task {
        body: canvas::body("A grid of cells", CONTROLS),
        script: SCRIPT,
        data: json!({"columns": columns, "rows": rows, "given": given, "mirror": mirror}),
        solution,
        ..Task::new(
            "Paint cells",
            format!("{words}, and submit. A second click in the same colour makes a cell white again."),
            Wanted::field("painted", Wanted::Set(wanted)),
        )
    }
}
