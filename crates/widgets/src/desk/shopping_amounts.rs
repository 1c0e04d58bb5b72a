//! A shopping list with amounts.

use serde_json::{Map, json};

use crate::{Draw, Level, Task, Wanted, Widget, steps, text};

pub(super) const WIDGET: Widget =
    Widget { name: "shopping-amounts", about: "Sets the amounts of a shopping list.", draw };

const GOODS: [(&str, &str); 10] = [
    ("Flour", "g"),
    ("Sugar", "g"),
    ("Butter", "g"),
    ("Milk", "ml"),
    ("Eggs", "pieces"),
    ("Apples", "pieces"),
    ("Rice", "g"),
    ("Carrots", "pieces"),
    ("Cream", "ml"),
    ("Lemons", "pieces"),
];
const SCRIPT: &str = r##"
for (const [name, unit, amount] of data.goods) {
  const row = el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, el("input", { type: "number", min: "0", step: "1", value: String(amount), "aria-label": `Amount of ${name}`, "data-name": name }), ` ${unit}`),
    el("td", {}, el("button", { class: "plain", "aria-label": `Remove ${name}`, onclick: () => row.remove() }, "Remove")));
  $("#goods tbody").append(row);
}
$("#send").onclick = () => send({ amounts: Object.fromEntries($$("#goods input").map((input) => [input.dataset.name, input.value === "" ? null : Number(input.value)])) });
"##;

/// A table that can only be read.
fn shown(title: &str, rows: &[(&str, &str, i64)]) -> String {
    let rows: String = rows
        .iter()
        .map(|(name, unit, amount)| format!("<tr><th scope=\"row\">{}</th><td>{amount} {unit}</td></tr>", text(name)))
        .collect();
    format!("<section><h2>{title}</h2><table aria-label=\"{title}\"><tbody>{rows}</tbody></table></section>")
}

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([3, 4, 5, 6]);
    let goods = draw.some(count, &GOODS);
    // Amounts for four persons: the amounts for any number of persons are whole.
    let portions: Vec<i64> = goods
        .iter()
        .map(|(_, unit)| if *unit == "pieces" { draw.number(1..=4) } else { 25 * draw.number(1..=8) })
        .collect();
    let recipe: Vec<_> = goods.iter().zip(&portions).map(|((name, unit), one)| (*name, *unit, one * 4)).collect();
    let mut wanted: Vec<Option<i64>> = recipe.iter().map(|(.., amount)| Some(*amount)).collect();
    let mut given: Vec<i64> = recipe.iter().map(|(.., amount)| *amount).collect();
    let mut tables = String::new();
    let words = match draw.level {
        Level::One => {
            wanted[0] = Some(given[0] + draw.number(1..=9));
            format!("Set the amount of {} to {}", goods[0].0, wanted[0].unwrap_or_default())
        }
        Level::Two => {
            wanted[0] = Some(given[0] + draw.number(1..=9));
            wanted[1] = Some(given[1] * 2);
            wanted[2] = None;
            let first = wanted[0].unwrap_or_default();
            format!("Set the amount of {} to {first}, double {}, and remove {}", goods[0].0, goods[1].0, goods[2].0)
        }
        Level::Three => {
            let persons = draw.pick(&[2, 6, 8, 10]);
            wanted = portions.iter().map(|one| Some(one * persons)).collect();
            format!("The amounts are for 4 persons. Change all of them so that they are for {persons}")
        }
        Level::Four => {
            let persons = draw.pick(&[6, 8, 10]);
            given = vec![0; count];
            let stock: Vec<i64> = portions
                .iter()
                .enumerate()
                .map(|(at, one)| if at == 0 { one * persons } else { draw.number(0..=one * 3) })
                .collect();
            wanted = portions.iter().zip(&stock).map(|(one, stock)| Some(one * persons - stock)).collect();
            wanted[0] = None;
            let kept: Vec<_> = goods.iter().zip(&stock).map(|((name, unit), amount)| (*name, *unit, *amount)).collect();
            tables = format!(
                "<div id=\"side\">{}{}</div>",
                shown("Recipe for 4 persons", &recipe),
                shown("At home", &draw.shuffled(&kept))
            );
            format!(
                "You cook the recipe for {persons} persons. Set the amounts to what has to be bought beside what is at home, \
                 and remove what need not be bought"
            )
        }
    };
    let mut solution = Vec::new();
    for (at, (name, _)) in goods.iter().enumerate() {
        match wanted[at] {
            Some(amount) if amount == given[at] => {}
            Some(amount) => {
                solution.push(steps::fill("spinbutton", &format!("Amount of {name}"), &amount.to_string()));
            }
            None => solution.push(steps::click("button", &format!("Remove {name}"))),
        }
    }
    solution.push(steps::submit());
    let amounts: Map<_, _> = goods
        .iter()
        .zip(&wanted)
        .filter_map(|((name, _), amount)| amount.map(|amount| ((*name).to_owned(), json!(amount))))
        .collect();
    let listed: Vec<_> = goods.iter().zip(&given).map(|((name, unit), amount)| json!([name, unit, amount])).collect();
    Task {
        body: format!(
            "{tables}<h2>To buy</h2><table id=\"goods\" aria-label=\"To buy\"><tbody></tbody></table><p><button id=\"send\">Submit</button></p>"
        ),
        style: "#side{display:grid;grid-template-columns:1fr 1fr;gap:12px}h2{font-size:1rem;margin:4px 0}#goods input{width:100px}td,th{font-size:14px;padding:1px 8px}",
        script: SCRIPT,
        data: json!({"goods": listed}),
        solution,
        ..Task::new("Shopping", format!("{words}. Then submit."), Wanted::field("amounts", Wanted::Is(amounts.into())))
    }
}
