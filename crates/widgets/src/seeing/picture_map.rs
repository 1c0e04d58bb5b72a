//! A map of places and roads, on which a way is followed.

use serde_json::json;

use super::choice;
use crate::words::capital;
use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "picture-map", about: "Follows a way on a map.", draw };

const COLUMNS: i64 = 6;
const ROWS: i64 = 4;
const DIRECTIONS: [(&str, i64, i64); 4] = [("north", 0, -1), ("east", 1, 0), ("south", 0, 1), ("west", -1, 0)];
const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
$("#data").remove();
const place = (at) => [60 + (at % 6) * 112, 90 + Math.floor(at / 6) * 120];
data.places.forEach((name, at) => {
  if (at % 6 < 5) line([place(at), place(at + 1)], "grey", 6);
  if (at < 18) line([place(at), place(at + 6)], "grey", 6);
});
data.places.forEach((name, at) => { const [x, y] = place(at); dot(x, y, 9, "green"); words(name, x, y - 22, 15); });
shape({ kind: "arrow", x: 40, y: 30, half: 18, turn: -90, colour: "blue" }); words("N", 70, 30, 18, "blue");
$("#send").onclick = () => send({ place: $(".answer").value });
"##
);

/// Column and row of a place.
type Place = (i64, i64);

/// A way of so many legs: its first place, its legs (a direction, a number of roads), its last place.
fn way(draw: &mut Draw, legs: usize) -> (Place, Vec<(usize, i64)>, Place) {
    let from = (draw.number(0..=COLUMNS - 1), draw.number(0..=ROWS - 1));
    let (mut at, mut all) = (from, Vec::<(usize, i64)>::new());
    while all.len() < legs {
        let (direction, roads) = (draw.place(4), draw.number(1..=3));
        let (_, across, down) = DIRECTIONS[direction];
        let next = (at.0 + across * roads, at.1 + down * roads);
        // Each leg turns to the left or to the right of the one before.
        let turns = all.last().is_none_or(|(before, _)| before % 2 != direction % 2);
        if turns && (0..COLUMNS).contains(&next.0) && (0..ROWS).contains(&next.1) {
            all.push((direction, roads));
            at = next;
        }
    }
    (from, all, at)
}

fn draw(draw: &mut Draw) -> Task {
    let places: Vec<String> = draw.things(24).iter().map(|thing| capital(thing)).collect();
    let name = |(column, row): (i64, i64)| places[usize::try_from(row * COLUMNS + column).unwrap_or_default()].clone();
    let (mut from, mut legs, mut to) = way(draw, draw.level.of([1, 2, 4, 6]));
    while from == to {
        (from, legs, to) = way(draw, draw.level.of([1, 2, 4, 6]));
    }
    let roads = |count: i64| if count == 1 { "one road".to_owned() } else { format!("{count} roads") };
    let leg = |at: usize| {
        let (direction, count) = legs[at];
        if draw.level == Level::Four && at > 0 {
            let turn = (4 + direction - legs[at - 1].0) % 4;
            return format!("turn {} and go {}", if turn == 1 { "right" } else { "left" }, roads(count));
        }
        format!("go {} {}", roads(count), DIRECTIONS[direction].0)
    };
    let words: Vec<String> = (0..legs.len()).map(leg).collect();
    let mut options = places.clone();
    options.sort();
    let to = name(to);
    Task {
        body: canvas::body("A map of places and roads", &choice("Place", &options)),
        script: SCRIPT,
        data: json!({"places": places}),
        solution: vec![steps::select("Place", &to), steps::submit()],
        ..Task::new(
            "Map",
            format!(
                "Start at {}; {}. Choose the place that you come to, and submit. North is at the top; one road leads from a \
                 place to the next.",
                name(from),
                words.join(", then ")
            ),
            Wanted::exactly(&json!({"place": to})),
        )
    }
}
