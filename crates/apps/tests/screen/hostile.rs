//! Actors that do anything.

use palestra_apps::app::Role;
use palestra_apps::run::{CallError, World};
use palestra_apps::screen::{AriaRole, DRAFT_CHARACTERS_MAX, Direction, Element, GuiAction, ROUTE_DEPTH_MAX, Viewer};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

use crate::browser::page_of;
use crate::calls::random;
use crate::fixture::{act, click, made, own, tree, type_in};

/// Of each of the four walks.
const STEPS: usize = 2_500;

#[test]
fn a_walk_over_made_screens_changes_what_its_calls_change() {
    let (written, refused) = walk(made(), 1, STEPS);
    assert!(written > 30 && refused > 100, "{written} written, {refused} refused");
}

#[test]
fn another_walk_over_made_screens_changes_what_its_calls_change() {
    let (written, refused) = walk(made(), 2, STEPS);
    assert!(written > 30 && refused > 100, "{written} written, {refused} refused");
}

#[test]
fn a_walk_over_screens_of_a_definition_changes_what_its_calls_change() {
    let (written, refused) = walk(own(), 3, STEPS);
    assert!(written > 30 && refused > 100, "{written} written, {refused} refused");
}

#[test]
fn another_walk_over_screens_of_a_definition_changes_what_its_calls_change() {
    let (written, refused) = walk(own(), 4, STEPS);
    assert!(written > 30 && refused > 100, "{written} written, {refused} refused");
}

/// Does this and that, and answers how many calls wrote and how many actions were refused.
pub(crate) fn walk(mut world: World, seed: u64, steps: usize) -> (usize, usize) {
    let mut random = random(seed);
    let mut viewer = Viewer::new();
    let mut tools = world.clone();
    let (mut written, mut refused) = (0, 0);
    for step in 0..steps {
        let action = anything(&viewer, &world, &mut random);
        let shown = viewer.act(&mut world, &action).expect("no fault of the definition");
        refused += usize::from(shown.error.is_some());
        for call in &shown.calls {
            let answer = match tools.call(Role::AGENT, &call.name, &call.arguments) {
                Ok(reply) => Ok(reply.json),
                Err(CallError::Raised(raised)) => Err(raised),
                Err(crashed) => panic!("{crashed}"),
            };
            let shown = call.reply.as_ref().map(|reply| reply.json.clone()).map_err(Clone::clone);
            assert_eq!(shown, answer, "{} {:?}", call.name, call.arguments);
            written += usize::from(shown.is_ok() && world.app().actions.iter().any(|action| action.name == call.name));
        }
        assert_eq!(world.data().document().digest(), tools.data().document().digest(), "step {step}: {action:?}");
        assert_eq!((world.now(), world.counts()), (tools.now(), tools.counts()));
        let route = viewer.document(&world).pointer("/route").expect("a route").to_value();
        assert!((1..=ROUTE_DEPTH_MAX).contains(&route.as_array().expect("a list").len()));
        if step % 50 == 0 {
            let shown = tree(&viewer, &world);
            assert!(page_of(&viewer, &world).trim_end().ends_with("</html>") && !shown.to_string().is_empty());
            unique(&shown.all());
        }
    }
    (written, refused)
}

