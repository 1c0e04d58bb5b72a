//! A search form with options, some of which are hidden at first.

use serde_json::{Value, json};

use crate::steps::{check, click, fill, select, set};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "search-options", about: "Sets the options of a search.", draw };

const BODY: &str = r##"<form id="form"><div class="row"><label>Search for <input type="search" id="query" autocomplete="off"></label><button type="submit">Search</button></div>
<label>Section <select id="section"><option>Everything</option><option>Books</option><option>Used books</option><option>Tools</option><option>Garden tools</option><option>Toys</option></select></label>
<button type="button" class="plain" id="more" aria-expanded="false" aria-controls="options">More options</button>
<div id="options" class="card" hidden><div class="row"><label>Lowest price <input type="number" id="low" min="0"></label><label>Highest price <input type="number" id="high" min="0"></label></div>
<fieldset><legend>Words</legend><label><input type="radio" name="match" value="any" checked> Any of the words</label><label><input type="radio" name="match" value="all"> All of the words</label><label><input type="radio" name="match" value="phrase"> The words as they stand</label></fieldset>
<label>Without the word <input id="without" autocomplete="off"></label><label><input type="checkbox" id="stock"> In stock only</label><label><input type="checkbox" id="pictures" checked> With pictures only</label>
<label>Order <select id="order"><option>Best match</option><option>Lowest price first</option><option>Highest price first</option><option>Newest first</option></select></label></div></form>"##;
const STYLE: &str = "fieldset{border:1px solid var(--line);border-radius:8px}input[type=number]{width:7em}";
const SCRIPT: &str = r##"
$("#more").onclick = () => { const open = $("#options").hidden; $("#options").hidden = !open; $("#more").setAttribute("aria-expanded", String(open)); };
const number = (id) => $(id).value === "" ? "any" : Number($(id).value);
$("#form").onsubmit = (event) => {
  event.preventDefault();
  send({ query: $("#query").value.trim(), section: $("#section").value, low: number("#low"), high: number("#high"), match: $("input[name=match]:checked").value, without: $("#without").value.trim(), stock: $("#stock").checked, pictures: $("#pictures").checked, order: $("#order").value });
};
"##;
const SECTIONS: [&str; 5] = ["Books", "Used books", "Tools", "Garden tools", "Toys"];

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let things = draw.things(3);
    let query = if level == Level::One { things[0].to_owned() } else { format!("{} {}", things[0], things[1]) };
    let mut state = json!({"query": query, "section": "Everything", "low": "any", "high": "any", "match": "any", "without": "", "stock": false, "pictures": true, "order": "Best match"});
    let mut solution = vec![fill("searchbox", "Search for", &query)];
    let mut words = vec![format!("Search for \"{query}\"")];
    if level >= Level::Two {
        let section = draw.pick(&SECTIONS);
        words.push(format!("in the section {section}"));
        solution.push(select("Section", section));
        state["section"] = json!(section);
    }
    let (low, width) = (draw.number(5..=40), draw.number(20..=80));
    if level >= Level::Three {
        solution.push(click("button", "More options"));
        solution.push(fill("spinbutton", "Lowest price", &low.to_string()));
        solution.push(fill("spinbutton", "Highest price", &(low + width).to_string()));
        (state["low"], state["high"]) = (json!(low), json!(low + width));
        solution.push(check("checkbox", "In stock only"));
        state["stock"] = json!(true);
    }
    if level == Level::Three {
        words.push(format!("at prices from {low} to {}, only what is in stock", low + width));
    }
    if level == Level::Four {
        words.push(format!("at prices from {low} up to at most {width} more than that, only what is in stock"));
        let (value, label, told) = draw.pick(&[
            ("all", "All of the words", "where every word of the search comes up, in whatever order"),
            ("phrase", "The words as they stand", "where the words come one right after the other, as you typed them"),
        ]);
        let (order, first) = draw.pick(&[
            ("Lowest price first", "the cheapest on top"),
            ("Highest price first", "the dearest on top"),
            ("Newest first", "what came in last on top"),
        ]);
        solution.extend([check("radio", label), fill("textbox", "Without the word", things[2])]);
        solution.extend([set("With pictures only", false), select("Order", order)]);
        (state["match"], state["without"]) = (json!(value), json!(things[2]));
        (state["pictures"], state["order"]) = (Value::Bool(false), json!(order));
        words.push(format!("{told}, never where {} comes up, with pictures or without, and with {first}", things[2]));
    }
    solution.push(click("button", "Search"));
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        solution,
        ..Task::new(
            "Search",
            format!("{}. Leave all other options as they are.", words.join(", ")),
            Wanted::exactly(&state),
        )
    }
}
