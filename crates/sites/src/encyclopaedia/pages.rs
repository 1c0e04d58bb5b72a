//! Pages of the encyclopaedia.

use super::{Country, PRODUCTS, Place};
use crate::markup::{grouped, link};
use crate::names::slug;
use crate::page::{Draft, paged};
use crate::{Kind, Site};

/// Rows of one page of a list.
const EACH: usize = 12;

pub(super) fn place_at(name: &str) -> String {
    format!("/places/{}", slug(name))
}

pub(super) fn river_at(name: &str) -> String {
    format!("/rivers/{}", slug(name))
}

pub(super) fn region_at(name: &str) -> String {
    format!("/regions/{}", slug(name))
}

fn product_at(name: &str) -> String {
    format!("/products/{name}")
}

pub(super) fn site(country: &Country) -> Site {
    let mut pages = vec![home(country), rivers(country), regions(country), products()];
    pages.extend(places(country));
    pages.extend(by_population(country));
    pages.extend(country.places.iter().map(|place| article(country, place)));
    pages.extend((0..country.rivers.len()).map(|river| river_page(country, river)));
    pages.extend((0..country.regions.len()).map(|region| region_page(country, region)));
    pages.extend(PRODUCTS.iter().map(|product| product_page(country, product)));
    let sections = [("/places", "Places"), ("/rivers", "Rivers"), ("/regions", "Regions"), ("/products", "Products")];
    Site::new(Kind::Encyclopaedia, &format!("Encyclopaedia of {}", country.name), &sections, pages)
}

fn place_link(place: &Place) -> String {
    link(&place_at(&place.name), &place.name)
}

fn region_link(country: &Country, region: usize) -> String {
    let name = country.regions[region].name;
    link(&region_at(name), name)
}

fn river_link(country: &Country, river: usize) -> String {
    let name = country.rivers[river].name;
    link(&river_at(name), name)
}

fn home(country: &Country) -> Draft {
    let mut draft = Draft::new("/", format!("Welcome to the encyclopaedia of {}", country.name));
    draft.paragraph(&format!(
        "{} is a country of rivers. Begin with its {}, its {} or its {}, or look for the places that are known for a {}.",
        country.name,
        link("/places", "places"),
        link("/rivers", "rivers"),
        link("/regions", "regions"),
        link("/products", "product"),
    ));
    draft.heading("Lists");
    draft.list(&[link("/places", "All places"), link("/population", "Places by population")]);
    draft
}

