//! A gallery that is scrolled sideways; its cards fill when they come into sight.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "gallery", about: "Picks a card of a gallery that is scrolled sideways.", draw };

const COLOURS: [&str; 4] = ["red", "blue", "green", "black"];
const BODY: &str = r##"<div class="row"><button class="plain" id="back">Previous</button><button class="plain" id="on">Next</button><span id="place" role="status"></span></div>
<ul id="cards" tabindex="0" aria-label="Cards"></ul><p>Picked: <output id="picked">nothing</output></p><button id="send">Submit</button>"##;
const STYLE: &str = "#cards{position:relative;display:flex;gap:8px;overflow-x:auto;list-style:none;margin:8px 0;padding:4px}#cards li{flex:0 0 232px;height:170px;border:1px solid var(--line);border-radius:8px;padding:12px;background:var(--fill)}#cards p{margin:0 0 8px}";
const SCRIPT: &str = r##"
let picked = null;
const cards = $("#cards");
const pick = (name) => () => { picked = name; $("#picked").textContent = name; };
const items = data.cards.map(() => el("li", {}, "…"));
cards.append(...items);
const fill = () => {
  const from = Math.round(cards.scrollLeft / 240);
  items.forEach((item, at) => {
    if (item.dataset.full || at < from || at > from + 2) return;
    const { name, colour, price } = data.cards[at];
    item.dataset.full = "yes";
    item.replaceChildren(el("p", {}, el("b", {}, name)), el("p", {}, `Colour: ${colour}`), el("p", {}, `Price: ${price} francs`),
      el("button", { "aria-label": `Pick the ${colour} ${name}`, onclick: pick(`${colour} ${name}`) }, "Pick"));
  });
  $("#place").textContent = `Cards ${from + 1} to ${Math.min(from + 3, items.length)} of ${items.length}`;
  $("#back").disabled = from === 0;
  $("#on").disabled = from + 3 >= items.length;
};
cards.onscroll = fill;
$("#on").onclick = () => { cards.scrollLeft += 720; fill(); };
$("#back").onclick = () => { cards.scrollLeft -= 720; fill(); };
$("#send").onclick = () => send({ picked });
fill();
"##;

fn draw(draw: &mut Draw) -> Task {
    let count: usize = draw.level.of([6, 12, 18, 27]);
    let things = draw.things(24);
    let looks: Vec<(&str, &str)> =
        things.iter().flat_map(|thing| COLOURS.iter().map(move |colour| (*thing, *colour))).collect();
    let mut cards = draw.some(count, &looks);
    let prices = draw.some(count, &(10..=99).collect::<Vec<i64>>());
    let (at, words) = match draw.level {
        Level::One | Level::Two => {
            let at = count - 1 - draw.place(3);
            (at, format!("Pick the {} {}", cards[at].1, cards[at].0))
        }
        Level::Three => {
            let at = (0..count).min_by_key(|at| prices[*at]).unwrap_or_default();
            (at, "Pick the cheapest of all cards".to_owned())
        }
        Level::Four => {
            let colour = draw.pick(&COLOURS);
            // Some are sure to be there in the colour, whatever else was drawn.
            for thing in things.iter().take(3) {
                if !cards.contains(&(*thing, colour)) {
                    let place = draw.place(count);
                    cards[place] = (*thing, colour);
                }
            }
            let limit = draw.number(40..=70);
            let coloured: Vec<usize> = (0..count).filter(|at| cards[*at].1 == colour).collect();
            let under = coloured.iter().filter(|at| prices[**at] <= limit).max_by_key(|at| prices[**at]);
            match under {
                Some(at) => (*at, format!("Pick the dearest of the {colour} cards that cost at most {limit} francs")),
                None => {
                    let cheapest = coloured.iter().min_by_key(|at| prices[**at]);
                    (cheapest.copied().unwrap_or_default(), format!("Pick the cheapest of the {colour} cards"))
                }
            }
        }
    };
    let mut solution: Vec<String> = (0..at / 3).map(|_| steps::click("button", "Next")).collect();
    solution.push(steps::click("button", &format!("Pick the {} {}", cards[at].1, cards[at].0)));
    solution.push(steps::submit());
    let listed: Vec<_> = cards
        .iter()
        .zip(&prices)
        .map(|((name, colour), price)| json!({"name": name, "colour": colour, "price": price}))
        .collect();
    let wanted = json!(format!("{} {}", cards[at].1, cards[at].0));
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"cards": listed}),
        solution,
        ..Task::new(
            "Gallery",
            format!("{words}, and submit. The cards fill when they come into sight."),
            Wanted::field("picked", Wanted::Is(wanted)),
        )
    }
}
