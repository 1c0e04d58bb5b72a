//! A shop: customers who refer each other, products in nested categories, orders with lines, payments, returns and reviews.

use jiff::civil::{Date, date};

use super::draw::{Draw, later};
use super::layout::Need::{May, Must};
use super::words::{self, CITIES};
use super::{Maker, Settings, World};
use crate::dataset::Sort::{Integer, Text};
use crate::dataset::{Dataset, Sort, Table};
use crate::row;
use crate::value::Value;

pub(super) const MAKER: Maker =
    Maker { name: "shop", settings: &[("customers", 30, 70, 400), ("orders", 60, 320, 4_000)], make };

/// The first day of business.
const OPENING: Date = date(2023, 1, 1);

/// Days of business.
const DAYS: i64 = 730;

/// Categories, each with the place of the one above it.
const CATEGORIES: [(&str, Option<usize>); 14] = [
    ("Home", None),
    ("Sport", None),
    ("Books", None),
    ("Garden", None),
    ("Kitchen", Some(0)),
    ("Lighting", Some(0)),
    ("Cycling", Some(1)),
    ("Running", Some(1)),
    ("Fiction", Some(2)),
    ("Cookware", Some(4)),
    ("Knives", Some(4)),
    ("Bike Parts", Some(6)),
    ("Crime", Some(8)),
    ("Gift Cards", None),
];

const ADJECTIVES: [&str; 12] =
    ["Amber", "Basic", "Classic", "Deluxe", "Eco", "Folding", "Grand", "Heavy", "Light", "Mini", "Nordic", "Royal"];
const THINGS: [&str; 10] = ["Lamp", "Pan", "Saddle", "Novel", "Shoe", "Rake", "Knife", "Bottle", "Chain", "Kettle"];

fn make(draw: &mut Draw, settings: &Settings) -> World {
    let customers = customers(draw, settings["customers"]);
    let (categories, suppliers, products) = goods(draw);
    let (orders, lines, payments, returns) = business(draw, settings["orders"], &customers, &products);
    let reviews = reviews(draw, &orders, &lines);
    let tables = vec![categories, suppliers, products, customers, orders, lines, payments, returns, reviews];
    World { dataset: Dataset { tables, ..Dataset::default() }, ..World::default() }
}

fn customers(draw: &mut Draw, count: i64) -> Table {
    let mut table = Table::of(
        "customers",
        &[
            ("id", Integer, Must),
            ("name", Text, Must),
            ("email", Text, May),
            ("city", Text, Must),
            ("country", Text, Must),
            ("joined_on", Sort::Date, Must),
            ("referred_by", Integer, May),
        ],
    )
    .refers("referred_by", "customers");
    for (id, name) in (1..=count).zip(words::people(draw, count as usize)) {
        let (city, country) = draw.pick_skewed(&CITIES);
        let email = (!draw.chance(12)).then(|| words::mail(&name, "post.example"));
        let referrer = (id > 3 && draw.chance(45)).then(|| draw.between((id - 12).max(1), id - 1));
        // Nobody joins before the one who referred them.
        let joined = later(OPENING, (id - 1) * 500 / count + draw.between(0, 3));
        table.rows.push(row![id, name, email, city, country, joined, referrer]);
    }
    table
}

fn goods(draw: &mut Draw) -> (Table, Table, Table) {
    let mut categories =
        Table::of("categories", &[("id", Integer, Must), ("name", Text, Must), ("parent_id", Integer, May)])
            .distinct(&["name"])
            .refers("parent_id", "categories");
    for (id, (name, parent)) in (1..).zip(CATEGORIES) {
        categories.rows.push(row![id, name, parent.map(|place| place as i64 + 1)]);
    }
    let mut suppliers = Table::of("suppliers", &[("id", Integer, Must), ("name", Text, Must), ("country", Text, May)]);
    for (id, name) in
        (1..).zip(["Arden Works", "Bluepeak", "Corvid Trade", "Delta Goods", "Elm & Sons", "Fjord Supply"])
    {
        let country = (!draw.chance(15)).then(|| draw.pick(&CITIES).1);
        suppliers.rows.push(row![id, name, country]);
    }
    let mut products = Table::of(
        "products",
        &[
            ("id", Integer, Must),
            ("name", Text, Must),
            ("category_id", Integer, Must),
            ("supplier_id", Integer, May),
            ("price_cents", Integer, Must),
            ("discontinued_on", Sort::Date, May),
        ],
    )
    .refers("category_id", "categories")
    .refers("supplier_id", "suppliers")
    .check("price_cents > 0");
    let names: Vec<String> =
        ADJECTIVES.iter().flat_map(|one| THINGS.iter().map(move |other| format!("{one} {other}"))).collect();
    for (id, name) in (1..).zip(draw.sample(&names, 45)) {
        // The last category stays empty, and the last supplier delivers nothing.
        let category = draw.between(1, CATEGORIES.len() as i64 - 1);
        let supplier = (!draw.chance(10)).then(|| draw.between(1, 5));
        // Prices in steps of 2.50, so that some are equal.
        let price = 250 * draw.between(2, 40);
        let discontinued = draw.chance(18).then(|| draw.day(later(OPENING, 200), DAYS - 200));
        products.rows.push(row![id, name, category, supplier, price, discontinued]);
    }
    (categories, suppliers, products)
}

