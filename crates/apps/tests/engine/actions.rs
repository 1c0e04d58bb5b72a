//! Actions: all or nothing, what right sides see, names and their scopes, deletions, and typed errors.

use palestra_apps::app::Role;
use serde_json::json;

use super::{call, call_as, done, id, logged, person, rows, world};

#[test]
fn an_action_that_fails_halfway_changes_nothing() {
    let mut world = world();
    let (data, agenda, now) = (world.data().document(), world.agenda(), world.now());
    let alpha = id(&world, "project", "title", "Alpha road");
    let raised = call(&mut world, "half", &json!({"project": alpha})).expect_err("it fails");
    assert_eq!((&*raised.code, raised.kind, &*raised.text), ("too_late", "conflict", "It is too late."));
    assert_eq!((world.data().document(), world.agenda(), world.now()), (data, agenda, now));
    assert_eq!(world.counts().get("half"), None);
}

#[test]
fn right_sides_see_the_row_as_it_was() {
    let mut world = world();
    let alpha = id(&world, "project", "title", "Alpha road");
    let (ada, bob) = (person(&world, "Ada"), person(&world, "Bob"));
    done(&mut world, "swap", &json!({"project": alpha}));
    let row = &rows(&world, "project")[0];
    assert_eq!((&row["lead"], &row["helper"]), (&bob, &ada));
}

#[test]
fn statements_see_what_earlier_ones_wrote_and_old_does_not() {
    let mut world = world();
    assert_eq!(done(&mut world, "bump", &json!({})), json!({"before": 3, "after": 34}));
    assert_eq!(done(&mut world, "bump", &json!({})), json!({"before": 34, "after": 375}));
}

#[test]
fn names_end_with_their_block() {
    let mut world = world();
    let (ada, bob) = (person(&world, "Ada"), person(&world, "Bob"));
    let rises = json!({"rises": [{"person": ada, "by": 1}, {"person": bob, "by": 9}, {"person": ada, "by": 3}]});
    assert_eq!(done(&mut world, "raise", &rises), json!({"base": 3, "last": "end 3"}));
    assert_eq!(logged(&world), ["Ada 4", "Bob 24", "Ada 12", "end 3"]);
    let salaries: Vec<_> = rows(&world, "person").iter().map(|row| row["salary"].clone()).collect();
    assert_eq!(salaries, ["1.20", "1.24", "1.00", "1.00"], "the macro adds twice each total in cents");
}

#[test]
fn deletions_cascade_stand_in_the_way_or_leave_null() {
    let mut world = world();
    let (ada, bob) = (person(&world, "Ada"), person(&world, "Bob"));
    let raised = call(&mut world, "drop_person", &json!({"person": bob})).expect_err("a project has him as its lead");
    assert_eq!(&*raised.code, "in_use");
    let beta = id(&world, "project", "title", "beta road");
    done(&mut world, "drop_project", &json!({"project": beta}));
    assert_eq!(rows(&world, "note").len(), 4, "the notes of the project go along");
    done(&mut world, "drop_person", &json!({"person": bob}));
    let alpha = &rows(&world, "project")[0];
    assert_eq!((&alpha["lead"], &alpha["helper"]), (&ada, &json!(null)));
}

#[test]
fn updates_and_deletions_of_many_rows_meet_those_that_there_were() {
    let mut world = world();
    done(&mut world, "close_all", &json!({}));
    let states: Vec<_> = rows(&world, "project").iter().map(|row| (row["open"].clone(), row["seen"].clone())).collect();
    assert_eq!(states, [(json!(false), json!(1)), (json!(false), json!(1)), (json!(false), json!(0))]);
    assert!(rows(&world, "note").iter().all(|row| row["rank"] == 0));
    done(&mut world, "close_all", &json!({}));
    assert_eq!(rows(&world, "project")[0]["seen"], 1, "a second time there is nothing to close");
}

