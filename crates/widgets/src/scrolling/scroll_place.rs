//! Boxes that are scrolled until a line or a square stands at their upper edge.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget = Widget { name: "scroll-place", about: "Scrolls boxes to exact places.", draw };

/// Height of a line.
const LINE: i64 = 40;
/// Width and height of a square of the map.
const SQUARE: i64 = 100;
const STYLE: &str = ".scroll{position:absolute;top:120px;height:400px;overflow:auto;border:1px solid var(--line)}.scroll>div{position:relative}.scroll span{position:absolute;border:1px solid var(--line);padding:4px 8px}#end{position:absolute;top:540px;left:276px}";
const SCRIPT: &str = r##"
data.boxes.forEach(({ label, left, width, columns, rows, across, down }) => {
  const inner = el("div", { style: `width:${columns * across}px;height:${rows * down}px` });
  for (let row = 0; row < rows; row += 1) for (let column = 0; column < columns; column += 1) {
    const name = columns > 1 ? `${String.fromCharCode(65 + column)}${row + 1}` : `Line ${row + 1}`;
    inner.append(el("span", { style: `left:${column * across}px;top:${row * down}px;width:${across}px;height:${down}px` }, name));
  }
  const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label, style: `left:${left}px;width:${width}px` }, inner);
  $("#boxes").append(scroll);
});
$("#send").onclick = () => send({ places: $$(".scroll").map((scroll, at) => [scroll.scrollLeft / data.boxes[at].across, scroll.scrollTop / data.boxes[at].down]) });
"##;

fn draw(draw: &mut Draw) -> Task {
    let list = |left: i64, width: i64, label: &str, rows: i64| json!({"label": label, "left": left, "width": width, "columns": 1, "rows": rows, "across": width - 20, "down": LINE});
    let map = |left: i64, width: i64, label: &str| json!({"label": label, "left": left, "width": width, "columns": 20, "rows": 20, "across": SQUARE, "down": SQUARE});
    // A box: its data, where its middle lies, and the column and the row that are wanted.
    let (boxes, middles): (Vec<_>, Vec<i64>) = match draw.level {
        Level::One => (vec![list(276, 720, "Lines", 40)], vec![636]),
        Level::Two => (vec![list(276, 720, "Lines", 400)], vec![636]),
        Level::Three => (vec![list(276, 350, "Left lines", 200), list(646, 350, "Right lines", 200)], vec![450, 820]),
        Level::Four => (vec![map(276, 350, "Left map"), map(646, 350, "Right map")], vec![450, 820]),
    };
    let (mut solution, mut wanted, mut words) = (Vec::new(), Vec::new(), Vec::new());
    for (at, middle) in middles.iter().enumerate() {
        let side = if middles.len() == 1 { "" } else { ["left ", "right "][at] };
        let (column, row) = match draw.level {
            Level::One => (0, draw.number(4..=20)),
            Level::Two => (0, draw.number(100..=380)),
            Level::Three => (0, draw.number(50..=180)),
            Level::Four => (draw.number(3..=15), draw.number(3..=15)),
        };
        let (across, down) = if draw.level == Level::Four { (SQUARE, SQUARE) } else { (0, LINE) };
        solution.push(format!("scroll_at({middle}, 300, 0, {})", row * down));
        if column > 0 {
            solution.push(format!("scroll_at({middle}, 300, {}, 0)", column * across));
        }
        wanted.push(Wanted::List(vec![Wanted::near(column, 0.45), Wanted::near(row, 0.45)]));
        words.push(if draw.level == Level::Four {
            let letter = char::from(b'A' + u8::try_from(column).unwrap_or_default());
            format!("the {side}map until {letter}{} is the square in its upper left corner", row + 1)
        } else {
            format!("the {side}box until line {} is the first line in it", row + 1)
        });
    }
    solution.push(steps::submit());
    Task {
        body: "<div id=\"boxes\"></div><div id=\"end\"><button id=\"send\">Submit</button></div>".to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"boxes": boxes}),
        solution,
        ..Task::new(
            "Scroll to a place",
            format!("Scroll {}. Then submit.", words.join(", and ")),
            Wanted::field("places", Wanted::List(wanted)),
        )
    }
}
