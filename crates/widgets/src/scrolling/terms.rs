//! Terms that have to be read to their end before one can agree.

use serde_json::json;

use super::{boxed, wheel};
use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "terms", about: "Reads terms to their end, agrees, and tells what they say.", draw };

/// Facts: their words, with the number in the place of `#`, and the field that asks for it.
const FACTS: [(&str, &str); 8] = [
    ("The deposit is # francs.", "Deposit in francs"),
    ("The notice period is # days.", "Notice period in days"),
    ("A parcel is kept for # days.", "Days that a parcel is kept"),
    ("A member may bring # guests.", "Guests of a member"),
    ("Complaints are answered within # days.", "Days for an answer to complaints"),
    ("The late fee is # francs a day.", "Late fee in francs a day"),
    ("A key that is lost costs # francs.", "Cost of a lost key in francs"),
    ("The office is closed for # days in summer.", "Days that the office is closed"),
];
const FILLERS: [&str; 6] = [
    "The words of this section hold for all members, whether they joined before or after it was written.",
    "Where a thing is not said here, the custom of the house is followed, as far as it is known to both sides.",
    "The board may change this section in its yearly meeting, and tells all members of it by letter.",
    "Nothing in this section takes away a right that the law gives to a member.",
    "Members who are away for long should leave word with the office, so that letters reach them.",
    "Tools and rooms are to be left as they were found, clean and dry.",
];
const SCRIPT: &str = r##"
const box = $("#box");
data.sections.forEach((sentences, at) => box.append(el("h2", {}, `Section ${at + 1}`), ...sentences.map((text) => el("p", {}, text))));
box.append(el("p", {}, "End of the terms."));
const read = () => { if (box.scrollTop + box.clientHeight >= box.scrollHeight - 4) $("#agree").disabled = false; };
box.onscroll = read;
$("#send").onclick = () => send({ agreed: $("#agree").checked, answers: $$("#answers input[inputmode]").map((input) => input.value.trim()) });
"##;

fn draw(draw: &mut Draw) -> Task {
    let sections: usize = draw.level.of([4, 8, 14, 20]);
    let asked: usize = draw.level.of([0, 1, 3, 2]);
    let mut text: Vec<Vec<String>> =
        (0..sections).map(|_| draw.some(3, &FILLERS).into_iter().map(str::to_owned).collect()).collect();
    let facts = draw.some(FACTS.len(), &FACTS);
    let places = draw.some(FACTS.len().min(sections), &(0..sections).collect::<Vec<_>>());
    let numbers: Vec<i64> = facts.iter().map(|_| 2 * draw.number(3..=40)).collect();
    for (at, place) in places.iter().enumerate() {
        let position = draw.place(3);
        text[*place].insert(position, facts[at].0.replace('#', &numbers[at].to_string()));
    }
    let mut answers: Vec<(String, String)> =
        (0..asked).map(|at| (facts[at].1.to_owned(), numbers[at].to_string())).collect();
    let mut words = "Read the terms to their end, agree to them".to_owned();
    if draw.level == Level::Four {
        // Two sections change what other sections say.
        let half = format!("For students, the number in section {} is half of what it says there.", places[0] + 1);
        let more = draw.number(3..=9);
        let added =
            format!("Since last year, the number in section {} is larger by {more} than it says there.", places[1] + 1);
        for note in [half, added] {
            let place = draw.place(sections);
            text[place].push(note);
        }
        answers[0].1 = (numbers[0] / 2).to_string();
        answers[1].1 = (numbers[1] + more).to_string();
        answers[0].0.push_str(" for a student");
        answers[1].0.push_str(" today");
        words.push_str(", and enter the numbers that are asked for; sections may change what other sections say");
    } else if asked > 0 {
        words.push_str(", and enter the numbers that are asked for");
    }
    let fields: String = answers
        .iter()
        .map(|(label, _)| format!("<label style=\"margin:0\">{label} <input inputmode=\"numeric\" size=\"4\"></label>"))
        .collect();
    let controls = format!(
        "<span>Scroll to the end of the terms to be able to agree.</span>\
         <div id=\"answers\" class=\"row\" style=\"position:absolute;left:276px;top:606px;width:728px;font-size:14px\">{fields}\
         <label style=\"margin:0\"><input type=\"checkbox\" id=\"agree\" disabled> I have read the terms and agree</label>\
         <button id=\"send\">Submit</button></div>"
    );
    let mut solution = vec![wheel(30_000), steps::check("checkbox", "I have read the terms and agree")];
    solution.extend(answers.iter().map(|(label, value)| steps::fill("textbox", label, value)));
    solution.push(steps::submit());
    Task {
        body: boxed("Terms", &controls, ""),
        style: "#box{padding:0 12px}#box h2{font-size:1rem;margin:12px 0 4px}#box p{margin:0 0 8px}",
        script: SCRIPT,
        data: json!({"sections": text}),
        solution,
        ..Task::new(
            "Terms",
            format!("{words}. Then submit."),
            Wanted::Fields(vec![
                // A check mark can be put on only at the end of the terms.
                ("agreed".to_owned(), Wanted::Is(json!(true))),
                (
                    "answers".to_owned(),
                    Wanted::Is(answers.iter().map(|(_, value)| json!(value)).collect::<Vec<_>>().into()),
                ),
            ]),
        )
    }
}
