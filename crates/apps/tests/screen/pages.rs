//! Pages as a browser gets them.

use palestra_apps::app::Role;
use palestra_apps::html::{self, NotActions};
use palestra_apps::run::World;
use palestra_apps::screen::{Direction, GuiAction, Tree, Viewer};
use scraper::Html;
use serde_json::json;

use crate::browser::{BASE, Browser, control, page_of, selector};
use crate::fixture::{act, begin, click, load, made, messages, own, tree, type_in};

const HOSTILE: &str = "</td><script>alert(\"x\")</script> & 'y'";

#[test]
fn every_control_is_labelled_and_every_form_posts_to_the_base() {
    for mut world in [made(), own()] {
        let screens: Vec<String> = tree(&Viewer::new(), &world)
            .all()
            .iter()
            .filter(|link| link.id.starts_with("app-nav/"))
            .map(|link| link.id.to_string())
            .collect();
        for screen in screens {
            let mut viewer = Viewer::new();
            act(&mut viewer, &mut world, &click(&screen));
            let shown = tree(&viewer, &world);
            let page = Html::parse_document(&page_of(&viewer, &world));
            well_formed(&page, &screen);
            offered(&page, &viewer, &world, &shown);
        }
    }
}

/// Tags are balanced, ids unique, inputs labelled, headings in order, and landmarks there.
pub(crate) fn well_formed(page: &Html, place: &str) {
    assert!(page.errors.is_empty(), "{place}: {:?}\n{}", page.errors, page.html());
    for part in ["html[lang]", "title", "main", "h1", "main > [aria-live]", "a.skip"] {
        assert_eq!(page.select(&selector(part)).count(), 1, "{part} of {place}");
    }
    let wrong = "script:not([src]), style, [onclick], [style], form form, a a, a button, button a";
    let wrong: Vec<String> = page.select(&selector(wrong)).map(|element| element.html()).collect();
    assert!(wrong.is_empty(), "{place}: {wrong:?}");
    let mut ids: Vec<&str> = page.select(&selector("[id]")).filter_map(|element| element.attr("id")).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{place}: an id stands twice");
    let labels: Vec<&str> = page.select(&selector("label")).filter_map(|label| label.attr("for")).collect();
    for input in page.select(&selector("input:not([type=hidden]), select, textarea")) {
        let labelled = input.attr("aria-label").is_some() || input.attr("id").is_some_and(|id| labels.contains(&id));
        assert!(labelled, "{place}: {} has no label", input.html());
    }
    for form in page.select(&selector("form")) {
        assert!(form.attr("action").is_some_and(|action| action.starts_with(&format!("{BASE}/"))), "{place}");
    }
    let headings = selector("main h1, main h2, main h3, main h4, main h5");
    let levels: Vec<u8> = page.select(&headings).map(|heading| heading.value().name().as_bytes()[1]).collect();
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{place}: {levels:?}");
    for control in page.select(&selector("button, a")) {
        let text: String = control.text().collect();
        let named = !text.trim().is_empty() || control.attr("aria-label").is_some() || control.attr("hidden").is_some();
        assert!(named, "{place}: {}", control.html());
    }
}

/// Checks that what can be done on the screen can be done on the page.
pub(crate) fn offered(page: &Html, viewer: &Viewer, world: &World, shown: &Tree) {
    for element in shown.all().into_iter().filter(|element| element.is_actionable()) {
        match viewer.address_of(world, &element.id).expect("a screen") {
            Some(address) => {
                let target = format!("{BASE}{address}");
                let there = page.select(&selector("a[href]")).any(|link| link.attr("href") == Some(&target));
                // Where one is anyway needs no link.
                let here = viewer.address(world).expect("an address") == address;
                assert!(there || here, "no link leads to {target} as {} does\n{}", element.id, page.html());
            }
            None => {
                control(page, &element.id);
            }
        }
    }
}

