//! Conversations with several persons.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget = Widget { name: "chat", about: "Writes messages to the right persons.", draw };

const BODY: &str = r##"<div id="chat"><nav aria-label="Persons" id="persons"></nav><section aria-labelledby="who"><h2 id="who"></h2><div id="log" role="log" aria-label="Messages"></div>
<form id="form" class="row"><input id="text" aria-label="Message" autocomplete="off"><button>Send</button></form></section></div><button id="send">Submit</button>"##;
const STYLE: &str = "#chat{display:grid;grid-template-columns:160px 1fr;gap:12px;margin-bottom:12px}#persons{display:grid;gap:4px;align-content:start}#log{height:300px;overflow:auto;border:1px solid var(--line);border-radius:8px;padding:8px}#log p{margin:0 0 8px}#log button{padding:0 8px;margin-left:8px}#text{flex:1}h2{font-size:1rem;margin:0 0 4px}#form{margin-top:8px}";
const SCRIPT: &str = r##"
let open = data.persons[0].name;
const sent = [];
const liked = new Set();
const show = () => {
  $("#who").textContent = open;
  $("#persons").replaceChildren(...data.persons.map(({ name }) => el("button", { class: "plain", "aria-pressed": String(name === open), onclick: () => { open = name; show(); } }, name)));
  const theirs = data.persons.find(({ name }) => name === open).messages.map((text) => {
    const id = `${open}: ${text}`;
    return el("p", {}, el("b", {}, `${open}: `), text, el("button", { class: "plain", "aria-label": `Like "${text}"`, "aria-pressed": String(liked.has(id)), onclick: () => { if (liked.has(id)) liked.delete(id); else liked.add(id); show(); } }, liked.has(id) ? "Liked" : "Like"));
  });
  const ours = sent.filter(([to]) => to === open).map(([, text]) => el("p", {}, el("b", {}, "You: "), text));
  $("#log").replaceChildren(...theirs, ...ours);
  $("#log").scrollTop = $("#log").scrollHeight;
};
$("#form").onsubmit = (event) => {
  event.preventDefault();
  const text = $("#text").value.trim();
  if (!text) return;
  sent.push([open, text]);
  $("#text").value = "";
  show();
};
$("#send").onclick = () => send({ sent, liked: [...liked] });
show();
"##;

struct Person {
    name: &'static str,
    messages: Vec<String>,
}

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([3, 4, 5, 7]);
    let things = draw.things(12);
    let day = |draw: &mut Draw| draw.pick(&["Monday", "Tuesday", "Thursday", "Saturday"]);
    let mut persons: Vec<Person> = Vec::new();
    for (at, name) in draw.names(count).into_iter().enumerate() {
        let messages =
            vec![format!("Hello! I am back on {}.", day(draw)), format!("I still have your {}.", things[at])];
        persons.push(Person { name, messages });
    }
    let order = draw.shuffled(&(1..count).collect::<Vec<_>>());
    let (first, second) = (order[0], order[1]);
    let (names, hour): (Vec<&str>, _) = (persons.iter().map(|person| person.name).collect(), draw.number(8..=19));
    let text = format!("See you at {hour} by the {}", things[10]);
    let mut liked = Vec::new();
    let (sent, words): (Vec<(usize, String)>, String) = match draw.level {
        Level::One => (vec![(first, text.clone())], format!("Write to {}: {text}", names[first])),
        Level::Two => {
            let other = format!("Please bring the {}", things[11]);
            let words = format!("Write to {}: {text}. Then write to {}: {other}", names[first], names[second]);
            (vec![(first, text), (second, other)], words)
        }
        Level::Three => {
            let asks = format!("Which day do you come, and do you bring the {}?", things[11]);
            persons[first].messages.push(asks.clone());
            persons[second].messages.push(format!("I can bring the {} myself.", things[11]));
            liked.push((first, asks));
            let answer = format!("On {}, without the {}", day(draw), things[11]);
            let words = format!(
                "One of the persons asks for the {}: like this message, and write to that person: {answer}",
                things[11]
            );
            (vec![(first, answer)], words)
        }
        Level::Four => {
            let (old, new) = (draw.number(20_000..=49_999), draw.number(50_000..=99_999));
            persons[first].messages.push(format!("My number is {old}."));
            persons[first].messages.push(format!("I have a new number now, {new}."));
            persons[second].messages.push(format!("My number is {}.", old + 7));
            let asks = format!("Do you know the number of {}?", names[first]);
            persons[order[2]].messages.push(asks.clone());
            persons[order[3]].messages.push(format!("Do you know the number of {}?", names[second]));
            liked.push((order[2], asks));
            let words = format!(
                "One person asks for the number of {}, another for that of {}. Like the message of each of the two, and write \
                 to each of them the number that is asked for as it is now, the digits alone; first to the one who asks for \
                 that of {}",
                names[first], names[second], names[first]
            );
            liked.push((order[3], format!("Do you know the number of {}?", names[second])));
            (vec![(order[2], new.to_string()), (order[3], (old + 7).to_string())], words)
        }
    };
    let mut solution = Vec::new();
    for (to, text) in &sent {
        solution.push(steps::click("button", names[*to]));
        let likes = liked.iter().filter(|(who, _)| who == to);
        solution.extend(likes.map(|(_, text)| steps::click("button", &format!("Like \"{text}\""))));
        solution.push(steps::fill("textbox", "Message", text));
        solution.push(steps::press("textbox", "Message", "Enter"));
    }
    solution.push(steps::submit());
    let listed: Vec<_> =
        persons.iter().map(|person| json!({"name": person.name, "messages": person.messages})).collect();
    let messages =
        sent.iter().map(|(to, text)| Wanted::List(vec![Wanted::Is(json!(names[*to])), Wanted::Text(text.clone())]));
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"persons": listed}),
        solution,
        ..Task::new(
            "Chat",
            format!("{words}. Then submit."),
            Wanted::Fields(vec![
                ("sent".to_owned(), Wanted::List(messages.collect())),
                (
                    "liked".to_owned(),
                    Wanted::Set(liked.iter().map(|(who, text)| json!(format!("{}: {text}", names[*who]))).collect()),
                ),
            ]),
        )
    }
}
