//! Letters that are archived, with notices that offer to undo it for a while.

use serde_json::json;

use crate::steps::{click, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "undo-notices", about: "Archives letters, and undoes it by notices before they go.", draw };

const BODY: &str = r##"<ul id="list" aria-label="Letters"></ul><button id="send">Submit</button><div id="notices" role="status" aria-label="Notices"></div>"##;
const STYLE: &str = "#list{list-style:none;padding:0}#list li{display:flex;justify-content:space-between;align-items:center;border-bottom:1px solid var(--line);padding:4px}#notices{position:fixed;right:16px;bottom:16px;display:grid;gap:6px}#notices div{background:var(--ink);color:#fff;padding:8px 12px;border-radius:8px;display:flex;gap:12px;align-items:center}";
const SCRIPT: &str = r##"
const archived = new Set();
const notice = (name, ms) => {
  const box = el("div", {}, el("span", {}, `Letter from ${name} archived`), el("button", { class: "plain", "aria-label": `Undo ${name}`, onclick: () => { archived.delete(name); box.remove(); show(); } }, "Undo"));
  $("#notices").append(box);
  setTimeout(() => box.remove(), ms);
};
const archive = (name, ms) => { archived.add(name); notice(name, ms); show(); };
const show = () => $("#list").replaceChildren(...data.letters.filter(([name]) => !archived.has(name)).map(([name, subject]) => el("li", {}, el("span", {}, el("b", {}, name), `: ${subject}`), el("button", { class: "plain", "aria-label": `Archive ${name}`, onclick: () => archive(name, 8000) }, "Archive"))));
show();
for (const [name, ms] of data.gone) archive(name, ms);
$("#send").onclick = () => send({ archived: [...archived] });
"##;

fn draw(draw: &mut Draw) -> Task {
    const SUBJECTS: [&str; 4] = ["invoice", "invitation", "reminder", "greeting"];
    let count = draw.level.of([4, 5, 8, 12]);
    let names = draw.names(count);
    let letters: Vec<(&str, &str)> = names.iter().enumerate().map(|(at, name)| (*name, SUBJECTS[at % 4])).collect();
    // Those that were just archived, and for how many milliseconds that can be undone.
    let gone: Vec<(&str, i64)> = match draw.level {
        Level::One => vec![],
        Level::Two => vec![(names[0], 20_000)],
        Level::Three => vec![(names[0], 20_000), (names[1], 15_000), (names[2], 20_000)],
        Level::Four => vec![(names[0], 25_000), (names[1], 15_000), (names[2], 20_000), (names[3], 30_000)],
    };
    let undone: Vec<&str> = match draw.level {
        Level::One => vec![],
        Level::Two => vec![names[0]],
        Level::Three => vec![names[1]],
        Level::Four => vec![names[1], names[2]],
    };
    let subject = draw.pick(&SUBJECTS);
    let more: Vec<&str> = match draw.level {
        Level::One => vec![draw.pick(&names)],
        Level::Two => vec![names[1 + draw.place(4)]],
        Level::Three => draw.some(3, &names[3..]),
        Level::Four => letters[4..].iter().filter(|letter| letter.1 == subject).map(|letter| letter.0).collect(),
    };
    let mut solution: Vec<String> = undone.iter().map(|name| click("button", &format!("Undo {name}"))).collect();
    solution.extend(more.iter().map(|name| click("button", &format!("Archive {name}"))));
    solution.push(submit());
    let archive = match draw.level {
        Level::Four => {
            format!("archive every letter in the list of the kind “{subject}” that is not from one of these")
        }
        _ => format!("archive the letter from {}", listed(&more))
            .replace("letter from", if more.len() > 1 { "letters from" } else { "letter from" }),
    };
    let instruction = if undone.is_empty() {
        "A".to_owned() + &archive[1..]
    } else {
        let were = if undone.len() > 1 { "letters" } else { "letter" };
        format!(
            "The {were} from {} should not have been archived: undo that while the notice can be seen. Then {archive}",
            listed(&undone)
        )
    };
    let kept = gone.iter().map(|one| one.0).filter(|name| !undone.contains(name));
    let wanted: Vec<&str> = kept.chain(more.iter().copied()).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"letters": letters, "gone": gone}),
        solution,
        ..Task::new("Letters", format!("{instruction}, and submit."), Wanted::in_any_order("archived", &wanted))
    }
}
