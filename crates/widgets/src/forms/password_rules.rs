//! A form for a password with rules that only one of some passwords keeps.

use serde_json::json;

use crate::steps::{fill, submit};
use crate::{Draw, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "password-rules", about: "Enters the one password of a list that keeps all rules.", draw };

const BODY: &str = r##"<p>Passwords to choose from:</p><ul id="passwords"></ul><div class="card"><b>Rules</b><ul id="rules"></ul></div>
<label>New password <input type="password" id="one" autocomplete="off"></label><label>New password again <input type="password" id="two" autocomplete="off"></label>
<label><input type="checkbox" id="see"> Show the password</label><p id="wrong" role="alert"></p><button id="send">Submit</button>"##;
const STYLE: &str = "#passwords li{font-family:monospace}#passwords{columns:2}";
const SCRIPT: &str = r##"
$("#passwords").append(...data.passwords.map((word) => el("li", {}, word)));
$("#rules").append(...data.rules.map((rule) => el("li", {}, rule)));
$("#see").onchange = () => { $("#one").type = $("#two").type = $("#see").checked ? "text" : "password"; };
$("#send").onclick = () => {
  if (!$("#one").value || $("#one").value !== $("#two").value) { $("#wrong").textContent = "Type the same password twice."; return; }
  send({ password: $("#one").value });
};
"##;

/// A rule: its words, and what it asks.
type Rule = (&'static str, fn(&str) -> bool);

const RULES: [Rule; 6] = [
    ("At least 9 characters.", |word| word.chars().count() >= 9),
    ("At least one capital letter.", |word| word.chars().any(char::is_uppercase)),
    ("At least two digits.", |word| word.chars().filter(char::is_ascii_digit).count() >= 2),
    ("At least one of the signs ! ? # %.", |word| word.contains(['!', '?', '#', '%'])),
    ("It does not begin with a digit.", |word| !word.starts_with(|sign: char| sign.is_ascii_digit())),
    ("No character comes twice in a row.", |word| {
        word.chars().zip(word.chars().skip(1)).all(|(one, next)| one != next)
    }),
];

/// A password of a few parts at random.
fn password(draw: &mut Draw) -> String {
    const WORDS: [&str; 8] = ["maple", "otter", "tulip", "Basil", "comet", "apple", "Raven", "pearl"];
    let digits = draw.number(1..=989).to_string();
    let sign = draw.pick(&["", "!", "?", "#", "%", "%"]);
    let mut parts = vec![draw.pick(&WORDS).to_owned(), sign.to_owned(), digits];
    if draw.once_in(2) {
        parts.push(draw.pick(&["Ox", "ant", "Elk", "bee"]).to_owned());
    }
    draw.shuffled(&parts).concat()
}

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let rules = &RULES[..level.of([1, 3, 4, 6])];
    let count = level.of([2, 4, 6, 9]);
    let keeps = |word: &str| rules.iter().all(|(_, holds)| holds(word));
    let broken = |word: &str| rules.iter().filter(|(_, holds)| !holds(word)).count();
    let mut right = None;
    let mut wrong: Vec<String> = Vec::new();
    for _ in 0..20_000 {
        let word = password(draw);
        if keeps(&word) {
            right.get_or_insert(word);
        } else if wrong.len() + 1 < count && broken(&word) <= level.of([1, 2, 1, 1]) && !wrong.contains(&word) {
            wrong.push(word);
        } else if wrong.len() + 1 == count && right.is_some() {
            break;
        }
    }
    let right = right.unwrap_or_else(|| "Raven#1tulip2".to_owned());
    let mut passwords = wrong;
    passwords.push(right.clone());
    let words: Vec<&str> = rules.iter().map(|(words, _)| *words).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"passwords": draw.shuffled(&passwords), "rules": words}),
        solution: vec![
            fill("textbox", "New password", &right),
            fill("textbox", "New password again", &right),
            submit(),
        ],
        ..Task::new(
            "Choose a password",
            "Of the passwords in the list, enter the only one that keeps all rules of the page, twice, and submit.",
            Wanted::exactly(&json!({"password": right})),
        )
    }
}
