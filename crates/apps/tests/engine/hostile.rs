//! Hostile calls: whatever is given, the answer is a value or a typed error, and an error has changed nothing.

use palestra_apps::app::Role;
use palestra_apps::check::RandomCalls;
use palestra_apps::run::draw::Draws;
use palestra_apps::run::{CallError, World};
use rand::RngExt;
use serde_json::{Map, Value as Json, json};

use super::{episode, object, person, world};

fn deep(levels: usize) -> Json {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

fn values(world: &World) -> Vec<Json> {
    let project = super::id(world, "project", "title", "Alpha road");
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e308),
        json!(0.1),
        json!(""),
        json!("\0"),
        json!("x".repeat(1 << 20)),
        json!("99999999999999999999.99"),
        json!("-0.01"),
        json!("2031-99-99"),
        json!("1e5"),
        json!("P{3}"),
        json!("../../etc"),
        json!("$replace"),
        json!([]),
        json!({}),
        json!([null]),
        json!({"person": null}),
        json!({"x".repeat(100_000): 1}),
        deep(100),
        json!(vec![json!({"person": person(world, "Ada"), "by": 1}); 5_000]),
        project,
        person(world, "Dee"),
    ]
}

/// Makes a call; if it is refused, nothing may have changed and the answer must be small.
fn attempt(world: &mut World, role: Role, name: &str, arguments: &Map<String, Json>) -> bool {
    let before = (world.agenda(), world.now(), world.counts().clone());
    let data = world.data().document();
    match world.call(role, name, arguments) {
        Ok(_) => true,
        Err(CallError::Raised(raised)) => {
            assert_eq!(before, (world.agenda(), world.now(), world.counts().clone()), "{name}: {raised}");
            assert!(data.same(&world.data().document()), "{name}: {raised}");
            assert!(raised.to_json().to_string().len() < 2_000, "{name}: a long answer");
            assert!(world.app().errors.iter().any(|error| error.code == raised.code), "{name}: {raised}");
            false
        }
        Err(crashed) => panic!("{name}: {crashed}"),
    }
}

#[test]
fn every_parameter_takes_every_value_or_refuses_it() {
    let mut world = world();
    let names: Vec<String> = world.app().calls.keys().map(ToString::to_string).collect();
    let mut refused = 0;
    for name in &names {
        let parameters: Vec<String> = match world.app().calls[name.as_str()] {
            palestra_apps::app::Callable::Action(place) => {
                world.app().actions[place].parameters.iter().map(|parameter| parameter.name.to_string()).collect()
            }
            palestra_apps::app::Callable::View(place) => {
                let view = &world.app().views[place];
                view.all_parameters(&world.app().schema).iter().map(|parameter| parameter.name.to_string()).collect()
            }
        };
        for value in values(&world) {
            let all: Map<String, Json> = parameters.iter().map(|name| (name.clone(), value.clone())).collect();
            let mut fresh = world.clone();
            refused += u32::from(!attempt(&mut fresh, Role::AGENT, name, &all));
            for parameter in &parameters {
                let one = Map::from_iter([(parameter.clone(), value.clone())]);
                refused += u32::from(!attempt(&mut fresh, Role::AGENT, name, &one));
            }
        }
        let unknown = object(&json!({"x".repeat(10_000): 1}));
        assert!(!attempt(&mut world, Role::AGENT, name, &unknown), "{name} takes a parameter that it does not have");
    }
    assert!(refused > 500, "{refused}");
}

#[test]
fn ten_thousand_random_calls_end_in_values_or_typed_errors() {
    let mut world = world();
    let mut random = Draws::of(&[b"hostile"]).random().clone();
    let generator = RandomCalls::new(world.app());
    let wrong = values(&world);
    let mut succeeded = 0;
    for round in 0..10_000 {
        let mut call = generator.call(&world, &mut random).expect("a call");
        if round % 3 == 0 && !call.arguments.is_empty() {
            let place = random.random_range(0..call.arguments.len());
            let name = call.arguments.keys().nth(place).expect("a name").clone();
            call.arguments.insert(name, wrong[random.random_range(0..wrong.len())].clone());
        }
        let role = if round % 5 == 0 { Role::USER } else { Role::AGENT };
        succeeded += u32::from(attempt(&mut world, role, &call.name, &call.arguments));
        if round % 500 == 0 {
            world.wait(3_600).expect("time passes");
            assert_eq!(palestra_apps::run::broken_invariants(world.app(), world.data()), []);
        }
    }
    assert!(succeeded > 500, "{succeeded}");
}

#[test]
fn submissions_and_waits_are_read_strictly() {
    let mut episode = episode("repay");
    let long = "x".repeat(5_000);
    for (name, arguments) in [
        ("submit", json!({})),
        ("submit", json!({"status": "done"})),
        ("submit", json!({"status": "ok", "more": 1})),
        ("submit", json!({"status": "ok", "answers": {"left": {"deep": 1}}})),
        ("submit", json!({"status": "ok", "answers": {"left": [[1]]}})),
        ("submit", json!({"status": "ok", "answers": {"left": long}})),
        ("submit", json!({"status": "refused", "code": long})),
        (
            "submit",
            json!({"status": "ok", "answers": (0..40).map(|n| (n.to_string(), json!(1))).collect::<Map<_, _>>()}),
        ),
        ("wait", json!({})),
        ("wait", json!({"seconds": "60"})),
        ("wait", json!({"seconds": 60.5})),
        ("wait", json!({"seconds": -60})),
        ("wait", json!({"seconds": 60, "more": 1})),
        ("wait", json!({"seconds": u64::MAX})),
    ] {
        let before = episode.document();
        let reaction = episode.call(name, &object(&arguments)).expect("no crash");
        assert!(reaction.raised.is_some() && !reaction.terminated, "{name} {arguments}");
        assert_eq!(episode.document(), before);
    }
}
