//! Pages of the map.

use palestra_widgets::{WEEKDAYS, clock};

use super::{COLUMNS, FIELD, Map, Road, SORTS, Sight};
use crate::markup::{link, text};
use crate::names::slug;
use crate::page::{Draft, paged};
use crate::{Kind, Site};

/// Roads of one page of their list.
const ROADS_EACH: usize = 8;

/// Pixels beside the grid, for names.
const MARGIN: i64 = 30;

pub(super) fn place_at(name: &str) -> String {
    format!("/places/{}", slug(name))
}

pub(super) fn road_at(name: &str) -> String {
    format!("/roads/{}", slug(name))
}

pub(super) fn sight_at(name: &str) -> String {
    format!("/visit/{}", slug(name))
}

fn sort_at(sort: &str) -> String {
    format!("/sorts/{}", slug(sort))
}

pub(super) fn site(map: &Map) -> Site {
    let mut pages = vec![home(map), places(map), sorts()];
    pages.extend(roads(map));
    pages.extend((0..map.places.len()).map(|place| place_page(map, place)));
    pages.extend(map.roads.iter().map(|road| road_page(map, road)));
    pages.extend(map.sights.iter().map(|sight| sight_page(map, sight)));
    pages.extend(SORTS.iter().map(|sort| sort_page(map, sort)));
    let sections = [("/", "Map"), ("/places", "Places"), ("/roads", "Roads"), ("/sorts", "Things to visit")];
    Site::new(Kind::Map, "Valley Map", &sections, pages)
}

fn place_link(map: &Map, place: usize) -> String {
    link(&place_at(&map.places[place].name), &map.places[place].name)
}

fn road_link(road: &Road) -> String {
    link(&road_at(&road.name), &road.name)
}

fn sight_link(sight: &Sight) -> String {
    link(&sight_at(&sight.name), &sight.name)
}

fn home(map: &Map) -> Draft {
    let mut draft = Draft::new("/", "Map of the valley");
    let (width, height) = (size(COLUMNS) + 2 * MARGIN, size(map.places.len().div_ceil(COLUMNS)));
    let lines: String = map
        .roads
        .iter()
        .map(|road| {
            let [from, to] = road.ends.map(|end| &map.places[end]);
            format!("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", from.x, from.y, to.x, to.y)
        })
        .collect();
    let places: String = map
        .places
        .iter()
        .map(|place| {
            let name = text(&place.name);
            let (x, y, below) = (place.x, place.y, place.y + 30);
            // The rectangle lets the middle of the link be pressed, between mark and name.
            let area = format!("<rect x=\"{}\" y=\"{}\" width=\"24\" height=\"48\"/>", x - 12, y - 12);
            let mark = format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"10\"/>");
            let words = format!("<text x=\"{x}\" y=\"{below}\" text-anchor=\"middle\">{name}</text>");
            let at = place_at(&place.name);
            format!("<a href=\"{at}\" aria-label=\"{name}\">{area}{mark}{words}</a>\n")
        })
        .collect();
    draft.main.push_str(&format!(
        "<svg class=\"map\" viewBox=\"-{MARGIN} 0 {width} {height}\" role=\"group\" aria-label=\"Map\">\n{lines}{places}</svg>\n"
    ));
    draft.paragraph(&format!("The same places stand in the {}.", link("/places", "list of places")));
    draft
}

/// Pixels of so many fields.
fn size(fields: usize) -> i64 {
    i64::try_from(fields).unwrap_or_default() * FIELD
}

fn places(map: &Map) -> Draft {
    let mut draft = Draft::new("/places", "Places").under("/", "Map");
    let mut sorted: Vec<usize> = (0..map.places.len()).collect();
    sorted.sort_by_key(|place| &map.places[*place].name);
    draft.list(&sorted.into_iter().map(|place| place_link(map, place)).collect::<Vec<_>>());
    draft
}

fn place_page(map: &Map, place: usize) -> Draft {
    let name = &map.places[place].name;
    let at = place_at(name);
    let mut draft = Draft::new(at.clone(), name.clone()).under("/places", "Places");
    draft.states(&at, &["roads", "sights"]);
    let rows = map.roads_of(place).map(|road| {
        draft.states(&road_at(&road.name), &["length", "ends"]);
        vec![road_link(road), place_link(map, road.beyond(place)), format!("{} km", road.length)]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    draft.table("Roads that lead out of here", &["Road", "To", "Length"], &rows);
    draft.heading("Things to visit");
    draft.list(&map.sights_of(place).map(|(_, sight)| sight_link(sight)).collect::<Vec<_>>());
    draft
}

fn roads(map: &Map) -> Vec<Draft> {
    let mut sorted: Vec<&Road> = map.roads.iter().collect();
    sorted.sort_by_key(|road| road.name.trim_start_matches("Road ").parse::<u32>().unwrap_or_default());
    paged(("/roads", "Roads"), (&sorted, ROADS_EACH), &[("/", "Map")], |draft, part| {
        let rows = part.iter().map(|road| {
            draft.states(&road_at(&road.name), &["length", "ends"]);
            let [from, to] = road.ends.map(|end| place_link(map, end));
            vec![road_link(road), from, to, format!("{} km", road.length)]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        draft.table("All roads", &["Road", "From", "To", "Length"], &rows);
    })
}

fn road_page(map: &Map, road: &Road) -> Draft {
    let at = road_at(&road.name);
    let mut draft = Draft::new(at.clone(), road.name.clone()).under("/roads", "Roads");
    draft.states(&at, &["length", "ends"]);
    let [from, to] = road.ends.map(|end| place_link(map, end));
    draft.properties(&[("From", from), ("To", to), ("Length", format!("{} km", road.length))]);
    draft
}

fn sorts() -> Draft {
    let mut draft = Draft::new("/sorts", "Things to visit").under("/", "Map");
    draft.list(&SORTS.map(|sort| link(&sort_at(sort), sort)));
    draft
}

fn sort_page(map: &Map, sort: &str) -> Draft {
    let mut draft = Draft::new(sort_at(sort), format!("Things to visit: {sort}")).under("/sorts", "Things to visit");
    let found: Vec<String> = map.sights.iter().filter(|sight| sight.sort == sort).map(sight_link).collect();
    match found.is_empty() {
        true => draft.paragraph("There is none in the valley."),
        false => draft.list(&found),
    }
    draft
}

fn sight_page(map: &Map, sight: &Sight) -> Draft {
    let at = sight_at(&sight.name);
    let mut draft = Draft::new(at.clone(), sight.name.clone()).under("/sorts", "Things to visit");
    draft.states(&at, &["whole", "hours"]);
    let mut properties = vec![("Kind", sight.sort.to_owned()), ("Place", place_link(map, sight.place))];
    properties.extend(sight.fee.map(|fee| ("Entrance fee", format!("€{fee}"))));
    draft.properties(&properties);
    let rows = WEEKDAYS.iter().zip(sight.hours).map(|(day, hours)| {
        let (opens, closes) = hours.map_or_else(
            || ("closed".to_owned(), "closed".to_owned()),
            |(opens, closes)| (clock(opens), clock(closes)),
        );
        vec![(*day).to_owned(), opens, closes]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    draft.table("Opening times", &["Day", "Opens", "Closes"], &rows);
    draft
}
