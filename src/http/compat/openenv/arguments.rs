//! The arguments of a reset: `seed` and `episode_id` as OpenEnv has them, and what Palestra adds. Other names are let through and
//! ignored, as servers of OpenEnv do, because trainers pass whole rows of their data sets.

use palestra_protocol::environment::Limits;
use palestra_protocol::id::{GroupId, RunId, SessionId};
use palestra_protocol::session::{CreateSession, Reset, TaskChoice};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::refusal::{Detail, Refusal};
use palestra_environment::task::SEED_MAX;

/// Characters of an id that a caller makes.
pub(super) const ID_CHARACTERS_MAX: usize = 255;

/// A reset, read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Arguments {
    /// The caller's name for the episode.
    pub(super) episode_id: Option<String>,
    /// Goes on with the episode of this id; where left out, that depends on whether its connection is gone.
    pub(super) resume: Option<bool>,
    seed: Option<u64>,
    split: Option<String>,
    index: Option<u64>,
    task_id: Option<String>,
    difficulty: Option<f64>,
    config: Map<String, Value>,
    limits: Option<Limits>,
    run: Option<RunId>,
    group: Option<GroupId>,
}

impl Arguments {
    /// Reads the fields that are known.
    pub(super) fn read(data: &Map<String, Value>) -> Result<Self, Refusal> {
        let mut fields = Fields { data, faults: Vec::new() };
        let read = Self {
            episode_id: fields.id("episode_id").filter(|id| !id.is_empty()),
            resume: fields.typed("resume", "bool_type", "Input should be a valid boolean"),
            seed: fields.whole("seed"),
            split: fields.typed("split", "string_type", "Input should be a valid string"),
            index: fields.whole("index"),
            task_id: fields.typed("task_id", "string_type", "Input should be a valid string"),
            difficulty: fields.typed("difficulty", "float_type", "Input should be a valid number"),
            config: fields.typed("config", "dict_type", "Input should be a valid dictionary").unwrap_or_default(),
            limits: fields.typed("limits", "value_error", "Input should be limits: steps, calls, wall_ms, idle_ms"),
            run: fields.typed("run", "value_error", "Input should be the id of a run"),
            group: fields.typed("group", "value_error", "Input should be the id of a group"),
        };
        if fields.faults.is_empty() { Ok(read) } else { Err(Refusal::Invalid(fields.faults)) }
    }

    /// Which problem is wanted: none said means a random one.
    fn task(&self) -> Option<TaskChoice> {
        let Self { split, index, task_id, difficulty, .. } = self.clone();
        // The seed chooses the problem only where nothing else does.
        let seed = self.seed.filter(|_| index.is_none() && task_id.is_none());
        let choice = TaskChoice { id: task_id, split, index, seed, difficulty };
        (choice != TaskChoice::default()).then_some(choice)
    }

    /// The session that a reset asks for. `by` says through what it was made.
    pub(super) fn creation(&self, environment: &str, id: SessionId, by: &str) -> CreateSession {
        CreateSession {
            environment: environment.to_owned(),
            from: None,
            task: self.task(),
            seed: self.seed,
            config: self.config.clone(),
            id: Some(id),
            run: self.run,
            group: self.group,
            count: None,
            limits: self.limits,
            verify: None,
            observe: None,
            record: None,
            metadata: json!({"openenv": {"by": by, "episode_id": self.episode_id}}),
        }
    }

    /// The same as a new episode of a session that there is already, which keeps its settings.
    pub(super) fn reset(&self) -> Result<Reset, Refusal> {
        let given = [
            ("config", !self.config.is_empty()),
            ("limits", self.limits.is_some()),
            ("run", self.run.is_some()),
            ("group", self.group.is_some()),
        ];
        if let Some((field, _)) = given.into_iter().find(|(_, given)| *given) {
            let words = "Belongs to the making of a session, and this one was made before";
            return Err(Detail::new("value_error", &[field], words, &Value::Null).into());
        }
        Ok(Reset { task: self.task(), seed: self.seed })
    }
}

/// The fields of a request, and what was found wrong with them.
struct Fields<'a> {
    data: &'a Map<String, Value>,
    faults: Vec<Detail>,
}

