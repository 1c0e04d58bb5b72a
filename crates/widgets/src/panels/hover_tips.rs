//! Things that tell about themselves only while the pointer or the focus rests on them.

use serde_json::json;

use crate::steps::{fill, select, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget, named};

pub(super) const WIDGET: Widget =
    Widget { name: "hover-tips", about: "Reads tips that show only while the pointer rests on a thing.", draw };

const BODY: &str = r##"<p class="soft">A tip comes when the pointer or the focus rests on a thing for a moment.</p><div class="row" id="things"></div>
<div id="place"><p id="tip" role="tooltip" hidden></p></div><div id="answers"></div><button id="send">Submit</button>"##;
const STYLE: &str = "#place{min-height:52px;padding-top:8px}#tip{display:inline-block;margin:0;padding:4px 10px;border-radius:6px;background:var(--ink);color:#fff}#tip[hidden]{display:none}";
const SCRIPT: &str = r##"
const tip = $("#tip");
let timer = 0;
const hide = () => { clearTimeout(timer); tip.hidden = true; tip.textContent = ""; };
const show = (text) => { hide(); timer = setTimeout(() => { tip.textContent = text; tip.hidden = false; }, 300); };
for (const [name, text] of data.things) {
  $("#things").append(el("button", { class: "plain", onmouseenter: () => show(text), onmouseleave: hide, onfocus: () => show(text), onblur: hide }, name));
}
const options = () => [el("option", { value: "" }, "Choose"), ...data.things.map(([name]) => el("option", {}, name))];
const controls = data.asked.map((label) => data.choose ? el("select", {}, ...options()) : el("input", { autocomplete: "off" }));
controls.forEach((control, at) => $("#answers").append(el("label", {}, `${data.asked[at]} `, control)));
$("#send").onclick = () => send({ answers: controls.map((control) => control.value.trim()) });
"##;

/// A thing: its name, price, weight and town.
type Thing = (String, i64, i64, &'static str);

/// The thing that is asked for by what tips tell, and the words for it.
fn told(draw: &mut Draw, things: &[Thing]) -> (String, String) {
    let by_price = |one: &&Thing| one.1;
    if draw.level < Level::Four {
        let dearest = draw.once_in(2);
        let found = if dearest { things.iter().max_by_key(by_price) } else { things.iter().min_by_key(by_price) };
        let words = if dearest { "dearest" } else { "cheapest" };
        return (found.map(|found| found.0.clone()).unwrap_or_default(), format!("the {words} thing"));
    }
    let town = things[0].3;
    let mut prices: Vec<i64> = things.iter().filter(|thing| thing.3 == town).map(|thing| thing.1).collect();
    prices.sort_unstable();
    // The dearest of the town is too dear.
    let most = prices[prices.len() - 1];
    let lightest = things.iter().filter(|thing| thing.3 == town && thing.1 < most).min_by_key(|thing| thing.2);
    let words = format!("the lightest thing from {town} that costs less than {most}");
    (lightest.map(|found| found.0.clone()).unwrap_or_default(), words)
}

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([4, 10, 7, 11]);
    let names = draw.goods(count);
    let (prices, weights, towns) = (draw.numbers(count, 12..=90), draw.numbers(count, 3..=60), draw.towns(3));
    // Every third one is from the same town.
    let things: Vec<Thing> =
        names.into_iter().enumerate().map(|(at, name)| (name, prices[at], weights[at], towns[at % 3])).collect();
    let codes: Vec<String> = draw.numbers(count, 1_000..=9_999).iter().map(|code| format!("T-{code}")).collect();
    let choose = draw.level >= Level::Three;
    let tip = |(at, (_, price, weight, town)): (usize, &Thing)| match draw.level {
        Level::One | Level::Two => format!("Code {}", codes[at]),
        Level::Three => format!("Costs {price}"),
        Level::Four => format!("Costs {price}, weighs {weight} kg, from {town}"),
    };
    let mut shown: Vec<[String; 2]> =
        things.iter().enumerate().map(|(at, thing)| [thing.0.clone(), tip((at, thing))]).collect();
    let (asked, answers, words) = if choose {
        let (answer, words) = told(draw, &things);
        (vec!["Thing".to_owned()], vec![answer], format!("Choose {words}"))
    } else {
        let asked = draw.level.of([1, 2, 0, 0]);
        let labels: Vec<String> = things[..asked].iter().map(|thing| format!("Code of the {}", thing.0)).collect();
        let words: Vec<String> = things[..asked].iter().map(|thing| format!("the code of the {}", thing.0)).collect();
        (labels, codes[..asked].to_vec(), format!("Enter {}", listed(&words)))
    };
    let looked_at = if choose { &shown[..] } else { &shown[..asked.len()] };
    let mut solution: Vec<String> =
        looked_at.iter().map(|[name, _]| format!("hover({})", named("button", name))).collect();
    for (label, answer) in asked.iter().zip(&answers) {
        solution.push(if choose { select(label, answer) } else { fill("textbox", label, answer) });
    }
    solution.push(submit());
    shown = draw.shuffled(&shown);
    let wanted = answers.iter().map(|answer| Wanted::Text(answer.clone())).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"things": shown, "asked": asked, "choose": choose}),
        solution,
        ..Task::new(
            "Tips",
            format!("{words}; the tips of the things tell. Then submit."),
            Wanted::field("answers", Wanted::List(wanted)),
        )
    }
}
