//! Questions about a map.

use palestra_widgets::{Draw, Level, WEEKDAYS, clock};

use super::pages::{place_at, road_at, sight_at};
use super::ways::shortest;
use super::{Map, Road, SORTS, Sight};
use crate::answer::{EUROS, KILOMETRES};
use crate::names::{largest, one};
use crate::question::Row;
use crate::{Answer, Fact, Question};

pub(super) fn rows() -> Vec<Row<Map>> {
    vec![
        Row { name: "map-road-length", level: Level::One, ask: road_length },
        Row { name: "map-opens", level: Level::One, ask: opens },
        Row { name: "map-roads-out", level: Level::One, ask: roads_out },
        Row { name: "map-by-way-of", level: Level::Two, ask: by_way_of },
        Row { name: "map-nearest", level: Level::Two, ask: nearest },
        Row { name: "map-fee", level: Level::Two, ask: fee },
        Row { name: "map-open-at", level: Level::Three, ask: open_at },
        Row { name: "map-closes-last", level: Level::Three, ask: closes_last },
        Row { name: "map-nearest-fee", level: Level::Three, ask: nearest_fee },
        Row { name: "map-shortest-way", level: Level::Four, ask: shortest_way },
        Row { name: "map-latest-next-door", level: Level::Four, ask: latest_next_door },
        Row { name: "map-open-next-door", level: Level::Four, ask: open_next_door },
    ]
}

fn of_place(map: &Map, place: usize, property: &str) -> Fact {
    Fact::of(&place_at(&map.places[place].name), property)
}

fn of_sight(sight: &Sight, property: &str) -> Fact {
    Fact::of(&sight_at(&sight.name), property)
}

/// That a road joins two places, and its length.
fn of_road(road: &Road) -> [Fact; 2] {
    ["ends", "length"].map(|property| Fact::of(&road_at(&road.name), property))
}

fn road_length(map: &Map, draw: &mut Draw) -> Option<Question> {
    let road = one(draw, &map.roads)?;
    let text = format!("How long is {}, in kilometres?", road.name);
    Some(Question::new(text, Answer::number(road.length, KILOMETRES), of_road(road)[1..].to_vec()))
}

fn opens(map: &Map, draw: &mut Draw) -> Option<Question> {
    let sight = one(draw, &map.sights)?;
    let day = draw.place(WEEKDAYS.len());
    let (opens, _) = sight.hours[day]?;
    let text = format!("At what time does the {} open on {}?", sight.name, WEEKDAYS[day]);
    Some(Question::new(text, Answer::Time(opens), vec![of_sight(sight, "hours")]))
}

fn roads_out(map: &Map, draw: &mut Draw) -> Option<Question> {
    let place = draw.place(map.places.len());
    let text = format!("How many roads lead out of {}?", map.places[place].name);
    let each = map.roads.iter().map(|road| of_road(road)[0].clone()).collect();
    let count = map.roads_of(place).count();
    Some(Question::new(text, Answer::count(count), vec![of_place(map, place, "roads")]).or(each))
}

fn by_way_of(map: &Map, draw: &mut Draw) -> Option<Question> {
    let middle = draw.place(map.places.len());
    let roads: Vec<&Road> = map.roads_of(middle).collect();
    let [first, second] = draw.some(2, &roads).try_into().ok()?;
    let [from, to] = [first, second].map(|road| map.places[road.beyond(middle)].name.as_str());
    let text =
        format!("How many kilometres is the way by road from {from} to {to} by way of {}?", map.places[middle].name);
    let facts = [first, second].into_iter().flat_map(of_road).collect();
    Some(Question::new(text, Answer::number(first.length + second.length, KILOMETRES), facts))
}

/// The neighbour of a place to which the shortest road leads.
fn neighbour(map: &Map, place: usize) -> Option<usize> {
    let nearest = map.roads_of(place).min_by_key(|road| road.length)?;
    (map.roads_of(place).count() > 1).then(|| nearest.beyond(place))
}

fn nearest(map: &Map, draw: &mut Draw) -> Option<Question> {
    let place = draw.place(map.places.len());
    let other = neighbour(map, place)?;
    let text = format!("To which place does the shortest road out of {} lead?", map.places[place].name);
    let answer = Answer::text(&map.places[other].name);
    let each = map.roads.iter().flat_map(of_road).collect();
    Some(Question::new(text, answer, vec![of_place(map, place, "roads")]).or(each))
}

/// Half of the sights do not state their fee.
fn fee_of(sight: &Sight) -> Answer {
    sight.fee.map_or(Answer::NotStated, |fee| Answer::number(fee, EUROS))
}

fn fee(map: &Map, draw: &mut Draw) -> Option<Question> {
    let sight = one(draw, &map.sights)?;
    let text = format!("What is the entrance fee of the {}, in euros?", sight.name);
    Some(Question::new(text, fee_of(sight), vec![of_sight(sight, "whole")]))
}

fn is_open(sight: &Sight, day: usize, time: i64) -> bool {
    sight.hours[day].is_some_and(|(opens, closes)| (opens..closes).contains(&time))
}

