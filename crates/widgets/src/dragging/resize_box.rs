//! Boxes on a sheet that are moved, and made larger or smaller at a corner.

use serde_json::json;

use crate::steps::submit;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "resize-box", about: "Moves boxes on a sheet, and drags their corners to a size.", draw };

const BODY: &str =
    r##"<div id="place"><div id="sheet"></div><p id="told" role="status"></p><button id="send">Submit</button></div>"##;
const STYLE: &str = "#place{position:absolute;left:40px;top:70px}#sheet{position:relative;width:700px;height:440px;border:1px solid var(--line);background:var(--fill);overflow:hidden}.box{position:absolute;background:#bcd3f5;border:1px solid var(--accent);cursor:move;touch-action:none;padding:4px}.box .grip{position:absolute;right:-1px;bottom:-1px;width:20px;height:20px;background:var(--accent);cursor:nwse-resize;touch-action:none}.frame{position:absolute;border:2px dashed var(--good);padding:4px;color:var(--good);pointer-events:none;text-align:right}#told{margin:6px 0}";
const SCRIPT: &str = r##"
const boxes = data.boxes.map(([name, ...place]) => ({ name, place }));
for (const [name, x, y, w, h] of data.frames) $("#sheet").append(el("div", { class: "frame", style: `left:${x}px;top:${y}px;width:${w}px;height:${h}px` }, `Frame ${name}`));
const show = () => {
  for (const { part, grip, name, place: [x, y, w, h] } of boxes) {
    part.style.cssText = `left:${x}px;top:${y}px;width:${w}px;height:${h}px`;
    part.setAttribute("aria-label", `Box ${name}, ${x} from the left, ${y} from the top`);
    grip.setAttribute("aria-label", `Corner of ${name}, ${w} wide, ${h} high`);
  }
  $("#told").textContent = boxes.map(({ name, place: [x, y, w, h] }) => `${name}: ${w} wide, ${h} high, ${x} from the left, ${y} from the top`).join("; ");
};
const round = (value) => Math.round(value / 5) * 5;
const change = (box, at, [one, two]) => {
  const [x, y, w, h] = box.place;
  if (at === 0) box.place = [Math.max(0, Math.min(700 - w, round(one))), Math.max(0, Math.min(440 - h, round(two))), w, h];
  else box.place = [x, y, Math.max(40, Math.min(700 - x, round(one))), Math.max(40, Math.min(440 - y, round(two)))];
  show();
};
const drags = (part, box, at) => {
  let from = null;
  part.addEventListener("pointerdown", (event) => { event.stopPropagation(); part.setPointerCapture(event.pointerId); from = [event.clientX - box.place[at], event.clientY - box.place[at + 1]]; });
  part.addEventListener("pointermove", (event) => { if (from) { event.stopPropagation(); change(box, at, [event.clientX - from[0], event.clientY - from[1]]); } });
  for (const end of ["pointerup", "pointercancel"]) part.addEventListener(end, () => { from = null; });
  part.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-5, 0], ArrowRight: [5, 0], ArrowUp: [0, -5], ArrowDown: [0, 5] }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    change(box, at, [box.place[at] + by[0], box.place[at + 1] + by[1]]);
  });
};
for (const box of boxes) {
  box.grip = el("div", { class: "grip", role: "button", tabindex: 0 });
  box.part = el("div", { class: "box", role: "group", tabindex: 0 }, box.name, box.grip);
  drags(box.part, box, 0);
  drags(box.grip, box, 2);
  $("#sheet").append(box.part);
}
show();
$("#send").onclick = () => send({ boxes: Object.fromEntries(boxes.map(({ name, place }) => [name, place])) });
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([1, 1, 2, 3]);
    let names = draw.some(count, &["Red", "Oak", "Sky", "Sea"]);
    let (mut boxes, mut frames, mut wanted, mut words, mut solution) = (vec![], vec![], vec![], vec![], vec![]);
    // At the last level the places of the boxes lie in another order than the boxes.
    let columns: [i64; 3] = if draw.level == Level::Four { [2, 0, 1] } else { [0, 1, 2] };
    for (at, name) in names.iter().enumerate() {
        let left = 20 + 230 * columns[at];
        let [x, y, w, h] = [
            20 + 230 * columns[(at + usize::from(draw.level == Level::Four)) % 3],
            20 + draw.number(0..=2) * 10,
            80,
            60,
        ];
        let size = [draw.number(10..=19) * 10, draw.number(10..=17) * 10];
        let place =
            if draw.level == Level::One { [x, y] } else { [left + draw.number(0..=1) * 10, draw.number(9..=24) * 10] };
        let end = [place[0], place[1], size[0], size[1]];
        boxes.push(json!([name, x, y, w, h]));
        match draw.level {
            Level::One => words.push(format!("Make the box {name} {} wide and {} high, and leave it where it is", size[0], size[1])),
            Level::Two => words.push(format!("Make the box {name} {} wide and {} high, with its upper left corner {} from the left and {} from the top of the sheet", size[0], size[1], place[0], place[1])),
            // Frames on the sheet show where each box goes.
            _ => frames.push(json!([name, end[0], end[1], end[2], end[3]])),
        }
        // The sheet lies at 41, 71 of the page.
        if draw.level > Level::One {
            solution.push(format!(
                "mouse_drag_and_drop({}, {}, {}, {})",
                41 + x + 20,
                71 + y + 20,
                41 + end[0] + 20,
                71 + end[1] + 20
            ));
        }
        solution.push(format!(
            "mouse_drag_and_drop({}, {}, {}, {})",
            41 + end[0] + w - 10,
            71 + end[1] + h - 10,
            41 + end[0] + end[2] - 10,
            71 + end[1] + end[3] - 10
        ));
        let near = |value: &i64| Wanted::near(*value, 6.0);
        wanted.push(((*name).to_owned(), Wanted::List(end.iter().map(near).collect())));
    }
    if words.is_empty() {
        words.push("Move each box into the frame with its name, and give it the size of the frame".to_owned());
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"boxes": boxes, "frames": frames}),
        solution,
        ..Task::new(
            "Sheet",
            format!("{}, at most 5 off in each, and submit.", words[0]),
            Wanted::field("boxes", Wanted::Fields(wanted)),
        )
    }
}
