//! An input that keeps tags.

use serde_json::json;

use crate::steps::{click, fill, press, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "tags-input", about: "Adds tags and removes tags.", draw };

const BODY: &str = r##"<div class="card"><ul id="tags" class="row" aria-label="Tags"></ul><label>New tag <input id="new" autocomplete="off"></label>
<p class="soft">Enter or a comma adds the tag.</p><p id="told" role="status"></p></div><button id="send">Submit</button>"##;
const STYLE: &str = "#tags{list-style:none;padding:0;margin:0}#tags li{background:#dce8fa;border-radius:14px;padding:2px 4px 2px 12px}#tags button{padding:0 8px;border:0;background:none;color:inherit}";
const SCRIPT: &str = r##"
const tags = data.tags;
const input = $("#new");
const show = () => $("#tags").replaceChildren(...tags.map((tag, at) => el("li", {}, tag + " ", el("button", { "aria-label": `Remove ${tag}`, onclick: () => { tags.splice(at, 1); $("#told").textContent = `${tag} is removed.`; show(); input.focus(); } }, "×"))));
const add = () => {
  const tag = input.value.replaceAll(",", "").trim();
  if (!tag) return;
  if (tags.includes(tag)) { $("#told").textContent = `${tag} is there already.`; return; }
  tags.push(tag);
  $("#told").textContent = `${tag} is added.`;
  input.value = "";
  show();
};
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" || event.key === ",") { event.preventDefault(); add(); }
  if (event.key === "Backspace" && !input.value && tags.length) { tags.pop(); show(); }
});
$("#send").onclick = () => send({ tags });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let level = draw.level;
    let all = draw.things(12);
    let shown: Vec<String> = match level {
        Level::One => Vec::new(),
        Level::Two => all[..3].iter().map(|thing| (*thing).to_owned()).collect(),
        // Alike: one and many.
        Level::Three | Level::Four => {
            let both = all[..4].iter().flat_map(|thing| [(*thing).to_owned(), format!("{thing}-set")]);
            draw.shuffled(&both.collect::<Vec<_>>())
        }
    };
    let new: Vec<String> = all[8..8 + level.of([1, 2, 2, 2])].iter().map(|thing| (*thing).to_owned()).collect();
    let long = |tag: &String| tag.chars().count() >= 9;
    let (remove, add, words) = match level {
        Level::One | Level::Two | Level::Three => {
            let remove: Vec<String> = shown.iter().take(level.of([0, 1, 3, 0])).cloned().collect();
            let words =
                if remove.is_empty() { String::new() } else { format!("Remove the tags {}. ", remove.join(", ")) };
            (remove, new.clone(), format!("{words}Add {}", new.join(" and ")))
        }
        Level::Four => {
            let remove: Vec<String> = shown.iter().filter(|tag| long(tag)).cloned().collect();
            let add: Vec<String> = new.iter().map(|tag| format!("{tag}-set")).collect();
            let words = format!(
                "Remove every tag of nine or more characters (the hyphen counts). Add a tag made of the word {} and -set, \
                 and one made of the word {} and -set, whatever their length",
                new[0], new[1]
            );
            (remove, add, words)
        }
    };
    let mut wanted: Vec<String> = shown.iter().filter(|tag| !remove.contains(tag)).cloned().collect();
    wanted.extend(add.iter().cloned());
    let mut solution: Vec<String> = remove.iter().map(|tag| click("button", &format!("Remove {tag}"))).collect();
    for tag in &add {
        solution.push(fill("textbox", "New tag", tag));
        solution.push(press("textbox", "New tag", "Enter"));
    }
    solution.push(submit());
    let wanted = wanted.into_iter().map(|tag| json!(tag)).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"tags": shown}),
        solution,
        ..Task::new(
            "Tags",
            format!("{words}. Leave all other tags, and submit."),
            Wanted::field("tags", Wanted::Set(wanted)),
        )
    }
}
