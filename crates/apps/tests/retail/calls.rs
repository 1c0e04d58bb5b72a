//! The reference's 16 tools in terms of our actions and views, and its error messages in terms of our codes.

use serde_json::{Map, Value, json};

use crate::import::ADDRESS;
use crate::reference::{list, text};

/// A call as our app understands it.
pub(crate) struct Call {
    /// An action or a view.
    pub(crate) name: &'static str,
    pub(crate) arguments: Map<String, Value>,
}

/// | theirs | ours |
/// | --- | --- |
/// | `find_user_id_by_email`, `find_user_id_by_name_zip` | `find_customer_by_email`, `find_customer_by_name` |
/// | `get_order_details`, `get_user_details`, `get_product_details`, `get_item_details` | views `order`, `customer`, `product`, `variant` |
/// | `list_all_product_types` | view `products` |
/// | `cancel_pending_order` | `cancel_order` |
/// | `modify_pending_order_address`, `modify_user_address` | `modify_order_address`, `modify_customer_address` |
/// | `modify_pending_order_items`, `modify_pending_order_payment` | `modify_order_items`, `modify_order_payment` |
/// | `exchange_delivered_order_items`, `return_delivered_order_items` | `exchange_items`, `return_items` |
/// | `calculate`, `transfer_to_human_agents` | `calculate`, `transfer_to_human` |
///
/// Two parallel lists of items become pairs; where the new ones are fewer, the rest of the pairs lack theirs.
pub(crate) fn ours(name: &str, given: &Value) -> Call {
    let (name, arguments) = match name {
        "find_user_id_by_email" => ("find_customer_by_email", json!({"email": given["email"]})),
        "find_user_id_by_name_zip" => ("find_customer_by_name", given.clone()),
        "get_order_details" => ("order", json!({"id": given["order_id"]})),
        "get_user_details" => ("customer", json!({"id": given["user_id"]})),
        "get_product_details" => ("product", json!({"id": given["product_id"]})),
        "get_item_details" => ("variant", json!({"id": given["item_id"]})),
        "list_all_product_types" => ("products", json!({})),
        "cancel_pending_order" => ("cancel_order", json!({"order": given["order_id"], "reason": given["reason"]})),
        "modify_pending_order_address" => ("modify_order_address", address("order", &given["order_id"], given)),
        "modify_user_address" => ("modify_customer_address", address("customer", &given["user_id"], given)),
        "modify_pending_order_items" => ("modify_order_items", changes(given)),
        "modify_pending_order_payment" => {
            ("modify_order_payment", json!({"order": given["order_id"], "pay": given["payment_method_id"]}))
        }
        "exchange_delivered_order_items" => ("exchange_items", changes(given)),
        "return_delivered_order_items" => (
            "return_items",
            json!({"order": given["order_id"], "items": given["item_ids"], "pay": given["payment_method_id"]}),
        ),
        "calculate" => ("calculate", given.clone()),
        "transfer_to_human_agents" => ("transfer_to_human", given.clone()),
        other => panic!("the reference has no tool {other}"),
    };
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    Call { name, arguments }
}

fn changes(given: &Value) -> Value {
    let (items, new) = (list(given, "item_ids"), list(given, "new_item_ids"));
    assert!(new.len() <= items.len(), "a new item without an old one has no place in our calls");
    let changes: Vec<Value> = items
        .iter()
        .enumerate()
        .map(|(index, item)| match new.get(index) {
            Some(new) => json!({"item": item, "new": new}),
            None => json!({"item": item}),
        })
        .collect();
    json!({"order": given["order_id"], "changes": changes, "pay": given["payment_method_id"]})
}

fn address(target: &str, id: &Value, given: &Value) -> Value {
    let mut arguments: Map<String, Value> =
        ADDRESS.iter().map(|(ours, theirs)| ((*ours).to_owned(), given[theirs].clone())).collect();
    arguments.insert(target.to_owned(), id.clone());
    Value::Object(arguments)
}

/// Each error message of the reference, with our code for it. `*` stands for the id of an item.
pub(crate) const CODES: [(&str, &str); 20] = [
    ("Order not found", "order_not_found"),
    ("User not found", "customer_not_found"),
    ("Product not found", "product_not_found"),
    ("Item not found", "variant_not_found"),
    ("Payment method not found", "pay_method_not_found"),
    ("Non-pending order cannot be cancelled", "not_cancellable"),
    ("Non-pending order cannot be modified", "not_modifiable"),
    ("Non-delivered order cannot be returned", "not_returnable"),
    ("Non-delivered order cannot be exchanged", "not_exchangeable"),
    ("* not found", "line_not_in_order"),
    ("Some item not found", "return_not_in_order"),
    ("The number of items to be exchanged should match.", "unpaired_exchange"),
    ("New item * not found or available", "unavailable_variant"),
    ("The new payment method should be different from the current one", "same_pay_method"),
    ("Payment method should be the original payment method", "wrong_refund_method"),
    ("Insufficient gift card balance to pay for the order", "short_for_order"),
    ("Insufficient gift card balance to pay for the new item", "short_for_change"),
    ("Insufficient gift card balance to pay for the price difference", "short_for_exchange"),
    ("Invalid characters in expression", "invalid_expression"),
    ("division by zero", "division_by_zero"),
];

/// The code of what an erroneous call answered in the reference.
pub(crate) fn code(result: &str) -> &'static str {
    let message = result.strip_prefix("Error: ").unwrap_or_else(|| panic!("no error: {result}"));
    let is_id = |word: &&str| !word.is_empty() && word.chars().all(|sign| sign.is_ascii_digit());
    let words: Vec<&str> = message.split(' ').map(|word| if is_id(&word) { "*" } else { word }).collect();
    let message = words.join(" ");
    CODES.iter().find(|(known, _)| *known == message).unwrap_or_else(|| panic!("no code for {message}")).1
}

/// Outcome of a call by the reference: its name, its arguments, and whether it failed.
pub(crate) fn outcome(call: &Value) -> (&str, &Value, bool) {
    (text(call, "name"), &call["arguments"], call["error"] == json!(true))
}
