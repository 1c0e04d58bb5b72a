//! Tests of the contents of screens.

use palestra_apps::app::Role;
use palestra_apps::run::World;
use palestra_apps::screen::{AriaRole, Direction, GuiAction, Tree, Viewer};
use serde_json::json;

use crate::fixture::{act, click, made, own, select, tree, type_in};

/// The id of the first row's link.
fn first_row(shown: &Tree) -> String {
    let open = shown.all().into_iter().find(|element| element.id.ends_with("/open"));
    open.expect("a row").id.to_string()
}

fn row_of(open: &str) -> String {
    open.split('/').nth(2).expect("a row").to_owned()
}

/// On the screen of the first tool that is in.
fn at_tool(world: &mut World) -> (Viewer, String) {
    let mut viewer = Viewer::new();
    act(&mut viewer, world, &click("app-nav/tools"));
    act(&mut viewer, world, &select("tools/filters/state", "in"));
    let open = first_row(&tree(&viewer, world));
    act(&mut viewer, world, &click(&open));
    (viewer, row_of(&open))
}

fn text_at(world: &World, pointer: &str) -> String {
    world.data().document().pointer(pointer).and_then(|text| text.as_str().map(ToOwned::to_owned)).expect("a text")
}

fn id_of(world: &World, table: &str, place: usize) -> String {
    let table = world.app().schema.find(table).expect("a table");
    let row = world.data().rows(table).nth(place).expect("a row");
    world.data().id(row).expect("an id").to_string()
}

#[test]
fn lists_are_searched_narrowed_sorted_and_paged() {
    let (mut world, mut viewer) = (made(), Viewer::new());
    act(&mut viewer, &mut world, &click("app-nav/tools"));
    let page = |viewer: &Viewer, world: &World| {
        let text = tree(viewer, world).to_string();
        text.lines().find(|line| line.contains(" in all")).expect("a page").trim().to_owned()
    };
    assert_eq!(page(&viewer, &world), "* page 1 of 5, 45 in all");
    act(&mut viewer, &mut world, &click("tools/list/next-page"));
    assert_eq!(page(&viewer, &world), "* page 2 of 5, 45 in all");
    let shown = act(&mut viewer, &mut world, &select("tools/filters/kind", "saw"));
    assert!(page(&viewer, &world).starts_with("* page 1 of "), "another list begins at its first page");
    let read = &shown.calls[0];
    assert_eq!((&*read.name, json!(read.arguments)), ("tools", json!({"kind": "saw"})));
    act(&mut viewer, &mut world, &select("tools/list/sort-by", "Day fee descending"));
    let fees: Vec<String> = tree(&viewer, &world)
        .all()
        .into_iter()
        .filter(|cell| cell.role == AriaRole::Cell && cell.name == "Day fee")
        .filter_map(|cell| cell.value.clone())
        .collect();
    assert!(fees.len() > 3 && fees.is_sorted_by(|left, right| left >= right), "{fees:?}");
    let row = row_of(&first_row(&tree(&viewer, &world)));
    act(&mut viewer, &mut world, &type_in("tools/search/text", &row));
    assert_eq!(page(&viewer, &world), "* page 1 of 1, 1 in all");
    assert_eq!(world.counts().get("tools").copied(), Some(5), "what comes into sight is read as by a tool");
}