fn places(country: &Country) -> Vec<Draft> {
    let mut sorted: Vec<&Place> = country.places.iter().collect();
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    paged(("/places", "Places"), (&sorted, EACH), &[("/", "Start")], |draft, part| {
        let rows = part.iter().map(|place| {
            draft.states(&place_at(&place.name), &["region"]);
            vec![place_link(place), place.sort.to_owned(), region_link(country, place.region)]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        draft.table("Places from A to Z", &["Place", "Kind", "Region"], &rows);
    })
}

fn by_population(country: &Country) -> Vec<Draft> {
    let mut sorted: Vec<&Place> = country.places.iter().collect();
    sorted.sort_by_key(|place| -place.population);
    paged(("/population", "Places by population"), (&sorted, EACH), &[("/places", "Places")], |draft, part| {
        let rows = part.iter().map(|place| {
            draft.states(&place_at(&place.name), &["population"]);
            vec![place_link(place), grouped(place.population)]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        draft.table("The largest first", &["Place", "Population"], &rows);
    })
}

fn article(country: &Country, place: &Place) -> Draft {
    let at = place_at(&place.name);
    let mut draft = Draft::new(at.clone(), place.name.clone()).under("/places", "Places");
    draft.states(&at, &["whole", "region", "river", "population", "founded"]);
    let mut properties = vec![
        ("Kind", place.sort.to_owned()),
        ("Region", region_link(country, place.region)),
        ("River", river_link(country, place.river)),
        ("Population", grouped(place.population)),
        ("Founded", place.founded.to_string()),
    ];
    properties.extend(place.elevation.map(|metres| ("Elevation", format!("{metres} m"))));
    properties.push(("Known for", link(&product_at(place.product), place.product)));
    draft.properties(&properties);
    draft.paragraph(&format!(
        "{} is a {} of {}. It lies on the river {}, in the region of {}.",
        place.name, place.sort, country.name, country.rivers[place.river].name, country.regions[place.region].name,
    ));
    draft.heading("Economy");
    draft.paragraph(&format!(
        "The {} is known for its {}, which is sold far beyond the region.",
        place.sort, place.product
    ));
    draft
}

fn rivers(country: &Country) -> Draft {
    let mut draft = Draft::new("/rivers", "Rivers").under("/", "Start");
    let rows = country.rivers.iter().map(|river| {
        draft.states(&river_at(river.name), &["length", "into"]);
        let into = river.into.map_or_else(|| "the sea".to_owned(), |into| river_link(country, into));
        vec![link(&river_at(river.name), river.name), format!("{} km", river.length), into]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    draft.table("All rivers", &["River", "Length", "Flows into"], &rows);
    draft
}

fn river_page(country: &Country, number: usize) -> Draft {
    let river = &country.rivers[number];
    let at = river_at(river.name);
    let mut draft = Draft::new(at.clone(), river.name).under("/rivers", "Rivers");
    draft.states(&at, &["length", "into", "source", "places", "tributaries"]);
    draft.properties(&[
        ("Length", format!("{} km", river.length)),
        ("Rises in", region_link(country, river.source)),
        ("Flows into", river.into.map_or_else(|| "the sea".to_owned(), |into| river_link(country, into))),
    ]);
    let tributaries: Vec<String> = country.tributaries(number).map(|(other, _)| river_link(country, other)).collect();
    if !tributaries.is_empty() {
        draft.heading("Tributaries");
        draft.list(&tributaries);
    }
    draft.heading("Places on the river");
    draft.list(&country.places_on(number).map(|(_, place)| place_link(place)).collect::<Vec<_>>());
    draft
}

fn regions(country: &Country) -> Draft {
    let mut draft = Draft::new("/regions", "Regions").under("/", "Start");
    let rows = country.regions.iter().map(|region| {
        draft.states(&region_at(region.name), &["area"]);
        vec![link(&region_at(region.name), region.name), format!("{} km²", grouped(region.area))]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    draft.table("All regions", &["Region", "Area"], &rows);
    draft
}

fn region_page(country: &Country, number: usize) -> Draft {
    let region = &country.regions[number];
    let at = region_at(region.name);
    let mut draft = Draft::new(at.clone(), region.name).under("/regions", "Regions");
    draft.states(&at, &["area", "capital", "places"]);
    draft.properties(&[
        ("Area", format!("{} km²", grouped(region.area))),
        ("Capital", place_link(&country.places[region.capital])),
    ]);
    let rows = country.places_in(number).map(|(_, place)| vec![place_link(place), place.sort.to_owned()]);
    let rows: Vec<Vec<String>> = rows.collect();
    draft.table("Places of the region", &["Place", "Kind"], &rows);
    draft
}

fn products() -> Draft {
    let mut draft = Draft::new("/products", "Products").under("/", "Start");
    draft.list(&PRODUCTS.map(|product| link(&product_at(product), product)));
    draft
}

fn product_page(country: &Country, product: &str) -> Draft {
    let mut draft =
        Draft::new(product_at(product), format!("Places known for {product}")).under("/products", "Products");
    let places = country.places.iter().filter(|place| place.product == product);
    let places: Vec<String> = places.map(place_link).collect();
    match places.is_empty() {
        true => draft.paragraph("No place of the country is known for it."),
        false => draft.list(&places),
    }
    draft
}
