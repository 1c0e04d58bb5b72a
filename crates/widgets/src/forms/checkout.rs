//! The last page of a shop: numbers of pieces, delivery, coupon.

use serde_json::{Map, Value, json};

use crate::steps::{check, click, fill, presses, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "checkout", about: "Settles an order: pieces, delivery and coupon.", draw };

const BODY: &str = r##"<table><thead><tr><th>Thing</th><th>Price</th><th>Pieces</th><th>Sum</th></tr></thead><tbody id="things"></tbody></table>
<fieldset id="ways"><legend>Delivery</legend></fieldset><div class="row"><label>Coupon <input id="coupon" autocomplete="off"></label><button class="plain" id="apply">Apply</button><span id="told" role="status"></span></div>
<label><input type="checkbox" id="gift"> Gift wrapping (4)</label><p>Total: <output id="total"></output></p><button id="send">Submit</button>"##;
const STYLE: &str = "fieldset{border:1px solid var(--line);border-radius:8px;margin:8px 0}td input{width:5em;padding:2px 6px}fieldset label{margin:2px 0}";
const SCRIPT: &str = r##"
let coupon = null;
const inputs = data.things.map(({ name, price, pieces }) => {
  const sum = el("td", {});
  const input = el("input", { type: "number", min: 0, max: 20, value: pieces, "aria-label": `Pieces of ${name}`, oninput: () => show() });
  input.sum = sum;
  $("#things").append(el("tr", {}, el("td", {}, name), el("td", {}, String(price)), el("td", {}, input), sum));
  return input;
});
data.ways.forEach(({ name, price, days }, at) => $("#ways").append(el("label", {}, el("input", { type: "radio", name: "way", value: name, checked: at === data.way, "aria-label": name, onchange: () => show() }), ` ${name}: ${price}, takes ${days} days`)));
const way = () => $("input[name=way]:checked").value;
const show = () => {
  let total = data.ways.find(({ name }) => name === way()).price + ($("#gift").checked ? 4 : 0) - (coupon ? 5 : 0);
  inputs.forEach((input, at) => { const sum = Number(input.value) * data.things[at].price; input.sum.textContent = sum; total += sum; });
  $("#total").textContent = total;
};
$("#gift").onchange = show;
$("#apply").onclick = () => {
  const typed = $("#coupon").value.trim();
  coupon = /^[A-Z]{3}-\d{4}$/.test(typed) ? typed : null;
  $("#told").textContent = coupon ? `Coupon ${coupon}: 5 off.` : "A coupon looks like ABC-1234.";
  show();
};
$("#send").onclick = () => send({ pieces: Object.fromEntries(inputs.map((input, at) => [data.things[at].name, Number(input.value)])), delivery: way(), coupon: coupon ?? "none", gift: $("#gift").checked });
show();
"##;
const WAYS: [&str; 6] = ["Post", "Post, registered", "Courier", "Courier, by night", "Locker", "Neighbour"];

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let count = level.of([1, 2, 3, 4]);
    let things: Vec<(&str, i64, i64)> =
        draw.things(count).into_iter().map(|name| (name, draw.number(6..=40), draw.number(1..=4))).collect();
    let costs = draw.some(6, &(2..30).collect::<Vec<i64>>());
    let days = draw.some(6, &(1..14).collect::<Vec<i64>>());
    let ways = &WAYS[..level.of([2, 3, 4, 6])];
    let code = format!("{}-{}", draw.pick(&["SUN", "SKY", "SEA"]), draw.number(1_000..=9_999));
    let mut pieces: Vec<i64> = things.iter().map(|(.., pieces)| *pieces).collect();
    let (mut words, mut solution) = (Vec::new(), Vec::new());
    for (at, (name, ..)) in things.iter().enumerate().take(level.of([1, 1, 2, 3])) {
        let last = level >= Level::Three && at == 1;
        pieces[at] = if last { 0 } else { pieces[at] + draw.number(1..=5) };
        words.push(if last { format!("none of the {name}") } else { format!("{} of the {name}", pieces[at]) });
        let label = format!("Pieces of {name}");
        solution.push(fill("spinbutton", &label, &(pieces[at] - 1).max(0).to_string()));
        solution.extend(presses("spinbutton", &label, "ArrowUp", pieces[at].min(1)));
    }
    let mut words = format!("Order {}; leave the pieces of all others", words.join(", "));
    let way = draw.place(ways.len() - 1) + 1;
    let mut delivery = if level == Level::One { 0 } else { way };
    if level == Level::Four {
        let budget = costs[way].max(costs[0] + 1);
        let fits = (0..ways.len()).filter(|at| costs[*at] <= budget);
        delivery = fits.min_by_key(|at| days[*at]).unwrap_or_default();
        words.push_str(&format!(". Of the deliveries that cost at most {budget}, choose the quickest"));
    } else if level > Level::One {
        words.push_str(&format!(". Delivery: \"{}\"", ways[delivery]));
    }
    if level > Level::One {
        solution.push(check("radio", ways[delivery]));
    }
    let (coupon, gift) = (level >= Level::Three, level == Level::Four);
    if coupon {
        words.push_str(&format!(". Apply the coupon {code}"));
        solution.extend([fill("textbox", "Coupon", &code), click("button", "Apply")]);
    }
    if gift {
        words.push_str(". Have it wrapped as a gift");
        solution.push(check("checkbox", "Gift wrapping (4)"));
    }
    solution.push(submit());
    let shown: Vec<Value> =
        things.iter().map(|(name, price, pieces)| json!({"name": name, "price": price, "pieces": pieces})).collect();
    let listed: Vec<Value> =
        (0..ways.len()).map(|at| json!({"name": ways[at], "price": costs[at], "days": days[at]})).collect();
    let counts: Map<String, Value> =
        things.iter().zip(pieces).map(|((name, ..), pieces)| ((*name).to_owned(), json!(pieces))).collect();
    let coupon = if coupon { code } else { "none".to_owned() };
    let state = json!({"pieces": counts, "delivery": ways[delivery], "coupon": coupon, "gift": gift});
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"things": shown, "ways": listed, "way": 0}),
        solution,
        ..Task::new("Checkout", format!("{words}. Then submit."), Wanted::exactly(&state))
    }
}
