//! Codes that are read in one frame and entered in another.

use serde_json::{Value, json};

use super::{code, frame};
use crate::page::framed;
use crate::{Draw, Level, Task, Wanted, Widget, steps, text};

pub(super) const WIDGET: Widget =
    Widget { name: "code-copy", about: "Copies codes from frames into a form in another frame.", draw };

const FORM_SCRIPT: &str = r##"
$("#form").onsubmit = (event) => {
  event.preventDefault();
  parent.report({ codes: [...document.querySelectorAll("input")].map((input) => input.value.trim()) });
};
"##;
const SCRIPT: &str = "window.report = (state) => send(state);";

/// A table of two columns.
fn table(title: &str, head: [&str; 2], rows: &[(String, String)]) -> String {
    let row = |(left, right): &(String, String)| {
        format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", text(left), text(right))
    };
    let rows: String = rows.iter().map(row).collect();
    let [left, right] = head;
    let body = format!(
        "<h2>{title}</h2><table style=\"font-size:13px;line-height:1.2\"><thead><tr><th scope=\"col\">{left}</th>\
         <th scope=\"col\">{right}</th></tr></thead><tbody>{rows}</tbody></table>"
    );
    framed(title, &Value::Null, &body, "")
}

fn form(labels: &[String]) -> String {
    let inputs: String = labels.iter().map(|label| format!("<label>{} <input></label>", text(label))).collect();
    let body = format!("<h2>Form</h2><form id=\"form\">{inputs}<button>Submit</button></form>");
    framed("Form", &json!(null), &body, FORM_SCRIPT)
}

fn draw(draw: &mut Draw) -> Task {
    let (count, asked) = draw.level.of([(1, 1), (3, 2), (9, 3), (8, 3)]);
    let names = draw.names(count);
    let codes: Vec<String> = (0..count).map(|_| code(draw)).collect();
    let chosen = draw.some(asked, &(0..count).collect::<Vec<_>>());
    let mut pages = Vec::new();
    if draw.level == Level::Four {
        // Persons have rooms, and rooms have codes; there are more rooms than persons.
        let rooms = draw.some(count + 3, &(101..=140).collect::<Vec<i64>>());
        let lived: Vec<_> =
            names.iter().zip(&rooms).map(|(name, room)| ((*name).to_owned(), room.to_string())).collect();
        let mut doors: Vec<_> = rooms.iter().zip(&codes).map(|(room, code)| (room.to_string(), code.clone())).collect();
        for room in &rooms[count..] {
            doors.push((room.to_string(), code(draw)));
        }
        doors.sort();
        pages.push(("Persons", table("Persons", ["Person", "Room"], &lived)));
        pages.push(("Rooms", table("Rooms", ["Room", "Code"], &doors)));
    } else {
        let rows: Vec<_> = names.iter().zip(&codes).map(|(name, code)| ((*name).to_owned(), code.clone())).collect();
        pages.push(("Codes", table("Codes", ["Person", "Code"], &rows)));
    }
    let labels: Vec<String> = chosen.iter().map(|at| format!("Code of {}", names[*at])).collect();
    pages.push(("Form", form(&labels)));
    let last = pages.len() - 1;
    let height = |at: usize| if at == last { 180 } else { 60 + 26 * i64::try_from(count + 3).unwrap_or_default() };
    let frames: String = pages.iter().enumerate().map(|(at, (title, _))| frame(title, at + 1, height(at))).collect();
    let mut solution: Vec<String> =
        labels.iter().zip(&chosen).map(|(label, at)| steps::fill("textbox", label, &codes[*at])).collect();
    solution.push(steps::submit());
    let words = match draw.level {
        Level::Four => {
            "Enter the code of each person's room: the persons' rooms are in one frame, the rooms' codes in another"
        }
        _ => "Enter in the form the codes that it asks for, as the other frame shows them",
    };
    let wanted = chosen.iter().map(|at| Wanted::Text(codes[*at].clone())).collect();
    Task {
        body: frames,
        script: SCRIPT,
        documents: pages.into_iter().enumerate().map(|(at, (_, page))| (format!("/frame/{}", at + 1), page)).collect(),
        solution,
        ..Task::new("Codes", format!("{words}. Then submit."), Wanted::field("codes", Wanted::List(wanted)))
    }
}
