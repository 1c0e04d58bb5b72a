//! Amounts with buttons for more and fewer, in elements whose shadow tree is closed.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, steps, text};

pub(super) const WIDGET: Widget =
    Widget { name: "shadow-stepper", about: "Sets amounts in elements with a closed shadow tree.", draw };

const GOODS: [&str; 6] = ["apples", "pears", "lemons", "plums", "figs", "limes"];
const SCRIPT: &str = r##"
const amounts = {};
const style = () => el("style", {}, "div{display:flex;gap:8px;align-items:center;margin:6px 0}b{width:90px}output{width:2em;text-align:center}button{font:inherit;width:36px;height:32px}:focus-visible{outline:3px solid #f0a500}");
customElements.define("amount-stepper", class extends HTMLElement {
  connectedCallback() {
    const name = this.getAttribute("name");
    const step = Number(this.getAttribute("step"));
    amounts[name] = Number(this.getAttribute("value"));
    const shown = el("output", { "aria-label": `Number of ${name}` }, String(amounts[name]));
    const change = (by) => () => { amounts[name] = Math.min(99, Math.max(0, amounts[name] + by)); shown.textContent = String(amounts[name]); };
    this.attachShadow({ mode: "closed" }).append(style(), el("div", { role: "group", "aria-label": name }, el("b", {}, name),
      el("button", { "aria-label": `Fewer ${name}`, onclick: change(-step) }, "−"), shown, el("button", { "aria-label": `More ${name}`, onclick: change(step) }, "+"),
      step > 1 ? `in packs of ${step}` : null));
  }
});
customElements.define("goods-box", class extends HTMLElement {
  connectedCallback() {
    const inner = JSON.parse(this.getAttribute("goods")).map(([name, value, step]) => el("amount-stepper", { name, value, step }));
    this.attachShadow({ mode: "closed" }).append(el("section", { "aria-label": "Goods" }, ...inner));
  }
});
$("#send").onclick = () => send({ amounts });
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([1, 2, 4, 5]);
    let goods = draw.some(count, &GOODS);
    let packs: Vec<i64> = match draw.level {
        Level::Three => draw.shuffled(&[1, 2, 6, 4]),
        _ => vec![1; count],
    };
    let mut given = vec![0; count];
    let mut wanted: Vec<i64> = packs.iter().map(|pack| pack * draw.number(2..=4)).collect();
    let words = if draw.level == Level::Four {
        given = draw.some(count, &[1, 2, 3, 4, 5, 6]);
        wanted = given.clone();
        wanted.swap(0, 1);
        wanted[2] = given[3] + given[4];
        format!(
            "Swap the numbers of {} and {}, and take as many {} as {} and {} together",
            goods[0], goods[1], goods[2], goods[3], goods[4]
        )
    } else {
        let each: Vec<String> = goods.iter().zip(&wanted).map(|(name, amount)| format!("{amount} {name}")).collect();
        format!("Take {}", each.join(", "))
    };
    let mut solution = Vec::new();
    for (at, name) in goods.iter().enumerate() {
        let change = wanted[at] - given[at];
        let name = if change < 0 { format!("Fewer {name}") } else { format!("More {name}") };
        solution.extend((0..change.abs() / packs[at]).map(|_| steps::click("button", &name)));
    }
    solution.push(steps::submit());
    let order = draw.shuffled(&(0..count).collect::<Vec<_>>());
    let listed: Vec<_> = order.iter().map(|at| json!([goods[*at], given[*at], packs[*at]])).collect();
    let amounts: serde_json::Map<_, _> =
        goods.iter().zip(&wanted).map(|(name, amount)| ((*name).to_owned(), json!(amount))).collect();
    let box_of = text(&json!(listed).to_string());
    Task {
        body: format!(
            "<div class=\"card\"><goods-box goods=\"{box_of}\"></goods-box></div><button id=\"send\">Submit</button>"
        ),
        script: SCRIPT,
        solution,
        ..Task::new("Fruit", format!("{words}. Then submit."), Wanted::field("amounts", Wanted::Is(amounts.into())))
    }
}
