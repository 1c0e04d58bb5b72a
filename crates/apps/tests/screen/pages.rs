//! Pages as a browser gets them.

use palestra_apps::app::Role;
use palestra_apps::html::{self, NotActions};
use palestra_apps::screen::{Direction, GuiAction, Viewer};
use scraper::Html;
use serde_json::json;

use crate::browser::{BASE, Browser, control, selector};
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
            let page = Html::parse_document(&html::page(&shown, BASE));
            assert!(page.errors.is_empty(), "{screen}: {:?}", page.errors);
            assert_eq!(page.select(&selector("html[lang]")).count(), 1);
            for part in ["title", "nav", "main", "h1", "main [aria-live]"] {
                assert_eq!(page.select(&selector(part)).count(), 1, "{part} of {screen}");
            }
            assert_eq!(page.select(&selector("script, [onclick], [style], form form")).count(), 0);
            for form in page.select(&selector("form")) {
                assert_eq!((form.attr("method"), form.attr("action")), (Some("post"), Some(BASE)));
            }
            let labels: Vec<&str> = page.select(&selector("label")).filter_map(|label| label.attr("for")).collect();
            for input in page.select(&selector("input:not([type=hidden]), select, textarea")) {
                assert!(labels.contains(&input.attr("id").expect("an id")), "{:?} has no label", input.attr("id"));
            }
            for element in shown.all().into_iter().filter(|element| element.is_actionable()) {
                control(&page, &element.id);
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
        let text = html::page(&tree(&viewer, &world), BASE);
        assert!(!text.contains("<script") && !text.contains("'y'"), "{text}");
        let page = Html::parse_document(&text);
        let seen: String = page.root_element().text().collect();
        assert!(seen.contains(HOSTILE), "{seen}");
        if tree(&viewer, &world).find(&open).is_some() {
            act(&mut viewer, &mut world, &click(&open));
        }
    }
    act(&mut viewer, &mut world, &click("app-nav/members"));
    act(&mut viewer, &mut world, &type_in("members/enrol/name", HOSTILE));
    let page = Html::parse_document(&html::page(&tree(&viewer, &world), BASE));
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
