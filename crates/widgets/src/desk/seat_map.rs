//! Seats of a hall, of which some are taken.

use serde_json::{Value, json};

use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget = Widget { name: "seat-map", about: "Chooses seats of a hall.", draw };

const BODY: &str = r##"<p id="screen">Screen</p><div id="seats" role="group" aria-label="Seats"></div><p id="sum" role="status"></p><button id="send">Submit</button>"##;
const STYLE: &str = "#screen{background:var(--ink);color:#fff;text-align:center;border-radius:8px;margin:0 0 8px}#seats div{display:flex;gap:6px;align-items:center;margin:4px 0}#seats span{width:150px}#seats button{width:44px;height:40px;padding:0}#seats button[aria-pressed=true]{background:var(--good);color:#fff}";
const SCRIPT: &str = r##"
const chosen = new Set();
const show = () => {
  const sum = [...chosen].reduce((sum, seat) => sum + data.prices[seat.charCodeAt(0) - 65], 0);
  $("#sum").textContent = `Chosen: ${[...chosen].sort().join(", ") || "none"}. Together: ${sum} francs.`;
};
data.taken.forEach((row, at) => {
  const letter = String.fromCharCode(65 + at);
  $("#seats").append(el("div", { role: "group", "aria-label": `Row ${letter}` }, el("span", {}, `Row ${letter}: ${data.prices[at]} francs`), ...row.map((taken, place) => {
    const seat = `${letter}${place + 1}`;
    const button = el("button", { class: "plain", disabled: taken, "aria-label": `Seat ${seat}${taken ? ", taken" : ""}`, "aria-pressed": taken ? null : "false", onclick: () => {
      if (chosen.has(seat)) chosen.delete(seat); else chosen.add(seat);
      button.setAttribute("aria-pressed", String(chosen.has(seat)));
      show();
    } }, taken ? "×" : String(place + 1));
    return button;
  })));
});
$("#send").onclick = () => send({ seats: [...chosen].sort() });
show();
"##;

/// Seats in a row.
const SEATS: usize = 9;

/// `B3` of a row and a place from 0.
fn seat(row: usize, place: usize) -> String {
    format!("{}{}", char::from(b'A' + u8::try_from(row).unwrap_or_default()), place + 1)
}

/// Groups of so many free seats side by side in a row.
fn groups(taken: &[bool], row: usize, size: usize) -> Vec<Vec<String>> {
    (0..=SEATS - size)
        .filter(|from| taken[*from..from + size].iter().all(|taken| !taken))
        .map(|from| (from..from + size).map(|place| seat(row, place)).collect())
        .collect()
}

fn draw(draw: &mut Draw) -> Task {
    let rows: usize = draw.level.of([4, 6, 7, 8]);
    // Rows near the screen are dearer.
    let mut price = draw.number(9..=12);
    let mut prices: Vec<i64> = (0..rows)
        .map(|_| {
            price += draw.number(1..=4);
            price
        })
        .collect();
    prices.reverse();
    let chance = draw.level.of([4, 3, 2, 2]);
    let mut taken: Vec<Vec<bool>> = (0..rows).map(|_| (0..SEATS).map(|_| draw.once_in(chance)).collect()).collect();
    // The last row but one has room for every group.
    let (from, size) = (draw.place(5), draw.level.of([1, 2, 3, 4]));
    taken[rows - 2][from..from + size].fill(false);
    let (right, words): (Vec<Vec<String>>, String) = match draw.level {
        Level::One | Level::Two => {
            let free: Vec<String> = (0..rows)
                .flat_map(|row| (0..SEATS).map(move |place| (row, place)))
                .filter(|(row, place)| !taken[*row][*place])
                .map(|(row, place)| seat(row, place))
                .collect();
            let mut seats = draw.some(size, &free);
            seats.sort();
            let words = format!("Choose seat{} {}", if size == 1 { "" } else { "s" }, seats.join(" and "));
            (vec![seats], words)
        }
        Level::Three => {
            let best = (0..rows).map(|row| groups(&taken[row], row, 3)).find(|groups| !groups.is_empty());
            let words =
                "Choose three free seats side by side, in the row nearest to the screen that has three such seats";
            (best.unwrap_or_default(), words.to_owned())
        }
        Level::Four => {
            let budget = 4 * prices[draw.place(rows - 2)] + draw.number(0..=3);
            let affordable = (0..rows).filter(|row| prices[*row] * 4 <= budget);
            let best = affordable.map(|row| groups(&taken[row], row, 4)).find(|groups| !groups.is_empty());
            let words = format!(
                "Choose four free seats side by side that cost at most {budget} francs together, in the row nearest to the \
                 screen where that is possible"
            );
            (best.unwrap_or_default(), words)
        }
    };
    let mut solution: Vec<String> =
        right[0].iter().map(|seat| steps::click("button", &format!("Seat {seat}"))).collect();
    solution.push(steps::submit());
    let any = if right.len() > 1 { " Any such group is right." } else { "" };
    let right: Vec<Value> = right.into_iter().map(Value::from).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"taken": taken, "prices": prices}),
        solution,
        ..Task::new("Seats", format!("{words}, and submit.{any}"), Wanted::field("seats", Wanted::OneOf(right)))
    }
}
