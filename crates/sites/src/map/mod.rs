//! A map: places, roads between them, and what can be visited there.

mod pages;
mod questions;
mod ways;

use palestra_widgets::Draw;

use crate::question::{Row, World};
use crate::{Site, names};

/// Size of the grid on which places lie: one in a field.
const COLUMNS: usize = 5;
/// Pixels of a field.
const FIELD: i64 = 150;
/// Sorts of things to visit.
const SORTS: [&str; 5] = ["bakery", "library", "museum", "park", "swimming pool"];

/// Facts of a map.
pub(crate) struct Map {
    places: Vec<Place>,
    roads: Vec<Road>,
    sights: Vec<Sight>,
}

struct Place {
    name: String,
    x: i64,
    y: i64,
}

struct Road {
    name: String,
    ends: [usize; 2],
    /// Kilometres.
    length: i64,
}

/// Something to visit, at most one of a sort in a place.
struct Sight {
    name: String,
    sort: &'static str,
    place: usize,
    /// Minutes of opening and closing, from Monday; none where it is closed.
    hours: [Option<(i64, i64)>; 7],
    /// Euros; not stated of all.
    fee: Option<i64>,
}

impl Map {
    fn roads_of(&self, place: usize) -> impl Iterator<Item = &Road> {
        self.roads.iter().filter(move |road| road.ends.contains(&place))
    }

    fn sights_of(&self, place: usize) -> impl Iterator<Item = (usize, &Sight)> {
        self.sights.iter().enumerate().filter(move |(_, sight)| sight.place == place)
    }

    fn road_between(&self, one: usize, other: usize) -> Option<&Road> {
        self.roads.iter().find(|road| road.ends == [one, other] || road.ends == [other, one])
    }
}

impl Road {
    /// The end that is not this one.
    const fn beyond(&self, place: usize) -> usize {
        if self.ends[0] == place { self.ends[1] } else { self.ends[0] }
    }
}

impl World for Map {
    fn draw(draw: &mut Draw) -> Self {
        let count: usize = draw.level.of([6, 9, 13, 18]);
        let fields: Vec<usize> = (0..count.next_multiple_of(COLUMNS)).collect();
        let fields = draw.some(count, &fields);
        let places: Vec<Place> = (names::places(draw, count).into_iter().zip(fields))
            .map(|(name, field)| {
                let at = |place: usize| i64::try_from(place).unwrap_or_default() * FIELD;
                let (x, y) = (at(field % COLUMNS) + draw.number(35..=85), at(field / COLUMNS) + draw.number(40..=110));
                Place { name, x, y }
            })
            .collect();
        let roads = draw_roads(draw, &places);
        let sights = draw_sights(draw, &places);
        Self { places, roads, sights }
    }

    fn rows() -> Vec<Row<Self>> {
        questions::rows()
    }

    fn site(&self) -> Site {
        pages::site(self)
    }
}

/// Every place is joined to its nearest one before it, and some more to one that is near.
fn draw_roads(draw: &mut Draw, places: &[Place]) -> Vec<Road> {
    let far = |one: usize, other: usize| {
        let (x, y) = (places[one].x - places[other].x, places[one].y - places[other].y);
        x * x + y * y
    };
    let mut ends: Vec<[usize; 2]> = Vec::new();
    for place in 1..places.len() {
        let mut before: Vec<usize> = (0..place).collect();
        before.sort_by_key(|other| far(place, *other));
        ends.extend(before.first().map(|other| [*other, place]));
        ends.extend(before.get(1).filter(|_| !draw.once_in(3)).map(|other| [*other, place]));
    }
    let ends = draw.shuffled(&ends);
    let lengths = names::numbers(draw, ends.len(), 4..=95);
    let numbers = names::numbers(draw, ends.len(), 1..=99);
    let made = ends.into_iter().zip(lengths).zip(numbers);
    made.map(|((ends, length), number)| Road { name: format!("Road {number}"), ends, length }).collect()
}

fn draw_sights(draw: &mut Draw, places: &[Place]) -> Vec<Sight> {
    let mut sights = Vec::new();
    for (place, at) in places.iter().enumerate() {
        let count = usize::try_from(draw.number(2..=4)).unwrap_or(2);
        for sort in draw.some(count, &SORTS) {
            let hours = std::array::from_fn(|_| {
                let opens = draw.number(14..=21) * 30;
                let closes = draw.number(28..=43) * 30;
                (!draw.once_in(6)).then_some((opens, closes))
            });
            let fee = (!draw.once_in(2)).then(|| draw.number(2..=19));
            sights.push(Sight { name: format!("{} {sort}", at.name), sort, place, hours, fee });
        }
    }
    sights
}