#[test]
fn data_stays_text() {
    let mut world = own();
    let arguments = json!({"name": HOSTILE, "note": HOSTILE}).as_object().expect("an object").clone();
    world.call(Role::AGENT, "enrol", &arguments).expect("it is enrolled");
    let mut viewer = Viewer::new();
    act(&mut viewer, &mut world, &click("app-nav/members"));
    act(&mut viewer, &mut world, &type_in("members/search/text", "script alert"));
    let open = tree(&viewer, &world)
        .all()
        .into_iter()
        .find(|element| element.id.ends_with("/open"))
        .expect("a row")
        .id
        .to_string();
    for _ in 0..2 {
        let text = page_of(&viewer, &world);
        assert!(!text.contains("<script>") && !text.contains("'y'"), "{text}");
        let page = Html::parse_document(&text);
        let seen: String = page.root_element().text().collect();
        assert!(seen.contains(HOSTILE), "{seen}");
        if tree(&viewer, &world).find(&open).is_some() {
            act(&mut viewer, &mut world, &click(&open));
        }
    }
    act(&mut viewer, &mut world, &click("app-nav/members"));
    act(&mut viewer, &mut world, &type_in("members/enrol/name", HOSTILE));
    let page = Html::parse_document(&page_of(&viewer, &world));
    assert_eq!(control(&page, "members/enrol/name").attr("value"), Some(HOSTILE));
}

#[test]
fn ids_with_quotes_and_slashes_lead_to_their_rows() {
    let app = load(
        r#"
app: odd
version: 1
about: Odd ids.
tz: UTC
start: "2031-05-05T09:00"
tables: {thing: {id: "a/\"<{2}> %", cols: {name: text, done: bool = false}}}
seed: {thing: {n: 5, name: person_name()}}
views: {things: {from: thing}}
actions: {finish: {params: {thing: ref thing}, effects: [{update: {row: thing, set: {done: "true"}}}]}}
screens:
  things: {title: Things, body: [{list: things, open: thing, row: [{button: finish, fix: {thing: row}}]}]}
  thing: {title: "${thing.name}", args: {thing: ref thing}, body: [{detail: thing}]}
"#,
    )
    .unwrap_or_else(|faults| panic!("{}", messages(&faults)));
    let mut browser = Browser::new(begin(&app, 0), Viewer::new());
    let buttons: Vec<String> = tree(&browser.viewer, &browser.world)
        .all()
        .into_iter()
        .filter(|element| element.id.ends_with("/finish"))
        .map(|element| element.id.to_string())
        .collect();
    assert_eq!(buttons.len(), 5);
    for button in &buttons {
        assert!(button.starts_with("things/list/a%2F%22<") && button.split('/').count() == 4, "{button}");
        browser.perform(&click(button));
        browser.perform(&click(&button.replace("/finish", "/open")));
        assert_eq!(&*tree(&browser.viewer, &browser.world).screen, "thing");
        browser.perform(&GuiAction::Back);
    }
    let document = browser.world.data().document().to_value();
    let done = document["thing"].as_object().expect("rows").values().filter(|row| row["done"] == true).count();
    assert_eq!(done, 5);
}

#[test]
fn fields_become_actions_in_their_order() {
    let fields = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let all = fields(&[
        ("element", "a/b/form-submit"),
        ("text:a/b/x", "one\r\ntwo"),
        ("option:a/b/y", "false"),
        ("option:a/b/y", "true"),
    ]);
    let select = GuiAction::Select { element: "a/b/y".to_owned(), option: "true".to_owned() };
    assert_eq!(html::actions(&all), Ok(vec![type_in("a/b/x", "one\ntwo"), select, click("a/b/form-submit")]));
    let typed = fields(&[("element", "a/b/x"), ("value", "z")]);
    assert_eq!(html::actions(&typed), Ok(vec![type_in("a/b/x", "z")]));
    assert_eq!(html::actions(&fields(&[("go", "home")])), Ok(vec![GuiAction::Home]));
    let scroll = GuiAction::Scroll { direction: Direction::Down };
    assert_eq!(html::actions(&fields(&[("scroll", "down")])), Ok(vec![scroll]));
    for wrong in [("go", "away"), ("scroll", "left"), ("value", "alone")] {
        assert!(matches!(html::actions(&fields(&[wrong])), Err(NotActions::Value(_))), "{wrong:?}");
    }
    assert!(matches!(html::actions(&fields(&[("x", "")])), Err(NotActions::UnknownField(_))));
    assert_eq!(
        html::actions(&vec![("go".to_owned(), "home".to_owned()); html::FIELDS_MAX + 1]),
        Err(NotActions::TooMany)
    );
}
