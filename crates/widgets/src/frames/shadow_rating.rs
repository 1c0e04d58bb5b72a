//! Ratings by stars, each an element with an open shadow tree.

use serde_json::json;

use crate::{Draw, Level, Task, Wanted, Widget, steps, text};

pub(super) const WIDGET: Widget =
    Widget { name: "shadow-rating", about: "Gives stars in elements with an open shadow tree.", draw };

const TOPICS: [&str; 6] = ["Food", "Service", "Rooms", "Quiet", "Price", "View"];
const SCRIPT: &str = r##"
customElements.define("star-rating", class extends HTMLElement {
  connectedCallback() {
    this.value = Number(this.getAttribute("value"));
    const root = this.attachShadow({ mode: "open" });
    const style = el("style", {}, "div{display:flex;gap:4px;align-items:center}b{width:90px;font-weight:normal}span[role=radio]{font-size:28px;line-height:1;cursor:pointer;color:#b9c1cc}span.on{color:#e09600}:focus-visible{outline:3px solid #f0a500}");
    const label = this.getAttribute("label");
    this.stars = [1, 2, 3, 4, 5].map((count) => el("span", { role: "radio", "aria-label": `${label}: ${count} of 5`, onclick: () => this.rate(count), onkeydown: (event) => this.key(event) }, "★"));
    root.append(style, el("div", { role: "radiogroup", "aria-label": label }, el("b", {}, label), ...this.stars));
    this.show();
  }
  key(event) {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (event.key === " ") this.rate(this.stars.indexOf(event.target) + 1);
    else if (by) this.rate(Math.min(5, Math.max(1, this.value + by)));
    else return;
    event.preventDefault();
    this.stars[this.value - 1].focus();
  }
  rate(count) { this.value = count; this.show(); }
  show() {
    this.stars.forEach((star, at) => {
      star.className = at < this.value ? "on" : "";
      star.setAttribute("aria-checked", String(at + 1 === this.value));
      star.tabIndex = at + 1 === this.value || (!this.value && at === 0) ? 0 : -1;
    });
  }
});
$("#send").onclick = () => send({ ratings: $$("star-rating").map((one) => one.value) });
"##;

fn draw(draw: &mut Draw) -> Task {
    let count = draw.level.of([1, 2, 4, 6]);
    let topics = draw.some(count, &TOPICS);
    let given: Vec<i64> = (0..count).map(|_| if draw.level == Level::Four { draw.number(2..=4) } else { 0 }).collect();
    let mut wanted: Vec<i64> = (0..count).map(|_| draw.number(1..=5)).collect();
    let words = if draw.level == Level::Four {
        wanted = given.iter().map(|stars| stars + 1).collect();
        let (worse, best) = (draw.number(1..=2), topics[1]);
        wanted[0] = given[0] - worse.min(given[0] - 1);
        wanted[1] = 5;
        let fewer = given[0] - wanted[0];
        format!(
            "Give {} {fewer} fewer than it has now, {best} the most that there is, and every other topic one star more than \
             it has now",
            topics[0]
        )
    } else {
        let each: Vec<String> = topics.iter().zip(&wanted).map(|(topic, stars)| format!("{topic} {stars}")).collect();
        format!("Give these stars: {}", each.join(", "))
    };
    let stars = |(topic, stars): (&&str, &i64)| {
        format!("<star-rating label=\"{}\" value=\"{stars}\"></star-rating>", text(topic))
    };
    let order = draw.shuffled(&(0..count).collect::<Vec<_>>());
    let body: String = order.iter().map(|at| stars((&topics[*at], &given[*at]))).collect();
    let click = |at: &usize| steps::click("radio", &format!("{}: {} of 5", topics[*at], wanted[*at]));
    let ratings: Vec<i64> = order.iter().map(|at| wanted[*at]).collect();
    Task {
        body: format!("<div class=\"card\">{body}</div><button id=\"send\">Submit</button>"),
        script: SCRIPT,
        solution: order.iter().map(click).chain([steps::submit()]).collect(),
        ..Task::new("Rate your stay", format!("{words}. Then submit."), Wanted::exactly(&json!({"ratings": ratings})))
    }
}
