//! A letter with files attached.

use serde_json::{Value, json};

use super::plain;
use crate::steps::{click, fill, upload};
use crate::words::listed;
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "attachments", about: "Writes a letter, attaches the right files and sends it.", draw };

const BODY: &str = r##"<form id="form"><label>To <input id="to" autocomplete="off"></label><label>Subject <input id="subject" autocomplete="off"></label><label>Text <textarea id="text" rows="3"></textarea></label>
<label>Attach <input type="file" id="file" multiple></label><ul id="list" aria-label="Attached"></ul><p id="error" role="alert"></p><button id="send">Send</button></form>"##;
const STYLE: &str = "label input:not([type=file]),textarea{width:100%}#list button{padding:0 8px;margin-left:8px}#error{color:#a02020;margin:0}";
const SCRIPT: &str = r##"
let attached = data.attached.map((name) => ({ name }));
for (const [name, value] of Object.entries(data.letter)) $(`#${name}`).value = value;
const show = () => $("#list").replaceChildren(...attached.map((file) => el("li", {}, file.name, el("button", { type: "button", class: "plain", "aria-label": `Remove ${file.name}`, onclick: () => { attached = attached.filter((one) => one !== file); show(); } }, "Remove"))));
$("#file").addEventListener("change", () => {
  for (const { name } of $("#file").files) if (!attached.some((one) => one.name === name)) attached.push({ name });
  $("#file").value = "";
  show();
});
$("#form").onsubmit = (event) => {
  event.preventDefault();
  const [to, subject, text] = ["to", "subject", "text"].map((id) => $(`#${id}`).value.trim());
  if (to === "") { $("#error").textContent = "To whom?"; return; }
  send({ to, subject, text, attached: attached.map(({ name }) => name) });
};
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([2, 4, 6, 8]);
    let (things, names) = (draw.things(count), draw.names(3));
    let files: Vec<String> = match draw.level {
        // Drafts and versions of the same.
        Level::Three | Level::Four => {
            (0..count).map(|at| format!("{}-{}.txt", things[at / 2], ["draft", "final"][at % 2])).collect()
        }
        _ => things.iter().map(|thing| format!("{thing}.txt")).collect(),
    };
    let attached: Vec<String> =
        if draw.level == Level::Four { vec![files[0].clone(), files[2].clone(), files[3].clone()] } else { vec![] };
    let wanted: Vec<String> = match draw.level {
        Level::One => vec![draw.pick(&files)],
        Level::Two => draw.some(2, &files),
        Level::Three => vec![files[1].clone(), files[2].clone(), files[5].clone()],
        Level::Four => files.iter().filter(|name| name.ends_with("final.txt")).cloned().collect(),
    };
    let to = format!("{}@letters.test", names[0].to_lowercase());
    let subject = if draw.level > Level::One { format!("The {}", things[0]) } else { String::new() };
    let text = if draw.level > Level::Two { format!("Dear {}, here they are.", names[0]) } else { String::new() };
    // At the last level a letter to somebody else is there.
    let before = if draw.level == Level::Four {
        json!({"to": format!("{}@letters.test", names[1].to_lowercase()), "subject": subject, "text": format!("Dear {}, here they are.", names[1])})
    } else {
        json!({})
    };
    let mut solution = vec![fill("textbox", "To", &to)];
    if matches!(draw.level, Level::Two | Level::Three) {
        solution.push(fill("textbox", "Subject", &subject));
    }
    if draw.level > Level::Two {
        solution.push(fill("textbox", "Text", &text));
    }
    solution.extend(
        attached.iter().filter(|name| !wanted.contains(name)).map(|name| click("button", &format!("Remove {name}"))),
    );
    let new: Vec<&str> = wanted.iter().filter(|name| !attached.contains(name)).map(String::as_str).collect();
    solution.extend([upload("#file", &new), click("button", "Send")]);
    let words = match draw.level {
        Level::One => format!("Send {} to {to}, without subject and text", wanted[0]),
        Level::Two => format!("Send {} to {to} with the subject “{subject}”, without text", listed(&wanted)),
        Level::Three => format!("Send {} to {to} with the subject “{subject}” and the text “{text}”", listed(&wanted)),
        Level::Four => format!(
            "The letter is for {} instead of {}: correct the address to {to} and the name in the text, keep the rest, and attach the final version of everything and no draft. Then send it",
            names[0], names[1]
        ),
    };
    let all = listed(&files);
    let attachments = wanted.iter().map(|name| Value::from(name.as_str())).collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"attached": attached, "letter": before}),
        files: files.iter().map(|name| plain(name)).collect(),
        solution,
        ..Task::new(
            "Letter",
            format!("Your files are {all}. {words}."),
            Wanted::Fields(vec![
                ("to".to_owned(), Wanted::Text(to)),
                ("subject".to_owned(), Wanted::Text(subject)),
                ("text".to_owned(), Wanted::Text(text)),
                ("attached".to_owned(), Wanted::Set(attachments)),
            ]),
        )
    }
}
