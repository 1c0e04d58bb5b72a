//! An airline: airports, routes in a network, flights with seats, passengers, bookings and refunds.

use std::collections::BTreeMap;

use jiff::civil::{Date, date};

use super::draw::{Draw, later};
use super::layout::Need::{May, Must};
use super::rules::{self, Rule};
use super::words::{self, CITIES};
use super::{Fact, Maker, Settings, World};
use crate::dataset::Sort::{Integer, Text};
use crate::dataset::{Dataset, Sort, Table};
use crate::row;
use crate::value::Value;

pub(super) const MAKER: Maker =
    Maker { name: "airline", settings: &[("flights", 60, 260, 2_000), ("bookings", 100, 700, 8_000)], make };

/// The first day with flights.
const START: Date = date(2025, 3, 1);

/// Days with flights. On the first forty they have flown.
const DAYS: i64 = 60;

const RULES: &[Rule] = &[
    Rule::Forbid {
        name: "only_scheduled_flights_are_booked",
        table: "bookings",
        on: &["INSERT", "UPDATE"],
        when: "NEW.status = 'booked' AND (SELECT status FROM flights WHERE id = NEW.flight_id) <> 'scheduled'
            AND (SELECT status FROM flights WHERE id = NEW.flight_id) IS NOT NULL",
        says: "the flight is not open for booking",
    },
    Rule::Forbid {
        name: "flights_have_so_many_seats",
        table: "bookings",
        on: &["INSERT", "UPDATE"],
        when: "NEW.status = 'booked' AND (SELECT COUNT(*) FROM bookings b WHERE b.flight_id = NEW.flight_id AND b.status = 'booked'
            AND b.id <> NEW.id) >= (SELECT a.seats FROM flights f JOIN aircraft a ON a.id = f.aircraft_id WHERE f.id = NEW.flight_id)",
        says: "the flight is full",
    },
    Rule::Forbid {
        name: "one_booking_per_flight",
        table: "bookings",
        on: &["INSERT", "UPDATE"],
        when: "NEW.status = 'booked' AND EXISTS (SELECT 1 FROM bookings b WHERE b.flight_id = NEW.flight_id AND b.id <> NEW.id
            AND b.passenger_id = NEW.passenger_id AND b.status = 'booked')",
        says: "the passenger is booked on this flight already",
    },
    Rule::Forbid {
        name: "rebooking_keeps_the_route",
        table: "bookings",
        on: &["UPDATE"],
        when: "NEW.flight_id <> OLD.flight_id AND ((SELECT from_airport FROM flights WHERE id = NEW.flight_id)
                <> (SELECT from_airport FROM flights WHERE id = OLD.flight_id)
            OR (SELECT to_airport FROM flights WHERE id = NEW.flight_id) <> (SELECT to_airport FROM flights WHERE id = OLD.flight_id)
            OR (SELECT day FROM flights WHERE id = NEW.flight_id) < (SELECT day FROM flights WHERE id = OLD.flight_id))",
        says: "a booking moves to a later flight of the same route only",
    },
    Rule::Forbid {
        name: "light_fares_stay",
        table: "bookings",
        on: &["UPDATE"],
        when: "NEW.flight_id <> OLD.flight_id AND OLD.fare = 'light'
            AND (SELECT status FROM flights WHERE id = OLD.flight_id) <> 'cancelled'",
        says: "a light fare moves only when its flight is cancelled",
    },
    Rule::Forbid {
        name: "who_and_what_stay",
        table: "bookings",
        on: &["UPDATE"],
        when: "NEW.passenger_id <> OLD.passenger_id OR NEW.fare <> OLD.fare OR NEW.price_cents <> OLD.price_cents
            OR OLD.status = 'flown'",
        says: "passenger, fare and price of a booking stay",
    },
    Rule::Forbid {
        name: "refunds_follow_the_fare",
        table: "refunds",
        on: &["INSERT"],
        when: "(SELECT status FROM bookings WHERE id = NEW.booking_id) <> 'cancelled'
            OR NEW.amount_cents > (SELECT CASE WHEN f.status = 'cancelled' OR b.fare = 'flex' THEN b.price_cents
                WHEN b.fare = 'standard' THEN b.price_cents / 2 ELSE 0 END
                FROM bookings b JOIN flights f ON f.id = b.flight_id WHERE b.id = NEW.booking_id)
            OR EXISTS (SELECT 1 FROM refunds WHERE booking_id = NEW.booking_id)",
        says: "refunds are for cancelled bookings, once, and up to what the fare gives back",
    },
    Rule::Steps { table: "bookings", column: "status", steps: &[("booked", "cancelled"), ("booked", "flown")] },
    Rule::Steps { table: "flights", column: "status", steps: &[("scheduled", "cancelled"), ("scheduled", "flown")] },
    Rule::Stay { table: "bookings" },
    Rule::Stay { table: "flights" },
    Rule::Keep { table: "refunds" },
    Rule::Keep { table: "aircraft" },
];

