//! Views: search, filters, sorting, pages, embedded rows, and what a role cannot see.

use palestra_apps::app::Role;
use serde_json::{Value as Json, json};

use super::{call, call_as, done, id, person, world};

fn names(answer: &Json, column: &str) -> Vec<String> {
    let items = answer["items"].as_array().expect("items");
    items.iter().map(|row| row[column].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn rows_are_found_by_the_beginnings_of_words_and_by_id() {
    let mut world = world();
    let mut found = |words: &str| names(&done(&mut world, "projects", &json!({"search": words})), "title");
    assert_eq!(found("ROAD"), ["Alpha road", "beta road"]);
    assert_eq!(found("ro al"), ["Alpha road"]);
    assert_eq!(found("oad"), [""; 0]);
    assert_eq!(found("  "), ["Alpha road", "beta road", "Gamma mile"]);
    let gamma = id(&super::world(), "project", "title", "Gamma mile");
    assert_eq!(found(gamma.as_str().expect("an id")), ["Gamma mile"]);
}

#[test]
fn pages_sorts_and_filters_agree_on_the_total() {
    let mut world = world();
    let first = done(&mut world, "people", &json!({}));
    assert_eq!(
        (names(&first, "name"), &first["total"], &first["pages"]),
        (vec!["Ada".into(), "Bob".into()], &json!(3), &json!(2))
    );
    assert_eq!(names(&done(&mut world, "people", &json!({"page": 2})), "name"), ["Cem"]);
    assert_eq!(names(&done(&mut world, "people", &json!({"sort": "money"})), "name"), ["Bob", "Ada"]);
    assert_eq!(names(&done(&mut world, "people", &json!({"sort": "-name"})), "name"), ["Cem", "Bob"]);
    let none = done(&mut world, "people", &json!({"name": "Nobody"}));
    assert_eq!((&none["total"], &none["pages"], &none["page"]), (&json!(0), &json!(1), &json!(1)));
    for page in [json!(0), json!(-1), json!(3), json!(i64::MAX), json!(1.5), json!("1")] {
        let raised = call(&mut world, "people", &json!({"page": page})).expect_err("no such page");
        assert_eq!((&*raised.code, raised.field.as_deref()), ("invalid_argument", Some("page")), "{page}");
    }
}

#[test]
fn embedded_rows_are_shown_with_their_ids() {
    let mut world = world();
    let alpha = &done(&mut world, "projects", &json!({"search": "alpha"}))["items"][0];
    assert_eq!(alpha["lead"], json!({"id": person(&world, "Ada"), "name": "Ada"}));
    assert_eq!(alpha["count"], 2);
    let notes: Vec<_> = alpha["notes"].as_array().expect("notes").iter().map(|note| note["text"].clone()).collect();
    assert_eq!(notes, ["note 0", "note 1"]);
    let one = done(&mut world, "project", &json!({"id": alpha["id"]}));
    assert_eq!((&one["title"], &one["id"]), (&json!("Alpha road"), &alpha["id"]));
}

#[test]
fn hidden_rows_are_as_if_they_did_not_exist() {
    let mut world = world();
    let dee = person(&world, "Dee");
    let secret = dee.as_str().expect("an id");
    let people = done(&mut world, "people", &json!({}));
    assert_eq!(people["total"], 3);
    for arguments in [json!({"search": "Dee"}), json!({"search": secret}), json!({"name": "Dee"})] {
        assert_eq!(done(&mut world, "people", &arguments)["total"], 0, "{arguments}");
    }
    let projects = done(&mut world, "projects", &json!({})).to_string();
    assert!(!projects.contains("Dee") && !projects.contains(secret), "{projects}");
    let gamma = id(&world, "project", "title", "Gamma mile");
    assert_eq!(done(&mut world, "project", &json!({"id": gamma}))["lead"], json!(null), "not even the id is shown");
    let missing = json!("P999x");
    let hidden = call(&mut world, "rename", &json!({"person": dee, "name": "Max"})).expect_err("hidden");
    let absent = call(&mut world, "rename", &json!({"person": missing, "name": "Max"})).expect_err("absent");
    assert_eq!((hidden.code, hidden.field, hidden.kind), (absent.code, absent.field, absent.kind));
    assert_eq!(hidden.text.replace(secret, ""), absent.text.replace("P999x", ""));
    assert_eq!(call_as(&mut world, Role::SYSTEM, "people", &json!({})).expect_err("not its view").kind, "forbidden");
}

#[test]
fn hidden_and_secret_columns_are_nowhere() {
    let mut world = world();
    let all =
        done(&mut world, "people", &json!({})).to_string() + &done(&mut world, "projects", &json!({})).to_string();
    assert!(!all.contains("salary") && !all.contains("pin") && !all.contains("0000"), "{all}");
    let tools = serde_json::to_string(&palestra_apps::tool::tools(world.app())).expect("tools");
    assert!(!tools.contains("salary") && !tools.contains("\"pin\""), "{tools}");
    for arguments in [json!({"sort": "salary"}), json!({"salary": "1.00"}), json!({"pin": "0000"})] {
        assert_eq!(&*call(&mut world, "people", &arguments).expect_err("refused").code, "invalid_argument");
    }
}
