//! The `bench` family: environments that measure and test the server rather than a policy.

pub mod counter;
pub mod document;
pub mod effect;

use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::observation::Message;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use palestra_environment::ConfigError;
use palestra_environment::spec::{check_seed, split_length};
use palestra_environment::task::{Task, TaskError, TaskId, pick};

/// The number of different targets in a quarter of the contents.
const TARGETS_PER_QUARTER: u64 = 250;

/// A task to reach a number from 1 to 1000 that follows from split and seed. What the number leaves when divided by four
/// decides its split.
fn target_task(
    spec: &Spec,
    split: &str,
    seed: u64,
    difficulty: Option<f64>,
    instruction: impl Fn(u64) -> String,
) -> Result<Task, TaskError> {
    let length = split_length(spec, split)?;
    check_seed(seed)?;
    if difficulty.is_some() {
        return Err(TaskError::BadChoice(format!("{} has no scale of difficulty: leave it out", spec.name)));
    }
    let words = [spec.name.as_bytes(), split.as_bytes(), &seed.to_le_bytes()];
    let quarters: &[u64] = match split {
        "train" => &[1, 2],
        "validation" => &[3],
        _ => &[4],
    };
    let place = pick(&words, TARGETS_PER_QUARTER * quarters.len() as u64);
    let (row, quarter) = (place / quarters.len() as u64, place % quarters.len() as u64);
    let target = row * 4 + quarters.get(usize::try_from(quarter).unwrap_or(0)).copied().unwrap_or(1);
    Ok(Task {
        public: PublicTask {
            id: TaskId::plain(split, seed).to_string(),
            split: split.to_owned(),
            index: (seed < length).then_some(seed),
            difficulty: None,
            template: "target".to_owned(),
            messages: vec![Message::new("user", instruction(target))],
            tools: spec.tools.clone(),
            score_range: None,
            metadata: json!({"target": target}),
        },
        secret: json!({"target": target}),
    })
}

/// The target in a task's secret.
fn target_of(task: &Task) -> Option<i64> {
    task.secret["target"].as_i64()
}

/// The settings of a session; the one that does not fit is named.
fn read_settings<T: DeserializeOwned>(config: &Map<String, Value>) -> Result<T, ConfigError> {
    serde_json::from_value(Value::Object(config.clone())).map_err(|error| ConfigError {
        field: config.keys().find(|key| error.to_string().contains(&format!("`{key}`"))).cloned(),
        detail: error.to_string(),
    })
}
