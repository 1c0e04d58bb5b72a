//! Sections of which one is open at a time, with a setting in each.

use serde_json::{Value, json};

use crate::steps::{click, select, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "accordion", about: "Opens sections one after the other and makes a setting in each.", draw };

const BODY: &str = r##"<div id="sections"></div><p><button id="send">Submit</button></p>"##;
const STYLE: &str = "#sections h2{margin:0;font-size:1rem}#sections h2 button{width:100%;text-align:left;border-radius:0;border-color:var(--line)}#sections [role=region]{padding:8px 14px;border:1px solid var(--line);border-top:0}";
const SCRIPT: &str = r##"
const sections = data.sections.map(({ name, about, settings }, at) => {
  const button = el("button", { class: "plain", id: `head${at}`, "aria-expanded": "false", "aria-controls": `part${at}` }, name);
  const inside = el("div", { role: "region", id: `part${at}`, "aria-labelledby": `head${at}`, hidden: true }, el("p", { class: "soft" }, about),
    ...settings.map(([label, options, value]) => el("label", {}, `${label} `, el("select", { "data-name": label }, ...options.map((option) => el("option", { selected: option === value }, option))))));
  button.onclick = () => {
    const open = inside.hidden;
    for (const other of sections) { other.inside.hidden = true; other.button.setAttribute("aria-expanded", "false"); }
    inside.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  $("#sections").append(el("h2", {}, button), inside);
  return { button, inside };
});
$("#send").onclick = () => send({ settings: Object.fromEntries($$("select").map((input) => [input.dataset.name, input.value])) });
"##;

/// A section: its name, words about it, settings with their options.
type Section = (&'static str, &'static str, [Setting; 2]);
/// A setting and its options.
type Setting = (&'static str, [&'static str; 4]);

const SECTIONS: [Section; 6] = [
    (
        "Display",
        "How pages look.",
        [("Theme", ["Light", "Dark", "Sepia", "Contrast"]), ("Text size", ["Small", "Normal", "Large", "Huge"])],
    ),
    (
        "Language",
        "Words and numbers.",
        [
            ("Spelling", ["British", "American", "Canadian", "Off"]),
            ("Week starts on", ["Monday", "Saturday", "Sunday", "Today"]),
        ],
    ),
    (
        "Notices",
        "What is told, and when.",
        [("Mail", ["Never", "Daily", "Weekly", "At once"]), ("Sound", ["None", "Bell", "Chime", "Knock"])],
    ),
    (
        "Backup",
        "Copies of your work.",
        [("Copies kept", ["One", "Three", "Seven", "Thirty"]), ("Copy to", ["Disk", "Server", "Tape", "Nowhere"])],
    ),
    (
        "Printing",
        "Paper and ink.",
        [("Paper", ["A3", "A4", "A5", "Letter"]), ("Colour", ["Full", "Grey", "Black", "Draft"])],
    ),
    (
        "Privacy",
        "Who sees what.",
        [
            ("Profile", ["Public", "Friends", "Team", "Hidden"]),
            ("Searches kept", ["A day", "A week", "A month", "For ever"]),
        ],
    ),
];

fn draw(draw: &mut Draw) -> Task {
    let sections = draw.some(draw.level.of([3, 4, 6, 6]), &SECTIONS);
    let start: Vec<[&str; 2]> =
        sections.iter().map(|(_, _, settings)| [draw.pick(&settings[0].1), draw.pick(&settings[1].1)]).collect();
    let mut after = start.clone();
    let places: Vec<usize> = (0..sections.len()).collect();
    let chosen = draw.some(draw.level.of([1, 2, 3, 4]), &places);
    let (mut solution, mut words) = (Vec::new(), Vec::new());
    for &at in &chosen {
        let (name, _, settings) = &sections[at];
        let both = draw.level > Level::Two;
        let which = draw.place(2);
        solution.push(click("button", name));
        for place in [which, 1 - which].into_iter().take(if both { 2 } else { 1 }) {
            let (label, options) = settings[place];
            let others: Vec<&str> = options.iter().copied().filter(|option| *option != start[at][place]).collect();
            let option = draw.pick(&others);
            after[at][place] = option;
            solution.push(select(label, option));
            // At the last level some settings have to be worked out from what is set.
            words.push(if draw.level == Level::Four && place == which {
                let rest: Vec<&str> = others.iter().copied().filter(|one| *one != option).collect();
                let (now, other) = (start[at][place], draw.pick(&rest));
                match draw.once_in(2) {
                    true => format!("{label} to {option} if it is now set to {now}, and otherwise to {other}"),
                    false => format!("{label} to {now} if it is now set to {other}, and otherwise to {option}"),
                }
            } else {
                format!("{label} to {option}")
            });
        }
    }
    solution.push(submit());
    let settings: serde_json::Map<String, Value> = sections
        .iter()
        .zip(&after)
        .flat_map(|((_, _, settings), values)| {
            [(settings[0].0.to_owned(), json!(values[0])), (settings[1].0.to_owned(), json!(values[1]))]
        })
        .collect();
    let sections: Vec<Value> = sections
        .iter()
        .zip(&start)
        .map(|((name, about, settings), values)| {
            let settings: Vec<_> =
                settings.iter().zip(values).map(|((label, options), value)| json!([label, options, value])).collect();
            json!({"name": name, "about": about, "settings": settings})
        })
        .collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"sections": sections}),
        solution,
        ..Task::new(
            "Settings",
            format!("Set {}. Leave all other settings as they are, and submit.", listed(&words)),
            Wanted::exactly(&json!({"settings": settings})),
        )
    }
}
