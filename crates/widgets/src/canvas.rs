//! Canvas at a fixed place of the window, its shapes, and actions at places on it.

use serde::Serialize;

use crate::{Draw, text};

/// Left edge of the canvas in the window.
pub(crate) const LEFT: i64 = 276;
/// Upper edge of the canvas in the window.
pub(crate) const TOP: i64 = 110;
/// Kinds of shapes.
pub(crate) const KINDS: [&str; 4] = ["circle", "square", "triangle", "diamond"];
/// Colours of shapes.
pub(crate) const COLOURS: [&str; 5] = ["red", "blue", "green", "orange", "purple"];
/// Columns of cells in which shapes are scattered; each is 120 wide.
const COLUMNS: i64 = 6;
/// Rows of those cells; each is 140 high.
const ROWS: i64 = 4;

/// A shape on the canvas.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Shape {
    pub(crate) kind: &'static str,
    pub(crate) colour: &'static str,
    pub(crate) x: i64,
    pub(crate) y: i64,
    /// Half of its width.
    pub(crate) half: i64,
}

/// Markup of a canvas of 720 by 560, under a row of controls that ends with the button to submit.
pub(crate) fn body(label: &str, controls: &str) -> String {
    format!(
        "<div class=\"row\" style=\"height:40px;flex-wrap:nowrap;white-space:nowrap;font-size:14px\">{controls}<button id=\"send\">Submit</button></div>\
         <canvas id=\"board\" width=\"720\" height=\"560\" role=\"img\" aria-label=\"{}\" \
         style=\"position:absolute;left:{LEFT}px;top:{TOP}px;box-shadow:0 0 0 1px var(--line);touch-action:none\"></canvas>",
        text(label)
    )
}

/// Centres of so many cells, in any order, each a little aside.
pub(crate) fn places(draw: &mut Draw, count: usize) -> Vec<(i64, i64)> {
    let cells: Vec<(i64, i64)> = (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (column, row))).collect();
    let cells = draw.some(count, &cells);
    cells
        .into_iter()
        .map(|(column, row)| (60 + 120 * column + draw.number(-10..=10), 70 + 140 * row + draw.number(-16..=16)))
        .collect()
}

/// Every pair of a kind and a colour.
pub(crate) fn looks() -> Vec<(&'static str, &'static str)> {
    KINDS.iter().flat_map(|kind| COLOURS.iter().map(move |colour| (*kind, *colour))).collect()
}

/// Shapes of these looks at chance places in chance sizes.
pub(crate) fn scatter(draw: &mut Draw, looks: &[(&'static str, &'static str)]) -> Vec<Shape> {
    let places = places(draw, looks.len());
    let shape = |(&(kind, colour), (x, y))| Shape { kind, colour, x, y, half: draw.number(20..=42) };
    looks.iter().zip(places).map(shape).collect()
}

/// Clicks at a place on the canvas.
pub(crate) fn click_at(x: i64, y: i64) -> String {
    format!("mouse_click({}, {})", LEFT + x, TOP + y)
}

/// Drags from a place on the canvas to another.
pub(crate) fn drag(from: (i64, i64), to: (i64, i64)) -> String {
    format!("mouse_drag_and_drop({}, {}, {}, {})", LEFT + from.0, TOP + from.1, LEFT + to.0, TOP + to.1)
}

/// Moves the mouse along places on the canvas with its button held.
pub(crate) fn stroke(places: &[(i64, i64)]) -> Vec<String> {
    let action = |verb: &str, (x, y): (i64, i64)| format!("mouse_{verb}({}, {})", LEFT + x, TOP + y);
    let mut steps: Vec<String> = places.iter().map(|place| action("move", *place)).collect();
    if let (Some(first), Some(last)) = (places.first(), places.last()) {
        steps[0] = action("down", *first);
        steps.push(action("up", *last));
    }
    steps
}
