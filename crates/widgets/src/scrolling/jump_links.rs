//! A long page with a table of contents, whose sections hold words and point to each other.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "jump-links", about: "Follows links within a long page to the words of its sections.", draw };

const BODY: &str = r##"<nav id="top" aria-label="Contents"><h2>Contents</h2><ol id="contents"></ol></nav><div id="sections"></div>
<section id="entry" aria-label="Entry"><h2>Entry</h2><div id="fields"></div><button id="send">Submit</button></section>"##;
const STYLE: &str = "h2{font-size:1.1rem;margin:12px 0 4px}#contents{columns:3;margin:0}#sections section{min-height:420px;border-top:1px solid var(--line)}";
const SCRIPT: &str = r##"
const link = (to, text) => el("a", { href: `#${to}` }, text);
data.sections.forEach(({ title, word, see }, at) => {
  $("#contents").append(el("li", {}, link(`s${at}`, title)));
  const next = see === null ? null : el("p", {}, "The word of this section has moved: see ", link(`s${see}`, data.sections[see].title), ".");
  $("#sections").append(el("section", { id: `s${at}`, tabindex: "-1", "aria-label": title }, el("h2", {}, title), el("p", {}, data.filler),
    next ?? el("p", {}, `The word of this section is ${word}.`), el("p", {}, link("top", "Back to the contents"))));
});
$("#contents").append(el("li", {}, link("entry", "Entry")));
$("#fields").append(...data.fields.map((label) => el("label", {}, `${label} `, el("input"))));
$("#send").onclick = () => send({ words: $$("input").map((input) => input.value.trim()) });
"##;

/// Titles in which many are alike.
fn titles(draw: &mut Draw, count: usize) -> Vec<String> {
    let (parts, kinds) =
        (["North", "South", "East", "West", "Upper", "Lower"], ["Gate", "Hall", "Yard", "Tower", "Wing"]);
    let all: Vec<String> =
        parts.iter().flat_map(|part| kinds.iter().map(move |kind| format!("{part} {kind}"))).collect();
    draw.some(count, &all)
}

fn draw(draw: &mut Draw) -> Task {
    let count: usize = draw.level.of([4, 8, 12, 20]);
    let titles = titles(draw, count);
    let words = draw.things(count.min(24));
    let mut see: Vec<Option<usize>> = vec![None; count];
    let order = draw.shuffled(&(0..count).collect::<Vec<_>>());
    // Chains of sections that point on: places in the order where each begins, and its length.
    let chains: Vec<(usize, usize)> = match draw.level {
        Level::One => vec![(0, 0)],
        Level::Two => vec![(0, 0), (1, 0)],
        Level::Three => vec![(0, 2), (3, 1)],
        Level::Four => vec![(0, 4), (5, 3), (9, 5)],
    };
    let (mut asked, mut found, mut solution) = (Vec::new(), Vec::new(), Vec::new());
    for (from, length) in &chains {
        solution.push(steps::click_nth("link", &titles[order[*from]], 0));
        for at in *from..from + length {
            see[order[at]] = Some(order[at + 1]);
        }
        asked.push(format!("Word of {}", titles[order[*from]]));
        found.push(words[order[from + length]]);
    }
    solution.extend(asked.iter().zip(&found).map(|(label, word)| steps::fill("textbox", label, word)));
    solution.push(steps::submit());
    let listed: Vec<_> = (0..count)
        .map(|at| json!({"title": titles[at], "word": see[at].is_none().then_some(words[at]), "see": see[at]}))
        .collect();
    let names: Vec<&str> = chains.iter().map(|(from, _)| titles[order[*from]].as_str()).collect();
    let moved =
        if draw.level >= Level::Three { " (a word that has moved is in the section that is named there)" } else { "" };
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({
            "sections": listed,
            "fields": asked,
            "filler": "Every part of the house has a word that opens its doors. It is told to those who ask for it.",
        }),
        solution,
        ..Task::new(
            "A long page",
            format!(
                "Enter the word of each of these sections at the end of the page{moved}: {}. Then submit.",
                names.join(", ")
            ),
            Wanted::field("words", Wanted::List(found.iter().map(|word| Wanted::Text((*word).to_owned())).collect())),
        )
    }
}