const CODES: [&str; 12] = ["NHV", "PEM", "KST", "SOR", "DUN", "ALT", "GRF", "LUM", "WMK", "BRW", "RAV", "SOL"];

fn make(draw: &mut Draw, settings: &Settings) -> World {
    let mut airports = Table::of(
        "airports",
        &[("id", Integer, Must), ("code", Text, Must), ("city", Text, Must), ("country", Text, Must)],
    )
    .distinct(&["code"]);
    for (id, (code, (city, country))) in (1..).zip(CODES.iter().zip(CITIES)) {
        airports.rows.push(row![id, code, city, country]);
    }
    let mut aircraft = Table::of(
        "aircraft",
        &[
            ("id", Integer, Must),
            ("tail", Text, Must),
            ("model", Text, Must),
            ("seats", Integer, Must),
            ("built_on", Sort::Date, May),
        ],
    )
    .distinct(&["tail"]);
    for id in 1..=9 {
        let (model, seats) = *draw.pick(&[("Swift 20", 4), ("Swift 40", 6), ("Heron", 8)]);
        aircraft.rows.push(row![
            id,
            format!("P-{:03}", id * 37),
            model,
            seats,
            (!draw.chance(20)).then(|| draw.day(date(2001, 1, 1), 7_000))
        ]);
    }
    let mut passengers = Table::of(
        "passengers",
        &[
            ("id", Integer, Must),
            ("name", Text, Must),
            ("tier", Text, May),
            ("born_on", Sort::Date, Must),
            ("country", Text, Must),
        ],
    );
    for (id, name) in (1..=150).zip(words::people(draw, 150)) {
        let tier = draw.chance(45).then(|| *draw.pick_weighted(&[("silver", 5), ("gold", 2), ("black", 1)]));
        passengers.rows.push(row![id, name, tier, draw.day(date(1940, 1, 1), 30_000), draw.pick(&CITIES).1]);
    }
    let flights = flights(draw, settings["flights"]);
    let (bookings, refunds) = bookings(draw, settings["bookings"], &flights, &aircraft);
    let facts = facts(&flights, &aircraft, &bookings);
    let tables = vec![airports, aircraft, flights, passengers, bookings, refunds];
    let after = rules::compile(RULES, &tables);
    World { dataset: Dataset { tables, after }, facts }
}

fn whole(value: &Value) -> i64 {
    if let Value::Integer(number) = value { *number } else { 0 }
}

fn flights(draw: &mut Draw, count: i64) -> Table {
    let mut table = Table::of(
        "flights",
        &[
            ("id", Integer, Must),
            ("number", Text, Must),
            ("from_airport", Integer, Must),
            ("to_airport", Integer, Must),
            ("day", Sort::Date, Must),
            ("minutes", Integer, Must),
            ("distance_km", Integer, May),
            ("aircraft_id", Integer, Must),
            ("status", Text, Must),
        ],
    )
    .refers("from_airport", "airports")
    .refers("to_airport", "airports")
    .refers("aircraft_id", "aircraft")
    .check("from_airport <> to_airport")
    .check("status IN ('scheduled', 'flown', 'cancelled')");
    // Routes go along a ring with some chords; the last airport has none.
    let mut routes: Vec<(i64, i64, i64)> = Vec::new();
    for from in 1..=11 {
        let chord = (from + draw.between(1, 8)) % 11 + 1;
        for to in [from % 11 + 1, chord] {
            if to != from && !routes.iter().any(|(one, other, _)| (*one, *other) == (from, to)) {
                routes.push((from, to, 10 * draw.between(25, 180)));
            }
        }
    }
    let mut days: Vec<i64> = (0..count).map(|_| draw.between(0, DAYS - 1)).collect();
    days.sort_unstable();
    for (id, day) in (1..).zip(days) {
        let route = draw.below(routes.len());
        let (from, to, distance) = routes[route];
        let flown = if day < 40 { "flown" } else { "scheduled" };
        let status = if draw.chance(10) { "cancelled" } else { flown };
        let known = (!draw.chance(8)).then_some(distance);
        let number = format!("PA{}", 100 + route);
        table.rows.push(row![
            id,
            number,
            from,
            to,
            later(START, day),
            distance / 8 + draw.between(0, 40),
            known,
            draw.between(1, 9),
            status
        ]);
    }
    table
}

