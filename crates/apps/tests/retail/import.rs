//! The reference's data as a state of our app: rows instead of nested lists.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::json::Json;
use crate::reference::{Reference, list, object, text};

/// Our words for its kinds of payment methods and for its states of orders, each with its own.
pub(crate) const KINDS: [(&str, &str); 3] =
    [("credit_card", "credit_card"), ("gift_card", "gift_card"), ("wallet", "paypal")];
pub(crate) const STATES: [(&str, &str); 7] = [
    ("pending", "pending"),
    ("modified", "pending (item modified)"),
    ("processed", "processed"),
    ("delivered", "delivered"),
    ("cancelled", "cancelled"),
    ("return_requested", "return requested"),
    ("exchange_requested", "exchange requested"),
];
/// Our columns of an address, with its names for them, in its order.
pub(crate) const ADDRESS: [(&str, &str); 6] = [
    ("line1", "address1"),
    ("line2", "address2"),
    ("city", "city"),
    ("country", "country"),
    ("state", "state"),
    ("zip", "zip"),
];

/// Every table of ours.
pub(crate) const TABLES: [&str; 12] = [
    "region",
    "customer",
    "pay_method",
    "product",
    "variant",
    "order",
    "parcel",
    "order_item",
    "payment",
    "exchange_line",
    "return_line",
    "handover",
];

/// A state document: rows by id by table.
#[derive(Default)]
struct Document {
    tables: Map<String, Value>,
    /// Rows of an order that were appended, by the beginning of their ids.
    appended: BTreeMap<String, usize>,
}

impl Document {
    fn insert(&mut self, table: &str, id: &str, row: Value) {
        let rows = self.tables.get_mut(table).and_then(Value::as_object_mut).expect("a table of ours");
        let before = rows.insert(id.to_owned(), row);
        assert!(before.is_none(), "two rows of {table} are called {id}");
    }

    /// Inserts a row of an order that has no id in the reference. Within an order ids sort as the rows were inserted, and what happens
    /// to other orders leaves them as they are.
    fn append(&mut self, table: &str, order: &str, row: Value) -> String {
        let start = format!("{table}-{order}-");
        let count = self.appended.entry(start.clone()).or_default();
        let id = format!("{start}{count:03}");
        *count += 1;
        self.insert(table, &id, row);
        id
    }
}

/// The state document of the reference's data.
///
/// Its customers list their orders in the order of the file, which the time of the order keeps. Which old item goes with which new one
/// in an exchange is not in its data: the lists are sorted apart.
pub(crate) fn document(reference: &Reference, data: &Value) -> Value {
    let mut document = Document::default();
    for table in TABLES {
        document.tables.insert(table.to_owned(), json!({}));
    }
    for (id, product) in object(&data["products"]) {
        let choices: Value = json!([]);
        document.insert(
            "product",
            id,
            json!({
                "name": product["name"], "guide_price": "0.00", "axes": choices,
                "first_choices": choices, "second_choices": choices, "third_choices": choices,
            }),
        );
        for (variant_id, variant) in object(&product["variants"]) {
            document.insert(
                "variant",
                variant_id,
                json!({
                    "product": id, "options": options(reference, variant_id, 0, &variant["options"]),
                    "price": money(&variant["price"]), "available": variant["available"],
                }),
            );
        }
    }
    for (id, user) in object(&data["users"]) {
        let mut customer = address(&user["address"]);
        customer.insert("first_name".to_owned(), user["name"]["first_name"].clone());
        customer.insert("last_name".to_owned(), user["name"]["last_name"].clone());
        customer.insert("email".to_owned(), user["email"].clone());
        document.insert("customer", id, Value::Object(customer));
        for (method_id, method) in object(&user["payment_methods"]) {
            document.insert(
                "pay_method",
                method_id,
                json!({
                    "customer": id, "kind": ours(&KINDS, text(method, "source")),
                    "brand": method["brand"], "last_four": method["last_four"],
                    "balance": method.get("balance").map_or_else(|| json!("0.00"), money),
                }),
            );
        }
        for (index, order) in list(user, "orders").iter().enumerate() {
            let order = order.as_str().expect("an order is named");
            insert_order(reference, &mut document, order, &data["orders"][order], index);
        }
    }
    Value::Object(document.tables)
}

