//! Buttons that open the browser's own dialogs.

use serde_json::json;

use crate::steps::{click, fill, submit};
use crate::words::{capital, listed};
use crate::{Draw, Level, Task, Wanted, Widget, quoted};

pub(super) const WIDGET: Widget =
    Widget { name: "native-dialogs", about: "Reads, accepts, dismisses and answers the browser's own dialogs.", draw };

const BODY: &str = r##"<div id="rooms"></div><label id="note">Code <input id="code" autocomplete="off"></label><p><button id="send">Submit</button></p>"##;
const STYLE: &str = "#rooms .card{display:flex;justify-content:space-between;align-items:center;padding:8px 12px}";
const SCRIPT: &str = r##"
const rooms = data.rooms.map(([name, guests]) => ({ name, guests, state: "open" }));
const show = () => $("#rooms").replaceChildren(...rooms.map((room) => el("div", { class: "card" },
  el("span", {}, `${room.name}: ${room.state}, guest ${room.guest ?? "unknown"}`),
  el("span", { class: "row" }, ...data.buttons.map((word) => el("button", { class: "plain", "aria-label": `${word} ${room.name}`, onclick: () => acts[word](room) }, word))))));
const acts = {
  Ask: (room) => alert(`The code of ${room.name} is ${data.codes[room.name]}.`),
  Close: (room) => {
    if (!confirm(`${room.name} has places for ${room.guests}. Close it?`)) room.state = "kept open";
    else room.state = "closed";
    show();
  },
  Name: (room) => {
    const guest = prompt(`Who stays in ${room.name}?`, room.guest ?? "nobody");
    if (guest !== null) room.guest = guest.trim();
    show();
  },
};
$("#note").hidden = !data.code;
$("#send").onclick = () => send({ rooms: rooms.map(({ name, state, guest }) => [name, state, guest ?? null]), code: $("#code").value.trim() });
show();
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([2, 3, 4, 6]);
    let names: Vec<String> = draw.towns(count).into_iter().map(|town| format!("Room {town}")).collect();
    let (guests, seats) = (draw.names(count), draw.numbers(count, 2..=30));
    let codes: Vec<String> =
        (0..count).map(|_| format!("{}-{}", draw.number(100..=999), draw.number(10..=99))).collect();
    let mut after: Vec<(&str, &str, Option<&str>)> = names.iter().map(|name| (name.as_str(), "open", None)).collect();
    let (mut solution, mut words, mut code) = (Vec::new(), Vec::new(), String::new());
    if matches!(draw.level, Level::One | Level::Four) {
        let at = draw.place(count);
        code = codes[at].clone();
        solution.extend([click("button", &format!("Ask {}", names[at])), "dialog_accept()".to_owned()]);
        solution.push(fill("textbox", "Code", &code));
        words.push(format!("ask for the code of {} and enter it", names[at]));
    }
    match draw.level {
        Level::One => {}
        Level::Four => words.push(
            "press Close once for every room; each dialog tells the room's places: close the rooms with places for 15 or more, and dismiss the dialog for the others".to_owned(),
        ),
        _ => {
            let closed = draw.some(draw.level.of([0, 1, 2, 0]), &names);
            words.push(format!("press Close once for {} and accept", listed(&closed)));
            for one in &mut after {
                one.1 = if closed.iter().any(|name| name == one.0) { "closed" } else { "open" };
            }
        }
    }
    for (at, name) in names.iter().enumerate() {
        let closes = match draw.level {
            Level::Four => seats[at] >= 15,
            _ if after[at].1 == "closed" => true,
            _ => continue,
        };
        after[at].1 = if closes { "closed" } else { "kept open" };
        solution.push(click("button", &format!("Close {name}")));
        solution.push(if closes { "dialog_accept()" } else { "dialog_dismiss()" }.to_owned());
    }
    if draw.level > Level::Two {
        let places: Vec<usize> = (0..count).collect();
        for at in draw.some(2, &places) {
            after[at].2 = Some(guests[at]);
            words.push(format!("name {} as the guest of {}", guests[at], names[at]));
            solution.push(click("button", &format!("Name {}", names[at])));
            solution.push(format!("dialog_accept({})", quoted(guests[at])));
        }
    }
    solution.push(submit());
    let buttons: &[&str] = draw.level.of([&["Ask"], &["Close"], &["Close", "Name"], &["Ask", "Close", "Name"]]);
    let rooms: Vec<_> = names.iter().zip(&seats).collect();
    let codes: serde_json::Map<_, _> = if code.is_empty() {
        Default::default()
    } else {
        names.iter().cloned().zip(codes.iter().map(|code| json!(code))).collect()
    };
    let words = words.join("; ");
    let instruction = format!("{}. Touch no other room, and submit.", capital(&words));
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"rooms": rooms, "buttons": buttons, "codes": codes, "code": !code.is_empty()}),
        solution,
        ..Task::new("Rooms", instruction, Wanted::exactly(&json!({"rooms": after, "code": code})))
    }
}
