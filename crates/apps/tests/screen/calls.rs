//! Random calls of the actions of the app that most tests use.

use palestra_apps::kinds::ColumnId;
use palestra_apps::run::World;
use palestra_apps::value::Value;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value as Json, json};

pub(crate) fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A call that a tool user may make; some are refused by guards and bounds.
pub(crate) fn call(world: &World, random: &mut ChaCha8Rng) -> (&'static str, Map<String, Json>) {
    let tool = row(world, "tool", random);
    let loan = open_loan(world, random);
    let arguments = match (random.next_u32() % 8, tool, loan) {
        (0..=2, Some(tool), _) => {
            let mut arguments =
                json!({"tool": tool, "member": row(world, "member", random), "days": random.random_range(1..=16)});
            if random.random_bool(0.5) {
                arguments["note"] = json!("Needs \"care\"\n& <b>gloves</b>");
            }
            ("lend", arguments)
        }
        (3, _, Some(loan)) => ("give_back", json!({"loan": loan})),
        (4, Some(tool), _) => ("scrap", json!({"tool": tool})),
        (5, Some(tool), _) => {
            let text = "Line\n\nof a <manual>, 'quoted'.\n".repeat(random.random_range(0..4));
            ("write_manual", json!({"tool": tool, "text": text}))
        }
        (6, Some(tool), _) => {
            let part = |number: usize| json!({"label": format!("Part {number}, spare"), "count": number + 1});
            let parts: Vec<Json> = (0..random.random_range(0..4)).map(part).collect();
            let mut arguments = json!({"tool": tool, "parts": parts});
            if random.random_bool(0.5) {
                arguments["fresh"] = json!(random.random_bool(0.5));
            }
            ("equip", arguments)
        }
        (7, ..) if random.random_bool(0.5) => {
            let members: Vec<String> =
                (0..random.random_range(1..4)).filter_map(|_| row(world, "member", random)).collect();
            let reasons: Vec<&str> = ["late, again", "\"rude\""].into_iter().take(random.random_range(0..3)).collect();
            let blocked = random.random_bool(0.3);
            ("block_all", json!({"members": members, "blocked": blocked, "reasons": reasons}))
        }
        _ => {
            let mut arguments = json!({"name": format!("Member {}", random.next_u32() % 40)});
            if random.random_bool(0.5) {
                arguments["balance"] = json!("12.50");
            }
            ("enrol", arguments)
        }
    };
    match arguments {
        (name, Json::Object(arguments)) => (name, arguments),
        (name, other) => panic!("{name} takes an object, not {other}"),
    }
}

fn row(world: &World, table: &str, random: &mut ChaCha8Rng) -> Option<String> {
    let table = world.app().schema.find(table).expect("a table");
    let count = world.data().len(table);
    let place = random.random_range(0..count.max(1));
    world.data().rows(table).nth(place).and_then(|row| world.data().id(row)).map(ToString::to_string)
}

/// A loan that is not given back.
fn open_loan(world: &World, random: &mut ChaCha8Rng) -> Option<String> {
    let table = world.app().schema.find("loan").expect("a table");
    let back: ColumnId = world.app().schema.table(table).column("back").expect("a column");
    let open: Vec<_> =
        world.data().rows(table).filter(|row| world.data().cell(*row, back) == Some(&Value::Null)).collect();
    let row = open.get(random.random_range(0..open.len().max(1)))?;
    world.data().id(*row).map(ToString::to_string)
}
