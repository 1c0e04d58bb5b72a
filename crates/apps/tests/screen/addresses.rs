//! Addresses: each leads back to the screen whose address it is, and a link leads where a click on it does.

use palestra_apps::html::{Frame, Method, PageRequest, PageResponse, respond};
use palestra_apps::run::World;
use palestra_apps::screen::{GuiAction, Viewer};
use scraper::Html;
use serde_json::Value;

use crate::browser::page_of;
use crate::calls::random;
use crate::fixture::{act, begin, click, made, own, select, tree, type_in};
use crate::hostile::anything;
use crate::pages::{offered, well_formed};
use crate::shipped::shipped;

/// Of the walk through each app.
const STEPS: usize = 40;
/// Steps after each of which every link is tried.
const TRIED_EVERY: usize = 4;

fn open(address: &str) -> GuiAction {
    GuiAction::Open { address: address.to_owned() }
}

/// Walks through an app, and compares every link with a click on it.
fn walk(mut world: World, seed: u64, steps: usize) -> usize {
    let mut random = random(seed);
    let mut viewer = Viewer::new();
    let mut links = 0;
    for step in 0..steps {
        let action = anything(&viewer, &world, &mut random);
        viewer.act(&mut world, &action).expect("no fault of the definition");
        returns(&viewer, &world);
        if step % TRIED_EVERY == 0 {
            links += compare(&viewer, &world);
        }
    }
    links
}

/// The address of a screen leads to it from home, and changes nothing for who is there.
fn returns(viewer: &Viewer, world: &World) {
    let address = viewer.address(world).expect("an address");
    let (mut there, mut later) = (Viewer::new(), world.clone());
    act(&mut there, &mut later, &open(&address));
    assert_eq!(there.address(&later).expect("an address"), address);
    assert_eq!(tree(&there, &later).screen, tree(viewer, world).screen);
    let (mut same, mut later) = (viewer.clone(), world.clone());
    let before = viewer.document(world).pointer("/route").expect("a route").to_value();
    act(&mut same, &mut later, &open(&address));
    let after = same.document(&later).pointer("/route").expect("a route").to_value();
    // Rows that are gone are left behind either way.
    assert_eq!(before.as_array().expect("a list").last(), after.as_array().expect("a list").last(), "{address}");
}

/// The screen where a viewer stands, with all that it holds.
fn stand(viewer: &Viewer, world: &World) -> Value {
    let route = viewer.document(world).pointer("/route").expect("a route").to_value();
    route.as_array().and_then(|route| route.last()).cloned().expect("a screen")
}

fn compare(viewer: &Viewer, world: &World) -> usize {
    let shown = tree(viewer, world);
    let page = page_of(viewer, world);
    assert_eq!(page, page_of(viewer, world), "pages are the same each time");
    let place = format!("{} {}", world.app().name, viewer.address(world).expect("an address"));
    let html = Html::parse_document(&page);
    well_formed(&html, &place);
    offered(&html, viewer, world, &shown);
    let mut links = 0;
    for element in shown.all().into_iter().filter(|element| element.is_actionable()) {
        let Some(address) = viewer.address_of(world, &element.id).expect("a screen") else { continue };
        links += 1;
        let (mut clicking, mut clicked) = (viewer.clone(), world.clone());
        act(&mut clicking, &mut clicked, &click(&element.id));
        let (mut opening, mut opened) = (viewer.clone(), world.clone());
        act(&mut opening, &mut opened, &open(&address));
        assert_eq!(opening.address(&opened).expect("an address"), address);
        assert_eq!(clicking.address(&clicked).expect("an address"), address, "{place}: {}", element.id);
        // On the screen where one is, what was typed stays; a click may begin it anew.
        let path = |address: &str| address.split('?').next().map(str::to_owned);
        if path(&address) != path(&viewer.address(world).expect("an address")) {
            assert_eq!(stand(&clicking, &clicked), stand(&opening, &opened), "{place}: {} and {address}", element.id);
        }
        assert_eq!(clicked.data().document().digest(), opened.data().document().digest());
    }
    links
}

#[test]
fn links_of_shipped_apps_lead_where_clicks_do() {
    for (seed, app) in (0..).zip(shipped()) {
        let links = walk(begin(&app, 0), seed, STEPS);
        assert!(links > 50, "{}: {links} links", app.name);
    }
}

#[test]
fn links_of_an_app_lead_where_clicks_do() {
    for (world, seed) in [(made(), 11), (own(), 12)] {
        let links = walk(world, seed, 300);
        assert!(links > 400, "{links} links");
    }
}

