//! A picture in tiles, of which two change places when one is dragged onto the other.

use serde_json::json;

use crate::steps::{drag, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "tile-swap", about: "Swaps tiles by dragging until they lie in order.", draw };

const BODY: &str = r##"<p class="soft">A tile that is dragged onto another changes places with it. With the keyboard: Enter on one, then Enter on the other.</p><div id="tiles" role="group" aria-label="Tiles"></div><p id="told" role="status">No tile taken</p><button id="send">Submit</button>"##;
const STYLE: &str = "#tiles{display:grid;gap:6px;width:max-content;margin-bottom:8px}#tiles button{width:104px;height:84px;font-size:1.3rem;background:#e4eefc;color:var(--ink);border-color:var(--line);touch-action:none;user-select:none}#tiles button[aria-pressed=true]{border:3px solid var(--accent)}";
const SCRIPT: &str = r##"
const order = [...data.tiles];
let taken = null;
$("#tiles").style.gridTemplateColumns = `repeat(${data.wide}, 1fr)`;
const buttons = order.map(() => el("button", { "aria-pressed": "false" }));
$("#tiles").append(...buttons);
const show = () => {
  buttons.forEach((button, at) => {
    button.textContent = order[at];
    button.setAttribute("aria-label", `Tile ${order[at]}`);
    button.setAttribute("aria-pressed", String(taken === at));
  });
  $("#told").textContent = taken === null ? "No tile taken" : `Tile ${order[taken]} taken`;
};
const swap = (one, two) => { [order[one], order[two]] = [order[two], order[one]]; taken = null; show(); };
const at = (event) => buttons.indexOf(document.elementFromPoint(event.clientX, event.clientY)?.closest("button"));
document.addEventListener("pointerdown", (event) => { taken = at(event) < 0 ? null : at(event); show(); });
document.addEventListener("pointerup", (event) => { if (taken !== null && at(event) >= 0 && at(event) !== taken) swap(taken, at(event)); else { taken = null; show(); } });
buttons.forEach((button, place) => button.addEventListener("keydown", (event) => {
  const to = buttons[place + { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -data.wide, ArrowDown: data.wide }[event.key]];
  if (event.key === "Enter" || event.key === " ") {
    if (taken === null) { taken = place; show(); } else if (taken === place) { taken = null; show(); } else swap(taken, place);
  } else if (to) to.focus();
  else return;
  event.preventDefault();
}));
$("#send").onclick = () => send({ order });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let (count, wide) = draw.level.of([(4_usize, 2), (6, 3), (9, 3), (12, 4)]);
    let mut wanted: Vec<String> = draw.some(count, &('A'..='Z').map(String::from).collect::<Vec<_>>());
    wanted.sort_unstable();
    let mut words = "Put the tiles in alphabetical order, row by row".to_owned();
    if draw.level == Level::Four {
        let mut values = draw.numbers(count, 8..=40);
        values.sort_unstable();
        wanted = values
            .iter()
            .map(|value| match draw.number(1..=7) {
                part if part < 4 => format!("{}+{}", value - part, part),
                part => format!("{}−{}", value + part, part),
            })
            .collect();
        words = "Put the tiles in the order of what they come to, the smallest first, row by row".to_owned();
    }
    if draw.level == Level::Three && draw.once_in(2) {
        wanted.reverse();
        words = "Put the tiles in reverse alphabetical order, row by row".to_owned();
    }
    let mut tiles = wanted.clone();
    match draw.level {
        Level::One => tiles.swap(draw.place(2), 2 + draw.place(2)),
        Level::Two => {
            tiles.swap(draw.place(2), 3);
            tiles.swap(4, 2 + draw.place(2));
        }
        _ => {
            tiles = draw.shuffled(&wanted);
            if tiles == wanted {
                tiles.reverse();
            }
        }
    }
    let (mut now, mut solution) = (tiles.clone(), Vec::new());
    for at in 0..count {
        if let Some(from) = (at + 1..count).find(|&from| now[from] == wanted[at]) {
            solution.push(drag(("button", &format!("Tile {}", now[from])), ("button", &format!("Tile {}", now[at]))));
            now.swap(at, from);
        }
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"tiles": tiles, "wide": wide}),
        solution,
        ..Task::new("Tiles", format!("{words}, and submit."), Wanted::exactly(&json!({"order": wanted})))
    }
}
