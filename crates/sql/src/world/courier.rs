//! A parcel service with enough rows that it matters how a query finds them. Some columns have an index, most have none.

use jiff::SignedDuration;
use jiff::civil::{Date, date};

use super::words::person;
use super::{Draw, Maker, Need, Settings, World, later};
use crate::dataset::{Dataset, Sort, Table};
use crate::row;

/// The world `courier`.
pub(super) const MAKER: Maker = Maker { name: "courier", settings: &[("parcels", 1_000, 8_000, 20_000)], make };

const CITIES: [&str; 16] = [
    "Arden",
    "Brockwell",
    "Corvin",
    "Dunmere",
    "Eastvale",
    "Farrow",
    "Glenholt",
    "Harwick",
    "Ilford",
    "Jarrow",
    "Kelby",
    "Lorne",
    "Marsh",
    "Norwell",
    "Oakham",
    "Penrith",
];
const REGIONS: [&str; 4] = ["north", "east", "south", "west"];
const SEGMENTS: [&str; 5] = ["private", "shop", "office", "factory", "public"];
const STATUSES: [(&str, usize); 5] =
    [("delivered", 80), ("on the way", 12), ("returned", 4), ("lost", 2), ("damaged", 2)];
const KINDS: [(&str, usize); 6] = [("in", 34), ("out", 34), ("loaded", 20), ("held", 6), ("weighed", 5), ("opened", 1)];
const BODIES: [&str; 6] =
    ["arrived late", "box was open", "wrong street", "never arrived", "rude at the door", "left in the rain"];

const DAYS: i64 = 360;
const FIRST_DAY: Date = date(2031, 1, 1);
const DEPOTS: i64 = 24;
const COURIERS: i64 = 120;
const DEVICES: i64 = 40;

fn make(draw: &mut Draw, settings: &Settings) -> World {
    let count = settings.get("parcels").copied().unwrap_or(8_000);
    let customers = count / 6;
    let tables = vec![
        depots(draw),
        self::customers(draw, customers),
        couriers(draw),
        parcels(draw, count, customers),
        scans(draw, count * 2, count),
        invoices(draw, count / 2, customers),
        complaints(draw, count / 13, count),
    ];
    World { dataset: Dataset { tables, ..Dataset::default() }, ..World::default() }
}

fn depots(draw: &mut Draw) -> Table {
    use Need::Must;
    let rows = (1..=DEPOTS)
        .map(|id| {
            let city = *draw.pick(&CITIES);
            row![id, format!("D{id:02}"), city, draw.pick(&REGIONS)]
        })
        .collect();
    let columns = [
        ("id", Sort::Integer, Must),
        ("code", Sort::Text, Must),
        ("city", Sort::Text, Must),
        ("region", Sort::Text, Must),
    ];
    Table { rows, ..Table::of("depots", &columns) }
}

fn customers(draw: &mut Draw, count: i64) -> Table {
    use Need::Must;
    let rows = (1..=count)
        .map(|id| {
            let name = person(draw);
            // As people type them: the same address must be found however it is written.
            let email = format!("{}{}@Post.Example", name.replace([' ', '\''], "."), id % 90);
            row![id, name, draw.pick(&CITIES), draw.pick(&SEGMENTS), email, draw.day(FIRST_DAY, DAYS)]
        })
        .collect();
    let columns = [
        ("id", Sort::Integer, Must),
        ("name", Sort::Text, Must),
        ("city", Sort::Text, Must),
        ("segment", Sort::Text, Must),
        ("email", Sort::Text, Must),
        ("created_on", Sort::Date, Must),
    ];
    Table { rows, ..Table::of("customers", &columns) }
}

fn couriers(draw: &mut Draw) -> Table {
    use Need::Must;
    let rows = (1..=COURIERS)
        .map(|id| row![id, person(draw), draw.between(1, DEPOTS), later(FIRST_DAY, -draw.between(30, 4_000))])
        .collect();
    let columns = [
        ("id", Sort::Integer, Must),
        ("name", Sort::Text, Must),
        ("depot_id", Sort::Integer, Must),
        ("hired_on", Sort::Date, Must),
    ];
    Table { rows, ..Table::of("couriers", &columns) }
}

