//! A firm that lends tools, and its database as it grew by hand: lists in columns, numbers and days as text, copies of the same
//! person, references to what is gone, and no rule that would keep any of this out.

use jiff::civil::{Date, date};

use super::words::person;
use super::{Draw, Maker, Need, Settings, World, later};
use crate::dataset::{Dataset, Sort, Table};
use crate::row;
use crate::value::Value;

/// The world `legacy`.
pub(super) const MAKER: Maker = Maker { name: "legacy", settings: &[("customers", 20, 120, 1_000)], make };

const CITIES: [&str; 8] = ["Arden", "Brockwell", "Corvin", "Dunmere", "Eastvale", "Farrow", "Glenholt", "Harwick"];
const TAGS: [&str; 9] = ["builder", "garden", "vip", "school", "late payer", "newsletter", "farm", "club", "trade"];
const TOOLS: [&str; 12] =
    ["drill", "saw", "ladder", "mixer", "sander", "pump", "heater", "mower", "tiller", "trailer", "scaffold", "jack"];
const CATEGORIES: [&str; 6] = ["power tools", "garden", "heating", "access", "transport", "cleaning"];
const STATUSES: [&str; 4] = ["open", "returned", "lost", "billed"];
const ROLES: [&str; 5] = ["counter", "driver", "workshop", "office", "lead"];
const METHODS: [&str; 3] = ["cash", "card", "transfer"];
const SCOPES: [&str; 6] = ["billing", "counter", "mail", "website", "printer", "calendar"];
const SETTINGS: [&str; 6] = ["language", "currency", "retries", "colour", "footer", "timeout"];

const FIRST_DAY: Date = date(2029, 1, 1);

fn make(draw: &mut Draw, settings: &Settings) -> World {
    let count = settings.get("customers").copied().unwrap_or(120);
    let customers = customers(draw, count);
    let staff = staff(draw);
    let items = count * 3 / 4;
    let bookings = bookings(draw, count * 3, (count, items), &staff);
    let tables = vec![
        customers,
        depots(draw),
        self::items(draw, items),
        payments(draw, count * 3),
        inspections(draw, items),
        prices(draw, items),
        preferences(draw),
        stock(draw, items),
        staff,
        bookings,
    ];
    World { dataset: Dataset { tables, ..Dataset::default() }, ..World::default() }
}

/// Text as people type it: in any case, with blanks around it.
fn typed(draw: &mut Draw, text: &str) -> String {
    match draw.below(6) {
        0 => text.to_uppercase(),
        1 => format!(" {text}"),
        2 => format!("{text} "),
        3 => {
            let mut letters = text.chars();
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        }
        _ => text.to_owned(),
    }
}

fn phone(draw: &mut Draw) -> Option<String> {
    match draw.below(10) {
        0 => None,
        1 => Some(String::new()),
        _ => Some(format!("0{} {}", draw.between(200, 899), draw.between(100_000, 999_999))),
    }
}

fn customers(draw: &mut Draw, count: i64) -> Table {
    use Need::{May, Must};
    let mut emails: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for id in 1..=count {
        let name = person(draw);
        let email = match draw.below(12) {
            0 => None,
            1 => Some(String::new()),
            2 | 3 if !emails.is_empty() => {
                let again = draw.pick(&emails).clone();
                Some(typed(draw, &again))
            }
            _ => {
                let email = format!("{}{id}@post.example", name.to_lowercase().replace([' ', '\''], "."));
                emails.push(email.clone());
                Some(email)
            }
        };
        let tags = match draw.below(5) {
            0 => None,
            _ => {
                let count = draw.below(5);
                let mut tags: Vec<String> = Vec::new();
                for tag in draw.sample(&TAGS, count) {
                    tags.push(typed(draw, tag));
                }
                if draw.chance(15) && !tags.is_empty() {
                    let again = tags[0].to_uppercase();
                    tags.push(again);
                }
                if draw.chance(15) {
                    tags.push(String::new());
                }
                Some(tags.join(if draw.chance(50) { "," } else { ", " }))
            }
        };
        let joined = draw.day(FIRST_DAY, 900);
        rows.push(row![id, name, email, phone(draw), draw.pick(&CITIES), tags, joined]);
    }
    let columns = [
        ("id", Sort::Integer, Must),
        ("full_name", Sort::Text, Must),
        ("email", Sort::Text, May),
        ("phone", Sort::Text, May),
        ("city", Sort::Text, Must),
        ("tags", Sort::Text, May),
        ("joined_on", Sort::Date, Must),
    ];
    Table { rows, ..Table::of("customers", &columns) }
}