fn open_at(map: &Map, draw: &mut Draw) -> Option<Question> {
    let place = draw.place(map.places.len());
    let (day, time) = (draw.place(WEEKDAYS.len()), draw.number(16..=36) * 30 + 15);
    let sights: Vec<&Sight> = map.sights_of(place).map(|(_, sight)| sight).collect();
    if sights.len() < 3 {
        return None;
    }
    let count = sights.iter().filter(|sight| is_open(sight, day, time)).count();
    let text = format!(
        "How many of the things to visit in {} are open on {} at {}?",
        map.places[place].name,
        WEEKDAYS[day],
        clock(time)
    );
    let mut facts = vec![of_place(map, place, "sights")];
    facts.extend(sights.iter().map(|sight| of_sight(sight, "hours")));
    Some(Question::new(text, Answer::count(count), facts))
}

fn closes_last(map: &Map, draw: &mut Draw) -> Option<Question> {
    let (place, day) = (draw.place(map.places.len()), draw.place(WEEKDAYS.len()));
    let sights: Vec<(usize, &Sight)> = map.sights_of(place).collect();
    let closing = sights.iter().filter_map(|(at, sight)| Some((*at, sight.hours[day]?.1)));
    let last = largest(closing)?;
    if sights.len() < 3 {
        return None;
    }
    let text = format!("Which of the things to visit in {} closes last on {}?", map.places[place].name, WEEKDAYS[day]);
    let mut facts = vec![of_place(map, place, "sights")];
    facts.extend(sights.iter().map(|(_, sight)| of_sight(sight, "hours")));
    Some(Question::new(text, Answer::text(&map.sights[last].name), facts))
}

fn nearest_fee(map: &Map, draw: &mut Draw) -> Option<Question> {
    let place = draw.place(map.places.len());
    let other = neighbour(map, place)?;
    let sights: Vec<&Sight> = map.sights_of(other).map(|(_, sight)| sight).collect();
    let sight = one(draw, &sights)?;
    let text = format!(
        "What is the entrance fee of the {} in the place to which the shortest road out of {} leads, in euros?",
        sight.sort, map.places[place].name
    );
    let facts = vec![of_place(map, place, "roads"), of_sight(sight, "whole")];
    Some(Question::new(text, fee_of(sight), facts))
}

fn shortest_way(map: &Map, draw: &mut Draw) -> Option<Question> {
    let numbers: Vec<usize> = (0..map.places.len()).collect();
    let [from, to] = draw.some(2, &numbers).try_into().ok()?;
    let (length, known) = shortest(map, from, to)?;
    let (_, known_back) = shortest(map, to, from)?;
    // A road between them, or a way by one place, is too easy.
    if map.road_between(from, to).is_some() || known.len() < 5 {
        return None;
    }
    let [start, end] = [from, to].map(|place| map.places[place].name.as_str());
    let text = format!("How many kilometres is the shortest way by road from {start} to {end}?");
    let roads =
        |places: Vec<usize>| places.into_iter().map(|place| of_place(map, place, "roads")).collect::<Vec<Fact>>();
    let all = map.roads.iter().flat_map(of_road).collect();
    let question = Question::new(text, Answer::number(length, KILOMETRES), roads(known));
    Some(question.or(roads(known_back)).or(all))
}

/// The sights of one sort in the neighbours of a place, and the facts that say which there are and when they are open.
struct NextDoor<'a> {
    place: &'a str,
    sort: &'static str,
    sights: Vec<(usize, &'a Sight)>,
    facts: Vec<Fact>,
}

fn next_door<'a>(map: &'a Map, draw: &mut Draw) -> Option<NextDoor<'a>> {
    let (place, sort) = (draw.place(map.places.len()), draw.pick(&SORTS));
    let neighbours: Vec<usize> = map.roads_of(place).map(|road| road.beyond(place)).collect();
    let sights: Vec<(usize, &Sight)> =
        neighbours.iter().flat_map(|other| map.sights_of(*other)).filter(|(_, sight)| sight.sort == sort).collect();
    if neighbours.len() < 3 || sights.len() < 2 {
        return None;
    }
    let mut facts = vec![of_place(map, place, "roads")];
    facts.extend(neighbours.iter().map(|other| of_place(map, *other, "sights")));
    facts.extend(sights.iter().map(|(_, sight)| of_sight(sight, "hours")));
    Some(NextDoor { place: &map.places[place].name, sort, sights, facts })
}

fn latest_next_door(map: &Map, draw: &mut Draw) -> Option<Question> {
    let NextDoor { place, sort, sights, facts } = next_door(map, draw)?;
    let day = draw.place(WEEKDAYS.len());
    let last = largest(sights.iter().filter_map(|(at, sight)| Some((*at, sight.hours[day]?.1))))?;
    let text = format!(
        "Roads lead from {place} to other places. Which of these has the {sort} that closes last on {}?",
        WEEKDAYS[day]
    );
    Some(Question::new(text, Answer::text(&map.places[map.sights[last].place].name), facts))
}

fn open_next_door(map: &Map, draw: &mut Draw) -> Option<Question> {
    let NextDoor { place, sort, sights, facts } = next_door(map, draw)?;
    let (day, time) = (draw.place(WEEKDAYS.len()), draw.number(20..=36) * 30 + 15);
    let count = sights.iter().filter(|(_, sight)| is_open(sight, day, time)).count();
    let text = format!(
        "Roads lead from {place} to other places. In how many of these is a {sort} open on {} at {}?",
        WEEKDAYS[day],
        clock(time)
    );
    Some(Question::new(text, Answer::count(count), facts))
}
