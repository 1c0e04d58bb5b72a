//! A bar chart whose bars are dragged to other heights.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "bar-drag", about: "Drags bars of a chart to values.", draw };

/// Height of one unit; the base line lies at 510.
const UNIT: i64 = 24;
const DAYS: [&str; 6] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
const values = [...data.values];
const UNIT = 24;
let held = null;
const show = () => {
  wipe();
  for (let value = 0; value <= 20; value += 1) {
    line([[50, 510 - value * UNIT], [700, 510 - value * UNIT]], "grey", value % 5 ? 0.4 : 1.2);
    if (value % 5 === 0) words(String(value), 30, 510 - value * UNIT, 14);
  }
  values.forEach((value, index) => {
    box(70 + index * 105, 510 - value * UNIT, 70, value * UNIT, held === index ? "orange" : "blue");
    box(90 + index * 105, 508 - value * UNIT, 30, 4, "black");
    words(data.days[index], 105 + index * 105, 530);
  });
};
const move = (event) => { values[held] = Math.min(20, Math.max(0, Math.round((510 - at(event)[1]) / UNIT))); show(); };
board.onpointerdown = (event) => {
  const [x, y] = at(event);
  const hit = values.findIndex((value, index) => x >= 70 + index * 105 && x <= 140 + index * 105 && Math.abs(y - (510 - value * UNIT)) <= 14);
  if (hit >= 0) { held = hit; board.setPointerCapture(event.pointerId); }
};
board.onpointermove = (event) => { if (held !== null) move(event); };
board.onpointerup = (event) => { if (held !== null) { move(event); held = null; show(); } };
$("#send").onclick = () => send({ values });
show();
"##
);

/// Values that are wanted in the place of these, and the words for them.
fn change(draw: &mut Draw, values: &[i64]) -> (Vec<i64>, String) {
    let mut wanted = values.to_vec();
    if draw.level == Level::Four {
        // Six different bars, so that no bar is read after it was changed but the one that is named as new.
        let order = draw.shuffled(&[0, 1, 2, 3, 4, 5]);
        let (sum, double, swap) = ((order[0], order[1], order[2]), order[3], order[4]);
        wanted[sum.0] = values[sum.1] + values[sum.2];
        wanted[double] = 2 * values[order[5]];
        wanted[swap] = wanted[sum.0] - 1;
        let words = format!(
            "Drag {} to the sum of {} and {}, {} to twice {}, and {} to one less than the new value of {}",
            DAYS[sum.0], DAYS[sum.1], DAYS[sum.2], DAYS[double], DAYS[order[5]], DAYS[swap], DAYS[sum.0]
        );
        return (wanted, words);
    }
    let bars = draw.some(draw.level.of([1, 2, 4, 0]), &(0..values.len()).collect::<Vec<_>>());
    for bar in &bars {
        let others: Vec<i64> = (1..=20).filter(|value| *value != values[*bar]).collect();
        wanted[*bar] = draw.pick(&others);
    }
    let each: Vec<String> = bars.iter().map(|bar| format!("{} to {}", DAYS[*bar], wanted[*bar])).collect();
    (wanted, format!("Drag {}", each.join(", ")))
}

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([3, 4, 6, 6]);
    let values: Vec<i64> = if draw.level == Level::Four {
        draw.some(count, &[2, 3, 4, 5, 6, 7, 8, 9, 10])
    } else {
        (0..count).map(|_| draw.number(2..=18)).collect()
    };
    let (wanted, words) = change(draw, &values);
    let mut solution = Vec::new();
    for (x, (old, new)) in (0..).map(|bar| 105 + 105 * bar).zip(values.iter().zip(&wanted)) {
        if old != new {
            solution.push(canvas::drag((x, 510 - UNIT * old), (x, 510 - UNIT * new)));
        }
    }
    solution.push(steps::submit());
    Task {
        body: canvas::body("A bar chart", "<span class=\"soft\">Take a bar by the handle at its top.</span>"),
        script: SCRIPT,
        data: json!({"values": values, "days": &DAYS[..count]}),
        solution,
        ..Task::new(
            "Change a chart",
            format!("{words}, and leave the other bars as they are. Then submit."),
            Wanted::exactly(&json!({"values": wanted})),
        )
    }
}