fn insert_order(reference: &Reference, document: &mut Document, id: &str, order: &Value, place: usize) {
    let mut row = address(&order["address"]);
    let difference = &order["exchange_price_difference"];
    for (column, value) in [
        ("customer", order["user_id"].clone()),
        ("placed", json!(format!("2031-01-01T{:02}:{:02}:00Z", place / 60, place % 60))),
        ("status", ours(&STATES, text(order, "status"))),
        ("cancel_reason", order["cancel_reason"].clone()),
        ("return_pay", order["return_payment_method_id"].clone()),
        ("exchange_pay", order["exchange_payment_method_id"].clone()),
        ("exchange_difference", if difference.is_null() { Value::Null } else { money(difference) }),
    ] {
        row.insert(column.to_owned(), value);
    }
    document.insert("order", id, Value::Object(row));
    let parcels: Vec<String> = list(order, "fulfillments")
        .iter()
        .map(|parcel| {
            assert_eq!(parcel["item_ids"], Value::Array(items(order)), "a parcel holds the whole order");
            let [tracking] = list(parcel, "tracking_id") else { panic!("one number per parcel") };
            document.append("parcel", id, json!({"order": id, "tracking": tracking}))
        })
        .collect();
    let mut lines = Vec::new();
    for (line, item) in list(order, "items").iter().enumerate() {
        let row = document.append(
            "order_item",
            id,
            json!({
                "order": id, "line": line, "variant": item["item_id"], "price": money(&item["price"]),
                "options": options(reference, id, line, &item["options"]), "parcel": parcels.first(),
            }),
        );
        lines.push((item["item_id"].clone(), row));
    }
    for (index, payment) in list(order, "payment_history").iter().enumerate() {
        document.append(
            "payment",
            id,
            json!({
                "order": id, "number": index + 1, "kind": payment["transaction_type"],
                "amount": money(&payment["amount"]), "method": payment["payment_method_id"],
            }),
        );
    }
    let line_of = |lines: &mut Vec<(Value, String)>, variant: &Value| {
        let place = lines.iter().position(|(item, _)| item == variant).expect("the item is in the order");
        lines.remove(place).1
    };
    if let Some(returned) = order["return_items"].as_array() {
        for variant in returned {
            let item = line_of(&mut lines, variant);
            document.append("return_line", id, json!({"order": id, "item": item}));
        }
    }
    if let Some(exchanged) = order["exchange_items"].as_array() {
        for (variant, new) in exchanged.iter().zip(list(order, "exchange_new_items")) {
            let item = line_of(&mut lines, variant);
            document.append("exchange_line", id, json!({"order": id, "item": item, "new": new}));
        }
    }
}

/// The variants of an order's items, in order.
fn items(order: &Value) -> Vec<Value> {
    list(order, "items").iter().map(|item| item["item_id"].clone()).collect()
}

fn address(address: &Value) -> Map<String, Value> {
    ADDRESS.iter().map(|(ours, theirs)| ((*ours).to_owned(), address[theirs].clone())).collect()
}

/// `color: blue, size: M`, in the order of the file. No name and no value in the reference holds a colon or a comma.
fn options(reference: &Reference, id: &str, line: usize, options: &Value) -> String {
    let names = reference.option_names(id, line);
    let mut options: Vec<_> = object(options).iter().collect();
    options.sort_by_key(|(name, _)| names.iter().position(|known| known == name));
    let texts = options.into_iter().map(|(name, value)| {
        let value = value.as_str().expect("an option is text");
        assert!(!format!("{name}{value}").contains([':', ',']), "{name}: {value}");
        format!("{name}: {value}")
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// An amount with two decimals.
fn money(amount: &Value) -> Value {
    let Json::Cents(cents) = Json::from(amount) else { panic!("no amount: {amount}") };
    let sign = if cents < 0 { "-" } else { "" };
    json!(format!("{sign}{}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100))
}

fn ours(words: &[(&str, &str)], theirs: &str) -> Value {
    let word = words.iter().find(|(_, word)| *word == theirs);
    json!(word.unwrap_or_else(|| panic!("no word for {theirs}")).0)
}
