//! The app `retail` against the files of the reference that it is modelled on, never against itself.
//!
//! The files lie outside the project, in `../shared/data/tau2-retail` or where `PALESTRA_DATA` says; without them there is nothing to test.

mod calls;
mod export;
mod import;
mod json;
mod reference;

use std::collections::BTreeSet;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use self::json::Json;
use self::reference::{Reference, list, text};

#[test]
fn the_reference_data_survives_our_tables() {
    let Some(reference) = Reference::load() else { return println!("skipped: no data") };
    let exported = export::data(&reference, &import::document(&reference, &reference.data));
    let expected = Json::from(&reference.data);
    for part in ["products", "users", "orders"] {
        assert_eq!(member(&exported, part), member(&expected, part), "{part}");
    }
    assert_eq!(exported, expected);
}

#[test]
fn every_state_that_the_reference_reaches_survives_our_tables() {
    let Some(reference) = Reference::load() else { return println!("skipped: no data") };
    for end in reference.tasks.iter().chain(&reference.calls) {
        let patch = &end["state_patch"];
        let data = reference.patched(&reference.touched(patch), patch);
        let exported = export::data(&reference, &import::document(&reference, &data));
        assert_eq!(exported, Json::from(&data), "after {end}");
    }
}

#[test]
fn results_are_written_as_the_reference_writes_them() {
    let Some(reference) = Reference::load() else { return println!("skipped: no data") };
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

#[test]
fn each_error_message_has_one_code_and_each_code_one_message() {
    let Some(reference) = Reference::load() else { return println!("skipped: no data") };
    let codes: BTreeSet<_> = calls::CODES.iter().map(|(_, code)| code).collect();
    assert_eq!(codes.len(), calls::CODES.len());
    let all = reference.calls.iter().chain(reference.tasks.iter().flat_map(|task| list(task, "calls")));
    let errors = all.filter(|call| calls::outcome(call).2);
    let met: BTreeSet<_> = errors.map(|call| calls::code(text(call, "result"))).collect();
    assert_eq!(met.iter().collect::<BTreeSet<_>>(), codes, "every message of the table occurs, and no other");
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
    let Some(reference) = Reference::load() else { return println!("skipped: no data") };
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
