//! Values that inputs of a page offer.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::html::{Frame, page};
use palestra_apps::screen::Viewer;
use scraper::{Html, Selector};

use crate::fixture::{SCREENS, TOOLSHED, act, begin, click, messages};

fn app(suggest: &str) -> Result<Arc<App>, String> {
    let files = [
        ("app.yaml", format!("{TOOLSHED}{SCREENS}")),
        ("theme/theme.yaml", format!("search: {{screen: tools}}\nsuggest:\n  {suggest}")),
    ];
    let files: BTreeMap<String, String> = files.map(|(name, text)| (name.to_owned(), text)).into();
    App::load(&files).map_err(|faults| messages(&faults))
}

/// Value and label of what an input offers; none where it offers nothing.
fn offered(page: &str, input: &str) -> Option<Vec<(String, String)>> {
    let page = Html::parse_document(page);
    let find = |selector: String| Selector::parse(&selector).expect("a selector");
    let input = page.select(&find(format!("input[data-suggest]{input}"))).next()?;
    let id = input.attr("id").expect("an id");
    let option = find(format!("[id=\"{id}-values\"] option"));
    let options = page.select(&option);
    Some(options.map(|option| (option.attr("value").unwrap_or_default().to_owned(), option.text().collect())).collect())
}

#[test]
fn inputs_and_the_search_box_offer_what_a_list_has() {
    let app = app("name: {view: members, value: name}\n  search: {view: tools, value: name, label: state}")
        .unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut world = begin(&app, 0);
    let mut viewer = Viewer::new();
    let home = page(&viewer, &world, &Frame::default()).expect("a page");
    let tools = offered(&home, "[type=search]").expect("the search box");
    let rows = world.data().rows(app.schema.find("tool").expect("a table")).count();
    let names: std::collections::BTreeSet<&String> = tools.iter().map(|(name, _)| name).collect();
    assert!(!tools.is_empty() && tools.len() <= rows && names.len() == tools.len(), "each value once: {tools:?}");
    assert!(tools.iter().all(|(_, state)| ["in", "out", "repair"].contains(&state.as_str())), "{tools:?}");
    assert_eq!(offered(&home, ":not([type=search])"), None, "no other input is here");
    act(&mut viewer, &mut world, &click("app-nav/members"));
    let members = page(&viewer, &world, &Frame::default()).expect("a page");
    let people = offered(&members, "[id$=\"/name\"]").expect("the name of who enrols");
    assert!(
        !people.is_empty() && people.iter().all(|(name, label)| !name.is_empty() && label.is_empty()),
        "{people:?}"
    );
}

#[test]
fn what_cannot_be_offered_is_a_fault_of_the_theme() {
    for (suggest, wrong) in [
        ("nosuch: {view: members, value: name}", "no action has the parameter `nosuch`"),
        ("name: {view: membres, value: name}", "did you mean `members`?"),
        ("name: {view: members, value: nam}", "did you mean `name`?"),
        ("name: {view: history, value: due}", "needs no arguments"),
        ("name: {value: name}", "view"),
    ] {
        let refused = app(suggest).expect_err(suggest);
        assert!(refused.contains("theme/theme.yaml:3") && refused.contains(wrong), "{suggest}: {refused}");
    }
}
