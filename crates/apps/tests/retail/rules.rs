//! Rules that the files of the reference have no example of, on a shop of two customers and two orders.

use serde_json::{Value, json};

use crate::json::Json;
use crate::office::Office;
use crate::reference::Reference;

/// Lamps and a hose; order 1 is pending, order 2 delivered, both are Ada's and paid by card. Her gift card holds 1.00.
fn shop() -> Reference {
    let variant = |id: &str, price: f64, available: bool| json!({"item_id": id, "options": {"colour": id}, "available": available, "price": price});
    let product = |id: &str, variants: Value| json!({"name": id, "product_id": id, "variants": variants});
    let lamps = json!({
        "red": variant("red", 10.0, true),
        "blue": variant("blue", 12.0, true),
        "gold": variant("gold", 9.0, false),
    });
    let address =
        json!({"address1": "1 A", "address2": "", "city": "B", "country": "USA", "state": "CA", "zip": "90001"});
    let user = |id: &str, methods: Value, orders: Value| {
        json!({
            "user_id": id, "name": {"first_name": id, "last_name": "Day"}, "address": address, "email": format!("{id}@example.com"),
            "payment_methods": methods, "orders": orders,
        })
    };
    let item = |id: &str, product: &str, price: f64| json!({"name": product, "product_id": product, "item_id": id, "price": price, "options": {"colour": id}});
    let items = json!([item("red", "lamp", 10.0), item("red", "lamp", 10.0), item("hose", "garden", 5.0)]);
    let order = |id: &str, status: &str| {
        json!({
            "order_id": id, "user_id": "ada", "address": address, "items": items, "status": status, "fulfillments": [],
            "payment_history": [{"transaction_type": "payment", "amount": 25.0, "payment_method_id": "card"}],
        })
    };
    let card = json!({"source": "credit_card", "id": "card", "brand": "northcard", "last_four": "1234"});
    let data = json!({
        "products": {"lamp": product("lamp", lamps), "garden": product("garden", json!({"hose": variant("hose", 5.0, true)}))},
        "users": {
            "ada": user("ada", json!({"card": card, "gift": {"source": "gift_card", "id": "gift", "balance": 1.0}}), json!(["1", "2"])),
            "bob": user("bob", json!({"his": {"source": "paypal", "id": "his"}}), json!([])),
        },
        "orders": {"1": order("1", "pending"), "2": order("2", "delivered")},
    });
    Reference::of(data.to_string())
}

fn items(order: &str, items: &[&str], new: &[&str], pay: &str) -> Value {
    json!({"order_id": order, "item_ids": items, "new_item_ids": new, "payment_method_id": pay})
}

fn address(order: &str) -> Value {
    json!({"order_id": order, "address1": "2 C", "address2": "", "city": "D", "country": "USA", "state": "NY", "zip": "10001"})
}

#[test]
fn obstacles_are_told_by_code_and_change_nothing() {
    const MODIFY: &str = "modify_pending_order_items";
    const EXCHANGE: &str = "exchange_delivered_order_items";
    let reference = shop();
    let office = Office::open(&reference);
    for (name, arguments, code) in [
        ("cancel_pending_order", json!({"order_id": "1", "reason": "too dear"}), "bad_reason"),
        ("cancel_pending_order", json!({"order_id": "2", "reason": "too dear"}), "not_cancellable"),
        ("cancel_pending_order", json!({"order_id": "3", "reason": "too dear"}), "order_not_found"),
        ("cancel_pending_order", json!({"order_id": 1, "reason": "too dear"}), "invalid_argument"),
        (MODIFY, items("1", &["red"], &["red"], "card"), "same_variant"),
        (MODIFY, items("1", &["red"], &["hose"], "card"), "other_product"),
        (MODIFY, items("1", &["red"], &["gold"], "card"), "unavailable_variant"),
        (MODIFY, items("1", &["red"], &["green"], "card"), "variant_not_found"),
        (MODIFY, items("1", &["red", "red"], &["blue"], "card"), "unpaired_change"),
        (MODIFY, items("1", &["red", "red", "red"], &["blue"], "card"), "line_not_in_order"),
        (MODIFY, items("1", &["red"], &["blue"], "his"), "pay_method_not_found"),
        (MODIFY, items("1", &["red"], &["blue"], "hers"), "pay_method_not_found"),
        (MODIFY, items("1", &["red"], &["blue"], "gift"), "short_for_change"),
        (MODIFY, items("1", &[], &[], "card"), "invalid_argument"),
        (MODIFY, items("2", &["red"], &["blue"], "card"), "not_modifiable"),
        ("modify_pending_order_payment", json!({"order_id": "1", "payment_method_id": "his"}), "pay_method_not_found"),
        ("modify_pending_order_payment", json!({"order_id": "2", "payment_method_id": "gift"}), "not_modifiable"),
        (EXCHANGE, items("2", &["blue"], &["red"], "card"), "exchange_not_in_order"),
        (EXCHANGE, items("2", &["hose"], &["red"], "card"), "other_product"),
        (EXCHANGE, items("2", &["red"], &["blue"], "his"), "pay_method_not_found"),
        (EXCHANGE, items("2", &["red", "hose"], &["blue"], "card"), "unpaired_exchange"),
        (EXCHANGE, items("1", &["red"], &["blue"], "card"), "not_exchangeable"),
        ("return_delivered_order_items", items("2", &["red", "red", "red"], &[], "card"), "return_not_in_order"),
        ("return_delivered_order_items", items("2", &["red"], &[], "his"), "pay_method_not_found"),
        ("return_delivered_order_items", items("1", &["red"], &[], "card"), "not_returnable"),
    ] {
        let mut office = office.clone();
        assert_eq!(office.call(name, &arguments), Err(code.to_owned()), "{name} {arguments}");
        assert!(office.touched().is_empty(), "{name} {arguments}");
    }
}