/// No two elements have one id.
fn unique(elements: &[&Element]) {
    let mut ids: Vec<&str> = elements.iter().map(|element| &*element.id).filter(|id| !id.is_empty()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

/// Mostly what makes sense, and now and then what does not.
pub(crate) fn anything(viewer: &Viewer, world: &World, random: &mut ChaCha8Rng) -> GuiAction {
    let shown = tree(viewer, world);
    let wander = random.random_bool(0.1);
    let able: Vec<&Element> = shown
        .all()
        .into_iter()
        .filter(|element| element.is_actionable() && (wander || !element.id.starts_with("app-nav/")))
        .collect();
    let able = if able.is_empty() {
        shown.all().into_iter().filter(|element| element.is_actionable()).collect()
    } else {
        able
    };
    let element = able[random.random_range(0..able.len())];
    let id = element.id.to_string();
    let text = text(world, element, random);
    match random.random_range(0..100) {
        0 => GuiAction::Home,
        1..=3 => GuiAction::Back,
        4 => GuiAction::Scroll { direction: Direction::Down },
        5 => GuiAction::Scroll { direction: Direction::Up },
        6 => GuiAction::Click { element: format!("{id}/nothing") },
        7 => GuiAction::Click { element: "loan/give_back/form-submit".to_owned() },
        8 => GuiAction::Type { element: id, text },
        9 => GuiAction::Select { element: id, option: text },
        10 => GuiAction::Click { element: text },
        _ => match element.role {
            AriaRole::Textbox | AriaRole::Searchbox => GuiAction::Type { element: id, text },
            AriaRole::Combobox => {
                let option = &element.options[random.random_range(0..element.options.len())];
                GuiAction::Select { element: id, option: option.value.to_string() }
            }
            _ => GuiAction::Click { element: id },
        },
    }
}

/// Mostly text that an input expects.
fn text(world: &World, element: &Element, random: &mut ChaCha8Rng) -> String {
    const TEXTS: [&str; 12] = [
        "1",
        "7",
        "-9223372036854775808",
        "12.50",
        "",
        " ",
        "<script>\"'&",
        "\0",
        "M0000",
        "2031-05-06",
        "Nobody",
        "99999999999999999999",
    ];
    let hint = element.hint.as_deref().unwrap_or_default();
    match random.random_range(0..20) {
        0 => "x".repeat(DRAFT_CHARACTERS_MAX + 1),
        1..=3 => TEXTS[random.random_range(0..TEXTS.len())].to_owned(),
        _ if hint.starts_with("a whole number") => random.random_range(1..8).to_string(),
        _ if hint.starts_with("id") => {
            let name = hint.split_once(" of a ").map_or("", |(_, name)| name.split(';').next().unwrap_or_default());
            let table = world.app().schema.find(&name.replace(' ', "_")).expect("a table");
            let place = random.random_range(0..world.data().len(table).max(1));
            let row = world.data().rows(table).nth(place);
            row.and_then(|row| world.data().id(row)).map_or_else(String::new, ToString::to_string)
        }
        _ => format!("Word {}", random.random_range(0..100)),
    }
}

#[test]
fn refused_actions_change_neither_data_nor_drafts() {
    let mut world = own();
    let mut viewer = Viewer::new();
    act(&mut viewer, &mut world, &click("app-nav/tools"));
    let before =
        (world.data().document().digest(), viewer.document(&world).pointer("/route").expect("a route").digest());
    for (action, part) in [
        (click("tool/lend/form-submit"), "no element"),
        (click("tools/list/T0/open"), "no element"),
        (click("tools/list/previous-page"), "no element"),
        (click(&"x".repeat(1_000_000)), "no element"),
        (click("tools/search/text"), "typed"),
        (click("tools/filters/kind"), "selected"),
        (type_in("tools/filters/kind", "saw"), "selected"),
        (type_in("app-nav/loans", "x"), "click it"),
        (type_in("tools/search/text", &"é".repeat(DRAFT_CHARACTERS_MAX + 1)), "at most 10000"),
        (
            GuiAction::Select { element: "tools/filters/kind".to_owned(), option: "axe".to_owned() },
            "none of the options",
        ),
        (GuiAction::Scroll { direction: Direction::Up }, "further up"),
        (GuiAction::Scroll { direction: Direction::Down }, "further down"),
    ] {
        let shown = viewer.act(&mut world, &action).expect("no fault of the definition");
        let error = shown.error.expect("it is refused");
        assert!(error.text.contains(part) && &*error.code == "invalid_argument", "{part}: {error}");
        assert!(shown.calls.is_empty());
        let text = tree(&viewer, &world).to_string();
        assert!(text.contains(&format!("! {}", error.text.split_whitespace().collect::<Vec<_>>().join(" "))), "{text}");
        let route = viewer.document(&world).pointer("/route").expect("a route").digest();
        assert_eq!((world.data().document().digest(), route), before, "{part}");
    }
}

#[test]
fn one_goes_back_a_bounded_number_of_screens() {
    let (mut world, mut viewer) = (own(), Viewer::new());
    let members = world.app().schema.find("member").expect("a table");
    let ids: Vec<String> =
        world.data().rows(members).filter_map(|row| world.data().id(row)).map(ToString::to_string).collect();
    for id in ids.iter().cycle().take(ids.len().max(ROUTE_DEPTH_MAX + 10)) {
        act(&mut viewer, &mut world, &GuiAction::Open { address: format!("/member/{id}") });
    }
    for _ in 1..ROUTE_DEPTH_MAX {
        act(&mut viewer, &mut world, &GuiAction::Back);
    }
    assert_eq!(&*tree(&viewer, &world).screen, "tools", "home stays");
    let shown = viewer.act(&mut world, &GuiAction::Back).expect("no fault of the definition");
    assert!(shown.error.is_some());
}