fn staff(draw: &mut Draw) -> Table {
    use Need::{May, Must};
    let mut names: Vec<String> = Vec::new();
    while names.len() < 22 {
        let name = person(draw);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut rows = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let manager = match draw.below(8) {
            _ if place == 0 => None,
            0 => None,
            1 => Some(person(draw)).filter(|gone| !names.contains(gone)),
            _ => {
                let manager = names[draw.below(place)].clone();
                Some(typed(draw, &manager))
            }
        };
        rows.push(row![place as i64 + 1, name, draw.pick(&ROLES), manager]);
    }
    let columns = [
        ("id", Sort::Integer, Must),
        ("name", Sort::Text, Must),
        ("role", Sort::Text, Must),
        ("manager_name", Sort::Text, May),
    ];
    Table { rows, ..Table::of("staff", &columns) }
}

fn depots(draw: &mut Draw) -> Table {
    use Need::{May, Must};
    let mut rows = Vec::new();
    for (place, city) in CITIES.iter().enumerate() {
        let name = format!("{city} {}", draw.pick(&["yard", "store", "barn"]));
        rows.push(row![place as i64 + 1, name, *city, phone(draw), phone(draw), phone(draw)]);
    }
    let columns = [
        ("id", Sort::Integer, Must),
        ("name", Sort::Text, Must),
        ("city", Sort::Text, Must),
        ("phone1", Sort::Text, May),
        ("phone2", Sort::Text, May),
        ("phone3", Sort::Text, May),
    ];
    Table { rows, ..Table::of("depots", &columns) }
}

fn items(draw: &mut Draw, count: i64) -> Table {
    use Need::{May, Must};
    let depots = CITIES.len() as i64;
    let mut rows = Vec::new();
    for id in 1..=count {
        let tool = *draw.pick(&TOOLS);
        let code = format!("{}-{:03}", tool[..2].to_uppercase(), draw.between(1, 999));
        let title = format!("{} {tool}", draw.pick(&["light", "heavy", "small", "large", "old"]));
        let category = draw.chance(92).then(|| *draw.pick(&CATEGORIES)).map(|category| typed(draw, category));
        let second = draw.chance(55).then(|| draw.between(1, depots));
        let active = *draw.pick(&["Y", "yes", "1", "Y", "N", "no", "0", "y"]);
        let cents = draw.between(4, 160) * 50;
        rows.push(row![id, code, title, category, draw.between(1, depots), second, cents, active]);
    }
    let columns = [
        ("id", Sort::Integer, Must),
        ("code", Sort::Text, Must),
        ("title", Sort::Text, Must),
        ("category", Sort::Text, May),
        ("depot_id", Sort::Integer, Must),
        ("second_depot_id", Sort::Integer, May),
        ("daily_cents", Sort::Integer, Must),
        ("active", Sort::Text, Must),
    ];
    Table { rows, ..Table::of("items", &columns) }
}

fn bookings(draw: &mut Draw, count: i64, (customers, items): (i64, i64), staff: &Table) -> Table {
    use Need::{May, Must};
    let agents: Vec<&Value> = staff.rows.iter().map(|row| &row[1]).collect();
    let mut rows = Vec::new();
    for id in 1..=count {
        let customer = match draw.below(14) {
            0 => None,
            1 => Some(customers + draw.between(1, 40)),
            _ => Some(draw.between(1, customers)),
        };
        let booked = draw.day(FIRST_DAY, 1_000);
        let returned = match draw.below(10) {
            0 | 1 => None,
            2 => Some(later(booked, -draw.between(1, 30))),
            3 => Some(booked),
            _ => Some(later(booked, draw.between(1, 40))),
        };
        let cents = draw.between(2, 400) * 25;
        let amount = match draw.below(8) {
            0 => String::new(),
            1 => (cents / 100).to_string(),
            2 => format!(" {}.{:02} ", cents / 100, cents % 100),
            3 => format!("{}.{}", cents / 100, cents % 100 / 10),
            _ => format!("{}.{:02}", cents / 100, cents % 100),
        };
        let status = *draw.pick(&STATUSES);
        let status = typed(draw, status);
        let item = draw.between(1, items);
        let agent = (*draw.pick(&agents)).clone();
        rows.push(row![id, customer, item, booked, returned, status, amount, agent]);
    }
    let columns = [
        ("id", Sort::Integer, Must),
        ("customer_id", Sort::Integer, May),
        ("item_id", Sort::Integer, Must),
        ("booked_on", Sort::Date, Must),
        ("returned_on", Sort::Date, May),
        ("status", Sort::Text, Must),
        ("amount", Sort::Text, Must),
        ("agent_name", Sort::Text, Must),
    ];
    Table { rows, ..Table::of("bookings", &columns) }
}

