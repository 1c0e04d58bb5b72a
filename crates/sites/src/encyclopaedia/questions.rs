//! Questions about a country.

use palestra_widgets::{Draw, Level};

use super::pages::{place_at, region_at, river_at};
use super::{Country, Place};
use crate::answer::KILOMETRES;
use crate::names::{largest, one};
use crate::question::Row;
use crate::{Answer, Fact, Question};

const INHABITANTS: &[&str] = &["inhabitants", "people"];
const METRES: &[&str] = &["m", "metres", "meters"];

pub(super) fn rows() -> Vec<Row<Country>> {
    vec![
        Row { name: "encyclopaedia-population", level: Level::One, ask: population },
        Row { name: "encyclopaedia-founded", level: Level::One, ask: founded },
        Row { name: "encyclopaedia-river-length", level: Level::One, ask: river_length },
        Row { name: "encyclopaedia-capital-population", level: Level::Two, ask: capital_population },
        Row { name: "encyclopaedia-places-on-river", level: Level::Two, ask: places_on_river },
        Row { name: "encyclopaedia-elevation", level: Level::Two, ask: elevation },
        Row { name: "encyclopaedia-largest-on-river", level: Level::Three, ask: largest_on_river },
        Row { name: "encyclopaedia-oldest-of-three", level: Level::Three, ask: oldest_of_three },
        Row { name: "encyclopaedia-tributary-capital", level: Level::Three, ask: tributary_capital },
        Row { name: "encyclopaedia-count-in-region", level: Level::Four, ask: count_in_region },
        Row { name: "encyclopaedia-oldest-in-region", level: Level::Four, ask: oldest_in_region },
        Row { name: "encyclopaedia-oldest-elevation", level: Level::Four, ask: oldest_elevation },
    ]
}

fn of_place(place: &Place, property: &str) -> Fact {
    Fact::of(&place_at(&place.name), property)
}

fn population(country: &Country, draw: &mut Draw) -> Option<Question> {
    let place = one(draw, &country.places)?;
    let text = format!("What is the population of {}?", place.name);
    Some(Question::new(text, Answer::number(place.population, INHABITANTS), vec![of_place(place, "population")]))
}

fn founded(country: &Country, draw: &mut Draw) -> Option<Question> {
    let place = one(draw, &country.places)?;
    let text = format!("In which year was {} founded?", place.name);
    Some(Question::new(text, Answer::number(place.founded, &[]), vec![of_place(place, "founded")]))
}

fn river_length(country: &Country, draw: &mut Draw) -> Option<Question> {
    let river = one(draw, &country.rivers)?;
    let text = format!("How long is the river {}, in kilometres?", river.name);
    Some(Question::new(text, Answer::number(river.length, KILOMETRES), vec![Fact::of(&river_at(river.name), "length")]))
}

fn capital_population(country: &Country, draw: &mut Draw) -> Option<Question> {
    let region = one(draw, &country.regions)?;
    let capital = &country.places[region.capital];
    let text = format!("What is the population of the capital of {}?", region.name);
    let facts = vec![Fact::of(&region_at(region.name), "capital"), of_place(capital, "population")];
    Some(Question::new(text, Answer::number(capital.population, INHABITANTS), facts))
}

fn places_on_river(country: &Country, draw: &mut Draw) -> Option<Question> {
    let number = draw.place(country.rivers.len());
    let name = country.rivers[number].name;
    let text = format!("How many places lie on the river {name}?");
    let each = country.places.iter().map(|place| of_place(place, "river")).collect();
    let count = country.places_on(number).count();
    Some(Question::new(text, Answer::count(count), vec![Fact::of(&river_at(name), "places")]).or(each))
}

/// Half of the places do not state their elevation.
fn elevation_of(place: &Place) -> Answer {
    place.elevation.map_or(Answer::NotStated, |metres| Answer::number(metres, METRES))
}

fn elevation(country: &Country, draw: &mut Draw) -> Option<Question> {
    let place = one(draw, &country.places)?;
    let text = format!("At which elevation does {} lie, in metres?", place.name);
    Some(Question::new(text, elevation_of(place), vec![of_place(place, "whole")]))
}

fn largest_on_river(country: &Country, draw: &mut Draw) -> Option<Question> {
    let number = draw.place(country.rivers.len());
    let places: Vec<(usize, &Place)> = country.places_on(number).collect();
    let winner = largest(places.iter().map(|(at, place)| (*at, place.population)))?;
    if places.len() < 3 {
        return None;
    }
    let name = country.rivers[number].name;
    let text = format!("Which place on the river {name} has the most inhabitants?");
    let mut facts = vec![Fact::of(&river_at(name), "places")];
    facts.extend(places.iter().map(|(_, place)| of_place(place, "population")));
    Some(Question::new(text, Answer::text(&country.places[winner].name), facts))
}

