//! Commands of a program and the keys for them.

use serde_json::{Map, json};

use crate::{Draw, Level, Task, Wanted, Widget, quoted, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "shortcut-editor", about: "Gives commands the keys that are wanted.", draw };

const COMMANDS: [&str; 9] =
    ["Bold", "Comment", "Duplicate", "Export", "Find", "Group", "Join lines", "Mark", "Upper case"];
const BODY: &str = r##"<p id="status" role="status">Press Change, then the keys.</p><table aria-label="Keys"><thead><tr><th scope="col">Command</th><th scope="col">Keys</th><th scope="col">Actions</th></tr></thead><tbody></tbody></table><p><button id="send">Submit</button></p>"##;
const SCRIPT: &str = r##"
const keys = new Map(data.keys);
let waiting = null;
const say = (text) => { $("#status").textContent = text; };
const show = () => {
  $("tbody").replaceChildren(...[...keys].map(([command, combination]) => el("tr", {}, el("th", { scope: "row" }, command), el("td", {}, combination ?? "none"),
    el("td", {}, el("button", { class: "plain", "aria-label": `Change ${command}`, onclick: () => { waiting = command; say(`Press the new keys for ${command}, or Escape.`); } }, "Change"), " ",
      el("button", { class: "plain", "aria-label": `Clear ${command}`, disabled: combination === null, onclick: () => { keys.set(command, null); say(`${command} has no keys now.`); show(); } }, "Clear")))));
};
document.addEventListener("keydown", (event) => {
  if (!waiting || ["Control", "Shift", "Alt", "Meta"].includes(event.key)) return;
  event.preventDefault();
  if (event.key === "Escape") { say(`${waiting} keeps its keys.`); waiting = null; return; }
  const parts = [event.ctrlKey && "Ctrl", event.altKey && "Alt", event.shiftKey && "Shift", event.key.toUpperCase()].filter(Boolean);
  if (parts.length < 2) { say("Keys need Ctrl, Alt or Shift."); return; }
  const combination = parts.join("+");
  const other = [...keys].find(([command, has]) => has === combination && command !== waiting);
  if (other) { say(`${combination} belongs to ${other[0]}: change or clear that first.`); waiting = null; return; }
  keys.set(waiting, combination);
  say(`${waiting} has ${combination} now.`);
  waiting = null;
  show();
}, true);
$("#send").onclick = () => send({ keys: Object.fromEntries(keys) });
show();
"##;

fn combinations() -> Vec<(String, String)> {
    let held = [("Ctrl", "Control"), ("Alt", "Alt"), ("Ctrl+Shift", "Control+Shift")];
    let one = |(shown, pressed): (&str, &str), letter: char| {
        (format!("{shown}+{}", letter.to_ascii_uppercase()), format!("{pressed}+{letter}"))
    };
    held.into_iter().flat_map(|held| "bdegjkmuy".chars().map(move |letter| one(held, letter))).collect()
}

fn draw(draw: &mut Draw) -> Task {
    let count: usize = draw.level.of([4, 5, 7, 9]);
    let commands = draw.some(count, &COMMANDS);
    let keys = draw.some(count + 2, &combinations());
    let mut wanted: Vec<Option<usize>> = (0..count).map(Some).collect();
    let (shown, free) = (|at: usize| keys[at].0.as_str(), [count, count + 1]);
    // Commands that are cleared first, and then those that get keys.
    let (cleared, set, words): (Vec<usize>, Vec<(usize, usize)>, String) = match draw.level {
        Level::One => (vec![], vec![(0, free[0])], format!("Give {} the keys {}", commands[0], shown(free[0]))),
        Level::Two => {
            let words = format!(
                "Give {} the keys {}, and {} the keys {}",
                commands[0],
                shown(free[0]),
                commands[1],
                shown(free[1])
            );
            (vec![], vec![(0, free[0]), (1, free[1])], words)
        }
        Level::Three => {
            let words = format!(
                "Swap the keys of {} and {}, and take the keys of {} away",
                commands[0], commands[1], commands[2]
            );
            (vec![0, 2], vec![(1, 0), (0, 1)], words)
        }
        Level::Four => {
            let words = format!(
                "Give {} the keys that {} has now, {} those that {} has now, and {} those that {} has now; {} gets the keys \
                 {}, and {} none",
                commands[0],
                commands[1],
                commands[1],
                commands[2],
                commands[2],
                commands[0],
                commands[3],
                shown(4),
                commands[4]
            );
            (vec![0, 4], vec![(3, 4), (2, 0), (1, 2), (0, 1)], words)
        }
    };
    let mut solution: Vec<String> =
        cleared.iter().map(|at| steps::click("button", &format!("Clear {}", commands[*at]))).collect();
    for at in &cleared {
        wanted[*at] = None;
    }
    for (at, key) in &set {
        wanted[*at] = Some(*key);
        solution.push(steps::click("button", &format!("Change {}", commands[*at])));
        solution.push(format!("keyboard_press({})", quoted(&keys[*key].1)));
    }
    solution.push(steps::submit());
    let state: Map<_, _> = commands
        .iter()
        .zip(&wanted)
        .map(|(command, key)| ((*command).to_owned(), key.map_or(json!(null), |key| json!(keys[key].0))))
        .collect();
    let listed: Vec<_> = commands.iter().enumerate().map(|(at, command)| json!([command, keys[at].0])).collect();
    Task {
        body: BODY.to_owned(),
        style: "td,th{font-size:14px}td button{padding:0 10px}",
        script: SCRIPT,
        data: json!({"keys": draw.shuffled(&listed)}),
        solution,
        ..Task::new(
            "Keys",
            format!(
                "{words}. Leave the other commands as they are, and submit. No two commands can have the same keys."
            ),
            Wanted::field("keys", Wanted::Is(state.into())),
        )
    }
}
