//! A conversation whose older messages load when its beginning is reached.

use serde_json::json;

use super::{boxed, wheel};
use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "history-up", about: "Finds a message in a conversation that loads upwards.", draw };

/// Messages that are loaded at once.
const BATCH: usize = 12;
const DAYS: [&str; 5] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
const CONTROLS: &str =
    r##"<label style="margin:0">Answer <input id="answer"></label><button id="send">Submit</button>"##;
const INNER: &str = r##"<p id="older" style="margin:8px" role="status">Older messages load when you come here.</p><div id="log" role="log" aria-label="Messages"></div>"##;
const SCRIPT: &str = r##"
const box = $("#box");
let from = data.messages.length;
let loading = false;
const load = () => {
  const next = Math.max(0, from - 12);
  const height = box.scrollHeight;
  $("#log").prepend(...data.messages.slice(next, from).map(([who, text]) => el("p", {}, el("b", {}, `${who}: `), text)));
  from = next;
  box.scrollTop += box.scrollHeight - height;
  loading = false;
  if (from === 0) $("#older").textContent = "This is where the conversation begins.";
};
load();
box.scrollTop = box.scrollHeight;
box.onscroll = () => { if (!loading && from > 0 && box.scrollTop < 30) { loading = true; setTimeout(load, 200); } };
$("#send").onclick = () => send({ answer: $("#answer").value });
"##;

fn draw(draw: &mut Draw) -> Task {
    let batches: usize = draw.level.of([2, 4, 6, 8]);
    let names = draw.names(5);
    let things = draw.things(24);
    let mut messages: Vec<(&str, &str, &str)> = Vec::new();
    for _ in 0..batches * BATCH {
        // Messages of others; the person who is asked for comes in below.
        messages.push((draw.pick(&names[1..]), draw.pick(&things), draw.pick(&DAYS)));
    }
    let who = names[0];
    let old = draw.place(BATCH);
    let (answer, words, loads) = match draw.level {
        Level::One | Level::Two => {
            messages[old].0 = who;
            (messages[old].1, format!("What does {who} bring"), batches - 1)
        }
        Level::Three => {
            let days = draw.some(4, &DAYS);
            for (step, day) in days.iter().enumerate() {
                let at = old + step * BATCH;
                messages[at] = (who, things[step], day);
            }
            (things[0], format!("What does {who} bring on {}", days[0]), batches - 1)
        }
        Level::Four => {
            let day = draw.pick(&DAYS);
            // The person says several times what to bring that day; the last word on it counts, and lies some way up.
            for (step, at) in [2, 3, 4, 5].into_iter().enumerate() {
                messages[old + at * BATCH] = (who, things[step], day);
            }
            let others: Vec<&str> = DAYS.into_iter().filter(|other| *other != day).collect();
            for at in [1, 6] {
                messages[old + at * BATCH] = (who, things[at + 4], draw.pick(&others));
            }
            let first = draw.once_in(2);
            let words = format!(
                "{who} says several times what {who} brings on {day}. What is it in the {} of these messages",
                if first { "oldest" } else { "newest" }
            );
            (things[if first { 0 } else { 3 }], words, batches - 1)
        }
    };
    let said: Vec<_> = messages
        .iter()
        .map(|(who, thing, day)| {
            let article = if thing.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            json!([who, format!("On {day} I bring {article} {thing}.")])
        })
        .collect();
    let mut solution: Vec<String> = (0..loads).map(|_| wheel(-9_000)).collect();
    solution.push(steps::fill("textbox", "Answer", answer));
    solution.push(steps::submit());
    let words = format!("{words}? Enter one word as the answer, the name of the thing, and submit.");
    Task {
        body: boxed("Conversation", CONTROLS, INNER),
        style: "#log p{margin:0;padding:8px 12px;border-top:1px solid var(--line)}",
        script: SCRIPT,
        data: json!({"messages": said}),
        solution,
        ..Task::new(
            "Conversation",
            format!("{words} Older messages load when you scroll up."),
            Wanted::field("answer", Wanted::Text(answer.to_owned())),
        )
    }
}
