//! Colours that are chosen for the parts of a house.

use serde_json::{Map, Value, json};

use crate::steps::{check, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "colour-swatches", about: "Chooses colours for parts of a house.", draw };

const BODY: &str = r##"<svg width="150" height="120" viewBox="0 0 150 120" aria-hidden="true"><rect x="25" y="50" width="100" height="65" data-part="Walls"/><path d="M15 52 75 8l60 44z" data-part="Roof"/><rect x="64" y="75" width="24" height="40" data-part="Door"/><rect x="98" y="65" width="18" height="18" data-part="Shutters"/></svg>
<div id="parts"></div><button id="send">Submit</button>"##;
const STYLE: &str = "fieldset{border:1px solid var(--line);border-radius:8px;margin:6px 0}.swatches{display:flex;flex-wrap:wrap;gap:4px}.swatches input{appearance:none;width:30px;height:30px;padding:0;margin:0;border-radius:6px;background:var(--c)}.swatches input:checked{box-shadow:0 0 0 2px #fff,0 0 0 5px var(--ink)}svg{fill:#fff;stroke:#444}";
const SCRIPT: &str = r##"
const hues = { Red: 0, Orange: 30, Green: 130, Teal: 175, Blue: 215, Purple: 280 };
const css = (name) => { const [hue, shade] = name.split(" "); return `hsl(${hues[hue]} 65% ${Math.round(95 - Number(shade ?? 500) / 12)}%)`; };
const chosen = {};
for (const { part, now } of data.parts) {
  const out = el("output", {});
  const paint = (name) => { chosen[part] = name; out.textContent = name ?? "none"; if (name) $(`[data-part="${part}"]`).style.fill = css(name); };
  const swatches = data.colours.map((name) => el("input", { type: "radio", name: part, title: name, "aria-label": `${part}: ${name}`, style: `--c:${css(name)}`, checked: name === now, onchange: () => paint(name) }));
  $("#parts").append(el("fieldset", { role: "radiogroup", "aria-label": part }, el("legend", {}, part, ": ", out), el("div", { class: "swatches" }, ...swatches)));
  paint(now);
}
$("#send").onclick = () => send(chosen);
"##;
const HUES: [&str; 6] = ["Red", "Orange", "Green", "Teal", "Blue", "Purple"];

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let hues = draw.some(level.of([4, 6, 3, 4]), &HUES);
    let shades: Vec<i64> = if level >= Level::Three { (1..=7).map(|at| at * 100).collect() } else { Vec::new() };
    let colours: Vec<String> = if shades.is_empty() {
        hues.iter().map(|hue| (*hue).to_owned()).collect()
    } else {
        hues.iter().flat_map(|hue| shades.iter().map(move |shade| format!("{hue} {shade}"))).collect()
    };
    let parts: Vec<&str> = ["Walls", "Roof", "Door", "Shutters"].into_iter().take(level.of([1, 2, 3, 4])).collect();
    let (mut wanted, mut now): (Vec<String>, Vec<Option<String>>) = (Vec::new(), Vec::new());
    let words = if level == Level::Four {
        let [one, two, three, four] = [0, 1, 2, 3].map(|at| hues[at]);
        let (walls, roof) = (100 * draw.number(1..=3), 100 * draw.number(4..=7));
        let (darker, lighter) = (draw.number(2..=4), draw.number(1..=3));
        now = vec![Some(format!("{one} {walls}")), Some(format!("{two} {roof}")), Some(format!("{three} 100")), None];
        wanted = vec![
            format!("{one} {}", walls + 100 * darker),
            format!("{two} {}", roof - 100 * lighter),
            format!("{one} {roof}"),
            format!("{four} {}", roof - 100 * lighter),
        ];
        let named = |count: i64| if count == 1 { "one shade".to_owned() } else { format!("{count} shades") };
        format!(
            "Shades are hundreds: a larger number is darker. Make the walls {} darker than they are and the roof {} \
             lighter than it is, both in their own hue. Give the door the hue of the walls and the shade that the roof \
             had at first, and the shutters the hue {four} and the new shade of the roof",
            named(darker),
            named(lighter),
        )
    } else {
        let mut told = Vec::new();
        for part in &parts {
            let pair = draw.some(2, &colours);
            told.push(format!("{part}: {}", pair[0]));
            wanted.push(pair[0].clone());
            now.push((level > Level::One).then(|| pair[1].clone()));
        }
        format!("Choose these colours. {}", told.join("; "))
    };
    let mut solution: Vec<String> =
        parts.iter().zip(&wanted).map(|(part, name)| check("radio", &format!("{part}: {name}"))).collect();
    solution.push(submit());
    let shown: Vec<Value> = parts.iter().zip(&now).map(|(part, now)| json!({"part": part, "now": now})).collect();
    let state: Map<String, Value> =
        parts.iter().zip(&wanted).map(|(part, name)| ((*part).to_owned(), json!(name))).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"parts": shown, "colours": colours}),
        solution,
        ..Task::new("Paint a house", format!("{words}. Then submit."), Wanted::exactly(&Value::Object(state)))
    }
}