fn parcels(draw: &mut Draw, count: i64, customers: i64) -> Table {
    use Need::{May, Must};
    let rows = (1..=count)
        .map(|id| {
            let status = *draw.pick_weighted(&STATUSES);
            let sent = draw.day(FIRST_DAY, DAYS);
            let delivered = (status == "delivered").then(|| later(sent, draw.between(1, 9)));
            let courier = (status != "on the way").then(|| draw.between(1, COURIERS));
            // No two parcels have the same code, in no order that could be guessed.
            let code = format!("PX{:07}", (id * 7_919 + 104_729) % 9_999_991);
            let (customer, depot) = (draw.between(1, customers), draw.between(1, DEPOTS));
            let (grams, cents) = (draw.between(1, 300) * 100, draw.between(39, 900) * 10);
            row![id, customer, depot, courier, code, status, grams, cents, sent, delivered]
        })
        .collect();
    let columns = [
        ("id", Sort::Integer, Must),
        ("customer_id", Sort::Integer, Must),
        ("depot_id", Sort::Integer, Must),
        ("courier_id", Sort::Integer, May),
        ("tracking_code", Sort::Text, Must),
        ("status", Sort::Text, Must),
        ("weight_grams", Sort::Integer, Must),
        ("price_cents", Sort::Integer, Must),
        ("sent_on", Sort::Date, Must),
        ("delivered_on", Sort::Date, May),
    ];
    let table = Table { rows, ..Table::of("parcels", &columns) };
    table.index(&["tracking_code"]).index(&["sent_on"]).index(&["delivered_on"])
}

fn scans(draw: &mut Draw, count: i64, parcels: i64) -> Table {
    use Need::Must;
    let first = FIRST_DAY.at(5, 0, 0, 0);
    let rows = (1..=count)
        .map(|id| {
            let kind = *draw.pick_weighted(&KINDS);
            let at = first.saturating_add(SignedDuration::from_secs(draw.between(0, DAYS * 86_400)));
            let device = format!("H{:02}", draw.between(1, DEVICES));
            row![id, draw.between(1, parcels), draw.between(1, DEPOTS), kind, at, device]
        })
        .collect();
    let columns = [
        ("id", Sort::Integer, Must),
        ("parcel_id", Sort::Integer, Must),
        ("depot_id", Sort::Integer, Must),
        ("kind", Sort::Text, Must),
        ("scanned_at", Sort::Timestamp, Must),
        ("device", Sort::Text, Must),
    ];
    Table { rows, ..Table::of("scans", &columns) }.index(&["parcel_id"])
}

fn invoices(draw: &mut Draw, count: i64, customers: i64) -> Table {
    use Need::{May, Must};
    let rows = (1..=count)
        .map(|id| {
            let issued = draw.day(FIRST_DAY, DAYS);
            let due = later(issued, *draw.pick(&[14, 30, 30, 60]));
            let paid = draw.chance(88).then(|| later(issued, draw.between(1, 90)));
            row![id, draw.between(1, customers), issued, due, draw.between(2, 4_000) * 25, paid]
        })
        .collect();
    let columns = [
        ("id", Sort::Integer, Must),
        ("customer_id", Sort::Integer, Must),
        ("issued_on", Sort::Date, Must),
        ("due_on", Sort::Date, Must),
        ("total_cents", Sort::Integer, Must),
        ("paid_on", Sort::Date, May),
    ];
    Table { rows, ..Table::of("invoices", &columns) }.index(&["customer_id"])
}

fn complaints(draw: &mut Draw, count: i64, parcels: i64) -> Table {
    use Need::{May, Must};
    let rows = (1..=count)
        .map(|id| {
            let opened = draw.day(FIRST_DAY, DAYS);
            let closed = draw.chance(70).then(|| later(opened, draw.between(0, 40)));
            row![id, draw.between(1, parcels), opened, closed, draw.between(1, 5), draw.pick(&BODIES)]
        })
        .collect();
    let columns = [
        ("id", Sort::Integer, Must),
        ("parcel_id", Sort::Integer, Must),
        ("opened_on", Sort::Date, Must),
        ("closed_on", Sort::Date, May),
        ("severity", Sort::Integer, Must),
        ("body", Sort::Text, Must),
    ];
    Table { rows, ..Table::of("complaints", &columns) }
}
