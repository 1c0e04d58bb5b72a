//! Shops in frames, at one of which a thing is ordered.

use serde_json::json;

use super::frame;
use crate::page::framed;
use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget = Widget { name: "frame-offers", about: "Compares offers of shops in frames.", draw };

const SHOPS: [&str; 4] = ["Alder & Sons", "Birch Market", "Cedar Goods", "Elm Trading"];
const SHOP_SCRIPT: &str = r##"
$("#name").textContent = data.shop;
for (const [thing, price] of data.prices) {
  const row = $("#prices").insertRow();
  row.insertCell().textContent = thing;
  row.insertCell().textContent = `${price} francs`;
  const button = document.createElement("button");
  button.className = "plain"; button.textContent = "Order"; button.setAttribute("aria-label", `Order ${thing} from ${data.shop}`);
  button.onclick = () => parent.order(data.shop, thing);
  row.insertCell().append(button);
}
$("#delivery").textContent = data.delivery ? `Delivery: ${data.delivery} francs` : "";
"##;
const SHOP: &str = r##"<h2 id="name"></h2><table id="prices" aria-label="Prices" style="font-size:14px"></table><p id="delivery" style="margin:4px 0"></p>"##;
const SCRIPT: &str = r##"
const orders = [];
window.order = (shop, thing) => { orders.push(`${thing} from ${shop}`); show(); };
const show = () => {
  $("#orders").replaceChildren(...orders.map((order) => el("li", {}, order)));
  $("#none").hidden = orders.length > 0;
};
$("#clear").onclick = () => { orders.length = 0; show(); };
$("#send").onclick = () => send({ orders });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let (shops, count): (usize, usize) = draw.level.of([(2, 2), (2, 3), (4, 3), (4, 3)]);
    let names = draw.some(shops, &SHOPS);
    let things = draw.things(count);
    let delivery: Vec<i64> = match draw.level {
        Level::Four => draw.shuffled(&[2, 5, 9, 14]),
        _ => vec![0; shops],
    };
    // Different sums everywhere, so that there is one cheapest offer.
    let sums: Vec<Vec<i64>> = things.iter().map(|_| draw.some(shops, &(20..=45).collect::<Vec<i64>>())).collect();
    let price = |thing: usize, shop: usize| sums[thing][shop] - delivery[shop];
    let cheapest = |thing: usize| (0..shops).min_by_key(|shop| sums[thing][*shop]).unwrap_or_default();
    let (bought, words): (Vec<(usize, usize)>, String) = match draw.level {
        Level::One => {
            let shop = draw.place(shops);
            (vec![(0, shop)], format!("Order the {} from {}", things[0], names[shop]))
        }
        Level::Two => (vec![(0, cheapest(0))], format!("Order the {} from the shop where it is cheaper", things[0])),
        Level::Three => (
            vec![(0, cheapest(0)), (1, cheapest(1))],
            format!("Order the {} and the {}, each from the shop where it is cheapest", things[0], things[1]),
        ),
        Level::Four => (
            vec![(0, cheapest(0)), (1, cheapest(1))],
            format!(
                "Order the {} and the {}, each from the shop where it is cheapest with delivery (each order pays its own \
                 delivery)",
                things[0], things[1]
            ),
        ),
    };
    let page = |shop: usize| {
        let prices: Vec<_> = (0..count).map(|thing| json!([things[thing], price(thing, shop)])).collect();
        let data = json!({"shop": names[shop], "prices": prices, "delivery": delivery[shop]});
        (format!("/frame/{}", shop + 1), framed(names[shop], &data, SHOP, SHOP_SCRIPT))
    };
    let order = |(thing, shop): &(usize, usize)| format!("{} from {}", things[*thing], names[*shop]);
    let click = |one: &(usize, usize)| steps::click("button", &format!("Order {}", order(one)));
    let frames: String = (0..shops).map(|shop| frame(names[shop], shop + 1, 230)).collect();
    let orders = bought.iter().map(|one| json!(order(one))).collect();
    Task {
        body: format!(
            "<div id=\"shops\">{frames}</div><h2>Orders</h2><p id=\"none\">none</p><ul id=\"orders\"></ul><div class=\"row\">\
             <button class=\"plain\" id=\"clear\">Remove all orders</button><button id=\"send\">Submit</button></div>"
        ),
        style: "#shops{display:grid;grid-template-columns:1fr 1fr;gap:8px}h2{font-size:1rem;margin:4px 0}",
        script: SCRIPT,
        documents: (0..shops).map(page).collect(),
        solution: bought.iter().map(click).chain([steps::submit()]).collect(),
        ..Task::new(
            "Offers",
            format!("{words}, and nothing else. Then submit."),
            Wanted::field("orders", Wanted::Set(orders)),
        )
    }
}
