//! A bar chart from which numbers are read.

use serde_json::json;

use super::{choice, field};
use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "chart-read", about: "Reads numbers from a bar chart.", draw };

const MONTHS: [&str; 8] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug"];
const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
$("#data").remove();
for (let value = 0; value <= 20; value += 1) {
  line([[50, 500 - value * 23], [710, 500 - value * 23]], "grey", value % 5 ? 0.4 : 1.4);
  if (value % 5 === 0) words(String(value), 30, 500 - value * 23, 14);
}
const colours = ["blue", "orange"];
data.series.forEach((values, which) => {
  values.forEach((value, at) => {
    const width = 50 / data.series.length;
    box(65 + at * 80 + which * width, 500 - value * 23, width - 2, value * 23, colours[which]);
    if (which === 0) words(data.months[at], 90 + at * 80, 520, 14);
  });
  box(70 + which * 160, 538, 16, 16, colours[which]); words(data.names[which], 130 + which * 160, 547, 14);
});
$("#send").onclick = () => send({ answers: $$(".answer").map((one) => one.value.trim()) });
"##
);

fn draw(draw: &mut Draw) -> Task {
    let count: usize = draw.level.of([4, 6, 8, 8]);
    let names = draw.some(2, &["Tea", "Milk", "Rice", "Salt"]);
    let all: Vec<i64> = (2..=20).collect();
    let first = draw.some(count, &all);
    // The differences of the two series are all unlike, so that one is the largest.
    let gaps = draw.some(count, &(1..=9).collect::<Vec<i64>>());
    let second: Vec<i64> = first
        .iter()
        .zip(&gaps)
        .map(
            |(value, gap)| if value + gap > 20 || (value > gap && draw.once_in(2)) { value - gap } else { value + gap },
        )
        .collect();
    let at = draw.place(count);
    let (low, high) = (first.iter().min().copied().unwrap_or(0), first.iter().max().copied().unwrap_or(0));
    let widest = (0..count).max_by_key(|at| gaps[*at]).unwrap_or_default();
    let more = first.iter().zip(&second).filter(|(first, second)| second > first).count();
    let (series, answers, words) = match draw.level {
        Level::One => (vec![&first], vec![first[at]], format!("Enter the value of {}", MONTHS[at])),
        Level::Two => {
            (vec![&first], vec![high - low], "Enter how much more the highest bar is than the lowest".to_owned())
        }
        Level::Three => (
            vec![&first, &second],
            vec![i64::try_from(more).unwrap_or_default(), first[at] + second[at]],
            format!(
                "Enter as the first number in how many months {} is more than {}, and as the second number the sum of both in \
                 {}",
                names[1], names[0], MONTHS[at]
            ),
        ),
        Level::Four => {
            let other = if first[widest] > second[widest] { first[widest] } else { second[widest] };
            let words = "Find the month in which the two bars differ the most. Choose this month; enter as the first number \
                         how much they differ, and as the second number the value of the higher of the two in this month";
            (vec![&first, &second], vec![gaps[widest], other], words.to_owned())
        }
    };
    let labels = if answers.len() == 1 { vec!["Number"] } else { vec!["First number", "Second number"] };
    let mut controls: String = labels.iter().map(|label| field(label)).collect();
    let mut solution: Vec<String> =
        labels.iter().zip(&answers).map(|(label, number)| steps::fill("textbox", label, &number.to_string())).collect();
    let mut wanted: Vec<String> = answers.iter().map(i64::to_string).collect();
    if draw.level == Level::Four {
        controls =
            choice("Month", &MONTHS[..count].iter().map(|month| (*month).to_owned()).collect::<Vec<_>>()) + &controls;
        solution.insert(0, steps::select("Month", MONTHS[widest]));
        wanted.insert(0, MONTHS[widest].to_owned());
    }
    solution.push(steps::submit());
    Task {
        body: canvas::body("A bar chart", &controls),
        script: SCRIPT,
        data: json!({"series": series, "names": names, "months": &MONTHS[..count]}),
        solution,
        ..Task::new("Read a chart", format!("{words}. Then submit."), Wanted::exactly(&json!({"answers": wanted})))
    }
}
