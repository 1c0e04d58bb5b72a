//! `bench/counter`: counts. The least that an environment can do, with switches for testing the server around it.

use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::environment::Environment as Spec;
use palestra_protocol::observation::Observation;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{read_settings, target_of, target_task};
use palestra_environment::spec::{GENERATED_SPLITS, SpecBuilder, builtin_verifier_version};
use palestra_environment::state::State;
use palestra_environment::task::{SEED_MAX, Task, TaskError};
use palestra_environment::tool::function;
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{
    ConfigError, Context, Environment, EnvironmentKind, Input, Opening, Place, Reaction, TaskGenerator, Tasks,
};

const NAME: &str = "bench/counter";

/// Counts stay within what every JSON implementation carries exactly.
const COUNT_MAX: i64 = SEED_MAX as i64;

/// Turns in an episode where a session names no limit: enough for any measurement.
const STEPS_MAX: u64 = 1_000_000;

/// The kind.
pub struct Counter {
    spec: Spec,
    verifier_version: String,
}

/// Settings, all for testing.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The episode ends by itself once the count is at least this. It never does otherwise.
    #[serde(default)]
    target: Option<i64>,
    /// The environment panics when the count reaches this: the switch for testing that a panic ends its session alone.
    #[serde(default)]
    panic_at: Option<i64>,
    /// Every input also draws a random number, shown in the observation and kept in the state: makes randomness visible.
    #[serde(default)]
    draws: bool,
}

impl Counter {
    /// The kind as it is registered.
    #[must_use]
    pub fn new() -> Self {
        let spec =
            SpecBuilder::new(NAME, 1, "Count to a number by adding. For measuring and testing the server itself.")
                .tags(&["bench"])
                .tools(vec![function(
                    "add",
                    "Adds to the count.",
                    json!({
                        "type": "object", "required": ["amount"], "additionalProperties": false,
                        "properties": {"amount": {"type": "integer", "minimum": -COUNT_MAX, "maximum": COUNT_MAX}}
                    }),
                )])
                .observation(json!({
                    "type": "object", "required": ["count"],
                    "properties": {"count": {"type": "integer"}, "draw": {"type": "integer"}}
                }))
                .splits(&GENERATED_SPLITS)
                .steps_max(STEPS_MAX)
                .floor(0.05)
                .build();
        let verifier_version = builtin_verifier_version("count", &spec);
        Self { spec, verifier_version }
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl EnvironmentKind for Counter {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Generated(self)
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        let settings: Settings = read_settings(opening.config)?;
        Ok(Place::Pure(Box::new(Count { settings, task: Arc::clone(opening.task), count: 0, draw: None })))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        Some(vec![add(target_of(task)?)])
    }

    fn random_action(&self, _task: &Task, rng: &mut ChaCha8Rng) -> Action {
        add(rng.random_range(1..=100))
    }
}

impl TaskGenerator for Counter {
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
        target_task(&self.spec, split, seed, difficulty, |target| {
            format!(
                "The count is 0. Make it exactly {target}. Answer with a number to add it, or call the tool `add` with \
                 {{\"amount\": number}}."
            )
        })
    }
}

impl Verifier for Counter {
    fn name(&self) -> &str {
        "count"
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        let target = target_of(case.task).ok_or_else(|| VerifierError("the task has no target".to_owned()))?;
        let count = match case.state.get("count") {
            Some(State::Number(number)) => number.as_i64(),
            _ => None,
        };
        let count = count.ok_or_else(|| VerifierError("the state has no count".to_owned()))?;
        let score = if count == target { 1.0 } else { 0.0 };
        Ok(Judgement::single("count", score, format!("the count is {count}, the target {target}")))
    }
}

fn add(amount: i64) -> Action {
    Action::Tool { tool: "add".to_owned(), arguments: Map::from_iter([("amount".to_owned(), json!(amount))]) }
}

/// A count in one session.
#[derive(Clone)]
struct Count {
    settings: Settings,
    task: Arc<Task>,
    count: i64,
    draw: Option<u32>,
}

impl Count {
    fn fields(&self) -> Value {
        match self.draw {
            Some(draw) => json!({"count": self.count, "draw": draw}),
            None => json!({"count": self.count}),
        }
    }

    fn show(&self, instruction: &str) -> Observation {
        let draw = self.draw.map(|draw| format!(" Drawn: {draw}.")).unwrap_or_default();
        let text = format!("{instruction}Count: {}.{draw}", self.count);
        Observation { data: self.fields(), ..Observation::text(text) }
    }
}

