//! Drawers that are opened in one frame and show what they hold in another.

use serde_json::json;

use super::{code, frame};
use crate::page::framed;
use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "remote-frame", about: "Finds codes with a frame that changes another.", draw };

const DRAWERS_SCRIPT: &str = r##"
for (let drawer = 1; drawer <= data.count; drawer += 1) {
  const button = document.createElement("button");
  button.className = "plain"; button.textContent = `Drawer ${drawer}`;
  button.onclick = () => parent.frames[1].show(drawer);
  $("#drawers").append(button);
}
"##;
const INSIDE_SCRIPT: &str = r##"
window.show = (drawer) => {
  const { thing, note } = data.drawers[drawer - 1];
  $("#inside").textContent = `Drawer ${drawer} holds ${thing}. ${note}`;
};
"##;
const SCRIPT: &str = r##"$("#send").onclick = () => send({ codes: $$("input").map((input) => input.value.trim()) });"##;

fn draw(draw: &mut Draw) -> Task {
    let count: usize = draw.level.of([3, 6, 8, 10]);
    let things = draw.things(count);
    let codes: Vec<String> = (0..count).map(|_| code(draw)).collect();
    let mut notes: Vec<String> = codes.iter().map(|code| format!("Code: {code}.")).collect();
    let order = draw.shuffled(&(0..count).collect::<Vec<_>>());
    let (asked, opened, words) = match draw.level {
        Level::One => (vec![order[0]], vec![order[0]], format!("Enter the code of drawer {}", order[0] + 1)),
        Level::Two => {
            let words = format!(
                "Enter the code of drawer {} as the first code and that of drawer {} as the second",
                order[0] + 1,
                order[1] + 1
            );
            (order[..2].to_vec(), order[..2].to_vec(), words)
        }
        Level::Three => {
            let words = format!(
                "Find the drawers that hold the {} and the {}. Enter the code of the {} as the first code and that of the {} \
                 as the second",
                things[order[0]], things[order[1]], things[order[0]], things[order[1]]
            );
            (order[..2].to_vec(), (0..count).collect(), words)
        }
        Level::Four => {
            for step in 0..4 {
                notes[order[step]] = format!("Its code was moved to drawer {}.", order[step + 1] + 1);
            }
            let words = format!(
                "Find the code for drawer {}: a drawer whose code was moved tells where to look next. Enter the code that you \
                 come to",
                order[0] + 1
            );
            (vec![order[4]], order[..5].to_vec(), words)
        }
    };
    let labels = if asked.len() == 1 { vec!["Code"] } else { vec!["First code", "Second code"] };
    let drawers: Vec<_> = things
        .iter()
        .zip(&notes)
        .map(|(thing, note)| {
            let article = if thing.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            json!({"thing": format!("{article} {thing}"), "note": note})
        })
        .collect();
    let mut solution: Vec<String> =
        opened.iter().map(|at| steps::click("button", &format!("Drawer {}", at + 1))).collect();
    solution.extend(labels.iter().zip(&asked).map(|(label, at)| steps::fill("textbox", label, &codes[*at])));
    solution.push(steps::submit());
    let inputs: String = labels.iter().map(|label| format!("<label>{label} <input></label>")).collect();
    let drawer_page = framed(
        "Drawers",
        &json!({"count": count}),
        "<h2>Drawers</h2><div class=\"row\" id=\"drawers\"></div>",
        DRAWERS_SCRIPT,
    );
    let inside_page = framed(
        "Inside",
        &json!({"drawers": drawers}),
        "<h2>Inside</h2><p id=\"inside\" role=\"status\">No drawer is open.</p>",
        INSIDE_SCRIPT,
    );
    Task {
        body: format!(
            "{}{}{inputs}<button id=\"send\">Submit</button>",
            frame("Drawers", 1, 140),
            frame("Inside", 2, 110)
        ),
        script: SCRIPT,
        documents: [("/frame/1".to_owned(), drawer_page), ("/frame/2".to_owned(), inside_page)].into(),
        solution,
        ..Task::new(
            "Drawers",
            format!("{words}. Then submit."),
            Wanted::field("codes", Wanted::List(asked.iter().map(|at| Wanted::Text(codes[*at].clone())).collect())),
        )
    }
}