fn bookings(draw: &mut Draw, count: i64, flights: &Table, aircraft: &Table) -> (Table, Table) {
    let mut table = Table::of(
        "bookings",
        &[
            ("id", Integer, Must),
            ("flight_id", Integer, Must),
            ("passenger_id", Integer, Must),
            ("fare", Text, Must),
            ("price_cents", Integer, Must),
            ("booked_on", Sort::Date, Must),
            ("status", Text, Must),
        ],
    )
    .refers("flight_id", "flights")
    .refers("passenger_id", "passengers")
    .check("fare IN ('light', 'standard', 'flex')")
    .check("status IN ('booked', 'cancelled', 'flown')");
    let mut refunds = Table::of(
        "refunds",
        &[
            ("id", Integer, Must),
            ("booking_id", Integer, Must),
            ("amount_cents", Integer, Must),
            ("paid_on", Sort::Date, Must),
        ],
    )
    .refers("booking_id", "bookings");
    let mut aboard: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for _ in 0..count {
        let flight = draw.pick(&flights.rows);
        let passenger = *draw.pick_skewed(&(1..=140).collect::<Vec<i64>>());
        let seats = whole(&aircraft.rows[whole(&flight[7]) as usize - 1][3]);
        let there = aboard.entry(whole(&flight[0])).or_default();
        if there.len() as i64 >= seats || there.contains(&passenger) {
            continue;
        }
        there.push(passenger);
        let fare = *draw.pick_weighted(&[("light", 5), ("standard", 4), ("flex", 2)]);
        let id = table.rows.len() as i64 + 1;
        let price = 500 * draw.between(8, 60);
        let called_off = flight[8] == Value::from("cancelled");
        let cancelled = draw.chance(if called_off { 30 } else { 9 });
        let status = match (cancelled, flight[8] == Value::from("flown")) {
            (true, _) => "cancelled",
            (false, true) => "flown",
            (false, false) => "booked",
        };
        let booked = later(START, -draw.between(1, 60));
        table.rows.push(row![id, flight[0].clone(), passenger, fare, price, booked, status]);
        if cancelled && fare != "light" && draw.chance(70) {
            let amount = if fare == "flex" || called_off { price } else { price / 2 };
            refunds.rows.push(row![refunds.rows.len() as i64 + 1, id, amount, draw.day(START, 35)]);
        }
    }
    (table, refunds)
}

fn facts(flights: &Table, aircraft: &Table, bookings: &Table) -> BTreeMap<String, Vec<Fact>> {
    let mut facts: BTreeMap<String, Vec<Fact>> = BTreeMap::new();
    let aboard = |flight: &Value| {
        bookings.rows.iter().filter(|row| row[1] == *flight && row[6] == Value::from("booked")).count() as i64
    };
    let free = |flight: &Vec<Value>| whole(&aircraft.rows[whole(&flight[7]) as usize - 1][3]) - aboard(&flight[0]);
    for booking in bookings.rows.iter().filter(|row| row[6] == Value::from("booked")) {
        let flight = &flights.rows[whole(&booking[1]) as usize - 1];
        let mut later: Vec<&Vec<Value>> = flights
            .rows
            .iter()
            .filter(|other| other[2] == flight[2] && other[3] == flight[3] && other[8] == Value::from("scheduled"))
            .filter(|other| day(other) > day(flight))
            .collect();
        later.sort_by_key(|other| day(other));
        let fields = |target: Option<&Value>| {
            let mut fact = Fact::from([
                ("id".to_owned(), booking[0].clone()),
                ("flight_id".to_owned(), booking[1].clone()),
                ("passenger_id".to_owned(), booking[2].clone()),
                ("price".to_owned(), booking[4].clone()),
            ]);
            if let Some(target) = target {
                fact.insert("target_id".to_owned(), target.clone());
            }
            fact
        };
        let already = |other: &Vec<Value>| bookings.rows.iter().any(|row| row[1] == other[0] && row[2] == booking[2]);
        let target = later.iter().find(|other| free(other) > 0 && !already(other));
        // Two on one day would leave a choice.
        let only = |target: &&&Vec<Value>| later.iter().filter(|other| day(other) == day(target)).count() == 1;
        let cancelled = flight[8] == Value::from("cancelled");
        match target.filter(only) {
            Some(target) if cancelled => facts.entry("stranded".to_owned()).or_default().push(fields(Some(&target[0]))),
            Some(target) if booking[3] != Value::from("light") => {
                facts.entry("movable".to_owned()).or_default().push(fields(Some(&target[0])));
            }
            _ => {}
        }
        if booking[3] == Value::from("standard") && !cancelled {
            facts.entry("half_refund".to_owned()).or_default().push(fields(None));
        }
        if booking[3] == Value::from("light") && !cancelled {
            facts.entry("no_refund".to_owned()).or_default().push(fields(None));
        }
    }
    facts
}

fn day(flight: &[Value]) -> &str {
    if let Value::Text(day) = &flight[4] { day } else { "" }
}
