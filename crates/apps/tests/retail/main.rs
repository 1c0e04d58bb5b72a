//! The app `retail` against two references, never against itself: plain rules of our own on a generated shop, and the files of the back
//! office that it is modelled on.
//!
//! The files lie outside the project, in `../shared/data/tau2-retail` or where `PALESTRA_SHARED_DATA` says; without them our own is tried alone.

mod calls;
mod export;
mod fixed;
mod import;
mod json;
mod office;
mod own;
mod reference;
mod rules;

use std::collections::BTreeSet;

use palestra_apps::draw::instantiate;
use palestra_apps::run::initial;
use palestra_apps::tool::system_text;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use self::json::Json;
use self::office::{Office, Outcome, app_with_policy};
use self::reference::{Reference, list, object, text};

#[test]
fn the_reference_data_survives_our_tables() {
    for reference in Reference::all() {
        let exported = export::data(&reference, &import::document(&reference, &reference.data));
        let expected = Json::from(&reference.data);
        for part in ["products", "users", "orders"] {
            assert_eq!(member(&exported, part), member(&expected, part), "{part}");
        }
        assert_eq!(exported, expected);
    }
}

#[test]
fn every_state_that_the_reference_reaches_survives_our_tables() {
    for reference in Reference::all() {
        for end in reference.tasks.iter().chain(&reference.calls) {
            let patch = &end["state_patch"];
            let data = reference.patched(&reference.touched(patch), patch);
            let exported = export::data(&reference, &import::document(&reference, &data));
            assert_eq!(exported, Json::from(&data), "after {end}");
        }
    }
}

#[test]
fn results_are_written_as_the_reference_writes_them() {
    for reference in Reference::all() {
        let document = export::data(&reference, &import::document(&reference, &reference.data));
        let (mut texts, mut exports) = (0, 0);
        for call in reference.tasks.iter().flat_map(|task| list(task, "calls")) {
            if let Some(result) = call["result"].as_str() {
                assert_eq!(digest(result), text(call, "result_sha256"), "{call}");
                texts += 1;
            } else if text(call, "name") == "get_product_details" {
                // Nothing ever changes a product.
                let product = member(member(&document, "products"), text(&call["arguments"], "product_id"));
                assert_eq!(digest(&product.to_string()), text(call, "result_sha256"), "{call}");
                exports += 1;
            }
        }
        assert!(texts > 100 && exports > 40, "{texts} texts and {exports} exports have a digest");
    }
}

#[test]
fn each_error_message_has_one_code_and_each_code_one_message() {
    for reference in Reference::all() {
        let codes: BTreeSet<_> = calls::CODES.iter().map(|(_, code)| code).collect();
        assert_eq!(codes.len(), calls::CODES.len());
        let all = reference.calls.iter().chain(reference.tasks.iter().flat_map(|task| list(task, "calls")));
        let errors = all.filter(|call| calls::outcome(call).2);
        let met: BTreeSet<_> = errors.map(|call| calls::code(text(call, "result"))).collect();
        assert_eq!(met.iter().collect::<BTreeSet<_>>(), codes, "every message of the table occurs, and no other");
    }
}

#[test]
fn every_single_call_does_what_the_reference_does() {
    for reference in Reference::all() {
        let office = Office::open(&reference);
        for call in &reference.calls {
            let mut office = office.clone();
            let (name, arguments, failed) = calls::outcome(call);
            let outcome = office.call(name, arguments);
            let result = text(call, "result");
            if failed {
                assert_eq!(outcome, Err(calls::code(result).to_owned()), "{call}");
            } else {
                let expected = serde_json::from_str(result).map_or_else(
                    |_| Json::text(result),
                    |value: Value| if value.is_object() { Json::from(&value) } else { Json::text(result) },
                );
                assert_eq!(outcome, Ok(expected), "{call}");
            }
            same_state(&reference, &office, &call["state_patch"]);
        }
    }
}

#[test]
fn every_task_ends_as_in_the_reference() {
    for reference in Reference::all() {
        let office = Office::open(&reference);
        for task in &reference.tasks {
            let mut office = office.clone();
            for call in list(task, "calls") {
                let (name, arguments, failed) = calls::outcome(call);
                let outcome = office.call(name, arguments);
                assert_eq!(outcome.is_err(), failed, "{outcome:?} after {call}");
                same_result(call, &outcome);
            }
            same_state(&reference, &office, &task["state_patch"]);
        }
    }
}

