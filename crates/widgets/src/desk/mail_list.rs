//! A list of letters that can be opened, flagged, archived and answered.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget = Widget { name: "mail-list", about: "Flags, archives and answers mail.", draw };

const BODY: &str = r##"<table aria-label="Mail"><thead><tr><th scope="col">From</th><th scope="col">Subject</th><th scope="col">Actions</th></tr></thead><tbody></tbody></table>
<section id="letter" class="card" aria-label="Open mail" hidden><p id="words"></p><form id="form"><label>Answer <input id="answer" size="40" autocomplete="off"></label><button>Send the answer</button></form></section>
<p id="status" role="status"></p><button id="send">Submit</button>"##;
const STYLE: &str = "td button{padding:0 8px;margin-right:4px;font-size:14px}td{font-size:14px}";
const SCRIPT: &str = r##"
const [flagged, archived, answers] = [new Set(), new Set(), []];
let open = null;
const show = () => {
  $("tbody").replaceChildren(...data.letters.map(({ from, subject }, at) => {
    if (archived.has(at)) return null;
    const label = (verb) => `${verb} "${subject}" from ${from}`;
    const action = (verb, act, more = {}) => el("button", { class: "plain", "aria-label": label(verb), onclick: () => { act(); show(); }, ...more }, verb);
    return el("tr", {}, el("td", {}, from), el("td", {}, subject), el("td", {},
      action("Open", () => { open = at; }),
      action("Flag", () => { if (flagged.has(at)) flagged.delete(at); else flagged.add(at); }, { "aria-pressed": String(flagged.has(at)) }),
      action("Archive", () => { archived.add(at); if (open === at) open = null; $("#status").textContent = `"${subject}" was archived.`; })));
  }).filter(Boolean));
  $("#letter").hidden = open === null;
  if (open !== null) $("#words").textContent = `${data.letters[open].from}: ${data.letters[open].text}`;
};
$("#form").onsubmit = (event) => {
  event.preventDefault();
  if (!$("#answer").value.trim()) return;
  answers.push([open, $("#answer").value.trim()]);
  $("#answer").value = "";
  $("#status").textContent = `The answer to ${data.letters[open].from} was sent.`;
};
$("#send").onclick = () => send({ flagged: [...flagged], archived: [...archived], answers });
show();
"##;

/// Deeds with the letters, by their places.
#[derive(Default)]
struct Deeds {
    flagged: Vec<usize>,
    archived: Vec<usize>,
    answers: Vec<(usize, String)>,
}

/// A letter: the person, the subject, the text.
type Letter = (&'static str, String, String);

fn deeds(draw: &mut Draw, letters: &mut [Letter]) -> (Deeds, String) {
    let order = draw.shuffled(&(0..letters.len()).collect::<Vec<_>>());
    let name = |letters: &[Letter], at: usize| format!("\"{}\" from {}", letters[at].1, letters[at].0);
    let mut deeds = Deeds::default();
    let words = match draw.level {
        Level::One => {
            deeds.flagged.push(order[0]);
            format!("Flag the mail {}", name(letters, order[0]))
        }
        Level::Two => {
            deeds.flagged.push(order[0]);
            deeds.archived.extend(&order[1..3]);
            let [flag, one, two] = [0, 1, 2].map(|at| name(letters, order[at]));
            format!("Flag the mail {flag}, and archive the mails {one} and {two}")
        }
        Level::Three => {
            let (who, number) = (letters[order[0]].0, draw.number(100..=999));
            letters[order[1]].0 = who;
            letters[order[0]].2 = "Which number does the door have? Please answer.".to_owned();
            deeds.answers.push((order[0], format!("The door has number {number}")));
            deeds.archived.push(order[1]);
            format!(
                "{who} has sent two mails. Answer the one that asks for something with: The door has number {number}. Archive \
                 the other one, unanswered"
            )
        }
        Level::Four => {
            let number = draw.number(1_000..=9_999);
            let (asks, knows) = (letters[order[0]].0, letters[order[1]].0);
            for at in [2, 3] {
                letters[order[at]].0 = asks;
            }
            letters[order[4]].0 = knows;
            letters[order[0]].2 = "What is the number of the shed? Please answer.".to_owned();
            letters[order[1]].2 = format!("By the way, the shed has number {number}, not {}.", number - 11);
            letters[order[5]].2 = format!("I think that the shed has number {}.", number - 11);
            deeds.answers.push((order[0], number.to_string()));
            deeds.archived.extend(&order[2..4]);
            deeds.flagged.push(order[1]);
            format!(
                "{asks} asks in a mail for the number of the shed, which {knows} tells in another mail. Answer {asks}'s \
                 mail with this number, the digits alone. Archive the other mails from {asks}, and flag the mail in which \
                 {knows} tells the number"
            )
        }
    };
    (deeds, words)
}

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([3, 5, 7, 9]);
    let (names, things) = (draw.names(count), draw.things(count));
    let mut letters: Vec<Letter> = names
        .iter()
        .zip(&things)
        .map(|(name, thing)| {
            (*name, format!("The {thing}"), format!("The {thing} is ready. You can come for it at any time."))
        })
        .collect();
    let (deeds, words) = deeds(draw, &mut letters);
    let button =
        |verb: &str, at: usize| steps::click("button", &format!("{verb} \"{}\" from {}", letters[at].1, letters[at].0));
    let mut solution = Vec::new();
    for (at, text) in &deeds.answers {
        solution.push(button("Open", *at));
        solution.push(steps::fill("textbox", "Answer", text));
        solution.push(steps::click("button", "Send the answer"));
    }
    solution.extend(deeds.flagged.iter().map(|at| button("Flag", *at)));
    solution.extend(deeds.archived.iter().map(|at| button("Archive", *at)));
    solution.push(steps::submit());
    let answers =
        deeds.answers.iter().map(|(at, text)| Wanted::List(vec![Wanted::Is(json!(at)), Wanted::Text(text.clone())]));
    let set = |all: &[usize]| Wanted::Set(all.iter().map(|at| json!(at)).collect());
    let listed: Vec<_> =
        letters.iter().map(|(from, subject, text)| json!({"from": from, "subject": subject, "text": text})).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"letters": listed}),
        solution,
        ..Task::new(
            "Mail",
            format!("{words}. Do nothing else to the mails (opening them is fine). Then submit."),
            Wanted::Fields(vec![
                ("flagged".to_owned(), set(&deeds.flagged)),
                ("archived".to_owned(), set(&deeds.archived)),
                ("answers".to_owned(), Wanted::List(answers.collect())),
            ]),
        )
    }
}
