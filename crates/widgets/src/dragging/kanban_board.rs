//! A board of columns, between which cards are dragged.

use serde_json::json;

use crate::steps::{drag, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "kanban-board", about: "Drags cards of a board from column to column.", draw };

const BODY: &str = r##"<p class="soft">Drag a card into a column, or move it with the left and right arrow keys.</p><div id="board"></div><button id="send">Submit</button>"##;
const STYLE: &str = "main{max-width:1000px}#board{display:grid;grid-auto-flow:column;grid-auto-columns:1fr;gap:10px;margin-bottom:12px}#board section{background:var(--fill);border:1px solid var(--line);border-radius:8px;padding:8px;min-height:300px}#board h2{font-size:1rem;margin:0 0 6px}#board ul{list-style:none;margin:0;padding:0}#board li{background:#fff;border:1px solid var(--line);border-radius:6px;padding:4px 8px;margin-bottom:6px;cursor:grab;font-size:.85rem}";
const SCRIPT: &str = r##"
const place = Object.fromEntries(data.cards.map(([name, , , column]) => [name, column]));
let dragged = null;
const show = () => $("#board").replaceChildren(...data.columns.map((column) => {
  const inside = data.cards.filter(([name]) => place[name] === column);
  const section = el("section", { "aria-label": column }, el("h2", {}, `${column} (${inside.length})`), el("ul", {}, ...inside.map(([name, who, days]) => {
    const card = el("li", { draggable: "true", tabindex: 0, "aria-label": name }, el("b", {}, name), el("br"), el("span", { class: "soft" }, `${who}, ${days} days`));
    card.addEventListener("dragstart", (event) => { dragged = name; event.dataTransfer.setData("text/plain", name); });
    card.addEventListener("keydown", (event) => {
      const to = data.columns[data.columns.indexOf(column) + { ArrowLeft: -1, ArrowRight: 1 }[event.key]];
      if (!to) return;
      event.preventDefault();
      place[name] = to;
      show();
      $$("#board li").find((one) => one.getAttribute("aria-label") === name).focus();
    });
    return card;
  })));
  section.addEventListener("dragover", (event) => event.preventDefault());
  section.addEventListener("drop", (event) => { event.preventDefault(); if (dragged) place[dragged] = column; dragged = null; show(); });
  return section;
}));
$("#send").onclick = () => send({ columns: Object.fromEntries(data.columns.map((column) => [column, data.cards.map(([name]) => name).filter((name) => place[name] === column)])) });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let columns: &[&str] = draw.level.of([
        &["To do", "Done"],
        &["To do", "Doing", "Done"],
        &["To do", "Doing", "Done"],
        &["To do", "Doing", "Checking", "Done"],
    ]);
    let count = draw.level.of([3, 5, 7, 9]);
    let names: Vec<String> = draw.goods(count).into_iter().map(|good| format!("Repair {good}")).collect();
    let people = draw.names(3);
    let days = draw.numbers(count, 1..=15);
    // Name, person, days, column, column in the end.
    let mut cards: Vec<(String, &str, i64, &str, &str)> = (0..count)
        .map(|at| {
            let column = if draw.level == Level::One { columns[0] } else { columns[at % columns.len()] };
            (names[at].clone(), people[draw.place(3)], days[at], column, column)
        })
        .collect();
    let words = match draw.level {
        Level::Four => {
            let (who, limit) = (cards[0].1, 8);
            for card in &mut cards {
                card.4 = match card.3 {
                    "To do" if card.1 == who => "Doing",
                    "Checking" => "Done",
                    "Doing" if card.2 > limit => "Checking",
                    column => column,
                };
            }
            format!(
                "Move the cards as they stand now, each once at most: what is under To do and of {who} to Doing; what is under Checking to Done; what is under Doing and takes more than {limit} days to Checking"
            )
        }
        _ => {
            let places: Vec<usize> = (0..count).collect();
            let mut words = Vec::new();
            for at in draw.some(draw.level.of([1, 2, 4, 0]), &places) {
                let others: Vec<&str> = columns.iter().copied().filter(|column| *column != cards[at].3).collect();
                cards[at].4 = draw.pick(&others);
                words.push(format!("“{}” to {}", cards[at].0, cards[at].4));
            }
            format!("Move {}", listed(&words))
        }
    };
    let mut solution: Vec<String> = cards
        .iter()
        .filter(|card| card.3 != card.4)
        .map(|card| drag(("listitem", &card.0), ("region", card.4)))
        .collect();
    solution.push(submit());
    let of =
        |column: &str| Wanted::Set(cards.iter().filter(|card| card.4 == column).map(|card| json!(card.0)).collect());
    let wanted = columns.iter().map(|column| ((*column).to_owned(), of(column))).collect();
    let data: Vec<_> = cards.iter().map(|card| json!([card.0, card.1, card.2, card.3])).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"columns": columns, "cards": data}),
        solution,
        ..Task::new(
            "Board",
            format!("{words}. Leave all other cards where they are, and submit."),
            Wanted::field("columns", Wanted::Fields(wanted)),
        )
    }
}