impl Fields<'_> {
    fn given(&self, name: &str) -> Option<Value> {
        self.data.get(name).filter(|value| !value.is_null()).cloned()
    }

    fn fault(&mut self, kind: &'static str, name: &str, words: impl Into<String>, input: &Value) {
        self.faults.push(Detail::new(kind, &[name], words, input));
    }

    fn typed<T: DeserializeOwned>(&mut self, name: &str, kind: &'static str, words: &str) -> Option<T> {
        let value = self.given(name)?;
        // Objects alone: the reader would take an array for the fields of a structure.
        let read = if value.is_array() { None } else { serde_json::from_value(value.clone()).ok() };
        if read.is_none() {
            self.fault(kind, name, words, &value);
        }
        read
    }

    fn id(&mut self, name: &str) -> Option<String> {
        let id: String = self.typed(name, "string_type", "Input should be a valid string")?;
        if id.chars().count() > ID_CHARACTERS_MAX {
            let words = format!("String should have at most {ID_CHARACTERS_MAX} characters");
            self.fault("string_too_long", name, words, &json!(id));
            return None;
        }
        Some(id)
    }

    /// A whole number from 0 to 2^53 - 1; 7.0 is one too.
    fn whole(&mut self, name: &str) -> Option<u64> {
        let value = self.given(name)?;
        let Some(number) = value.as_f64().filter(|number| number.fract() == 0.0) else {
            self.fault("int_type", name, "Input should be a valid integer", &value);
            return None;
        };
        if number < 0.0 {
            self.fault("greater_than_equal", name, "Input should be greater than or equal to 0", &value);
            return None;
        }
        let whole = value.as_u64().or_else(|| exact(number)).filter(|whole| *whole <= SEED_MAX);
        if whole.is_none() {
            let words = format!("Input should be less than or equal to {SEED_MAX}");
            self.fault("less_than_equal", name, words, &value);
        }
        whole
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "in range")]
fn exact(number: f64) -> Option<u64> {
    (number <= SEED_MAX as f64).then_some(number as u64)
}

/// The text field `name`, at most as long as an id.
pub(super) fn read_id(data: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    let mut fields = Fields { data, faults: Vec::new() };
    let id = fields.id(name);
    if fields.faults.is_empty() { Ok(id) } else { Err(Refusal::Invalid(fields.faults)) }
}

/// The field `name` as a whole number.
pub(super) fn read_whole(data: &Map<String, Value>, name: &str) -> Result<Option<u64>, Refusal> {
    let mut fields = Fields { data, faults: Vec::new() };
    let whole = fields.whole(name);
    if fields.faults.is_empty() { Ok(whole) } else { Err(Refusal::Invalid(fields.faults)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &Value) -> Result<Arguments, Refusal> {
        Arguments::read(data.as_object().expect("an object"))
    }

    fn creation(data: &Value) -> CreateSession {
        read(data).expect("arguments").creation("a/b", SessionId::new(), "socket")
    }

    #[test]
    fn a_seed_chooses_the_problem_unless_something_else_does() {
        let seeded = creation(&json!({"seed": 7.0, "prompt": "ignored", "sed": 1}));
        assert_eq!(seeded.task, Some(TaskChoice { seed: Some(7), ..TaskChoice::default() }));
        assert_eq!(seeded.seed, Some(7));
        let indexed = creation(&json!({"seed": 7, "split": "test", "index": 12}));
        let choice = TaskChoice { split: Some("test".to_owned()), index: Some(12), ..TaskChoice::default() };
        assert_eq!((indexed.task, indexed.seed), (Some(choice), Some(7)));
        assert_eq!(creation(&json!({"seed": null, "episode_id": null})).task, None);
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        for (data, kind) in [
            (json!({"seed": -1}), "greater_than_equal"),
            (json!({"seed": 1.5}), "int_type"),
            (json!({"seed": "7"}), "int_type"),
            (json!({"seed": true}), "int_type"),
            (json!({"seed": 9_007_199_254_740_992_u64}), "less_than_equal"),
            (json!({"seed": 1e300}), "less_than_equal"),
            (json!({"episode_id": "x".repeat(256)}), "string_too_long"),
            (json!({"episode_id": 7}), "string_type"),
            (json!({"resume": "yes"}), "bool_type"),
            (json!({"config": []}), "dict_type"),
            (json!({"limits": [1, 2, 3, 4]}), "value_error"),
            (json!({"run": "ses_1"}), "value_error"),
        ] {
            let field = data.as_object().expect("an object").keys().next().expect("a field").clone();
            let errors = read(&data).expect_err("refused").frame_data()["errors"].clone();
            assert_eq!((&errors[0]["type"], &errors[0]["loc"]), (&json!(kind), &json!([field])));
        }
        let both = read(&json!({"seed": -1, "episode_id": 7})).expect_err("refused").frame_data();
        assert_eq!(both["errors"].as_array().map(Vec::len), Some(2));
        assert!(read(&json!({"episode_id": "ü".repeat(255)})).is_ok());
    }

    #[test]
    fn a_session_that_was_made_keeps_its_settings() {
        assert!(read(&json!({"seed": 1, "split": "test"})).expect("arguments").reset().is_ok());
        assert!(read(&json!({"limits": {"steps": 1}})).expect("arguments").reset().is_err());
    }
}
