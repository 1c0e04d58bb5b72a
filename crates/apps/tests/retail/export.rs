//! Our data in the reference's shape. The same functions take what our views answer and what a state document holds.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::import::{ADDRESS, KINDS, STATES};
use crate::json::Json;
use crate::reference::{Reference, list, object, text};

/// The whole state document in the shape of `db.json`.
pub(crate) fn data(reference: &Reference, document: &Value) -> Json {
    let nested = nested(document);
    let table = |name: &str, export: &dyn Fn(&Value) -> Json| {
        Json::Object(list(&nested, name).iter().map(|row| (text(row, "id").to_owned(), export(row))).collect())
    };
    Json::object([
        ("products", table("product", &|row| product(reference, row))),
        ("users", table("customer", &|row| user(reference, row))),
        ("orders", table("order", &order)),
    ])
}

/// Answer of the view `order`.
pub(crate) fn order(row: &Value) -> Json {
    let items = list(row, "items");
    let pick = |rows: &[Value], column: &str| -> Json {
        let mut ids: Vec<&str> = rows.iter().map(|row| text(row, column)).collect();
        ids.sort_unstable();
        Json::List(ids.into_iter().map(Json::text).collect())
    };
    let held = |parcel: &Value| -> Json {
        let held = items.iter().filter(|item| item["parcel"] == parcel["id"]);
        Json::List(held.map(|item| Json::text(text(item, "variant"))).collect())
    };
    let (exchanged, returned) = (list(row, "exchanged"), list(row, "returned"));
    let or_null = |rows: &[Value], column: &str| if rows.is_empty() { Json::Null } else { pick(rows, column) };
    Json::object([
        ("order_id", Json::text(text(row, "id"))),
        ("user_id", Json::text(text(row, "customer"))),
        ("address", address(row)),
        ("items", Json::List(items.iter().map(item).collect())),
        ("status", theirs(&STATES, text(row, "status"))),
        (
            "fulfillments",
            Json::List(
                list(row, "parcels")
                    .iter()
                    .map(|parcel| {
                        let tracking = Json::List(vec![Json::text(text(parcel, "tracking"))]);
                        Json::object([("tracking_id", tracking), ("item_ids", held(parcel))])
                    })
                    .collect(),
            ),
        ),
        ("payment_history", Json::List(list(row, "payments").iter().map(payment).collect())),
        ("cancel_reason", Json::from(&row["cancel_reason"])),
        ("exchange_items", or_null(exchanged, "old")),
        ("exchange_new_items", or_null(exchanged, "new")),
        ("exchange_payment_method_id", Json::from(&row["exchange_pay"])),
        ("exchange_price_difference", row["exchange_difference"].as_str().map_or(Json::Null, money)),
        ("return_items", or_null(returned, "old")),
        ("return_payment_method_id", Json::from(&row["return_pay"])),
    ])
}

/// Answer of the view `customer`.
pub(crate) fn user(reference: &Reference, row: &Value) -> Json {
    let mut methods: Vec<(String, Json)> =
        list(row, "pay_methods").iter().map(|method| (text(method, "id").to_owned(), pay_method(method))).collect();
    methods.sort_by_key(|(id, _)| reference.place(id));
    let mut orders: Vec<&Value> = list(row, "orders").iter().collect();
    orders.sort_by_key(|order| text(order, "placed"));
    Json::object([
        ("user_id", Json::text(text(row, "id"))),
        (
            "name",
            Json::object([
                ("first_name", Json::text(text(row, "first_name"))),
                ("last_name", Json::text(text(row, "last_name"))),
            ]),
        ),
        ("address", address(row)),
        ("email", Json::text(text(row, "email"))),
        ("payment_methods", Json::Object(methods)),
        ("orders", Json::List(orders.into_iter().map(|order| Json::text(text(order, "id"))).collect())),
    ])
}

/// Answer of the view `product`.
pub(crate) fn product(reference: &Reference, row: &Value) -> Json {
    let mut variants: Vec<(String, Json)> =
        list(row, "variants").iter().map(|row| (text(row, "id").to_owned(), variant(row))).collect();
    variants.sort_by_key(|(id, _)| reference.place(id));
    Json::object([
        ("name", Json::text(text(row, "name"))),
        ("product_id", Json::text(text(row, "id"))),
        ("variants", Json::Object(variants)),
    ])
}

/// Answer of the view `variant`.
pub(crate) fn variant(row: &Value) -> Json {
    Json::object([
        ("item_id", Json::text(text(row, "id"))),
        ("options", options(text(row, "options"))),
        ("available", Json::from(&row["available"])),
        ("price", money(text(row, "price"))),
    ])
}