#[test]
fn left_out_columns_take_their_defaults() {
    let mut world = world();
    assert_eq!(done(&mut world, "hire", &json!({"name": "Eve"}))["money"], "10.00");
    let hired = rows(&world, "person").pop().expect("a row");
    assert_eq!(hired, json!({"name": "Eve", "money": "10.00", "salary": "1.00", "pin": "0000"}));
}

#[test]
fn every_refusal_has_a_code() {
    let mut world = world();
    let (ada, bob) = (person(&world, "Ada"), person(&world, "Bob"));
    let mut code = |name: &str, arguments: &serde_json::Value| {
        let raised = call(&mut world, name, arguments).expect_err("a refusal");
        (raised.code.to_string(), raised.field.map_or_else(String::new, |field| field.to_string()))
    };
    let error_of = |code: &str, field: &str| (code.to_owned(), field.to_owned());
    let pay = |amount: &str| json!({"from": bob, "to": ada, "amount": amount});
    assert_eq!(code("pay", &pay("2.51")), error_of("short", "amount"));
    assert_eq!(code("pay", &pay("50.01")), error_of("rule_small", ""), "a rule comes before the guards");
    assert_eq!(code("pay", &pay("0.00")), error_of("invalid_argument", "amount"));
    assert_eq!(code("rename", &json!({"person": bob, "name": "Ada"})), error_of("not_unique", "name"));
    assert_eq!(code("rename", &json!({"person": "P000x", "name": "Max"})), error_of("person_not_found", "person"));
    assert_eq!(code("tick", &json!({"text": "x"})), error_of("permission_denied", ""));
    assert_eq!(code("audit", &json!({})), error_of("permission_denied", ""));
    assert_eq!(code("nothing", &json!({})), error_of("invalid_argument", ""));
}

#[test]
fn graded_rules_let_the_call_happen_and_remember_it() {
    let mut world = world();
    let (ada, bob) = (person(&world, "Ada"), person(&world, "Bob"));
    let pay = json!({"from": ada, "to": bob, "amount": "1.00"});
    let refused = json!({"from": bob, "to": ada, "amount": "40.00"});
    call(&mut world, "pay", &refused).expect_err("he has too little");
    assert!(world.broken().is_empty(), "a call that fails breaks no rule");
    done(&mut world, "pay", &pay);
    assert_eq!(world.broken().iter().map(|rule| &**rule).collect::<Vec<_>>(), ["look_first"]);
    let mut careful = super::world();
    done(&mut careful, "people", &json!({}));
    done(&mut careful, "pay", &pay);
    assert!(careful.broken().is_empty());
}

#[test]
fn the_user_may_do_what_the_agent_may_not() {
    let mut world = world();
    assert_eq!(call_as(&mut world, Role::USER, "audit", &json!({})).expect("the user may")["total"], 0);
    assert!(call_as(&mut world, Role::USER, "bump", &json!({})).is_err(), "and the reverse");
}

#[test]
fn the_same_calls_lead_to_the_same_state() {
    let run = || {
        let mut world = world();
        let (ada, bob) = (person(&world, "Ada"), person(&world, "Bob"));
        done(&mut world, "hire", &json!({"name": "Eve"}));
        done(&mut world, "pay", &json!({"from": ada, "to": bob, "amount": "3.00"}));
        world.wait(100_000).expect("time passes");
        done(&mut world, "hire", &json!({"name": "Fay"}));
        (world.data().document().to_value(), world.agenda().to_value(), world.now())
    };
    assert_eq!(run(), run());
}

#[test]
fn a_copy_goes_its_own_way() {
    let mut world = world();
    done(&mut world, "hire", &json!({"name": "Eve"}));
    let before = (world.data().document(), world.agenda(), world.now(), world.counts().clone());
    let mut copy = world.clone();
    done(&mut copy, "hire", &json!({"name": "Fay"}));
    done(&mut copy, "plan", &json!({"text": "x", "minutes": "5m", "key": "k"}));
    copy.wait(86_400).expect("time passes");
    assert_eq!((world.data().document(), world.agenda(), world.now(), world.counts().clone()), before);
    assert_eq!(rows(&copy, "person").len(), rows(&world, "person").len() + 1);
}