#[test]
fn an_error_marks_its_field_and_keeps_what_was_typed() {
    let mut world = own();
    let (mut viewer, tool) = at_tool(&mut world);
    let member = id_of(&world, "member", 0);
    act(&mut viewer, &mut world, &type_in("tool/lend/member", &member));
    act(&mut viewer, &mut world, &type_in("tool/lend/days", "99"));
    let shown = viewer.act(&mut world, &click("tool/lend/form-submit")).expect("no fault of the definition");
    assert_eq!(shown.error.expect("too many days").field.as_deref(), Some("days"));
    assert_eq!(json!(shown.calls[0].arguments), json!({"tool": tool, "member": member, "days": 99}));
    let text = tree(&viewer, &world).to_string();
    assert!(text.contains("! days must be 1 to 14."), "{text}");
    assert!(text.contains("[tool/lend/days] textbox \"Days\" = \"99\" (a whole number) required invalid: days must"));
    assert!(text.contains(&format!("[tool/lend/member] textbox \"Member\" = \"{member}\"")), "{text}");
    let json = serde_json::to_value(tree(&viewer, &world)).expect("JSON");
    assert_eq!(json["screen"], "tool");
    assert!(json.to_string().contains(r#""invalid":"days must be 1 to 14.""#), "{json}");
}

#[test]
fn a_form_sends_leads_on_and_is_empty_afterwards() {
    let mut world = own();
    let (mut viewer, tool) = at_tool(&mut world);
    let member = id_of(&world, "member", 1);
    let name = text_at(&world, &format!("/member/{member}/name"));
    act(&mut viewer, &mut world, &type_in("tool/lend/member", &name));
    act(&mut viewer, &mut world, &type_in("tool/lend/days", "1"));
    let shown = act(&mut viewer, &mut world, &click("tool/lend/form-submit"));
    let call = &shown.calls[0];
    assert_eq!(json!(call.arguments), json!({"tool": tool, "member": member, "days": 1}), "a name stands for its row");
    let loans = tree(&viewer, &world);
    assert_eq!(&*loans.screen, "loans");
    assert!(loans.to_string().contains("* Lend: done. due: 2031-05-06. loan: L"), "{loans}");
    act(&mut viewer, &mut world, &GuiAction::Back);
    let shown = tree(&viewer, &world);
    assert_eq!(shown.find("tool/lend/days").expect("an input").value.as_deref(), Some(""));
}

#[test]
fn screens_of_a_row_close_when_the_row_is_gone() {
    let mut world = own();
    let (mut viewer, tool) = at_tool(&mut world);
    let arguments = json!({"tool": tool}).as_object().expect("an object").clone();
    world.call(Role::AGENT, "scrap", &arguments).expect("it is scrapped");
    assert_eq!(&*tree(&viewer, &world).screen, "tools");
    let shown = viewer.act(&mut world, &click("tool/lend/form-submit")).expect("no fault of the definition");
    assert!(shown.error.is_some());
    let route = viewer.document(&world).to_value();
    assert_eq!(route["route"][1]["screen"], "tools");
    assert_eq!(route["route"].as_array().map(Vec::len), Some(2));
}

#[test]
fn confirmed_buttons_tabs_steps_and_dialogs_open_before_they_act() {
    let mut world = own();
    let (mut viewer, _) = at_tool(&mut world);
    let before = world.data().document().digest();
    assert!(tree(&viewer, &world).find("tool/equip/form-submit").is_none());
    act(&mut viewer, &mut world, &click("tool/tabs/upkeep"));
    act(&mut viewer, &mut world, &click("tool/dialog"));
    act(&mut viewer, &mut world, &click("tool/equip/parts.add-row"));
    act(&mut viewer, &mut world, &click("tool/equip/parts.add-row"));
    act(&mut viewer, &mut world, &type_in("tool/equip/parts.0.label", "first"));
    act(&mut viewer, &mut world, &type_in("tool/equip/parts.1.label", "second"));
    act(&mut viewer, &mut world, &type_in("tool/equip/parts.1.count", "2"));
    act(&mut viewer, &mut world, &click("tool/equip/parts.0.remove-row"));
    let shown = tree(&viewer, &world);
    assert_eq!(shown.find("tool/equip/parts.0.label").expect("an input").value.as_deref(), Some("second"));
    assert!(shown.find("tool/equip/parts.1.label").is_none());
    act(&mut viewer, &mut world, &click("tool/scrap"));
    assert_eq!(world.data().document().digest(), before, "it asks first");
    act(&mut viewer, &mut world, &click("tool/scrap/form-cancel"));
    act(&mut viewer, &mut world, &click("tool/scrap"));
    let shown = act(&mut viewer, &mut world, &click("tool/scrap/form-submit"));
    assert_eq!(&*shown.calls[0].name, "scrap");
    assert_eq!(&*tree(&viewer, &world).screen, "tools");
    act(&mut viewer, &mut world, &click("app-nav/members"));
    assert!(tree(&viewer, &world).find("members/block_all/form-submit").is_none());
    act(&mut viewer, &mut world, &click("members/steps/second"));
    assert!(tree(&viewer, &world).find("members/block_all/form-submit").is_some());
}

#[test]
fn long_texts_are_seen_part_by_part() {
    let mut world = own();
    let (mut viewer, tool) = at_tool(&mut world);
    let text: String = (1..=150).map(|line| format!("line {line}\n")).collect();
    let arguments = json!({"tool": tool, "text": text}).as_object().expect("an object").clone();
    world.call(Role::AGENT, "write_manual", &arguments).expect("it is written");
    let seen = |viewer: &Viewer, world: &World| {
        let shown = tree(viewer, world);
        let manual = shown.all().into_iter().find(|cell| cell.name == "Manual").expect("a manual").value.clone();
        (shown.scroll.map(|scroll| (scroll.part, scroll.parts)), manual.expect("a text"))
    };
    let (part, first) = seen(&viewer, &world);
    assert_eq!((part, first.lines().count()), (Some((1, 3)), 60));
    act(&mut viewer, &mut world, &GuiAction::Scroll { direction: Direction::Down });
    let (_, second) = seen(&viewer, &world);
    act(&mut viewer, &mut world, &GuiAction::Scroll { direction: Direction::Down });
    let (part, third) = seen(&viewer, &world);
    assert_eq!((part, format!("{first}{second}{third}")), (Some((3, 3)), text));
    assert!(
        viewer.act(&mut world, &GuiAction::Scroll { direction: Direction::Down }).expect("no fault").error.is_some()
    );
    act(&mut viewer, &mut world, &GuiAction::Scroll { direction: Direction::Up });
    assert_eq!(seen(&viewer, &world).1, second);
}

#[test]
fn a_copy_goes_its_own_way() {
    let mut world = own();
    let (viewer, _) = at_tool(&mut world);
    let (mut copy, before) = (viewer.clone(), viewer.document(&world).digest());
    act(&mut copy, &mut world, &type_in("tool/lend/days", "3"));
    act(&mut copy, &mut world, &GuiAction::Home);
    assert_eq!(viewer.document(&world).digest(), before);
}