/// Answer of the view `products`.
pub(crate) fn products(answer: &Value) -> Json {
    let names = list(answer, "items").iter().map(|row| (text(row, "name").to_owned(), Json::text(text(row, "id"))));
    Json::Object(names.collect())
}

fn item(row: &Value) -> Json {
    Json::object([
        ("name", Json::text(text(row, "name"))),
        ("product_id", Json::text(text(row, "product"))),
        ("item_id", Json::text(text(row, "variant"))),
        ("price", money(text(row, "price"))),
        ("options", options(text(row, "options"))),
    ])
}

fn payment(row: &Value) -> Json {
    Json::object([
        ("transaction_type", Json::text(text(row, "kind"))),
        ("amount", money(text(row, "amount"))),
        ("payment_method_id", Json::text(text(row, "method"))),
    ])
}

fn pay_method(row: &Value) -> Json {
    let kind = theirs(&KINDS, text(row, "kind"));
    let mut members = vec![("source".to_owned(), kind), ("id".to_owned(), Json::text(text(row, "id")))];
    match text(row, "kind") {
        "credit_card" => {
            members.push(("brand".to_owned(), Json::from(&row["brand"])));
            members.push(("last_four".to_owned(), Json::from(&row["last_four"])));
        }
        "gift_card" => members.push(("balance".to_owned(), money(text(row, "balance")))),
        _ => {}
    }
    Json::Object(members)
}

fn address(row: &Value) -> Json {
    Json::Object(ADDRESS.iter().map(|(ours, theirs)| ((*theirs).to_owned(), Json::text(text(row, ours)))).collect())
}

fn options(options: &str) -> Json {
    let pairs = options.split(", ").map(|pair| pair.split_once(": ").unwrap_or_else(|| panic!("no option: {pair}")));
    Json::Object(pairs.map(|(name, value)| (name.to_owned(), Json::text(value))).collect())
}

/// `12.50` as 1250.
fn money(amount: &str) -> Json {
    let (whole, cents) = amount.split_once('.').unwrap_or_else(|| panic!("no amount: {amount}"));
    assert_eq!(cents.len(), 2, "{amount}");
    Json::Cents(format!("{whole}{cents}").parse().expect("digits"))
}

fn theirs(words: &[(&str, &str)], ours: &str) -> Json {
    let word = words.iter().find(|(word, _)| *word == ours);
    Json::text(word.unwrap_or_else(|| panic!("no word for {ours}")).1)
}

/// Rows with their children, as the views embed them: customers, orders and products by table.
fn nested(document: &Value) -> Value {
    let rows = |table: &str| -> Vec<Value> {
        let rows = object(&document[table]).iter();
        rows.map(|(id, row)| {
            let mut row = row.clone();
            row["id"] = json!(id);
            row
        })
        .collect()
    };
    let mut items = rows("order_item");
    for item in &mut items {
        let product = document["variant"][text(item, "variant")]["product"].clone();
        item["name"] = document["product"][product.as_str().expect("a variant has a product")]["name"].clone();
        item["product"] = product;
    }
    let with_old = |table: &str| -> Vec<Value> {
        let mut lines = rows(table);
        for line in &mut lines {
            line["old"] = document["order_item"][text(line, "item")]["variant"].clone();
        }
        lines
    };
    let (mut customers, mut orders, mut products) = (rows("customer"), rows("order"), rows("product"));
    embed(&mut customers, "pay_methods", "customer", &rows("pay_method"), None);
    embed(&mut customers, "orders", "customer", &orders, None);
    embed(&mut orders, "items", "order", &items, Some("line"));
    embed(&mut orders, "parcels", "order", &rows("parcel"), None);
    embed(&mut orders, "payments", "order", &rows("payment"), Some("number"));
    embed(&mut orders, "exchanged", "order", &with_old("exchange_line"), None);
    embed(&mut orders, "returned", "order", &with_old("return_line"), None);
    embed(&mut products, "variants", "product", &rows("variant"), None);
    json!({"customer": customers, "order": orders, "product": products})
}

/// Gives each parent the children whose column names it, in the order of ids or of another column.
fn embed(parents: &mut [Value], name: &str, column: &str, children: &[Value], sort: Option<&str>) {
    let mut by_parent: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for child in children {
        by_parent.entry(text(child, column)).or_default().push(child);
    }
    for parent in parents {
        let mut own = by_parent.get(text(parent, "id")).cloned().unwrap_or_default();
        if let Some(sort) = sort {
            own.sort_by_cached_key(|row| (row[sort].as_i64(), row[sort].as_str().map(str::to_owned)));
        }
        parent[name] = own.into_iter().cloned().collect();
    }
}