#[test]
fn a_variant_that_is_named_twice_means_two_lines() {
    let reference = shop();
    let mut exchanging = Office::open(&reference);
    let mut returning = exchanging.clone();
    let pairs = items("2", &["red", "red"], &["blue", "red"], "gift");
    let short = exchanging.call("exchange_delivered_order_items", &pairs);
    assert_eq!(short, Err("short_for_exchange".to_owned()));
    let pairs = items("2", &["red", "red"], &["red", "blue"], "card");
    let exchanged = exchanging.call("exchange_delivered_order_items", &pairs).expect("it is allowed");
    let mut expected = reference.data["orders"]["2"].clone();
    expected["status"] = json!("exchange requested");
    expected["exchange_items"] = json!(["red", "red"]);
    expected["exchange_new_items"] = json!(["blue", "red"]);
    expected["exchange_payment_method_id"] = json!("card");
    expected["exchange_price_difference"] = json!(2.0);
    assert_eq!(exchanged, Json::from(&expected));

    let pairs = items("2", &["red", "hose", "red"], &[], "gift");
    let returned = returning.call("return_delivered_order_items", &pairs).expect("it is allowed");
    let mut expected = reference.data["orders"]["2"].clone();
    expected["status"] = json!("return requested");
    expected["return_items"] = json!(["hose", "red", "red"]);
    expected["return_payment_method_id"] = json!("gift");
    assert_eq!(returned, Json::from(&expected));
}

#[test]
fn an_order_whose_items_were_changed_can_still_be_redirected_but_nothing_else() {
    let reference = shop();
    let mut office = Office::open(&reference);
    let change = items("1", &["red"], &["blue"], "card");
    office.call("modify_pending_order_items", &change).expect("it is allowed");
    for (name, arguments, code) in [
        ("modify_pending_order_items", change, "not_modifiable"),
        ("cancel_pending_order", json!({"order_id": "1", "reason": "no longer needed"}), "not_cancellable"),
        ("modify_pending_order_payment", json!({"order_id": "1", "payment_method_id": "gift"}), "several_payments"),
    ] {
        assert_eq!(office.call(name, &arguments), Err(code.to_owned()), "{name}");
    }
    let mut expected = reference.data["orders"]["1"].clone();
    expected["status"] = json!("pending (item modified)");
    expected["items"][0] =
        json!({"name": "lamp", "product_id": "lamp", "item_id": "blue", "price": 12.0, "options": {"colour": "blue"}});
    expected["payment_history"]
        .as_array_mut()
        .expect("a list")
        .push(json!({"transaction_type": "payment", "amount": 2.0, "payment_method_id": "card"}));
    expected["address"] =
        json!({"address1": "2 C", "address2": "", "city": "D", "country": "USA", "state": "NY", "zip": "10001"});
    assert_eq!(office.call("modify_pending_order_address", &address("1")), Ok(Json::from(&expected)));
}