fn integer(value: &Value) -> i64 {
    if let Value::Integer(number) = value { *number } else { 0 }
}

fn business(draw: &mut Draw, count: i64, customers: &Table, products: &Table) -> (Table, Table, Table, Table) {
    let mut orders = Table::of(
        "orders",
        &[
            ("id", Integer, Must),
            ("customer_id", Integer, Must),
            ("ordered_on", Sort::Date, Must),
            ("status", Text, Must),
            ("channel", Text, May),
            ("shipped_on", Sort::Date, May),
            ("discount_cents", Integer, May),
        ],
    )
    .refers("customer_id", "customers")
    .check("status IN ('new', 'paid', 'shipped', 'cancelled')");
    let mut lines = Table::of(
        "order_items",
        &[
            ("order_id", Integer, Must),
            ("line_no", Integer, Must),
            ("product_id", Integer, Must),
            ("quantity", Integer, Must),
            ("unit_price_cents", Integer, Must),
        ],
    )
    .key(&["order_id", "line_no"])
    .refers("order_id", "orders")
    .refers("product_id", "products")
    .check("quantity > 0");
    let mut payments = Table::of(
        "payments",
        &[
            ("id", Integer, Must),
            ("order_id", Integer, Must),
            ("paid_on", Sort::Date, Must),
            ("method", Text, Must),
            ("amount_cents", Integer, Must),
        ],
    )
    .refers("order_id", "orders");
    let mut returns = Table::of(
        "returns",
        &[
            ("id", Integer, Must),
            ("order_id", Integer, Must),
            ("line_no", Integer, Must),
            ("returned_on", Sort::Date, Must),
            ("quantity", Integer, Must),
            ("reason", Text, May),
        ],
    );
    // A few of the latest customers never order.
    let buyers = &customers.rows[..customers.rows.len() * 9 / 10];
    let mut days: Vec<i64> = (0..count).map(|_| draw.between(0, DAYS - 1)).collect();
    days.sort_unstable();
    for (id, day) in (1..).zip(days) {
        let customer = draw.pick_skewed(buyers);
        let ordered = later(OPENING, day);
        let status = *draw.pick_weighted(&[("shipped", 62), ("paid", 14), ("new", 9), ("cancelled", 15)]);
        let channel = (!draw.chance(8)).then(|| *draw.pick_weighted(&[("web", 6), ("phone", 1), ("store", 3)]));
        let shipped = (status == "shipped").then(|| later(ordered, draw.between(0, 9)));
        let discount = draw.chance(30).then(|| 100 * draw.between(0, 15));
        let mut total = 0;
        let basket = *draw.pick_weighted(&[(1, 5), (2, 4), (3, 3), (4, 1), (5, 1)]);
        for (line, product) in (1..).zip(draw.sample(&products.rows[..products.rows.len() - 3], basket)) {
            let price = integer(&product[4]);
            let price = if draw.chance(20) { price * 9 / 10 } else { price };
            let quantity = *draw.pick_weighted(&[(1, 6), (2, 3), (3, 1), (10, 1)]);
            total += price * quantity;
            lines.rows.push(row![id, line, product[0].clone(), quantity, price]);
            if status == "shipped" && draw.chance(9) {
                let returned = later(ordered, draw.between(10, 40));
                let reason = draw.chance(70).then(|| *draw.pick(&["damaged", "wrong size", "late", "not as shown"]));
                let number = returns.rows.len() as i64 + 1;
                returns.rows.push(row![number, id, line, returned, draw.between(1, quantity), reason]);
            }
        }
        let due = (total - discount.unwrap_or(0)).max(0);
        let parts = match status {
            "shipped" | "paid" if draw.chance(15) => vec![due / 2, due - due / 2],
            "shipped" | "paid" => vec![due],
            "cancelled" if draw.chance(20) => vec![due],
            _ => Vec::new(),
        };
        for (part, amount) in (0..).zip(parts) {
            let paid = later(ordered, part * 14 + draw.between(0, 3));
            let method = *draw.pick_weighted(&[("card", 6), ("invoice", 3), ("voucher", 1)]);
            payments.rows.push(row![payments.rows.len() as i64 + 1, id, paid, method, amount]);
        }
        orders.rows.push(row![id, customer[0].clone(), ordered, status, channel, shipped, discount]);
    }
    (orders, lines, payments, returns)
}

fn reviews(draw: &mut Draw, orders: &Table, lines: &Table) -> Table {
    let mut table = Table::of(
        "reviews",
        &[
            ("id", Integer, Must),
            ("product_id", Integer, Must),
            ("customer_id", Integer, Must),
            ("rating", Integer, Must),
            ("reviewed_on", Sort::Date, Must),
            ("body", Text, May),
        ],
    )
    .refers("product_id", "products")
    .refers("customer_id", "customers")
    .check("rating BETWEEN 1 AND 5");
    for id in 1..=150 {
        let line = draw.pick(&lines.rows);
        let order = &orders.rows[integer(&line[0]) as usize - 1];
        let rating = *draw.pick_weighted(&[(5, 5), (4, 6), (3, 3), (2, 1), (1, 2)]);
        let body =
            draw.chance(60).then(|| *draw.pick(&["as described", "would buy again", "broke soon", "too small", ""]));
        let reviewed = draw.day(later(OPENING, 60), DAYS);
        table.rows.push(row![id, line[2].clone(), order[1].clone(), rating, reviewed, body]);
    }
    table
}
