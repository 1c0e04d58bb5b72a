//! A table of people behind filters, about which a question is answered.

use serde_json::json;

use crate::steps::{fill, select, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "row-filter", about: "Filters a table and answers a question about the rows that are left.", draw };

const BODY: &str = r##"<div class="card row"><label>Name contains <input id="name"></label>
<label>Department <select id="team"></select></label><label>Town <select id="town"></select></label></div>
<p id="count" role="status"></p>
<table><thead><tr><th scope="col">Name</th><th scope="col">Department</th><th scope="col">Town</th><th scope="col">Hours</th></tr></thead><tbody></tbody></table>
<label>Answer <input id="answer"></label><button id="send">Submit</button>"##;
const SCRIPT: &str = r##"
const options = (at) => ["All", ...new Set(data.rows.map((row) => row[at]))].map((name) => el("option", {}, name));
$("#team").append(...options(1));
$("#town").append(...options(2));
const show = () => {
  const [team, town, name] = [$("#team").value, $("#town").value, $("#name").value.toLowerCase()];
  const left = data.rows.filter((row) => row[0].toLowerCase().includes(name) && (team === "All" || row[1] === team) && (town === "All" || row[2] === town));
  $("tbody").replaceChildren(...left.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, String(cell))))));
  $("#count").textContent = `${left.length} of ${data.rows.length} people`;
};
for (const control of [$("#team"), $("#town"), $("#name")]) control.addEventListener("input", show);
$("#send").onclick = () => send({ answer: $("#answer").value });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([6, 12, 20, 24]);
    let (names, teams, towns) = (draw.names(count), draw.teams(3), draw.towns(3));
    let hours = draw.numbers(count, 5..=60);
    // The first rows fit every filter, so that no question is about nobody.
    let rows: Vec<(&str, &str, &str, i64)> = (0..count)
        .map(|at| match at {
            0..=2 => (names[at], teams[0], towns[0], hours[at]),
            at => (names[at], draw.pick(&teams), draw.pick(&towns), hours[at]),
        })
        .collect();
    let (team, town) = (teams[0], towns[0]);
    let in_team: Vec<_> = rows.iter().filter(|row| row.1 == team).collect();
    let in_both: Vec<_> = in_team.iter().filter(|row| row.2 == town).collect();
    let mut solution = vec![];
    if draw.level > Level::One {
        solution.push(select("Department", team));
    }
    if draw.level > Level::Two {
        solution.push(select("Town", town));
    }
    let (question, wanted) = match draw.level {
        Level::One => {
            let row = draw.pick(&rows);
            solution.push(fill("textbox", "Name contains", row.0));
            (format!("How many hours does {} work?", row.0), row.3.to_string())
        }
        Level::Two => (format!("How many people are in the department {team}?"), in_team.len().to_string()),
        Level::Three => {
            let most = in_both.iter().max_by_key(|row| row.3).map_or("", |row| row.0);
            (format!("Who works the most hours among the people of {team} in {town}?"), most.to_owned())
        }
        Level::Four => {
            let sum: i64 = in_both.iter().map(|row| row.3).sum();
            let others: i64 = in_team.iter().map(|row| row.3).sum::<i64>() - sum;
            let words = format!(
                "How many hours do the people of {team} in {town} work together, less those of the people of {team} in all other towns? The number may be negative."
            );
            (words, (sum - others).to_string())
        }
    };
    solution.extend([fill("textbox", "Answer", &wanted), submit()]);
    let rows = draw.shuffled(&rows);
    let what = if draw.level == Level::Three { "only the name" } else { "only the number" };
    Task {
        body: BODY.to_owned(),
        script: SCRIPT,
        data: json!({"rows": rows}),
        solution,
        ..Task::new(
            "People",
            format!("{question} Enter {what} as the answer, and submit it."),
            Wanted::text("answer", &wanted),
        )
    }
}
