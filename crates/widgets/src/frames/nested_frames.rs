//! Frames within frames, in each of which a colour is chosen.

use serde_json::json;

use super::frame;
use crate::page::framed;
use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget =
    Widget { name: "nested-frames", about: "Makes choices in frames that lie within frames.", draw };

const COLOURS: [&str; 8] = ["Red", "Green", "Blue", "Yellow", "White", "Black", "Pink", "Brown"];
const INNER_SCRIPT: &str = r##"
for (const input of document.querySelectorAll("input")) input.onchange = () => { top.choose(data.depth, input.value); };
const next = $("#next");
if (next) next.onclick = () => {
  const frame = document.createElement("iframe");
  frame.title = `Frame ${data.depth + 1}`; frame.src = `/frame/${data.depth + 1}`;
  frame.style = `width:100%;height:${(data.depths - data.depth) * 150}px;border:1px solid var(--line)`;
  next.replaceWith(frame);
};
"##;
const SCRIPT: &str = r##"
const choices = Array(data.depths).fill(null);
window.choose = (depth, colour) => { choices[depth - 1] = colour; };
$("#send").onclick = () => send({ choices });
"##;

fn inner(depth: usize, depths: usize, closed: bool) -> String {
    let radio = |colour: &str| {
        format!("<label style=\"margin:0\"><input type=\"radio\" name=\"colour\" value=\"{colour}\"> {colour}</label>")
    };
    let radios: String = COLOURS.into_iter().map(radio).collect();
    let height = i64::try_from(depths - depth).unwrap_or_default() * 150;
    let next = match (depth < depths, closed) {
        (false, _) => String::new(),
        (true, false) => frame(&format!("Frame {}", depth + 1), depth + 1, height),
        (true, true) => format!("<button class=\"plain\" id=\"next\">Open frame {}</button>", depth + 1),
    };
    let title = format!("Frame {depth}");
    let body = format!(
        "<fieldset style=\"border:0;margin:0 0 8px;padding:0\"><legend><b>{title}</b></legend><div class=\"row\">{radios}</div>\
         </fieldset>{next}"
    );
    framed(&title, &json!({"depth": depth, "depths": depths}), &body, INNER_SCRIPT)
}

fn draw(draw: &mut Draw) -> Task {
    let depths: usize = draw.level.of([1, 2, 3, 4]);
    let closed = draw.level == Level::Four;
    let colours: Vec<&str> = (0..depths).map(|_| draw.pick(&COLOURS)).collect();
    // From the third level on, one frame keeps no choice.
    let skipped = (draw.level >= Level::Three).then(|| draw.place(depths - 1));
    let mut solution = Vec::new();
    for (at, colour) in colours.iter().enumerate() {
        if closed && at > 0 {
            solution.push(steps::click("button", &format!("Open frame {}", at + 1)));
        }
        if skipped != Some(at) {
            // Frames that are open come in order; with all open, each colour is there once a frame.
            solution.push(if depths == 1 {
                steps::click("radio", colour)
            } else {
                steps::click_nth("radio", colour, at)
            });
        }
    }
    solution.push(steps::submit());
    let chosen = |(at, colour): (usize, &&str)| if skipped == Some(at) { json!(null) } else { json!(colour) };
    let wanted: Vec<_> = colours.iter().enumerate().map(chosen).collect();
    let each: Vec<String> = (0..depths)
        .filter(|at| skipped != Some(*at))
        .map(|at| format!("{} in frame {}", colours[at].to_lowercase(), at + 1))
        .collect();
    let rest = if skipped.is_some() { "; choose nothing in the other frame" } else { "" };
    let height = i64::try_from(depths).unwrap_or_default() * 150;
    Task {
        body: format!("{}<button id=\"send\">Submit</button>", frame("Frame 1", 1, height)),
        script: SCRIPT,
        data: json!({"depths": depths}),
        documents: (1..=depths).map(|at| (format!("/frame/{at}"), inner(at, depths, closed))).collect(),
        solution,
        ..Task::new(
            "Frames in frames",
            format!("Choose {}{rest}. Then submit.", each.join(", ")),
            Wanted::exactly(&json!({"choices": wanted})),
        )
    }
}
