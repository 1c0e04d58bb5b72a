//! An encyclopaedia of a country: regions, rivers that flow into each other, and places.

mod pages;
mod questions;

use palestra_widgets::Draw;

use crate::question::{Row, World};
use crate::{Site, names};

const COUNTRIES: [&str; 6] = ["Averland", "Corvia", "Halmar", "Ostrel", "Tarnovia", "Velmark"];
const PRODUCTS: [&str; 8] = ["pottery", "cheese", "glass", "cider", "lace", "clocks", "honey", "paper"];
const SORTS: [&str; 3] = ["village", "town", "city"];

/// Facts of a country.
pub(crate) struct Country {
    name: &'static str,
    regions: Vec<Region>,
    rivers: Vec<River>,
    places: Vec<Place>,
}

struct Region {
    name: &'static str,
    /// Square kilometres.
    area: i64,
    /// A place in it.
    capital: usize,
}

struct River {
    name: &'static str,
    /// Kilometres.
    length: i64,
    /// The river that it flows into, or the sea.
    into: Option<usize>,
    /// The region in which it rises.
    source: usize,
}

struct Place {
    name: String,
    sort: &'static str,
    region: usize,
    river: usize,
    population: i64,
    founded: i64,
    /// Metres; not stated of every place.
    elevation: Option<i64>,
    product: &'static str,
}

impl Country {
    fn places_in(&self, region: usize) -> impl Iterator<Item = (usize, &Place)> {
        self.places.iter().enumerate().filter(move |(_, place)| place.region == region)
    }

    fn places_on(&self, river: usize) -> impl Iterator<Item = (usize, &Place)> {
        self.places.iter().enumerate().filter(move |(_, place)| place.river == river)
    }

    fn tributaries(&self, river: usize) -> impl Iterator<Item = (usize, &River)> {
        self.rivers.iter().enumerate().filter(move |(_, other)| other.into == Some(river))
    }
}

impl World for Country {
    fn draw(draw: &mut Draw) -> Self {
        let level = draw.level;
        let (count, rivers, regions) = (level.of([8, 16, 26, 40]), level.of([3, 4, 6, 8]), level.of([2, 3, 4, 5]));
        let places = draw_places(draw, count, rivers, regions);
        let areas = names::numbers(draw, regions, 900..=18_000);
        let regions: Vec<Region> = (names::regions(draw, regions).into_iter().zip(areas).enumerate())
            .map(|(region, (name, area))| {
                let inside: Vec<usize> = (0..places.len()).filter(|place| places[*place].region == region).collect();
                Region { name, area, capital: draw.pick(&inside) }
            })
            .collect();
        let lengths = names::numbers(draw, rivers, 40..=620);
        let rivers = (names::rivers(draw, rivers).into_iter().zip(lengths).enumerate())
            .map(|(river, (name, length))| {
                // Two flow into the first one, which flows into the sea.
                let into = match river {
                    0 => None,
                    1 | 2 => Some(0),
                    later => Some(draw.place(later)),
                };
                River { name, length, into, source: draw.place(regions.len()) }
            })
            .collect();
        Self { name: draw.pick(&COUNTRIES), regions, rivers, places }
    }

    fn rows() -> Vec<Row<Self>> {
        questions::rows()
    }

    fn site(&self) -> Site {
        pages::site(self)
    }
}

/// Places in turn in all regions and on all rivers, and then anywhere.
fn draw_places(draw: &mut Draw, count: usize, rivers: usize, regions: usize) -> Vec<Place> {
    let populations = names::numbers(draw, count, 180..=96_000);
    let years = names::numbers(draw, count, 880..=1_890);
    let named = names::places(draw, count).into_iter().zip(populations).zip(years).enumerate();
    let drawn = named.map(|(place, ((name, population), founded))| Place {
        name,
        sort: SORTS[usize::from(population > 2_000) + usize::from(population > 40_000)],
        region: if place < regions * 2 { place % regions } else { draw.place(regions) },
        river: if place < rivers { place } else { draw.place(rivers) },
        population,
        founded,
        elevation: (!draw.once_in(2)).then(|| draw.number(3..=1_400)),
        product: draw.pick(&PRODUCTS),
    });
    drawn.collect()
}
