//! A form behind a banner that asks for consent.

use serde_json::{Map, Value, json};

use crate::steps::{click, fill, set, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget {
    name: "cookie-banner",
    about: "Answers a banner about consent as asked, and fills in the form behind it.",
    draw,
};

const BODY: &str = r##"<form id="form"><label>Name <input id="name" autocomplete="off"></label><label>Town <input id="town" autocomplete="off"></label><button id="send">Submit</button></form>
<div id="shade"></div><div id="banner" role="dialog" aria-modal="true" aria-labelledby="title"><h2 id="title">We use cookies</h2><p>Choose what we may keep. You need not agree to all of it.</p>
<div id="choices" hidden></div><div class="row"><button id="all">Accept all</button><button id="none">Reject all</button><button class="plain" id="choose">Choose</button><button id="save" hidden>Save choice</button></div></div>
<div id="letter" role="dialog" aria-modal="true" aria-label="Newsletter" hidden><p>Would you like our letter every week?</p><div class="row"><button id="yes">Yes, please</button><button class="plain" id="no">No, thanks</button></div></div>"##;
const STYLE: &str = "#shade{position:fixed;inset:0;background:#0006}#banner,#letter{position:fixed;left:50%;bottom:24px;transform:translateX(-50%);width:min(680px,94%);background:#fff;border-radius:10px;padding:16px;box-shadow:0 4px 24px #0005;max-height:90vh;overflow:auto}#banner h2{font-size:1.1rem;margin:0}#choices label{margin:2px 0}";
const SCRIPT: &str = r##"
const boxes = data.purposes.map(([name, on]) => el("input", { type: "checkbox", "data-name": name, checked: on }));
$("#choices").append(...boxes.map((box) => el("label", {}, box, ` ${box.dataset.name}`)));
let consent = null, letter = "not asked";
const end = (of) => {
  consent = Object.fromEntries(boxes.map((box) => [box.dataset.name, of(box)]));
  $("#banner").hidden = true;
  $("#letter").hidden = !data.letter;
  if (data.letter) $("#no").focus(); else close();
};
const close = () => { $("#shade").hidden = true; $("#letter").hidden = true; $("#form").inert = false; $("#name").focus(); };
$("#form").inert = true;
$("#all").onclick = () => end(() => true);
$("#none").onclick = () => end(() => false);
$("#choose").onclick = () => { $("#choices").hidden = false; $("#save").hidden = false; $("#choose").hidden = true; };
$("#save").onclick = () => end((box) => box.checked);
$("#yes").onclick = () => { letter = true; close(); };
$("#no").onclick = () => { letter = false; close(); };
$("#form").onsubmit = (event) => { event.preventDefault(); send({ consent, letter, name: $("#name").value, town: $("#town").value }); };
$("#all").focus();
"##;

const PURPOSES: [&str; 10] = [
    "Statistics",
    "Advertising",
    "Video",
    "Maps",
    "Preferences",
    "Measurement of advertising",
    "Shared statistics",
    "Location",
    "Speech",
    "Recommendations",
];

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([2, 3, 6, 10]);
    let purposes = draw.some(count, &PURPOSES);
    // Ticked at first, as banners like to have it.
    let at_first: Vec<bool> = purposes.iter().map(|_| draw.level > Level::Two && draw.once_in(2)).collect();
    let allowed: Vec<&str> = match draw.level {
        Level::One => {
            if draw.once_in(2) {
                purposes.clone()
            } else {
                vec![]
            }
        }
        Level::Two => vec![draw.pick(&purposes)],
        Level::Three => draw.some(2, &purposes),
        Level::Four => draw.some(4, &purposes),
    };
    let letter = (draw.level > Level::Two).then(|| draw.once_in(2));
    let (name, town) = (draw.names(1)[0], draw.towns(1)[0]);
    let mut solution = Vec::new();
    if draw.level == Level::One {
        solution.push(click("button", if allowed.is_empty() { "Reject all" } else { "Accept all" }));
    } else {
        solution.push(click("button", "Choose"));
        for (purpose, on) in purposes.iter().zip(&at_first) {
            if allowed.contains(purpose) != *on {
                solution.push(set(purpose, !on));
            }
        }
        solution.push(click("button", "Save choice"));
    }
    if let Some(letter) = letter {
        solution.push(click("button", if letter { "Yes, please" } else { "No, thanks" }));
    }
    solution.extend([fill("textbox", "Name", name), fill("textbox", "Town", town), submit()]);
    let refused: Vec<&str> = purposes.iter().copied().filter(|purpose| !allowed.contains(purpose)).collect();
    let mut words = match draw.level {
        Level::One if allowed.is_empty() => "Reject all cookies".to_owned(),
        Level::One => "Accept all cookies".to_owned(),
        Level::Four => format!("Allow cookies for every purpose but {}", listed(&draw.shuffled(&refused))),
        _ => format!("Allow cookies for {} and for nothing else", listed(&allowed)),
    };
    if let Some(letter) = letter {
        words += if letter { ", take the newsletter" } else { ", do not take the newsletter" };
    }
    let consent: Map<String, Value> =
        purposes.iter().map(|purpose| ((*purpose).to_owned(), json!(allowed.contains(purpose)))).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"purposes": purposes.iter().zip(&at_first).collect::<Vec<_>>(), "letter": letter.is_some()}),
        solution,
        ..Task::new(
            "Order a catalogue",
            format!("{words}. Then enter the name {name} and the town {town}, and submit."),
            Wanted::Fields(vec![
                ("consent".to_owned(), Wanted::Is(json!(consent))),
                ("letter".to_owned(), Wanted::Is(letter.map_or(json!("not asked"), |letter| json!(letter)))),
                ("name".to_owned(), Wanted::Text(name.to_owned())),
                ("town".to_owned(), Wanted::Text(town.to_owned())),
            ]),
        )
    }
}
