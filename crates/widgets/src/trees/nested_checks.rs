//! Check boxes in check boxes, those above following those below.

use serde_json::{Value, json};

use crate::steps::{set, submit};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "nested-checks", about: "Ticks and unticks whole groups and single members of them.", draw };

const BODY: &str =
    r##"<div class="card" id="groups"></div><p id="count" role="status"></p><button id="send">Submit</button>"##;
const STYLE: &str =
    "#groups fieldset{border:0;margin:0;padding:0 0 6px}#groups label{margin:1px 0}#groups .leaves{padding-left:28px}";
const SCRIPT: &str = r##"
const groups = data.groups.map(([name, members]) => {
  const all = el("input", { type: "checkbox", value: name });
  const leaves = members.map(([leaf, on]) => el("input", { type: "checkbox", value: leaf, checked: on }));
  all.addEventListener("change", () => { for (const leaf of leaves) leaf.checked = all.checked; count(); });
  for (const leaf of leaves) leaf.addEventListener("change", () => count());
  $("#groups").append(el("fieldset", { "aria-label": name }, el("label", {}, all, ` ${name}`), el("div", { class: "leaves" }, ...leaves.map((leaf) => el("label", {}, leaf, ` ${leaf.value}`)))));
  return { all, leaves };
});
const count = () => {
  for (const { all, leaves } of groups) {
    const on = leaves.filter((leaf) => leaf.checked).length;
    all.checked = on === leaves.length;
    all.indeterminate = on > 0 && on < leaves.length;
  }
  $("#count").textContent = `${groups.flatMap(({ leaves }) => leaves).filter((leaf) => leaf.checked).length} people ticked`;
};
$("#send").onclick = () => send({ people: groups.flatMap(({ leaves }) => leaves).filter((leaf) => leaf.checked).map((leaf) => leaf.value) });
count();
"##;

fn draw(draw: &mut Draw) -> Task {
    let (wide, size) = draw.level.of([(2, 3), (3, 3), (4, 4), (5, 4)]);
    let (teams, names) = (draw.teams(wide), draw.names(wide * size));
    let group = |at: usize| &names[at * size..(at + 1) * size];
    let out = draw.place(size);
    // Those that are ticked at first: at the last level half of them, which is not what is wanted.
    let at_first: Vec<bool> = (0..names.len()).map(|at| draw.level == Level::Four && at % 2 == 0).collect();
    let (words, wanted, solution): (String, Vec<&str>, Vec<String>) = match draw.level {
        Level::One => {
            let name = draw.pick(&names);
            (format!("Tick {name} and nobody else"), vec![name], vec![set(name, true)])
        }
        Level::Two => (
            format!("Tick everybody in {} and {} of {}, and nobody else", teams[1], group(2)[out], teams[2]),
            group(1).iter().copied().chain([group(2)[out]]).collect(),
            vec![set(teams[1], true), set(group(2)[out], true)],
        ),
        Level::Three => {
            let kept =
                |at: usize, but: usize| group(at).iter().copied().enumerate().filter(move |(place, _)| *place != but);
            let other = draw.place(size);
            let wanted = kept(0, out).chain(kept(3, other)).map(|(_, name)| name).collect();
            let buts = [group(0)[out], group(3)[other]];
            let words =
                format!("Tick everybody in {} and {} but {}, and nobody else", teams[0], teams[3], listed(&buts));
            let calls = vec![set(teams[0], true), set(buts[0], false), set(teams[3], true), set(buts[1], false)];
            (words, wanted, calls)
        }
        Level::Four => {
            let letter = draw.pick(&["a", "e", "i"]);
            let ends: Vec<&str> = names.iter().copied().filter(|name| name.ends_with(letter)).collect();
            let wanted: Vec<&str> = names
                .iter()
                .copied()
                .enumerate()
                .filter(|(at, name)| (at / size == 1) != ends.contains(name))
                .map(|(_, name)| name)
                .collect();
            let words = format!(
                "Tick everybody in {} whose name does not end in {letter}, and everybody in the other groups whose name does; nobody else may be ticked",
                teams[1]
            );
            let calls = names.iter().enumerate().filter(|(at, name)| wanted.contains(*name) != at_first[*at]);
            (words, wanted.clone(), calls.map(|(at, name)| set(name, !at_first[at])).collect())
        }
    };
    let groups: Vec<Value> = (0..wide)
        .map(|at| {
            json!([
                teams[at],
                group(at)
                    .iter()
                    .enumerate()
                    .map(|(place, name)| json!([name, at_first[at * size + place]]))
                    .collect::<Vec<_>>()
            ])
        })
        .collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"groups": groups}),
        solution: solution.into_iter().chain([submit()]).collect(),
        ..Task::new("Guests", format!("{words}. Then submit."), Wanted::in_any_order("people", &wanted))
    }
}
