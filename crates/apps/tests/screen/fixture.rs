//! The app that most tests use.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::fault::Faults;
use palestra_apps::run::{Beginning, World, initial};
use palestra_apps::screen::{ActionOutcome, GuiAction, Tree, Viewer};

/// Lends tools; its screens are made by the engine.
pub(crate) const TOOLSHED: &str = include_str!("toolshed.yaml");

/// The same with screens of its own.
pub(crate) const SCREENS: &str = r#"
screens:
  tools: {title: Tools, body: [{search: tools}, {filters: tools}, {list: tools, open: tool}, {goto: loans, label: "All loans"}]}
  tool:
    title: "${tool.name}"
    args: {tool: ref tool}
    body:
      - {banner: "${tool.name} is being repaired.", when: "tool.state == 'repair'"}
      - {detail: tool, show: [name, kind, state, day_fee, manual]}
      - tabs:
          lend: [{form: lend, fix: {tool: tool}, then: loans}]
          upkeep: [{form: write_manual, fix: {tool: tool}}, {dialog: {label: Parts, body: [{form: equip, fix: {tool: tool}}]}}]
      - {button: scrap, fix: {tool: tool}, confirm: true, label: "Scrap ${tool.name}", then: tools}
  loans:
    title: Loans
    body:
      - {pager: open_loans}
      - {list: open_loans, open: loan, empty: "No loans.", row: [{button: give_back, fix: {loan: row}, confirm: true}, {goto: member, args: {member: row.member}}]}
  loan: {title: "Loan ${loan.id}", args: {loan: ref loan}, body: [{detail: loan}, {summary: {days_left: "days_between(today(), loan.due)"}}]}
  member: {title: "${member.name}", args: {member: ref member}, body: [{detail: member}, {calendar: history, args: {member: member}, by: due}]}
  members: {title: Members, body: [{search: members}, {list: members, open: member}, {steps: {first: [{form: enrol}], second: [{form: block_all}]}}]}
"#;

pub(crate) fn load(text: &str) -> Result<Arc<App>, Faults> {
    App::load(&BTreeMap::from([("app.yaml".to_owned(), text.to_owned())]))
}

pub(crate) fn begin(app: &Arc<App>, variant: u32) -> World {
    let data = initial(app, variant).expect("initial data");
    World::begin(Arc::new(Beginning::free(Arc::clone(app), data, 1))).expect("a world")
}

/// The app with screens made by the engine, at its beginning.
pub(crate) fn made() -> World {
    begin(&load(TOOLSHED).unwrap_or_else(|faults| panic!("{}", messages(&faults))), 0)
}

/// The app with screens of its own, at its beginning.
pub(crate) fn own() -> World {
    begin(&load(&format!("{TOOLSHED}{SCREENS}")).unwrap_or_else(|faults| panic!("{}", messages(&faults))), 0)
}

pub(crate) fn messages(faults: &Faults) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

pub(crate) fn click(element: &str) -> GuiAction {
    GuiAction::Click { element: element.to_owned() }
}

pub(crate) fn type_in(element: &str, text: &str) -> GuiAction {
    GuiAction::Type { element: element.to_owned(), text: text.to_owned() }
}

pub(crate) fn select(element: &str, option: &str) -> GuiAction {
    GuiAction::Select { element: element.to_owned(), option: option.to_owned() }
}

/// Acts, and expects that it was not refused.
pub(crate) fn act(viewer: &mut Viewer, world: &mut World, action: &GuiAction) -> ActionOutcome {
    let shown = viewer.act(world, action).expect("no fault of the definition");
    assert_eq!(shown.error, None, "{action:?} on\n{}", viewer.tree(world).expect("a tree"));
    shown
}

pub(crate) fn tree(viewer: &Viewer, world: &World) -> Tree {
    viewer.tree(world).expect("a tree")
}
