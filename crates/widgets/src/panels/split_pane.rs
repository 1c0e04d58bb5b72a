//! Panes with dividers between them that are moved by mouse or keys.

use serde_json::{Value, json};

use crate::steps::submit;
use crate::{Draw, Level, Task, Wanted, Widget, named};

pub(super) const WIDGET: Widget = Widget {
    name: "split-pane",
    about: "Moves the dividers between panes until the panes have the widths that are asked for.",
    draw,
};

const BODY: &str = r##"<p class="soft">Drag a divider, or use the arrow keys on it: one percent each, Page Up and Page Down for ten.</p><div id="panes"></div><p id="told" role="status"></p><button id="send">Submit</button>"##;
const STYLE: &str = "#panes{display:flex;height:220px;border:1px solid var(--line);border-radius:8px;overflow:hidden}#panes section{padding:8px;overflow:hidden;background:var(--fill);white-space:nowrap}#panes section{min-width:0}[role=separator]{flex:0 0 10px;background:#7d8896;cursor:col-resize;touch-action:none}[role=separator]:focus-visible{background:#f0a500}";
const SCRIPT: &str = r##"
const widths = [...data.widths];
const panes = $("#panes");
const parts = data.names.map((name) => el("section", { "aria-label": name }, el("b", {}, name), el("p")));
const dividers = data.names.slice(1).map((name, at) => el("div", { role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-label": `Divider of ${data.names[at]} and ${name}` }));
const show = () => {
  parts.forEach((part, at) => { part.style.flex = `${widths[at]} 1 0px`; $("p", part).textContent = `${widths[at]} %`; });
  dividers.forEach((divider, at) => {
    divider.setAttribute("aria-valuenow", widths.slice(0, at + 1).reduce((sum, width) => sum + width, 0));
    divider.setAttribute("aria-valuemin", widths.slice(0, at).reduce((sum, width) => sum + width, 0) + 5);
    divider.setAttribute("aria-valuemax", widths.slice(0, at + 2).reduce((sum, width) => sum + width, 0) - 5);
  });
  $("#told").textContent = data.names.map((name, at) => `${name} ${widths[at]} percent`).join(", ");
};
const move = (at, width) => {
  const both = widths[at] + widths[at + 1];
  widths[at] = Math.max(5, Math.min(both - 5, Math.round(width)));
  widths[at + 1] = both - widths[at];
  show();
};
dividers.forEach((divider, at) => {
  let from = null;
  divider.addEventListener("pointerdown", (event) => { divider.setPointerCapture(event.pointerId); from = [event.clientX, widths[at]]; });
  divider.addEventListener("pointermove", (event) => { if (from) move(at, from[1] + ((event.clientX - from[0]) / (panes.clientWidth - 10 * dividers.length)) * 100); });
  divider.addEventListener("pointerup", () => { from = null; });
  divider.addEventListener("pointercancel", () => { from = null; });
  divider.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -100, End: 100 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    move(at, widths[at] + by);
  });
});
parts.forEach((part, at) => panes.append(part, ...dividers.slice(at, at + 1)));
show();
$("#send").onclick = () => send({ widths });
"##;

const NAMES: [&str; 4] = ["Folders", "Letters", "Preview", "Notes"];

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([2, 2, 3, 4]);
    let start: &[i64] = [[50, 50].as_slice(), &[30, 70], &[30, 40, 30], &[25, 25, 25, 25]][draw.level as usize];
    let (wanted, words): (Vec<i64>, String) = match draw.level {
        Level::One => {
            let left = draw.pick(&[15, 20, 25, 30, 35, 40, 60, 65, 70, 75, 80, 85]);
            (vec![left, 100 - left], format!("Make {} {left} percent wide", NAMES[0]))
        }
        Level::Two => {
            let right = draw.pick(&[15, 25, 35, 45, 55]) + draw.number(0..=3);
            (vec![100 - right, right], format!("Make {} {right} percent wide", NAMES[1]))
        }
        Level::Three => {
            let (left, right) = (draw.number(10..=28), draw.number(36..=50));
            let words = format!("Make {} {left} percent and {} {right} percent wide", NAMES[0], NAMES[2]);
            (vec![left, 100 - left - right, right], words)
        }
        Level::Four => {
            let parts = draw.pick(&[[1, 2, 2, 5], [1, 2, 3, 4]]);
            let parts = draw.shuffled(&parts);
            let words = format!(
                "Divide the width so that {}, {}, {} and {} are as {} to {} to {} to {}",
                NAMES[0], NAMES[1], NAMES[2], NAMES[3], parts[0], parts[1], parts[2], parts[3]
            );
            (parts.iter().map(|part| part * 10).collect(), words)
        }
    };
    let within = draw.level.of([2, 1, 1, 1]);
    let mut solution = Vec::new();
    // Each divider moves only its two panes, so that they go round until all fits.
    let (mut now, mut divider) = (start.to_vec(), 0);
    while now.iter().zip(&wanted).any(|(now, wanted)| now != wanted) {
        let both = now[divider] + now[divider + 1];
        let by = wanted[divider].clamp(5, both - 5) - now[divider];
        let element = named("separator", &format!("Divider of {} and {}", NAMES[divider], NAMES[divider + 1]));
        for (step, keys) in [(10, ["PageUp", "PageDown"]), (1, ["ArrowRight", "ArrowLeft"])] {
            let times = if step == 10 { by.abs() / 10 } else { by.abs() % 10 };
            solution.extend((0..times).map(|_| format!("press({element}, '{}')", keys[usize::from(by < 0)])));
        }
        now[divider] += by;
        now[divider + 1] -= by;
        divider = (divider + 1) % (count - 1);
    }
    solution.push(submit());
    let near = |width: &i64| Wanted::near(*width, f64::from(within));
    let widths: Vec<Value> = start.iter().map(|width| json!(width)).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"names": &NAMES[..count], "widths": widths}),
        solution,
        ..Task::new(
            "Panes",
            format!("{words}, at most {within} percent off for each pane, and submit."),
            Wanted::field("widths", Wanted::List(wanted.iter().map(near).collect())),
        )
    }
}
