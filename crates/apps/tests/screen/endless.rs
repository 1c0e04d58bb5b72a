//! Endless lists: what stands on their pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::html::{Frame, Method, PageRequest, PageResponse, respond};
use palestra_apps::run::World;
use palestra_apps::screen::Viewer;
use scraper::{Html, Selector};

use crate::fixture::{TOOLSHED, begin, messages};

/// Pages whose rows stand together at most.
const TOGETHER: usize = 20;

/// The tools, two on a page, so that there are 23 pages.
fn app(looks: &str) -> Result<Arc<App>, String> {
    let files = [
        ("app.yaml", TOOLSHED.replace("page: 10}", "page: 2}")),
        ("theme/theme.yaml", format!("lists:\n  tools: {{{looks}, title: name}}")),
    ];
    let files: BTreeMap<String, String> = files.map(|(name, text)| (name.to_owned(), text)).into();
    App::load(&files).map_err(|faults| messages(&faults))
}

/// A list as a page shows it.
struct Shown {
    rows: Vec<String>,
    said: String,
    next: Option<String>,
    previous: Option<String>,
    /// True if its next rows come by themselves.
    grows: bool,
}

fn look(viewer: &mut Viewer, world: &mut World, address: &str, grows: bool) -> Shown {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let request = PageRequest { method: Method::Get, path, query, form: &[] };
    let frame = Frame { grows, ..Frame::default() };
    let (_, answer) = respond(viewer, world, &request, &frame).expect("no fault of the definition");
    let PageResponse::Html(page) = answer else { panic!("{address}: {answer:?}") };
    let page = Html::parse_document(&page);
    let all = |selector: &str| page.select(&Selector::parse(selector).expect("a selector")).collect::<Vec<_>>();
    let link = |rel: &str| {
        let found = all(&format!("nav.pager a[rel={rel}]"));
        found.first().and_then(|link| link.attr("href")).map(str::to_owned)
    };
    Shown {
        rows: all("main ul > [data-row]").iter().filter_map(|row| row.attr("data-row")).map(str::to_owned).collect(),
        said: all("nav.pager span").iter().flat_map(|said| said.text()).collect(),
        next: link("next"),
        previous: link("prev"),
        grows: !all("a[data-grow]").is_empty(),
    }
}

#[test]
fn an_endless_list_keeps_the_rows_of_its_pages_before_and_its_address_says_how_far() {
    let plain = app("look: rows").expect("an app");
    let endless = app("look: rows, endless: true").expect("an app");
    let (mut world, mut viewer) = (begin(&plain, 0), Viewer::new());
    let page = |number: usize| format!("/tools?page={number}");
    let mut one_by_one = vec![look(&mut viewer, &mut world, "/tools", true)];
    assert!(!one_by_one[0].grows, "a list has ends unless its theme says otherwise");
    one_by_one.extend((2..=23).map(|number| look(&mut viewer, &mut world, &page(number), true)));
    let every: Vec<&String> = one_by_one.iter().flat_map(|page| &page.rows).collect();
    assert_eq!(every.len(), 45);

    let (mut world, mut viewer) = (begin(&endless, 0), Viewer::new());
    let mut address = "/tools".to_owned();
    for number in 1..=23 {
        let shown = look(&mut viewer, &mut world, &address, true);
        // The next pages begin a page of their own.
        let first = if number > TOGETHER { TOGETHER } else { 0 };
        let rows: Vec<&String> = one_by_one[first..number].iter().flat_map(|page| &page.rows).collect();
        assert_eq!(shown.rows.iter().collect::<Vec<_>>(), rows, "{address}");
        assert_eq!(shown.said, format!("{} shown · 45 in all", rows.len()));
        assert_eq!(shown.grows, number != TOGETHER && number != 23, "{address}");
        assert_eq!(shown.previous, (number > TOGETHER).then(|| page(TOGETHER)), "{address}");
        assert_eq!(viewer.address(&world).expect("an address"), address);
        // Whoever comes by the address alone finds the same.
        let (mut world, mut viewer) = (begin(&endless, 0), Viewer::new());
        assert_eq!(look(&mut viewer, &mut world, &address, false).rows, shown.rows);
        assert_eq!(shown.next.is_some(), number < 23);
        address = shown.next.unwrap_or_default();
    }
}

#[test]
fn rows_come_by_themselves_only_where_a_look_is_no_turn() {
    let app = app("look: cards, endless: true").expect("an app");
    let (mut world, mut viewer) = (begin(&app, 0), Viewer::new());
    let shown = look(&mut viewer, &mut world, "/tools?page=3", false);
    assert!(!shown.grows && shown.rows.len() == 6 && shown.next.as_deref() == Some("/tools?page=4"));
    assert!(look(&mut viewer, &mut world, "/tools?page=3", true).grows);
}

#[test]
fn an_endless_list_that_is_narrowed_begins_anew() {
    let app = app("look: rows, endless: true").expect("an app");
    let (mut world, mut viewer) = (begin(&app, 0), Viewer::new());
    look(&mut viewer, &mut world, "/tools?page=5", true);
    let narrowed = look(&mut viewer, &mut world, "/tools?kind=saw", true);
    assert!(narrowed.rows.len() == 2 && narrowed.next.is_some_and(|next| next.contains("kind=saw")));
    // Of a list that has become shorter the first page is shown.
    let beyond = look(&mut viewer, &mut world, "/tools?kind=saw&page=40", true);
    assert_eq!((beyond.rows, &*beyond.said), (narrowed.rows, &*narrowed.said));
}

#[test]
fn a_look_whose_rows_have_an_order_of_their_own_cannot_be_endless() {
    for look in ["look: table", "look: bubbles", "look: month", "lines: [kind]"] {
        let refused = app(&format!("{look}, endless: true")).expect_err("a fault");
        assert!(refused.contains("theme/theme.yaml:2") && refused.contains("rows, cards, tiles"), "{refused}");
    }
}
