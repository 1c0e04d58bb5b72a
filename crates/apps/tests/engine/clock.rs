//! The virtual clock: order, cancelling, bounds, and what the world does by itself.

use palestra_apps::run::CallError;
use serde_json::json;

use super::{call, done, id, logged, person, rows, world};

const HOUR: i64 = 3_600;

fn plan(world: &mut palestra_apps::run::World, text: &str, after: &str, key: &str) {
    done(world, "plan", &json!({"text": text, "minutes": after, "key": key}));
}

#[test]
fn things_happen_in_the_order_of_time_then_key_then_scheduling() {
    let mut world = world();
    // Each call takes a minute, so these four are due at the same time, and one before them.
    plan(&mut world, "b first", "10m", "b");
    plan(&mut world, "b second", "9m", "b");
    plan(&mut world, "a", "8m", "a");
    plan(&mut world, "early", "2m", "z");
    assert_eq!(logged(&world).len(), 0, "nothing happens before the clock passes it");
    world.wait(HOUR).expect("time passes");
    let order: Vec<String> =
        logged(&world).iter().map(|line| line.rsplit_once(' ').expect("a time").0.to_owned()).collect();
    assert_eq!(order, ["early", "a", "b first", "b second"]);
}

#[test]
fn cancelled_events_do_not_happen() {
    let mut world = world();
    plan(&mut world, "kept", "10m", "a");
    plan(&mut world, "dropped", "10m", "b");
    plan(&mut world, "dropped too", "20m", "b");
    done(&mut world, "forget", &json!({"key": "b"}));
    done(&mut world, "forget", &json!({"key": "once"}));
    world.wait(4 * HOUR).expect("time passes");
    assert_eq!(logged(&world).len(), 1);
    assert!(logged(&world)[0].starts_with("kept "));
    assert_eq!(rows(&world, "note").len(), 7, "events of the world are not cancelled by their name");
}

#[test]
fn the_row_of_an_event_may_be_gone() {
    let mut world = world();
    let cem = person(&world, "Cem");
    done(&mut world, "watch", &json!({"person": cem}));
    done(&mut world, "drop_person", &json!({"person": cem}));
    world.wait(2 * HOUR).expect("nothing is left to greet");
    assert_eq!(logged(&world), [""; 0]);
}

#[test]
fn the_baseline_follows_the_world_and_not_the_agent() {
    let mut world = world();
    let beta = id(&world, "project", "title", "beta road");
    done(&mut world, "look", &json!({"project": beta}));
    world.wait(4 * HOUR).expect("time passes");
    let table = world.app().schema.find("note").expect("the table");
    assert_eq!((world.data().len(table), world.baseline().len(table)), (7, 7));
    let beta = world.data().rows(world.app().schema.find("project").expect("it")).nth(1).expect("a row");
    let cell = |data: &palestra_apps::data::Data, column: &str| {
        let column = world.app().schema.table(beta.table).column(column).expect("the column");
        data.cell(beta, column).cloned()
    };
    assert_eq!(cell(world.data(), "open"), cell(world.baseline(), "open"), "the world closed it");
    assert_ne!(cell(world.data(), "seen"), cell(world.baseline(), "seen"), "the agent looked");
}

#[test]
fn waits_that_make_no_sense_change_nothing() {
    let mut world = world();
    for seconds in [0, -1, i64::MIN, i64::MAX, 400 * 86_400] {
        let now = world.now();
        assert!(matches!(world.wait(seconds), Err(CallError::Raised(_))), "{seconds}");
        assert_eq!(world.now(), now);
    }
}

#[test]
fn events_come_again_and_again() {
    let mut world = world();
    world.wait(3 * 86_400 + HOUR).expect("time passes");
    assert_eq!(logged(&world).len(), 3, "{:?}", logged(&world));
    assert!(world.next_due().is_some_and(|due| due > world.now()));
}

#[test]
fn too_much_at_once_is_refused_as_a_whole() {
    let mut world = world();
    for number in 0..9_990 {
        let text = json!({"text": "x", "minutes": "300d", "key": format!("{number}")});
        if let Err(raised) = call(&mut world, "plan", &text) {
            assert_eq!(&*raised.code, "full");
            return;
        }
    }
    let text = json!({"text": "x", "minutes": "300d", "key": "last"});
    let refused = (0..20).filter(|_| call(&mut world, "plan", &text).is_err()).count();
    assert!(refused > 0, "no more than 10,000 things are scheduled");
}