#[test]
fn the_tasks_and_the_policy_of_the_reference_can_be_laid_over_the_app() {
    for reference in Reference::all() {
        let app = app_with_policy(&reference.policy);
        let instance = instantiate(&app, "test", 1, &|_| true).expect("a task");
        let told = system_text(&instance);
        for paragraph in reference.policy.split("\n\n") {
            assert!(told.contains(paragraph.trim()), "the agent is told the whole policy: {paragraph}");
        }
        assert_eq!(reference.scenarios.len(), reference.tasks.len());
        for (scenario, task) in reference.scenarios.iter().zip(&reference.tasks) {
            assert_eq!(scenario["id"], task["task"]);
            let wanted = list(&scenario["evaluation_criteria"], "actions");
            let called = list(task, "calls");
            assert_eq!(wanted.len(), called.len(), "{}", scenario["id"]);
            for (wanted, called) in wanted.iter().zip(called) {
                assert_eq!((&wanted["name"], &wanted["arguments"]), (&called["name"], &called["arguments"]));
            }
            assert!(scenario["user_scenario"]["instructions"].is_object(), "a user has words: {scenario}");
        }
    }
}

/// The data that ships with the app: as much, and as varied, as its tasks need.
#[test]
fn every_variant_of_our_own_data_is_complete() {
    let app = office::app();
    for variant in 0..8 {
        let data = initial(&app, variant).unwrap_or_else(|fault| panic!("{fault}"));
        let document = data.document().to_value();
        let rows = |table: &str| object(&document[table]).len();
        assert_eq!((rows("customer"), rows("product"), rows("order")), (60, 30, 130));
        for state in ["pending", "processed", "delivered", "cancelled"] {
            let orders = object(&document["order"]).values().filter(|order| order["status"] == state).count();
            assert!(orders >= 3, "{orders} orders are {state}");
        }
        for (id, order) in object(&document["order"]) {
            let of_order =
                |table: &str| object(&document[table]).values().filter(|row| row["order"] == **id).collect::<Vec<_>>();
            let (items, payments) = (of_order("order_item"), of_order("payment"));
            let cents =
                |row: &&Value, column: &str| text(row, column).replace('.', "").parse::<i64>().expect("an amount");
            let total: i64 = items.iter().map(|item| cents(item, "price")).sum();
            assert!(
                total > 0 && payments.iter().all(|payment| cents(payment, "amount") == total),
                "{id} costs {total}"
            );
            assert_eq!(payments.len(), if order["status"] == "cancelled" { 2 } else { 1 }, "{id}");
            assert_eq!(
                of_order("parcel").len(),
                usize::from(order["status"] == "processed" || order["status"] == "delivered")
            );
            let lines: BTreeSet<_> = items.iter().map(|item| item["line"].as_u64()).collect();
            assert_eq!(lines, (0..items.len() as u64).map(Some).collect(), "{id}");
            for payment in payments {
                let method = &document["pay_method"][text(payment, "method")];
                assert_eq!(method["customer"], order["customer"], "{id} is paid by its customer");
            }
        }
    }
}

/// The result has the reference's digest. Its sums of price differences carry the noise of binary fractions into the text, so there the
/// state alone tells.
fn same_result(call: &Value, outcome: &Outcome) {
    match outcome {
        Err(code) => assert_eq!(code, calls::code(text(call, "result")), "{call}"),
        Ok(_) if text(call, "name") == "modify_pending_order_items" => {}
        Ok(Json::Text(result)) => assert_eq!(digest(result), text(call, "result_sha256"), "{result} after {call}"),
        Ok(result) => assert_eq!(digest(&result.to_string()), text(call, "result_sha256"), "{result} after {call}"),
    }
}

/// Nothing differs from the reference's initial data but what its patch says.
fn same_state(reference: &Reference, office: &Office<'_>, patch: &Value) {
    let touched = office.touched();
    let mut users = reference.touched(patch);
    users.extend(touched.iter().map(String::as_str));
    assert_eq!(office.data_of(&users), Json::from(&reference.patched(&users, patch)), "{patch}");
}

fn member<'j>(value: &'j Json, name: &str) -> &'j Json {
    let Json::Object(members) = value else { panic!("no object") };
    &members.iter().find(|(key, _)| key == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// In hexadecimal digits, of the bytes of the text.
fn digest(result: &str) -> String {
    Sha256::digest(result.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Fails if a call of the reference cannot be said in ours.
#[test]
fn every_call_of_the_reference_has_one_of_ours() {
    for reference in Reference::all() {
        let all = reference.calls.iter().chain(reference.tasks.iter().flat_map(|task| list(task, "calls")));
        let names: BTreeSet<_> = all
            .map(|call| {
                let (name, arguments, _) = calls::outcome(call);
                let ours = calls::ours(name, arguments);
                assert!(!ours.arguments.values().any(Value::is_null), "{name} {arguments}");
                ours.name
            })
            .collect();
        assert_eq!(names.len(), 16);
    }
}
