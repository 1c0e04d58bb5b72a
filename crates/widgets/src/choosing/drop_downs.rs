//! Drop-down lists, each with many options.

use serde_json::{Map, Value, json};

use crate::steps::{select, submit};
use crate::words::clock;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "drop-downs", about: "Chooses options of drop-down lists.", draw };

const BODY: &str = r##"<div class="card" id="lists"></div><div id="rates"></div><button id="send">Submit</button>"##;
const STYLE: &str = "#lists label{display:grid;grid-template-columns:9em 1fr}";
const SCRIPT: &str = r##"
const lists = data.lists.map(({ name, groups }) => {
  const list = el("select", {}, el("option", { value: "" }, "Choose"));
  for (const [group, options] of groups) {
    const made = options.map((option) => el("option", {}, option));
    list.append(...group ? [el("optgroup", { label: group }, ...made)] : made);
  }
  $("#lists").append(el("label", {}, name, list));
  return list;
});
$("#send").onclick = () => send(Object.fromEntries(lists.map((list, at) => [data.lists[at].name, list.value])));
"##;
const TRAINS: [&str; 4] = ["slow train", "fast train", "night train", "slow night train"];
const TOWNS: [&str; 6] = ["Arles", "Arras", "Basel", "Brest", "Bergen", "Bremen"];

/// A train: its label such as `Arles, 08:10, slow train, 24`, its start in minutes, its kind, its price.
type Train = (String, i64, &'static str, i64);

/// Options of a list in groups by town.
fn groups(draw: &mut Draw) -> Vec<(String, Vec<Train>)> {
    let level = draw.level;
    let towns = draw.some(level.of([1, 1, 3, 4]), &TOWNS);
    let each = |draw: &mut Draw, town: &str| {
        let kinds = draw.shuffled(&TRAINS);
        let prices: Vec<i64> = draw.some(6, &(12..90).collect::<Vec<i64>>());
        let trains = (0..level.of([4, 6, 5, 6])).map(|at| {
            let start = 360 + 137 * i64::try_from(at).unwrap_or_default() + draw.number(0..=50);
            let (kind, price) = (kinds[at % 4], prices[at]);
            let label = match level {
                Level::One => format!("{town}, {}", clock(start)),
                Level::Two | Level::Three => format!("{town}, {}, {kind}", clock(start)),
                Level::Four => format!("{town}, {}, {kind}, {price}", clock(start)),
            };
            (label, start, kind, price)
        });
        trains.collect::<Vec<_>>()
    };
    towns.into_iter().map(|town| (town.to_owned(), each(draw, town))).collect()
}

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let names = ["Outward", "Onward", "Return"];
    let (mut shown, mut words, mut state, mut solution) = (Vec::new(), Vec::new(), Map::new(), Vec::new());
    for name in names.into_iter().take(level.of([1, 2, 3, 3])) {
        let groups = groups(draw);
        let (town, trains) = draw.pick(&groups);
        let (label, told) = if level == Level::Four {
            let start = trains[draw.place(3)].1;
            let late = trains.iter().filter(|train| train.1 > start && !train.2.contains("night"));
            match late.min_by_key(|train| train.3) {
                Some(best) => {
                    let words = format!(
                        "the cheapest train to {town} that starts after {} and is no night train",
                        clock(start)
                    );
                    (best.0.clone(), words)
                }
                None => (trains[0].0.clone(), format!("the earliest train to {town}")),
            }
        } else {
            let train = draw.pick(&trains);
            (train.0.clone(), format!("\"{}\"", train.0))
        };
        solution.push(select(name, &label));
        words.push(format!("{name}: {told}"));
        state.insert(name.to_owned(), json!(label));
        let listed: Vec<_> = groups
            .iter()
            .map(|(town, trains)| {
                let labels: Vec<&String> = trains.iter().map(|train| &train.0).collect();
                json!([if level >= Level::Three { town.as_str() } else { "" }, labels])
            })
            .collect();
        shown.push(json!({"name": name, "groups": listed}));
    }
    solution.push(submit());
    let about = if level == Level::Four { " The last number of an option is its price." } else { "" };
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"lists": shown}),
        solution,
        ..Task::new(
            "Choose trains",
            format!("Choose in each list and submit. {}.{about}", words.join("; ")),
            Wanted::exactly(&Value::Object(state)),
        )
    }
}
