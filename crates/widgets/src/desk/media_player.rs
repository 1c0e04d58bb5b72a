//! A player of music.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, steps};

pub(super) const WIDGET: Widget = Widget { name: "media-player", about: "Sets a player of music.", draw };

const BODY: &str = r##"<div id="tracks" role="radiogroup" aria-label="Tracks"></div><div class="card"><p>Now: <b id="now"></b> <span id="time"></span></p>
<label>Position <input type="range" id="position" min="0" value="0"></label><div class="row"><button id="play">Play</button><label style="margin:0">Volume <input type="range" id="volume" min="0" max="100"></label><output id="loud"></output>
<label style="margin:0">Speed <select id="speed"><option>0.5</option><option>1</option><option>1.5</option><option>2</option></select></label><label style="margin:0"><input type="checkbox" id="repeat"> Repeat</label></div></div><button id="send">Submit</button>"##;
const STYLE: &str = "#tracks label{display:flex;gap:8px;margin:0;padding:3px 8px;border-bottom:1px solid var(--line)}#tracks span{margin-left:auto}#position{width:100%}";
const SCRIPT: &str = r##"
let [track, playing] = [0, false];
const clock = (seconds) => `${Math.floor(seconds / 60)}:${two(Math.floor(seconds % 60))}`;
const position = $("#position");
const show = () => {
  const { title, by, length } = data.tracks[track];
  $("#now").textContent = `${title} by ${by}`;
  $("#time").textContent = `${clock(position.valueAsNumber)} of ${clock(length)}`;
  position.setAttribute("aria-valuetext", `${clock(position.valueAsNumber)} of ${clock(length)}`);
  $("#play").textContent = playing ? "Pause" : "Play";
  $("#loud").textContent = `${$("#volume").value} %`;
};
const choose = (at) => { track = at; position.max = String(data.tracks[at].length); position.value = "0"; show(); };
data.tracks.forEach(({ title, by, length }, at) => {
  const radio = el("input", { type: "radio", name: "track", checked: at === 0, onchange: () => choose(at) });
  $("#tracks").append(el("label", {}, radio, `${title} by ${by}`, el("span", {}, clock(length))));
});
position.oninput = show;
$("#volume").value = String(data.volume);
$("#volume").oninput = show;
$("#speed").value = "1";
$("#play").onclick = () => { playing = !playing; show(); };
setInterval(() => { if (playing) { position.value = String(position.valueAsNumber + Number($("#speed").value)); show(); } }, 1000);
$("#send").onclick = () => send({ track: data.tracks[track].title, playing, position: position.valueAsNumber, volume: $("#volume").valueAsNumber, speed: Number($("#speed").value), repeat: $("#repeat").checked });
choose(0);
"##;

/// State of the player that is wanted.
struct Player {
    track: usize,
    playing: bool,
    position: Option<i64>,
    volume: i64,
    speed: &'static str,
    repeat: bool,
}

fn draw(draw: &mut Draw) -> Task {
    let count: usize = draw.level.of([3, 4, 6, 9]);
    let things = draw.things(count);
    let bands = draw.some(2, &["The Gulls", "Low Tide", "Marble Four"]);
    // Lengths are even, and all different.
    let lengths: Vec<i64> =
        draw.some(count, &(60..=180).collect::<Vec<i64>>()).into_iter().map(|half| 2 * half).collect();
    let title = |at: usize| format!("Song of the {}", things[at]);
    // The first track is by the other band, so that it is never asked for.
    let by = |at: usize| bands[usize::from(!at.is_multiple_of(3))];
    let volume = 2 * draw.number(30..=45);
    let clock = |seconds: i64| format!("{}:{:02}", seconds / 60, seconds % 60);
    let mut player = Player { track: 0, playing: false, position: Some(0), volume, speed: "1", repeat: false };
    let other = 1 + draw.place(count - 1);
    let words = match draw.level {
        Level::One => {
            player.volume = draw.number(5..=55);
            format!("Set the volume to {}", player.volume)
        }
        Level::Two => {
            (player.track, player.playing, player.position) = (other, true, None);
            player.volume = draw.number(5..=55);
            format!("Choose \"{}\", set the volume to {}, and let it play", title(other), player.volume)
        }
        Level::Three => {
            player.track = other;
            player.position = Some(draw.number(10..=lengths[other] - 10));
            (player.speed, player.repeat) = (draw.pick(&["0.5", "1.5", "2"]), true);
            let place = clock(player.position.unwrap_or_default());
            format!(
                "Choose \"{}\", put its position at {place}, the speed at {}, and turn repeat on; do not play it",
                title(other),
                player.speed
            )
        }
        Level::Four => {
            let longest = (1..count).filter(|at| by(*at) == bands[1]).max_by_key(|at| lengths[*at]);
            player.track = longest.unwrap_or(1);
            player.position = Some(lengths[player.track] / 2);
            (player.volume, player.speed) = (volume / 2, "2");
            format!(
                "Choose the longest track by {}, put its position at half of its length, the volume at half of what it is, and \
                 the speed at the fastest; do not play it",
                bands[1]
            )
        }
    };
    let mut solution = Vec::new();
    if player.track > 0 {
        let name = format!("{} by {} {}", title(player.track), by(player.track), clock(lengths[player.track]));
        solution.push(steps::check("radio", &name));
    }
    if let Some(position) = player.position.filter(|position| *position > 0) {
        solution.push(steps::fill("slider", "Position", &position.to_string()));
    }
    if player.volume != volume {
        solution.push(steps::fill("slider", "Volume", &player.volume.to_string()));
    }
    if player.speed != "1" {
        solution.push(steps::select("Speed", player.speed));
    }
    if player.repeat {
        solution.push(steps::check("checkbox", "Repeat"));
    }
    if player.playing {
        solution.push(steps::click("button", "Play"));
    }
    solution.push(steps::submit());
    let tracks: Vec<_> =
        (0..count).map(|at| json!({"title": title(at), "by": by(at), "length": lengths[at]})).collect();
    let mut wanted = vec![
        ("track".to_owned(), Wanted::Is(json!(title(player.track)))),
        ("playing".to_owned(), Wanted::Is(json!(player.playing))),
        ("volume".to_owned(), Wanted::Is(json!(player.volume))),
        ("speed".to_owned(), Wanted::Near { value: player.speed.parse().unwrap_or(1.0), within: 0.01 }),
        ("repeat".to_owned(), Wanted::Is(json!(player.repeat))),
    ];
    wanted.extend(player.position.map(|position| ("position".to_owned(), Wanted::Is(json!(position)))));
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"tracks": tracks, "volume": volume}),
        solution,
        ..Task::new("Player", format!("{words}. Leave all else as it is, and submit."), Wanted::Fields(wanted))
    }
}
