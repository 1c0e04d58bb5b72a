//! A tree whose branches open, in which one leaf is chosen.

use serde_json::{Value, json};

use crate::steps::{press, submit};
use crate::{Draw, Level, Task, Wanted, Widget};

pub(super) const WIDGET: Widget =
    Widget { name: "tree-open", about: "Opens the branches of a tree down to one node and selects it.", draw };

const BODY: &str = r##"<div class="card"><ul role="tree" aria-label="Archive" id="tree"></ul></div>
<p>Selected: <output id="chosen">nothing</output></p><button id="send">Submit</button>"##;
const STYLE: &str = "#tree,#tree ul{list-style:none;margin:0;padding-left:20px}#tree{padding:0}#tree span{padding:2px 6px;border-radius:4px;cursor:pointer;display:inline-block}[role=treeitem][aria-selected=true]>span{background:var(--accent);color:#fff}[role=treeitem]:focus{outline:none}[role=treeitem]:focus-visible>span{outline:3px solid #f0a500}";
const SCRIPT: &str = r##"
let chosen = null;
const tree = $("#tree");
const focus = (item) => { for (const one of $$("[role=treeitem]")) one.tabIndex = -1; item.tabIndex = 0; item.focus(); };
const open = (item, on) => {
  if (!item.hasAttribute("aria-expanded")) return;
  item.setAttribute("aria-expanded", String(on));
  $("ul", item).hidden = !on;
  $("b", item).textContent = on ? "▾ " : "▸ ";
};
const select = (item) => {
  for (const one of $$("[role=treeitem]")) one.setAttribute("aria-selected", String(one === item));
  chosen = item.path;
  $("#chosen").textContent = chosen.join(" / ");
};
const build = ([name, children], above) => {
  const path = [...above, name];
  const branch = children.length > 0;
  const item = el("li", { role: "treeitem", tabindex: -1, "aria-label": name, "aria-selected": "false", "aria-expanded": branch ? "false" : null });
  item.path = path;
  const label = el("span", {}, el("b", { "aria-hidden": "true" }, branch ? "▸ " : "· "), name);
  label.onclick = () => { focus(item); select(item); open(item, item.getAttribute("aria-expanded") !== "true"); };
  item.append(label);
  if (branch) item.append(el("ul", { role: "group", hidden: true }, ...children.map((child) => build(child, path))));
  return item;
};
tree.append(...data.tree.map((node) => build(node, [])));
$("[role=treeitem]").tabIndex = 0;
tree.addEventListener("keydown", (event) => {
  const item = event.target.closest("[role=treeitem]");
  const seen = $$("[role=treeitem]").filter((one) => !one.closest("ul[hidden]"));
  const at = seen.indexOf(item), is = item.getAttribute("aria-expanded");
  const to = (next) => next && focus(next);
  if (event.key === "ArrowDown") to(seen[at + 1]);
  else if (event.key === "ArrowUp") to(seen[at - 1]);
  else if (event.key === "Home") to(seen[0]);
  else if (event.key === "End") to(seen.at(-1));
  else if (event.key === "ArrowRight") { if (is === "false") open(item, true); else if (is === "true") to(seen[at + 1]); }
  else if (event.key === "ArrowLeft") { if (is === "true") open(item, false); else to(item.parentElement.closest("[role=treeitem]")); }
  else if (event.key === "Enter" || event.key === " ") select(item);
  else return;
  event.preventDefault();
});
$("#send").onclick = () => send({ path: chosen });
"##;

const KINDS: [[&str; 4]; 4] = [
    ["2028", "2029", "2030", "2031"],
    ["Letters", "Plans", "Photos", "Accounts"],
    ["Drafts", "Finished", "Rejected", "Waiting"],
    ["North", "South", "East", "West"],
];

/// The branches below a depth: the same names under each, so that only the path tells them apart.
fn branches(orders: &[Vec<&str>], depth: usize) -> Value {
    let Some(names) = orders.get(depth) else { return json!([]) };
    names.iter().map(|name| json!([name, branches(orders, depth + 1)])).collect()
}

fn draw(draw: &mut Draw) -> Task {
    let depth: usize = draw.level.of([1, 2, 3, 4]);
    let wide = draw.level.of([4, 3, 4, 4]);
    let orders: Vec<Vec<&str>> = (0..depth).map(|at| draw.some(wide, &KINDS[at])).collect();
    let path: Vec<&str> = orders.iter().map(|names| draw.pick(names)).collect();
    let words = match (draw.level, path.as_slice()) {
        (Level::One, _) => format!("Select {} in the tree", path[0]),
        (Level::Four, [year, kind, state, side]) => format!(
            "Select, among the {kind} of the year {}, the branch {side} of what is {}",
            match year.parse::<i64>() {
                Ok(year) => format!("that follows {}", year - 1),
                Err(_) => (*year).to_owned(),
            },
            state.to_lowercase()
        ),
        _ => format!("Select the node {} in the tree", path.join(" / ")),
    };
    let mut solution = Vec::new();
    for (at, name) in path.iter().enumerate() {
        // Only the branches on the way are open, so that each name shows once.
        solution.push(press("treeitem", name, if at + 1 < depth { "ArrowRight" } else { "Enter" }));
    }
    solution.push(submit());
    Task {
        body: BODY.to_owned(),
        style: STYLE,
        script: SCRIPT,
        data: json!({"tree": branches(&orders, 0)}),
        solution,
        ..Task::new("Archive", format!("{words}, and submit."), Wanted::exactly(&json!({"path": path})))
    }
}
