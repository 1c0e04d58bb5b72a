//! Forms for addresses, each in a frame of its own.

use serde_json::json;

use super::frame;
use crate::page::framed;
use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget = Widget { name: "framed-form", about: "Fills in forms that lie in frames.", draw };

const FIELDS: [&str; 3] = ["Name", "Street", "Town"];
const STREETS: [&str; 5] = ["Mill Lane", "Station Road", "Harbour Street", "Oak Avenue", "Church Hill"];
const FORM: &str = r##"<h2 id="title"></h2><div class="row"><label>Name <input id="Name" size="14"></label><label>Street <input id="Street" size="18"></label><label>Town <input id="Town" size="14"></label></div>"##;
const FORM_SCRIPT: &str = r##"
$("#title").textContent = data.title;
for (const field of ["Name", "Street", "Town"]) $(`#${field}`).value = data.given[field] ?? "";
window.read = () => ["Name", "Street", "Town"].map((field) => $(`#${field}`).value.trim());
"##;
const SCRIPT: &str =
    r##"$("#send").onclick = () => send({ forms: $$("iframe").map((frame) => frame.contentWindow.read()) });"##;

fn address(draw: &mut Draw) -> [String; 3] {
    let street = format!("{} {}", draw.number(2..=98), draw.pick(&STREETS));
    [draw.names(1)[0].to_owned(), street, draw.towns(1)[0].to_owned()]
}

fn draw(draw: &mut Draw) -> Task {
    let titles = ["Invoice address", "Delivery address", "Return address"];
    let count = draw.level.of([1, 1, 2, 3]);
    let all: Vec<[String; 3]> = (0..count).map(|_| address(draw)).collect();
    let mut wanted = all.clone();
    let mut given = vec![[const { String::new() }; 3]; count];
    let mut steps_of: Vec<(usize, usize)> = Vec::new();
    let said = |at: usize| format!("{}: name {}, street {}, town {}", titles[at], all[at][0], all[at][1], all[at][2]);
    let words = match draw.level {
        Level::One => {
            let field = draw.place(3);
            wanted[0] = const { [const { String::new() }; 3] };
            wanted[0][field].clone_from(&all[0][field]);
            steps_of.push((0, field));
            let name = FIELDS[field].to_lowercase();
            format!("Enter {} as the {name} and leave the other fields empty", all[0][field])
        }
        Level::Two => {
            steps_of.extend((0..3).map(|field| (0, field)));
            format!("Fill in the form. {}", said(0))
        }
        Level::Three => {
            steps_of.extend((0..6).map(|at| (at / 3, at % 3)));
            format!("Fill in both forms. {}; {}", said(0), said(1))
        }
        Level::Four => {
            given = all.clone();
            wanted[1] = [all[1][0].clone(), all[0][1].clone(), all[0][2].clone()];
            wanted[2] = [all[1][0].clone(), all[2][1].clone(), all[1][2].clone()];
            steps_of.extend([(1, 1), (1, 2), (2, 0), (2, 2)]);
            "The delivery goes to the street and the town of the invoice address now; its name stays. The return address gets \
             the name and the town that the delivery address has at first; its street stays. Change the forms so"
                .to_owned()
        }
    };
    let fill = |(form, field): &(usize, usize)| {
        let value = &wanted[*form][*field];
        steps::fill_nth("textbox", FIELDS[*field], *form, value)
    };
    let page = |at: usize| {
        let given = json!({"Name": given[at][0], "Street": given[at][1], "Town": given[at][2]});
        framed(titles[at], &json!({"title": titles[at], "given": given}), FORM, FORM_SCRIPT)
    };
    let frames: String = (0..count).map(|at| frame(titles[at], at + 1, 150)).collect();
    Task {
        body: format!("{frames}<button id=\"send\">Submit</button>"),
        script: SCRIPT,
        documents: (0..count).map(|at| (format!("/frame/{}", at + 1), page(at))).collect(),
        solution: steps_of.iter().map(fill).chain([steps::submit()]).collect(),
        ..Task::new("Addresses", format!("{words}. Then submit."), Wanted::exactly(&json!({"forms": wanted})))
    }
}
