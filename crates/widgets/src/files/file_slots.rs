//! A form that takes a file for each of several papers, of certain kinds and sizes.

use serde_json::{Map, Value, json};

use crate::steps::{submit, upload};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget {
    name: "file-slots",
    about: "Gives each paper of an application its file, of the right kind and not too large.",
    draw,
};

const BODY: &str = r##"<form id="form"></form>"##;
const STYLE: &str = "#form .error{color:#a02020;margin:0}#form p{margin:0}";
const SCRIPT: &str = r##"
const given = {};
for (const [at, { name, kind, most }] of data.slots.entries()) {
  const input = el("input", { type: "file", id: `slot${at}`, accept: `.${kind}`, "aria-describedby": `about${at}` });
  const error = el("p", { class: "error", role: "alert" });
  const told = el("p", { role: "status" });
  input.addEventListener("change", () => {
    const file = input.files[0];
    delete given[name];
    told.textContent = error.textContent = "";
    if (!file) return;
    if (!file.name.endsWith(`.${kind}`)) error.textContent = `${file.name} does not end in .${kind}.`;
    else if (file.size > most) error.textContent = `${file.name} has ${file.size} bytes, ${file.size - most} too many.`;
    else { given[name] = file.name; told.textContent = `${file.name}, ${file.size} bytes`; }
    if (error.textContent) input.value = "";
  });
  $("#form").append(el("div", { class: "card" }, el("label", {}, `${name} `, input), el("p", { class: "soft", id: `about${at}` }, `Ends in .${kind}, at most ${most} bytes`), told, error));
}
const error = el("p", { class: "error", role: "alert" });
$("#form").append(error, el("button", { id: "send" }, "Submit"));
$("#form").onsubmit = (event) => {
  event.preventDefault();
  const missing = data.slots.find(({ name }) => !given[name]);
  if (missing) error.textContent = `${missing.name} is missing.`; else send({ files: given });
};
"##;

const PAPERS: [(&str, &str); 4] = [("Curriculum", "pdf"), ("Certificate", "pdf"), ("Photo", "png"), ("Letter", "txt")];

fn draw(draw: &mut Draw) -> Task {
    let papers = draw.some(draw.level.of([1, 2, 3, 4]), &PAPERS);
    let who = draw.names(2);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let (mut slots, mut wanted, mut solution) = (Vec::new(), Map::new(), Vec::new());
    for (at, (paper, kind)) in papers.iter().enumerate() {
        let word = paper.to_lowercase();
        let most = draw.number(5..=20) * 10;
        let size = |more: i64| vec![b'x'; usize::try_from(most + more).unwrap_or_default()];
        let less = draw.number(1..=30);
        let right = format!("{word}-{}-1.{kind}", who[0].to_lowercase());
        let other = format!("{word}-{}-2.{kind}", who[0].to_lowercase());
        // One of two versions is too large, at the last level; which is seen when it is given.
        let (right, other) = if draw.once_in(2) { (right, other) } else { (other, right) };
        if draw.level == Level::Four {
            files.push((other.clone(), size(less)));
            solution.push(upload(&format!("#slot{at}"), &[&other]));
        }
        if draw.level > Level::Two {
            files.push((format!("{word}-{}-1.{kind}", who[1].to_lowercase()), size(-less)));
        }
        if draw.level < Level::Three {
            files.push((format!("{word}-{}-1.doc", who[0].to_lowercase()), size(-less)));
        }
        files.push((right.clone(), size(-less)));
        solution.push(upload(&format!("#slot{at}"), &[&right]));
        wanted.insert((*paper).to_owned(), Value::from(right));
        slots.push(json!({"name": paper, "kind": kind, "most": most}));
    }
    solution.push(submit());
    let files = draw.shuffled(&files);
    let names = listed(&files.iter().map(|(name, _)| name).collect::<Vec<_>>());
    let words = format!(
        "Apply for {} (not for {}) with one file for each paper that the form asks for, of the kind and size that it takes",
        who[0], who[1]
    );
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"slots": slots}),
        files,
        solution,
        ..Task::new(
            "Application",
            format!("Your files are {names}. {words}. Then submit."),
            Wanted::exactly(&json!({"files": wanted})),
        )
    }
}
