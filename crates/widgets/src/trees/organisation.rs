//! A chart of who leads whom, with branches that open.

use serde_json::{Value, json};

use crate::steps::{click, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget {
    name: "organisation",
    about: "Opens a chart of an organisation and finds a person by the lines in it.",
    draw,
};

const BODY: &str = r##"<div class="card"><ul id="chart"></ul></div><p>Chosen: <output id="chosen">nobody</output></p><button id="send">Submit</button>"##;
const STYLE: &str = "#chart,#chart ul{list-style:none;padding-left:28px;margin:0}#chart{padding:0}#chart ul{border-left:2px solid var(--line)}#chart li{margin:3px 0}#chart button{padding:1px 8px}#chart .fold{min-width:30px}";
const SCRIPT: &str = r##"
let chosen = null;
const choose = (name, button) => {
  chosen = name;
  for (const one of $$("#chart .who")) one.setAttribute("aria-pressed", String(one === button));
  $("#chosen").textContent = name;
};
const build = ({ name, post, below }, open) => {
  const who = el("button", { class: "plain who", "aria-pressed": "false", "aria-label": name, onclick: () => choose(name, who) }, name);
  const inside = el("ul", { hidden: !open, "aria-label": `Led by ${name}` }, ...below.map((person) => build(person, false)));
  const fold = el("button", { class: "plain fold", "aria-expanded": String(open), "aria-label": `People led by ${name}`, onclick: () => {
    inside.hidden = !inside.hidden;
    fold.textContent = inside.hidden ? "+" : "−";
    fold.setAttribute("aria-expanded", String(!inside.hidden));
  } }, open ? "−" : "+");
  return el("li", {}, el("div", { class: "row" }, below.length ? fold : null, who, el("span", { class: "soft" }, post)), below.length ? inside : null);
};
$("#chart").append(build(data.chart, true));
$("#send").onclick = () => send({ person: chosen });
"##;

/// A person: who leads them, by place; the first leads all.
type People = Vec<(&'static str, &'static str, usize)>;

fn chart(people: &People, at: usize) -> Value {
    let below: Vec<Value> =
        (1..people.len()).filter(|&one| people[one].2 == at).map(|one| chart(people, one)).collect();
    json!({"name": people[at].0, "post": people[at].1, "below": below})
}

/// Places of those above a person, from the person's own to the first.
fn above(people: &People, mut at: usize) -> Vec<usize> {
    let mut way = vec![at];
    while at != 0 {
        at = people[at].2;
        way.push(at);
    }
    way
}

fn draw(draw: &mut Draw) -> Task {
    const POSTS: [&str; 6] = ["buyer", "clerk", "driver", "planner", "tester", "writer"];
    let count = draw.level.of([5, 9, 16, 23]);
    let names = draw.names(count);
    let wide = draw.level.of([4, 3, 3, 2]);
    let people: People = (0..count)
        .map(|at| (names[at], if at == 0 { "director" } else { POSTS[at % 6] }, at.saturating_sub(1) / wide))
        .collect();
    let last = count - 1 - draw.place(2);
    let (words, wanted) = match draw.level {
        Level::One => (format!("Choose {}", people[last].0), last),
        Level::Two => (format!("Choose the person who leads {}", people[last].0), people[last].2),
        Level::Three => {
            // The others with the same leader; no two of three have the same post.
            let other = (1..count).find(|&at| at != last && people[at].2 == people[last].2).unwrap_or(last);
            let words = format!("Choose the {} who has the same leader as {}", people[other].1, people[last].0);
            (words, other)
        }
        Level::Four => {
            let other = count / 2 + draw.place(4);
            let (one, two) = (above(&people, last), above(&people, other));
            let common = one.iter().find(|at| **at != last && **at != other && two.contains(at)).copied().unwrap_or(0);
            let words = format!(
                "Choose the person lowest in the chart who leads, directly or by others, both {} and {}",
                people[last].0, people[other].0
            );
            (words, common)
        }
    };
    let mut way = above(&people, wanted);
    way.reverse();
    way.pop();
    let mut solution: Vec<String> =
        way.iter().skip(1).map(|&at| click("button", &format!("People led by {}", people[at].0))).collect();
    solution.extend([click("button", people[wanted].0), submit()]);
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"chart": chart(&people, 0)}),
        solution,
        ..Task::new("Organisation", format!("{words}, and submit."), Wanted::text("person", people[wanted].0))
    }
}