fn payments(draw: &mut Draw, bookings: i64) -> Table {
    use Need::Must;
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for id in 1..=bookings {
        if draw.chance(8) && !rows.is_empty() {
            let mut again = draw.pick(&rows).clone();
            again[0] = id.into();
            rows.push(again);
            continue;
        }
        let booking = if draw.chance(6) { bookings + draw.between(1, 60) } else { draw.between(1, bookings) };
        let (paid, cents) = (draw.day(FIRST_DAY, 1_000), draw.between(1, 200) * 50);
        rows.push(row![id, booking, paid, cents, draw.pick(&METHODS)]);
    }
    let columns = [
        ("id", Sort::Integer, Must),
        ("booking_id", Sort::Integer, Must),
        ("paid_on", Sort::Date, Must),
        ("amount_cents", Sort::Integer, Must),
        ("method", Sort::Text, Must),
    ];
    Table { rows, ..Table::of("payments", &columns) }
}

fn inspections(draw: &mut Draw, items: i64) -> Table {
    use Need::{May, Must};
    let mut rows = Vec::new();
    for id in 1..=items * 2 {
        let done = match draw.below(14) {
            0 => None,
            1 => Some("unknown".to_owned()),
            _ => Some(draw.day(FIRST_DAY, 1_000).strftime("%d/%m/%Y").to_string()),
        };
        rows.push(row![id, draw.between(1, items), done, draw.pick(&["A", "B", "C", "D"])]);
    }
    let columns = [
        ("id", Sort::Integer, Must),
        ("item_id", Sort::Integer, Must),
        ("done_on", Sort::Text, May),
        ("grade", Sort::Text, Must),
    ];
    Table { rows, ..Table::of("inspections", &columns) }
}

fn prices(draw: &mut Draw, items: i64) -> Table {
    use Need::{May, Must};
    let mut rows = Vec::new();
    for item in 1..=items {
        let mut from = draw.day(FIRST_DAY, 200);
        for _ in 0..draw.between(1, 5) {
            rows.push(row![0, item, from, draw.between(4, 160) * 50, None::<Date>]);
            // Now and then a price was written twice for the same day: the later one counts.
            from = if draw.chance(15) { from } else { later(from, draw.between(20, 200)) };
        }
    }
    draw.shuffle(&mut rows);
    for (place, row) in rows.iter_mut().enumerate() {
        row[0] = (place as i64 + 1).into();
    }
    let columns = [
        ("id", Sort::Integer, Must),
        ("item_id", Sort::Integer, Must),
        ("valid_from", Sort::Date, Must),
        ("daily_cents", Sort::Integer, Must),
        ("valid_to", Sort::Date, May),
    ];
    Table { rows, ..Table::of("prices", &columns) }
}

fn preferences(draw: &mut Draw) -> Table {
    use Need::Must;
    let mut rows = Vec::new();
    for id in 1..=70 {
        // Few days, so that some were set twice on one.
        let updated = draw.day(FIRST_DAY, 12);
        let content = format!("v{}", draw.between(1, 40));
        rows.push(row![id, draw.pick(&SCOPES), draw.pick(&SETTINGS), content, updated]);
    }
    let columns = [
        ("id", Sort::Integer, Must),
        ("scope", Sort::Text, Must),
        ("setting", Sort::Text, Must),
        ("content", Sort::Text, Must),
        ("updated_on", Sort::Date, Must),
    ];
    Table { rows, ..Table::of("preferences", &columns) }
}

fn stock(draw: &mut Draw, items: i64) -> Table {
    use Need::{May, Must};
    let depots = CITIES.len() as i64;
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for id in 1..=items * 2 {
        let quantity = match draw.below(9) {
            0 => None,
            1 => Some(-draw.between(1, 5)),
            _ => Some(draw.between(0, 30)),
        };
        let (depot, item) = (draw.between(1, depots), draw.between(1, items / 3 + 1));
        rows.push(row![id, depot, item, quantity]);
    }
    let columns = [
        ("id", Sort::Integer, Must),
        ("depot_id", Sort::Integer, Must),
        ("item_id", Sort::Integer, Must),
        ("quantity", Sort::Integer, May),
    ];
    Table { rows, ..Table::of("stock", &columns) }
}