#[test]
fn an_address_says_what_is_looked_at_and_nothing_else() {
    let (mut world, mut viewer) = (own(), Viewer::new());
    let address = |viewer: &Viewer, world: &World| viewer.address(world).expect("an address");
    assert_eq!(address(&viewer, &world), "/");
    act(&mut viewer, &mut world, &type_in("tools/search/text", "drill & saw"));
    act(&mut viewer, &mut world, &select("tools/filters/kind", "drill"));
    assert_eq!(address(&viewer, &world), "/?q=drill%20%26%20saw&kind=drill");
    act(&mut viewer, &mut world, &type_in("tools/search/text", ""));
    act(&mut viewer, &mut world, &select("tools/filters/kind", ""));
    assert_eq!(address(&viewer, &world), "/");
    let id =
        world.data().id(world.data().rows(world.app().schema.find("tool").expect("a table")).next().expect("a row"));
    let id = id.expect("an id").to_string();
    act(&mut viewer, &mut world, &open(&format!("/tool/{id}?tab=upkeep")));
    act(&mut viewer, &mut world, &type_in("tool/write_manual/text", "A draft"));
    assert_eq!(address(&viewer, &world), format!("/tool/{id}?tab=upkeep"));
    // On the way back, what was typed is still there.
    act(&mut viewer, &mut world, &open("/loans"));
    act(&mut viewer, &mut world, &GuiAction::Back);
    let held = tree(&viewer, &world).find("tool/write_manual/text").and_then(|input| input.value.clone());
    assert_eq!(held.as_deref(), Some("A draft"));
}

#[test]
fn addresses_that_lead_nowhere_are_refused_and_change_nothing() {
    let (mut world, mut viewer) = (own(), Viewer::new());
    act(&mut viewer, &mut world, &open("/loans"));
    let before = viewer.document(&world).pointer("/route").expect("a route").digest();
    let data = world.data().document().digest();
    for (address, code) in [
        ("", "invalid_argument"),
        ("loans", "invalid_argument"),
        ("http://elsewhere.test/loans", "invalid_argument"),
        ("//elsewhere.test/loans", "invalid_argument"),
        ("/nosuch", "invalid_argument"),
        ("/tool", "invalid_argument"),
        ("/tool/", "invalid_argument"),
        ("/tool/T9999999", "tool_not_found"),
        ("/tool/../loans", "tool_not_found"),
        ("/tool/%zz", "invalid_argument"),
        ("/tool/%ff", "invalid_argument"),
        ("/loans/T0001", "invalid_argument"),
        ("/loans?nosuch=1", "invalid_argument"),
        ("/loans?page=0", "invalid_argument"),
        ("/loans?page=-1", "invalid_argument"),
        ("/loans?page=x", "invalid_argument"),
        ("/?kind=axe", "invalid_argument"),
        ("/?sort=nothing", "invalid_argument"),
    ] {
        let shown = viewer.act(&mut world, &open(address)).expect("no fault of the definition");
        let error = shown.error.unwrap_or_else(|| panic!("{address} is refused"));
        assert_eq!(&*error.code, code, "{address}: {error}");
        let after = viewer.document(&world).pointer("/route").expect("a route").digest();
        assert_eq!((after, world.data().document().digest()), (before, data), "{address}");
    }
}

#[test]
fn a_browser_goes_back_and_forward_and_reloads() {
    let (mut world, mut viewer) = (own(), Viewer::new());
    let mut get = |viewer: &mut Viewer, address: &str| {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let request = PageRequest { method: Method::Get, path, query, form: &[] };
        respond(viewer, &mut world, &request, &Frame::default()).expect("no fault of the definition")
    };
    for address in ["/", "/loans", "/?kind=saw", "/loans", "/", "/?kind=saw", "/?kind=saw"] {
        let (_, answer) = get(&mut viewer, address);
        assert!(matches!(answer, PageResponse::Html(_)), "{address}: {answer:?}");
    }
    let (done, answer) = get(&mut viewer, "/?kind=saw&sort=");
    assert!(done.len() == 1 && matches!(answer, PageResponse::Redirect(_)), "{answer:?}");
    let (_, answer) = get(&mut viewer, "/nosuch");
    assert_eq!(answer, PageResponse::Redirect("/?kind=saw".to_owned()));
    let (done, answer) = get(&mut viewer, "/?kind=saw");
    assert!(done.is_empty());
    let PageResponse::Html(page) = answer else { panic!("{answer:?}") };
    assert!(page.contains("There is no page"), "{page}");
    assert!(matches!(get(&mut viewer, "/theme/base.css").1, PageResponse::Asset(_)));
    assert_eq!(get(&mut viewer, "/favicon.ico").1, PageResponse::Missing);
}
