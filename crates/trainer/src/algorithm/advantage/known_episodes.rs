//! The episodes of the known numbers, for tests.

use serde_json::Value;

use super::{Advantages, Episode, Turn};
use crate::algorithm::known::{assert_near, known, numbers};

/// Agreement of f64 sums in another order.
const TOLERANCE: f64 = 1e-9;

/// The episodes that `algorithms.py` made; the masked one holds no number as its reward.
pub(super) fn known_episodes() -> Vec<Episode> {
    known()["episodes"].as_array().expect("a list").iter().map(read).collect()
}

fn read(value: &Value) -> Episode {
    let turn = |turn: &Value| Turn {
        tokens: turn["tokens"].as_u64().expect("a count") as usize,
        reward: turn["reward"].as_f64().unwrap_or(f64::NAN),
        state: turn["state"].as_str().map(str::to_owned),
    };
    Episode {
        group: value["group"].as_u64().expect("a number") as usize,
        reward: value["reward"].as_f64().unwrap_or(f64::NAN),
        counts: value["counts"].as_bool().expect("a flag"),
        turns: value["turns"].as_array().expect("a list").iter().map(turn).collect(),
        tool_calls: value["tool_calls"].as_u64().expect("a count") as usize,
        game: value["game"].as_str().expect("a name").to_owned(),
        role: value["role"].as_str().expect("a name").to_owned(),
        terminated: value["terminated"].as_bool().expect("a flag"),
    }
}

/// An episode of one turn that is judged at its end.
pub(super) fn episode(group: usize, reward: f64) -> Episode {
    Episode {
        group,
        reward,
        counts: true,
        turns: vec![Turn { tokens: 3, reward, state: None }],
        tool_calls: 0,
        game: "nim".to_owned(),
        role: "first".to_owned(),
        terminated: true,
    }
}

/// Asserts that advantages of the known episodes are those of the case.
pub(super) fn assert_known(case: &str, found: &Advantages) {
    let case = &known()["advantage"][case];
    let expected = case["turns"].as_array().expect("a list");
    assert_eq!(found.turns.len(), expected.len());
    for (found, expected) in found.turns.iter().zip(expected) {
        assert_near(found, &numbers(expected), TOLERANCE);
    }
    let kept: Vec<bool> = case["kept"].as_array().expect("a list").iter().filter_map(Value::as_bool).collect();
    assert_eq!(found.kept, kept);
}
