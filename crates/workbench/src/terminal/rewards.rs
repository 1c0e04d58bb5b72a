//! Rewards that a judging script leaves below `/logs/verifier`.

use std::collections::BTreeMap;

use palestra_sandbox::wire::FailureCode;
use palestra_sandbox::{Sandbox, SandboxError};
use palestra_state::json;
use serde_json::Value;

/// Bytes of a reward file.
const REWARD_BYTES_MAX: u64 = 64 * 1024;

/// Reason why there is no reward.
#[derive(Debug)]
pub(super) enum Failure {
    /// The script crashed, or wrote no reward, or an impossible one.
    Script(String),
    /// It took too long.
    Timeout(String),
    /// The sandbox failed.
    Sandbox(SandboxError),
}

impl std::convert::From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::Sandbox(error)
    }
}

/// Reads the rewards that the script left. True if there are two files of them; then the lower score counts.
///
/// # Errors
/// When the sandbox fails. The inner error says in words why the files cannot be read.
pub(super) async fn read(sandbox: &Sandbox) -> Result<Result<(BTreeMap<String, f64>, bool), String>, Failure> {
    let mut found: Option<BTreeMap<String, f64>> = None;
    for (name, read) in [("reward.json", from_json as fn(&str) -> _), ("reward.txt", from_text)] {
        let path = format!("/logs/verifier/{name}");
        let bytes = match sandbox.read(&path, REWARD_BYTES_MAX).await {
            Ok(bytes) => bytes,
            Err(error) if error.is(FailureCode::NotFound) => continue,
            Err(error @ SandboxError::Refused { .. }) => {
                let refused = format!("{path}: {error}");
                return Ok(found.map(|rewards| (rewards, true)).ok_or(refused));
            }
            Err(error) => return Err(error.into()),
        };
        let read = read(&String::from_utf8_lossy(&bytes)).map_err(|why| format!("{path}: {why}"));
        found = match (found, read) {
            (None, Ok(rewards)) => Some(rewards),
            (None, Err(why)) => return Ok(Err(why)),
            (Some(first), second) => return Ok(Ok((lower(first, second.ok()), true))),
        };
    }
    let none = "the script that judges must write /logs/verifier/reward.json or reward.txt";
    Ok(found.map(|rewards| (rewards, false)).ok_or_else(|| none.to_owned()))
}

/// The rewards with the lower score; the first where the second cannot be read.
pub(super) fn lower(first: BTreeMap<String, f64>, second: Option<BTreeMap<String, f64>>) -> BTreeMap<String, f64> {
    let score = |rewards: &BTreeMap<String, f64>| {
        let mean = || rewards.values().sum::<f64>() / rewards.len() as f64;
        rewards.get("reward").copied().unwrap_or_else(mean)
    };
    match second {
        Some(second) if score(&second) < score(&first) => second,
        _ => first,
    }
}

pub(super) fn from_json(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let value = json::read(text).map_err(|error| format!("the reward must be JSON: {error}"))?;
    let rewards: BTreeMap<String, Value> = match value {
        Value::Object(rewards) => rewards.into_iter().collect(),
        other => BTreeMap::from([("reward".to_owned(), other)]),
    };
    if rewards.is_empty() {
        return Err("reward.json must name a reward".to_owned());
    }
    let is_score = |name: &str| name == "reward" || !rewards.contains_key("reward");
    let number = |(name, value): (&String, &Value)| {
        let number = value.as_f64().ok_or_else(|| format!("{name} must be a number, not {value}"))?;
        Ok((name.clone(), if is_score(name) { within(name, number)? } else { number }))
    };
    rewards.iter().map(number).collect()
}

fn from_text(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let number =
        text.trim().parse().map_err(|_| format!("{:?} must be a number", text.chars().take(40).collect::<String>()))?;
    Ok(BTreeMap::from([("reward".to_owned(), within("reward", number)?)]))
}

fn within(name: &str, number: f64) -> Result<f64, String> {
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(format!("{name} must be from 0 to 1, not {number}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_rewards_are_refused() {
        assert_eq!(from_text(" 0.5\n"), Ok(BTreeMap::from([("reward".to_owned(), 0.5)])));
        for wrong in ["", "NaN", "inf", "1.5", "-0.1", "one", "1 2"] {
            assert!(from_text(wrong).is_err(), "{wrong}");
        }
        assert_eq!(from_json("{\"a\": 1, \"b\": 0.25}").expect("rewards").len(), 2);
        // What stands beside the reward is a figure of the tests' own.
        assert_eq!(from_json("{\"reward\": 0.5, \"passed\": 12}").expect("rewards")["reward"], 0.5);
        assert!(from_json("{\"reward\": 2, \"passed\": 12}").is_err());
        assert_eq!(from_json("1"), Ok(BTreeMap::from([("reward".to_owned(), 1.0)])));
        for wrong in [
            "",
            "{}",
            "{\"a\": 0, \"a\": 1}",
            "NaN",
            "{\"a\": NaN}",
            "{\"a\": \"1\"}",
            "{\"a\": true}",
            "{\"a\": 1e999}",
            "{\"a\": 2}",
            "[1]",
        ] {
            assert!(from_json(wrong).is_err(), "{wrong}");
        }
    }
}
