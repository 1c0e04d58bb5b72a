//! Slides of which one shows at a time, some of which are put in a basket.

use serde_json::json;

use crate::steps::{click, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "carousel", about: "Turns slides, which may turn by themselves, and takes the right ones.", draw };

const BODY: &str = r##"<section aria-roledescription="carousel" aria-label="Offers" class="card"><div id="slide" role="group" aria-roledescription="slide" aria-live="polite"></div>
<div class="row"><button class="plain" id="before">Previous offer</button><button class="plain" id="after">Next offer</button><button class="plain" id="pause" hidden>Pause</button></div></section>
<p>Basket: <output id="basket">empty</output></p><button id="send">Submit</button>"##;
const STYLE: &str = "#slide{min-height:180px;text-align:center;padding:24px}#slide h2{margin:0}";
const SCRIPT: &str = r##"
let at = 0, paused = !data.turns;
const basket = [];
const show = () => {
  const [name, price, stars] = data.offers[at];
  const on = basket.includes(name);
  $("#slide").setAttribute("aria-label", `${at + 1} of ${data.offers.length}`);
  $("#slide").replaceChildren(el("h2", {}, name), el("p", {}, `Price ${price}, ${stars} of 5 stars`), el("button", { onclick: () => { if (on) basket.splice(basket.indexOf(name), 1); else basket.push(name); show(); }, "aria-label": `${on ? "Put back" : "Take"} ${name}` }, on ? "Put back" : "Take"), el("p", { class: "soft" }, `${at + 1} of ${data.offers.length}`));
  $("#basket").textContent = basket.join(", ") || "empty";
};
const turn = (by) => { at = (at + by + data.offers.length) % data.offers.length; show(); };
$("#before").onclick = () => turn(-1);
$("#after").onclick = () => turn(1);
$("#pause").hidden = !data.turns;
$("#pause").onclick = () => { paused = !paused; $("#pause").textContent = paused ? "Go on" : "Pause"; };
if (data.turns) setInterval(() => { if (!paused) turn(1); }, 3000);
$("#send").onclick = () => send({ basket });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([4, 7, 9, 12]);
    let (goods, prices) = (draw.goods(count), draw.numbers(count, 5..=95));
    let mut offers: Vec<(String, i64, i64)> =
        (0..count).map(|at| (goods[at].clone(), prices[at], draw.number(1..=5))).collect();
    let (limit, stars) = (offers[count / 2].1.max(30), draw.number(3..=4));
    // One offer fits the rule of the last level in any case.
    offers[count / 2].1 = limit;
    offers[count / 2].2 = 5;
    let mut wanted: Vec<usize> = match draw.level {
        Level::One => vec![1],
        Level::Two => vec![2 + draw.place(4)],
        Level::Three => {
            let places: Vec<usize> = (1..count).collect();
            draw.some(3, &places)
        }
        Level::Four => (0..count).filter(|&at| offers[at].1 <= limit && offers[at].2 >= stars).collect(),
    };
    wanted.sort_unstable();
    let turns = draw.level > Level::Two;
    let mut solution = if turns { vec![click("button", "Pause")] } else { vec![] };
    let mut at = 0;
    for &place in &wanted {
        solution.extend(vec![click("button", "Next offer"); place - at]);
        at = place;
        solution.push(click("button", &format!("Take {}", offers[place].0)));
    }
    solution.push(submit());
    let names: Vec<&str> = wanted.iter().map(|&at| offers[at].0.as_str()).collect();
    let words = match draw.level {
        Level::Four => {
            format!("Take every offer that costs at most {limit} and has at least {stars} stars, and no other")
        }
        _ => format!("Take {}, and nothing else", listed(&draw.shuffled(&names))),
    };
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"offers": offers, "turns": turns}),
        solution,
        ..Task::new("Offers", format!("{words}. Then submit."), Wanted::in_any_order("basket", &names))
    }
}
