//! A table of five rows at a time, of which some are put on a list.

use serde_json::json;

use crate::steps::{click, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "table-pages", about: "Turns the pages of a table and picks rows on several of them.", draw };

const BODY: &str = r##"<table><thead><tr><th scope="col">Member</th><th scope="col">Town</th><th scope="col">Grade</th><th scope="col">List</th></tr></thead><tbody></tbody></table>
<nav class="row" aria-label="Pages"><button class="plain" id="before">Previous</button><span id="page" role="status"></span><button class="plain" id="after">Next</button></nav>
<p>On the list: <output id="list">nobody</output></p><button id="send">Submit</button>"##;
const STYLE: &str = "nav{margin:12px 0}tbody tr{height:46px}";
const SCRIPT: &str = r##"
const size = 5, last = Math.ceil(data.rows.length / size) - 1;
let page = 0;
const list = [];
const show = () => {
  $("tbody").replaceChildren(...data.rows.slice(page * size, (page + 1) * size).map((row) => {
    const on = list.includes(row[0]);
    const press = () => { if (on) list.splice(list.indexOf(row[0]), 1); else list.push(row[0]); show(); };
    return el("tr", {}, ...row.map((cell) => el("td", {}, cell)), el("td", {}, el("button", { class: "plain", onclick: press, "aria-label": `${on ? "Remove" : "Add"} ${row[0]}` }, on ? "Remove" : "Add")));
  }));
  $("#page").textContent = `Page ${page + 1} of ${last + 1}`;
  $("#before").disabled = page === 0;
  $("#after").disabled = page === last;
  $("#list").textContent = list.length ? list.join(", ") : "nobody";
};
$("#before").onclick = () => { page -= 1; show(); };
$("#after").onclick = () => { page += 1; show(); };
$("#send").onclick = () => send({ list });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    const GRADES: [&str; 3] = ["bronze", "silver", "gold"];
    let count = draw.level.of([8, 15, 24, 24]);
    let (names, towns) = (draw.names(count), draw.towns(3));
    let rows: Vec<(&str, &str, &str)> =
        (0..count).map(|at| (names[at], towns[draw.place(3)], GRADES[(at + at / 3) % 3])).collect();
    let (town, grade) = (rows[count - 2].1, rows[count - 2].2);
    let wanted: Vec<usize> = match draw.level {
        Level::One => vec![draw.place(3) + 5],
        Level::Two => vec![draw.place(5), draw.place(5) + 10],
        Level::Three => vec![draw.place(5), draw.place(5) + 5, draw.place(5) + 10, draw.place(4) + 20],
        Level::Four => (0..count).filter(|&at| rows[at].1 == town && rows[at].2 == grade).collect(),
    };
    let members: Vec<&str> = wanted.iter().map(|&at| names[at]).collect();
    let words = match draw.level {
        Level::Four => format!("every member of grade {grade} from {town}, and nobody else,"),
        _ => listed(&members),
    };
    let (mut solution, mut page) = (Vec::new(), 0);
    for (at, member) in wanted.iter().zip(&members) {
        solution.extend(vec![click("button", "Next"); at / 5 - page]);
        page = at / 5;
        solution.push(click("button", &format!("Add {member}")));
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"rows": rows}),
        solution,
        ..Task::new(
            "Members",
            format!("Put {words} on the list, and submit it."),
            Wanted::in_any_order("list", &members),
        )
    }
}
