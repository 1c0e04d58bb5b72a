//! A form of registration that tells what is wrong with an entry.

use serde_json::{Map, Value, json};

use crate::steps::{check, fill, select, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "registration", about: "Registers somebody, with entries that are checked.", draw };

const BODY: &str = r##"<form id="form" novalidate></form>"##;
const STYLE: &str = "#form input:not([type=checkbox]),#form select{display:block;width:280px}.wrong{color:#a3231f;margin:2px 0;min-height:1.5em}[aria-invalid=true]{border-color:#a3231f}";
const SCRIPT: &str = r##"
const kinds = {
  Name: ["text", (value) => value.trim().includes(" ") ? "" : "Type the first name and the surname."],
  "E-mail": ["email", (value) => /^[^@\s]+@[^@\s]+\.[a-z]+$/.test(value) ? "" : "Type an address such as ada@example.test."],
  "User name": ["text", (value) => !/^[a-z0-9]{4,12}$/.test(value) ? "Use 4 to 12 small letters and digits." : data.taken.includes(value) ? "This user name is taken." : ""],
  Password: ["password", (value) => value.length < 8 ? "Use eight characters or more." : /\d/.test(value) ? "" : "Use a digit too."],
  "Password again": ["password", (value) => value === fields.get("Password")?.value ? "" : "The passwords differ."],
  Telephone: ["tel", (value) => /^\+\d{2} \d{3} \d{4}$/.test(value) ? "" : "Type it as +00 000 0000."],
  "Year of birth": ["number", (value) => value >= 1920 && value <= 2015 ? "" : "Type a year from 1920 to 2015."],
};
const fields = new Map();
const row = (name, input, check) => {
  const id = `wrong-${fields.size}`;
  const wrong = el("p", { class: "wrong", id });
  input.setAttribute("aria-describedby", id);
  fields.set(name, input);
  input.check = () => { const told = check(input.type === "checkbox" ? input.checked : input.value); wrong.textContent = told; input.setAttribute("aria-invalid", String(told !== "")); return told === ""; };
  input.addEventListener("change", () => input.check());
  $("#form").append(input.type === "checkbox" ? el("label", {}, input, " ", name) : el("label", {}, name, input), wrong);
};
for (const name of data.fields) {
  if (kinds[name]) { row(name, el("input", { type: kinds[name][0], autocomplete: "off" }), kinds[name][1]); continue; }
  if (name === "Membership") row(name, el("select", {}, el("option", { value: "" }, "Choose"), ...data.memberships.map((word) => el("option", {}, word))), (value) => value ? "" : "Choose one.");
  else row(name, el("input", { type: "checkbox" }), (on) => on || !name.startsWith("I accept") ? "" : "This is needed.");
}
$("#form").append(el("button", { type: "submit" }, "Submit"));
$("#form").onsubmit = (event) => {
  event.preventDefault();
  const wrong = [...fields.values()].filter((input) => !input.check());
  if (wrong.length) { wrong[0].focus(); return; }
  send(Object.fromEntries([...fields].map(([name, input]) => [name, input.type === "checkbox" ? input.checked : input.value])));
};
"##;
const MEMBERSHIPS: [&str; 4] = ["Single", "Single, reduced", "Family", "Family, reduced"];

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let first = draw.names(1)[0];
    let surname = draw.pick(&["Ashby", "Brook", "Clifton", "Dale", "Eastwood", "Frost"]);
    let user = format!("{}{}", first.to_lowercase(), draw.number(10..=49));
    let mail = format!("{}.{}@example.test", first.to_lowercase(), surname.to_lowercase());
    let password = format!("{}-{}", draw.things(2).join("-"), draw.number(10..=99));
    let telephone = format!("+{} {} {}", draw.number(30..=49), draw.number(200..=899), draw.number(1_000..=9_999));
    let year = draw.number(1950..=2010).to_string();
    let membership = draw.pick(&MEMBERSHIPS);
    let mut taken = Vec::new();
    let mut entered = vec![("Name", format!("{first} {surname}")), ("E-mail", mail)];
    if level >= Level::Two {
        entered.extend([("Password", password.clone()), ("Password again", password)]);
    }
    if level >= Level::Three {
        entered.extend([("Telephone", telephone), ("Year of birth", year), ("Membership", membership.to_owned())]);
    }
    let mut words: Vec<String> = entered
        .iter()
        .filter(|(name, _)| *name != "Password again")
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let mut solution = Vec::new();
    if level == Level::Four {
        // The page tells which are taken only when one is tried.
        let letters = ["", "a", "b", "c", "d"];
        let free = draw.place(3) + 1;
        taken = letters[..free].iter().map(|letter| format!("{user}{letter}")).collect();
        words.push(format!(
            "User name: {user}, or, where that is taken, the first that is free of {user}a, {user}b, {user}c, {user}d"
        ));
        solution.push(fill("textbox", "User name", &user));
        entered.push(("User name", format!("{user}{}", letters[free])));
    }
    for (name, value) in &entered {
        let role = if *name == "Year of birth" { "spinbutton" } else { "textbox" };
        let choose = *name == "Membership";
        solution.push(if choose { select(name, value) } else { fill(role, name, value) });
    }
    let mut fields: Vec<&str> = entered.iter().map(|(name, _)| *name).collect();
    let mut state: Map<String, Value> =
        entered.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let boxes: &[(&str, bool)] = match level {
        Level::One => &[],
        Level::Two => &[("I accept the rules", true)],
        Level::Three | Level::Four => {
            &[("Send me news", false), ("I accept the rules", true), ("I accept the fees", true)]
        }
    };
    for (name, on) in boxes {
        fields.push(name);
        state.insert((*name).to_owned(), json!(on));
        if *on {
            solution.push(check("checkbox", name));
        }
    }
    solution.push(submit());
    let accept = match level {
        Level::One => "",
        Level::Two => " Accept the rules.",
        Level::Three | Level::Four => " Accept all that has to be accepted, but order no news.",
    };
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"fields": fields, "taken": taken, "memberships": MEMBERSHIPS}),
        solution,
        ..Task::new(
            "Register",
            format!("Register with these entries, and submit. {}.{accept}", words.join("; ")),
            Wanted::exactly(&Value::Object(state)),
        )
    }
}
