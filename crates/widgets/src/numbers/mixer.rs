//! A mixer with channels: volumes, and switches that mute.

use serde_json::{Map, Value, json};

use crate::steps::{click, fill, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget = Widget { name: "mixer", about: "Sets volumes and mutes channels of a mixer.", draw };

const BODY: &str = r##"<div id="channels"></div><p><button id="send">Submit</button></p>"##;
const STYLE: &str = "#channels{display:flex;gap:10px;flex-wrap:wrap}.channel{width:112px;text-align:center;margin:0}.channel input{writing-mode:vertical-lr;direction:rtl;height:150px;display:block;margin:6px auto}.channel button[aria-checked=true]{background:var(--accent);color:#fff}";
const SCRIPT: &str = r##"
const channels = data.channels.map((channel) => {
  const out = el("output", { "aria-hidden": "true" }, String(channel.volume));
  const slider = el("input", { type: "range", min: 0, max: 100, step: 5, value: channel.volume, "aria-label": `${channel.name} volume`, "aria-orientation": "vertical", oninput: () => { channel.volume = Number(slider.value); out.textContent = slider.value; } });
  const mute = el("button", { class: "plain", role: "switch", "aria-label": `Mute ${channel.name}`, "aria-checked": String(channel.muted), onclick: () => { channel.muted = !channel.muted; mute.setAttribute("aria-checked", String(channel.muted)); } }, "Mute");
  $("#channels").append(el("div", { class: "card channel", role: "group", "aria-label": channel.name }, el("b", {}, channel.name), slider, out, el("div", {}, mute)));
  return channel;
});
$("#send").onclick = () => send(Object.fromEntries(channels.map(({ name, volume, muted }) => [name, { volume, muted }])));
"##;
const NAMES: [&str; 8] = ["Voice", "Guitar", "Bass", "Drums", "Piano", "Flute", "Choir", "Strings"];

type Channel = (&'static str, i64, bool);

/// New channels, and the words that tell what is new.
fn mixed(draw: &mut Draw, before: &[Channel]) -> (Vec<Channel>, String) {
    let mut after = before.to_vec();
    if draw.level == Level::Four {
        for (_, volume, muted) in &mut after {
            *muted = *volume >= 75 || (*muted && *volume >= 40);
            if *volume < 40 {
                *volume += 20;
            }
        }
        let words = "Mute every channel whose volume is 75 or more and leave those volumes as they are. Raise the volume of \
                     every channel that is below 40 by 20, and take its mute off if it is muted. Leave all else as it is";
        return (after, words.to_owned());
    }
    let volumes = draw.level.of([1, 2, 3, 0]);
    let mutes = draw.level.of([0, 1, 2, 0]);
    let mut words = Vec::new();
    for (name, volume, _) in after.iter_mut().take(volumes) {
        *volume = (*volume + 5 * draw.number(3..=14)) % 105 / 5 * 5;
        words.push(format!("set {name} to {volume}"));
    }
    for (name, _, muted) in after.iter_mut().rev().take(mutes) {
        *muted = !*muted;
        words.push(if *muted { format!("mute {name}") } else { format!("take the mute of {name} off") });
    }
    let mut words = words.join(", ");
    words.replace_range(..1, "S");
    (after, format!("{words}; leave all else as it is"))
}

fn draw(draw: &mut Draw) -> Task {
    let names = draw.some(draw.level.of([2, 4, 6, 6]), &NAMES);
    let mut before: Vec<Channel> =
        names.into_iter().map(|name| (name, 5 * draw.number(1..=19), draw.once_in(3))).collect();
    if draw.level == Level::Four {
        (before[0].1, before[0].2) = (5 * draw.number(15..=19), false);
        (before[1].1, before[1].2) = (5 * draw.number(1..=7), true);
    }
    let (after, words) = mixed(draw, &before);
    let mut solution = Vec::new();
    for ((name, volume, muted), (_, new, silent)) in before.iter().zip(&after) {
        if volume != new {
            solution.push(fill("slider", &format!("{name} volume"), &new.to_string()));
        }
        if muted != silent {
            solution.push(click("switch", &format!("Mute {name}")));
        }
    }
    solution.push(submit());
    let shown: Vec<Value> =
        before.iter().map(|(name, volume, muted)| json!({"name": name, "volume": volume, "muted": muted})).collect();
    let shown = draw.shuffled(&shown);
    let state: Map<String, Value> = after
        .iter()
        .map(|(name, volume, muted)| ((*name).to_owned(), json!({"volume": volume, "muted": muted})))
        .collect();
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"channels": shown}),
        solution,
        ..Task::new("Mix channels", format!("{words}, and submit."), Wanted::exactly(&Value::Object(state)))
    }
}
