//! Groups of radio buttons.

use serde_json::{Map, Value, json};

use crate::steps::{check, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "radio-groups", about: "Chooses one option in each group.", draw };

const BODY: &str = r##"<div id="groups"></div><p id="sum" class="soft"></p><button id="send">Submit</button>"##;
const STYLE: &str = "fieldset{border:1px solid var(--line);border-radius:8px;margin:6px 0}fieldset label{display:inline-block;margin:2px 14px 2px 0}";
const SCRIPT: &str = r##"
for (const { name, options } of data.groups) {
  $("#groups").append(el("fieldset", { role: "radiogroup", "aria-label": name }, el("legend", {}, name), ...options.map(({ label, note, on }) => el("label", {}, el("input", { type: "radio", name, value: label, checked: on, "aria-label": `${name}: ${label}${note ? `, ${note}` : ""}` }), ` ${label}`, note ? el("span", { class: "soft" }, ` (${note})`) : null))));
}
$("#send").onclick = () => send(Object.fromEntries(data.groups.map(({ name }) => [name, $(`input[name="${name}"]:checked`)?.value ?? null])));
"##;
const GROUPS: [(&str, [&str; 5]); 6] = [
    ("Size", ["Small", "Smaller", "Medium", "Large", "Larger"]),
    ("Delivery", ["Post", "Express post", "Courier", "Night courier", "Collection"]),
    ("Wrapping", ["Paper", "Brown paper", "Box", "Wooden box", "None"]),
    ("Payment", ["Card", "Gift card", "Transfer", "Cash", "Invoice"]),
    ("Colour", ["Blue", "Light blue", "Green", "Light green", "Grey"]),
    ("Insurance", ["Basic", "Basic plus", "Full", "Full plus", "Without"]),
];

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let groups = draw.some(level.of([1, 2, 4, 5]), &GROUPS);
    let (mut shown, mut words, mut state, mut solution) = (Vec::new(), Vec::new(), Map::new(), Vec::new());
    for (name, options) in groups {
        let options = draw.some(level.of([3, 4, 5, 5]), &options);
        let prices: Vec<i64> = draw.some(options.len(), &(2..30).collect::<Vec<i64>>());
        let mut by_price: Vec<usize> = (0..options.len()).collect();
        by_price.sort_by_key(|at| prices[*at]);
        let (at, told) = if level == Level::Four {
            match draw.number(0..=3) {
                0 => (by_price[0], "the cheapest".to_owned()),
                1 => (by_price[options.len() - 1], "the dearest".to_owned()),
                2 => (by_price[1], "the second cheapest".to_owned()),
                _ => {
                    let place = draw.place(options.len() - 1) + 1;
                    let most = prices[by_price[place]] - 1;
                    (by_price[place - 1], format!("the dearest that costs at most {most}"))
                }
            }
        } else {
            let at = draw.place(options.len());
            (at, options[at].to_owned())
        };
        // Another option is on at first.
        let on = (level >= Level::Three).then(|| (at + 1 + draw.place(options.len() - 1)) % options.len());
        let note = |at: usize| (level == Level::Four).then(|| format!("costs {}", prices[at]));
        let listed: Vec<Value> = options
            .iter()
            .enumerate()
            .map(|(place, label)| json!({"label": label, "note": note(place), "on": on == Some(place)}))
            .collect();
        let more = note(at).map_or_else(String::new, |note| format!(", {note}"));
        solution.push(check("radio", &format!("{name}: {}{more}", options[at])));
        words.push(format!("{name}: {told}"));
        state.insert(name.to_owned(), json!(options[at]));
        shown.push(json!({"name": name, "options": listed}));
    }
    solution.push(submit());
    let shown = draw.shuffled(&shown);
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"groups": shown}),
        solution,
        ..Task::new(
            "Choose options",
            format!("Choose in each group and submit. {}.", words.join("; ")),
            Wanted::exactly(&Value::Object(state)),
        )
    }
}