fn oldest_of_three(country: &Country, draw: &mut Draw) -> Option<Question> {
    let all: Vec<&Place> = country.places.iter().collect();
    let places: [&Place; 3] = draw.some(3, &all).try_into().ok()?;
    let [first, second, third] = places;
    let oldest = places.into_iter().min_by_key(|place| place.founded)?;
    let text = format!("Which of {}, {} and {} was founded first?", first.name, second.name, third.name);
    let facts = places.map(|place| of_place(place, "founded")).to_vec();
    Some(Question::new(text, Answer::text(&oldest.name), facts))
}

fn tributary_capital(country: &Country, draw: &mut Draw) -> Option<Question> {
    let number = draw.place(country.rivers.len());
    let tributaries: Vec<usize> = country.tributaries(number).map(|(at, _)| at).collect();
    let winner = largest(tributaries.iter().map(|at| (*at, country.rivers[*at].length)))?;
    if tributaries.len() < 2 {
        return None;
    }
    let (river, tributary) = (&country.rivers[number], &country.rivers[winner]);
    let region = &country.regions[tributary.source];
    let text = format!(
        "What is the capital of the region in which the longest river that flows into the {} rises?",
        river.name
    );
    let rest = [Fact::of(&river_at(tributary.name), "source"), Fact::of(&region_at(region.name), "capital")];
    let lengths = tributaries.iter().map(|at| Fact::of(&river_at(country.rivers[*at].name), "length"));
    let listed = [Fact::of(&river_at(river.name), "tributaries")].into_iter().chain(lengths).chain(rest.clone());
    let each =
        country.rivers.iter().flat_map(|river| ["length", "into"].map(|what| Fact::of(&river_at(river.name), what)));
    let answer = Answer::text(&country.places[region.capital].name);
    Some(Question::new(text, answer, listed.collect()).or(each.chain(rest).collect()))
}

fn count_in_region(country: &Country, draw: &mut Draw) -> Option<Question> {
    let number = draw.place(country.regions.len());
    let places: Vec<&Place> = country.places_in(number).map(|(_, place)| place).collect();
    let middle = |values: Vec<i64>| {
        let mut values = values;
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    };
    let year = middle(places.iter().map(|place| place.founded).collect())? + 1;
    let people = middle(places.iter().map(|place| place.population).collect())? / 2;
    let count = places.iter().filter(|place| place.population > people && place.founded < year).count();
    if places.len() < 4 || count == 0 {
        return None;
    }
    let name = country.regions[number].name;
    let text = format!("How many places in {name} have more than {people} inhabitants and were founded before {year}?");
    let mut facts = vec![Fact::of(&region_at(name), "places")];
    facts.extend(places.iter().flat_map(|place| [of_place(place, "population"), of_place(place, "founded")]));
    Some(Question::new(text, Answer::count(count), facts))
}

/// The place of a region that was founded first, and the facts that prove it.
fn oldest(country: &Country, draw: &mut Draw) -> Option<(&'static str, usize, Vec<Fact>)> {
    let number = draw.place(country.regions.len());
    let winner = largest(country.places_in(number).map(|(at, place)| (at, -place.founded)))?;
    if country.places_in(number).count() < 4 {
        return None;
    }
    let name = country.regions[number].name;
    let mut facts = vec![Fact::of(&region_at(name), "places")];
    facts.extend(country.places_in(number).map(|(_, place)| of_place(place, "founded")));
    Some((name, winner, facts))
}

fn oldest_in_region(country: &Country, draw: &mut Draw) -> Option<Question> {
    let (region, winner, mut facts) = oldest(country, draw)?;
    let place = &country.places[winner];
    let river = &country.rivers[place.river];
    facts.extend([of_place(place, "river"), Fact::of(&river_at(river.name), "length")]);
    let text = format!("How long is the river on which the oldest place of {region} lies, in kilometres?");
    Some(Question::new(text, Answer::number(river.length, KILOMETRES), facts))
}

fn oldest_elevation(country: &Country, draw: &mut Draw) -> Option<Question> {
    let (region, winner, mut facts) = oldest(country, draw)?;
    let place = &country.places[winner];
    facts.push(of_place(place, "whole"));
    let text = format!("At which elevation does the place of {region} that was founded first lie, in metres?");
    Some(Question::new(text, elevation_of(place), facts))
}
