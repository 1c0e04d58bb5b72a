//! Clocks with hands, from which times are read.

use serde_json::json;

use super::field;
use crate::{Draw, Level, Task, Wanted, Widget, canvas, steps};

pub(super) const WIDGET: Widget = Widget { name: "read-clock", about: "Reads the time from clocks with hands.", draw };

const SCRIPT: &str = concat!(
    include_str!("../frame/canvas.js"),
    r##"
$("#data").remove();
const hand = (x, y, turn, length, width, colour) => line([[x, y], [x + Math.sin(turn * 2 * Math.PI) * length, y - Math.cos(turn * 2 * Math.PI) * length]], colour, width);
data.clocks.forEach(([minutes, name], at) => {
  const [x, y] = [data.clocks.length === 1 ? 360 : 190 + at * 340, 250];
  dot(x, y, 160, "grey"); dot(x, y, 155, "white");
  for (let mark = 0; mark < 60; mark += 1) {
    const [across, down] = [Math.sin(mark * Math.PI / 30), -Math.cos(mark * Math.PI / 30)];
    line([[x + across * 150, y + down * 150], [x + across * (mark % 5 ? 144 : 136), y + down * (mark % 5 ? 144 : 136)]], "black", mark % 5 ? 1 : 3);
    if (mark % 5 === 0 && data.numbers) words(String(mark / 5 || 12), x + across * 118, y + down * 118, 20);
  }
  hand(x, y, minutes / 720, 75, 9, "black");
  hand(x, y, (minutes % 60) / 60, 125, 4, "blue");
  dot(x, y, 8, "black");
  words(name, x, y + 190, 18);
});
$("#send").onclick = () => send({ numbers: $$(".answer").map((input) => (input.value.trim() === "" ? null : Number(input.value))) });
"##
);

fn draw(draw: &mut Draw) -> Task {
    let hour = draw.number(1..=12);
    let minute = match draw.level {
        Level::One => 30 * draw.number(0..=1),
        Level::Two => 5 * draw.number(1..=11),
        Level::Three | Level::Four => draw.number(1..=59),
    };
    let first = hour % 12 * 60 + minute;
    let pass = draw.number(13..=700);
    let (clocks, answers, words) = if draw.level == Level::Four {
        let words = "The right clock shows a time that is later than that of the left clock, by less than 12 hours. Enter how many \
                     minutes lie between them";
        (vec![(first, "Left"), ((first + pass) % 720, "Right")], vec![("Minutes", pass)], words)
    } else {
        let words = "Enter the time that the clock shows: the hour from 1 to 12, and the minute from 0 to 59";
        (vec![(first, "")], vec![("Hour", hour), ("Minute", minute)], words)
    };
    let controls: String = answers.iter().map(|(label, _)| field(label)).collect();
    let mut solution: Vec<String> =
        answers.iter().map(|(label, number)| steps::fill("textbox", label, &number.to_string())).collect();
    solution.push(steps::submit());
    let wanted: Vec<i64> = answers.iter().map(|(_, number)| *number).collect();
    Task {
        body: canvas::body("A clock with hands", &controls),
        script: SCRIPT,
        data: json!({"clocks": clocks, "numbers": draw.level < Level::Three}),
        solution,
        ..Task::new("Clock", format!("{words}. Then submit."), Wanted::exactly(&json!({"numbers": wanted})))
    }
}