impl Environment for Count {
    fn observe(&self) -> Observation {
        let instruction = self.task.public.messages.last().map(|message| format!("{}\n\n", message.content));
        self.show(&instruction.unwrap_or_default())
    }

    fn act(&mut self, input: Input<'_>, context: &mut Context) -> Reaction {
        let amount = match input {
            Input::Text(text) => text.trim().parse().ok(),
            // Schemas count 3.0 among the integers.
            Input::Call { arguments, .. } => {
                arguments.get("amount").and_then(|amount| amount.as_i64().or_else(|| whole(amount.as_f64()?)))
            }
        };
        let sum = amount.and_then(|amount: i64| self.count.checked_add(amount));
        let Some(sum) = sum.filter(|sum| sum.abs() <= COUNT_MAX) else {
            return Reaction::text(format!(
                "Error: that is no whole number that can be added. Count: {}. Answer with a number such as 3.",
                self.count
            ));
        };
        self.count = sum;
        if self.settings.panic_at.is_some_and(|count| self.count >= count) {
            panic!("{NAME} was told to panic at {}", self.count);
        }
        if self.settings.draws {
            self.draw = Some(context.rng.random_range(0..1_000_000));
        }
        Reaction {
            observation: self.show(""),
            terminated: self.settings.target.is_some_and(|target| self.count >= target),
            ..Reaction::default()
        }
    }

    fn state(&self) -> State {
        State::from(self.fields())
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only whole numbers in range get here")]
fn whole(amount: f64) -> Option<i64> {
    (amount.fract() == 0.0 && amount.abs() <= COUNT_MAX as f64).then_some(amount as i64)
}

#[cfg(test)]
mod tests {
    use palestra_protocol::id::EpisodeId;

    use super::*;
    use palestra_environment::Secrets;

    fn open(config: &Value) -> Result<Box<dyn Environment>, ConfigError> {
        let counter = Counter::new();
        let task = Arc::new(counter.generate("train", 1, None).expect("a task"));
        let config = config.as_object().expect("an object");
        let episode = EpisodeId::new();
        match counter.open(Opening {
            task: &task,
            seed: 1,
            secrets: Secrets::Seed(1),
            config,
            episode,
            resumed: false,
            folder: None,
            from: None,
        })? {
            Place::Pure(place) => Ok(place),
            Place::Live(_) => panic!("the counter is pure"),
        }
    }

    fn context(seed: u8) -> Context {
        Context::seeded(&[&[seed]])
    }

    #[test]
    fn numbers_are_added_and_other_text_is_answered() {
        let mut place = open(&json!({})).expect("a place");
        let mut context = context(0);
        assert_eq!(place.act(Input::Text(" 3 "), &mut context).observation.text, "Count: 3.");
        for text in ["", "three", "1.5", "9007199254740992", "-99999999999999999999", "NaN"] {
            let reaction = place.act(Input::Text(text), &mut context);
            assert!(reaction.observation.text.starts_with("Error"), "{text}");
        }
        let arguments = json!({"amount": -1.0});
        place.act(Input::Call { tool: "add", arguments: arguments.as_object().expect("an object") }, &mut context);
        assert_eq!(place.state().to_value(), json!({"count": 2}));
    }

    #[test]
    fn it_ends_at_its_configured_target_only() {
        let mut endless = open(&json!({})).expect("a place");
        assert!(!endless.act(Input::Text("1000000"), &mut context(0)).terminated);
        let mut ending = open(&json!({"target": 2})).expect("a place");
        assert!(!ending.act(Input::Text("1"), &mut context(0)).terminated);
        assert!(ending.act(Input::Text("1"), &mut context(0)).terminated);
    }

    #[test]
    #[should_panic(expected = "told to panic at 2")]
    fn it_panics_where_it_is_told_to() {
        let mut place = open(&json!({"panic_at": 2})).expect("a place");
        place.act(Input::Text("1"), &mut context(0));
        place.act(Input::Text("1"), &mut context(0));
    }

    #[test]
    fn draws_show_the_sessions_randomness() {
        let draw = |seed| {
            let mut place = open(&json!({"draws": true})).expect("a place");
            place.act(Input::Text("1"), &mut context(seed));
            place.state().to_value()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn unknown_and_mistyped_settings_are_named() {
        let error = |config| open(&config).err().expect("refused").field;
        assert_eq!(error(json!({"targt": 1})).as_deref(), Some("targt"));
        assert!(open(&json!({"target": "x"})).is_err());
    }
}
