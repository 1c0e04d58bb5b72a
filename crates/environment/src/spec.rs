//! Specs: how a kind describes itself in a few lines, and what follows from a spec.

use std::collections::BTreeMap;

use palestra_protocol::environment::{Capabilities, Environment as Spec, Limits};
use palestra_protocol::shared::Shared;
use serde_json::{Value, json};

use crate::state::Digest;
use crate::task::{SEED_MAX, TaskError};

/// Virtual lengths of the splits of generators: so many different seeds, shared 1/2, 1/4 and 1/4 by content.
pub const GENERATED_SPLITS: [(&str, u64); 3] = [("train", 1_000_000), ("validation", 100_000), ("test", 100_000)];

/// Builds the spec of an environment; what is not set keeps the default of a pure environment without tools.
#[derive(Debug, Clone)]
pub struct SpecBuilder {
    spec: Spec,
}

impl SpecBuilder {
    /// An environment called `family/name` in its `version`.
    #[must_use]
    pub fn new(name: &str, version: u32, description: &str) -> Self {
        let family = name.split('/').next().unwrap_or(name).to_owned();
        Self {
            spec: Spec {
                name: name.to_owned(),
                version,
                digest: String::new(),
                family,
                description: description.to_owned(),
                tags: Vec::new(),
                tools: Shared::default(),
                action_schema: Value::Null,
                observation_schema: json!({}),
                splits: BTreeMap::new(),
                templates: 1,
                limits: Limits::default(),
                floor: 0.0,
                step_rewards: false,
                capabilities: Capabilities::PURE,
            },
        }
    }

    /// Words to filter by.
    #[must_use]
    pub fn tags<T: AsRef<str>>(mut self, tags: &[T]) -> Self {
        self.spec.tags = tags.iter().map(|tag| tag.as_ref().to_owned()).collect();
        self
    }

    /// The OpenAI function tools.
    #[must_use]
    pub fn tools(mut self, tools: Vec<Value>) -> Self {
        self.spec.tools = tools.into();
        self
    }

    /// JSON Schema of `observation.data`.
    #[must_use]
    pub fn observation(mut self, schema: Value) -> Self {
        self.spec.observation_schema = schema;
        self
    }

    /// Splits and how many tasks each has.
    #[must_use]
    pub fn splits<T: AsRef<str>>(mut self, splits: &[(T, u64)]) -> Self {
        self.spec.splits = splits.iter().map(|(split, length)| (split.as_ref().to_owned(), *length)).collect();
        self
    }

    /// Turns in an episode where a session names no limit.
    #[must_use]
    pub const fn steps_max(mut self, steps: u64) -> Self {
        self.spec.limits.steps = Some(steps);
        self
    }

    /// Every step has a reward of its own.
    #[must_use]
    pub const fn step_rewards(mut self) -> Self {
        self.spec.step_rewards = true;
        self
    }

    /// The most that a null or random policy may reach on average, in [0, 1].
    #[must_use]
    pub const fn floor(mut self, floor: f64) -> Self {
        self.spec.floor = floor;
        self
    }

    /// The capabilities of sessions.
    #[must_use]
    pub const fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.spec.capabilities = capabilities;
        self
    }

    /// The spec of a built-in kind; its digest is that of the spec itself with an empty digest.
    #[must_use]
    pub fn build(self) -> Spec {
        let mut spec = self.build_with_digest(String::new());
        // A spec holds strings, numbers and maps with string keys: it always has a JSON form.
        spec.digest = Digest::of_json(&serde_json::to_value(&spec).unwrap_or_default()).to_string();
        spec
    }

    /// The spec of a published definition, which brings its own digest.
    #[must_use]
    pub fn build_with_digest(mut self, digest: String) -> Spec {
        self.spec.action_schema = action_schema(&self.spec.tools);
        self.spec.digest = digest;
        self.spec
    }
}

/// Text, or a call of one of the tools.
fn action_schema(tools: &[Value]) -> Value {
    let text = json!({
        "type": "object", "required": ["text"], "additionalProperties": false, "properties": {"text": {"type": "string"}}
    });
    let calls = tools.iter().map(|tool| {
        json!({
            "type": "object", "required": ["tool"], "additionalProperties": false,
            "properties": {
                "tool": {"const": tool["function"]["name"]},
                "arguments": tool["function"]["parameters"]
            }
        })
    });
    json!({"oneOf": std::iter::once(text).chain(calls).collect::<Vec<_>>()})
}

/// The verifier version of a built-in kind: its rule cannot change without the environment's version.
#[must_use]
pub fn builtin_verifier_version(rule: &str, spec: &Spec) -> String {
    Digest::of(format!("{rule} of {}@{}", spec.name, spec.version).as_bytes()).to_string()
}

/// The number of tasks in `split`.
///
/// # Errors
/// When there is no such split.
pub fn split_length(spec: &Spec, split: &str) -> Result<u64, TaskError> {
    spec.splits.get(split).copied().ok_or_else(|| TaskError::UnknownSplit(split.chars().take(100).collect()))
}

/// Refuses seeds that JSON does not carry exactly.
///
/// # Errors
/// When the seed is above [`SEED_MAX`].
pub fn check_seed(seed: u64) -> Result<(), TaskError> {
    if seed <= SEED_MAX { Ok(()) } else { Err(TaskError::BadChoice(format!("a seed is at most {SEED_MAX}"))) }
}

/// The split that a problem belongs to by its content, so that no problem is in two: half of them in `train`, a quarter
/// each in `validation` and `test`.
#[must_use]
pub fn split_of(content: &Value) -> &'static str {
    match Digest::of_json(content).bytes()[0] & 3 {
        0 | 1 => "train",
        2 => "validation",
        _ => "test",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_names_the_content_of_a_spec() {
        let build = |description: &str| SpecBuilder::new("bench/x", 1, description).tags(&["a"]).build();
        assert_eq!(build("one"), build("one"));
        assert_ne!(build("one").digest, build("two").digest);
        let mut empty = build("one");
        empty.digest.clear();
        let recomputed = Digest::of_json(&serde_json::to_value(&empty).expect("JSON")).to_string();
        assert_eq!(build("one").digest, recomputed);
    }

    #[test]
    fn contents_fall_into_the_splits_by_half_and_quarters() {
        let count = |split| (0..4000).filter(|number| split_of(&json!(number)) == split).count();
        assert!((1850..2150).contains(&count("train")));
        assert!((880..1120).contains(&count("validation")));
        assert!((880..1120).contains(&count("test")));
    }
}
