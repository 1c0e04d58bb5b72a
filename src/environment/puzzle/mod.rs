//! The `puzzle` family: problems made from a seed and judged by rule. A new puzzle is one file with a [`Puzzle`] in it and one
//! line in the registry; everything that puzzles share is here.

mod arithmetic;
pub mod countdown;
pub mod mastermind;
pub mod sokoban;

use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::observation::{Message, Observation};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::spec::{SpecBuilder, builtin_verifier_version, check_seed, split_length, split_of};
use super::state::State;
use super::task::{Task, TaskError, TaskId, pick, seeded};
use super::{
    ConfigError, Context, Environment, EnvironmentKind, Input, Opening, Place, Reaction, TaskGenerator, Tasks,
};
use crate::verifier::{Case, Judgement, Verifier, VerifierError};

/// How often a generator may try again until a problem works out and falls into the split that was asked for. A quarter
/// of the contents belongs to the smallest split, so that this many failures in a row mean a broken generator.
const ATTEMPTS_MAX: u32 = 4096;

/// One kind of puzzle. All functions are pure: what they return follows from their arguments.
pub trait Puzzle: Send + Sync + 'static {
    /// A problem with its solution, kept as the task's secret.
    type Instance: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// What has happened so far; it is the privileged state, and all that a verdict depends on beside the instance.
    type Progress: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Name, version, description, tools, limits, floor. Splits are added.
    fn spec(&self) -> SpecBuilder;

    /// Makes a problem of a difficulty in [0, 1]; `None` when this attempt led nowhere.
    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64) -> Option<Self::Instance>;

    /// What makes two problems the same problem: decides the split, so that no problem is in two.
    fn content(&self, instance: &Self::Instance) -> Value;

    /// What everybody may see of the problem, as data. Never its solution.
    fn metadata(&self, instance: &Self::Instance) -> Value;

    /// The whole instruction, with the form that answers have.
    fn prompt(&self, instance: &Self::Instance) -> String;

    /// The beginning.
    fn start(&self, instance: &Self::Instance) -> Self::Progress;

    /// What is seen now, without the instruction.
    fn show(&self, instance: &Self::Instance, progress: &Self::Progress) -> Observation;

    /// Reacts to one input.
    fn act(&self, instance: &Self::Instance, progress: &mut Self::Progress, input: Input<'_>) -> Reaction;

    /// Judges by rule, not by comparison with the stored solution where several answers are right.
    fn judge(&self, instance: &Self::Instance, progress: &Self::Progress) -> Judgement;

    /// Actions that solve the problem.
    fn solve(&self, instance: &Self::Instance) -> Vec<Action>;

    /// A well-formed action, chosen without looking.
    fn guess(&self, instance: &Self::Instance, rng: &mut ChaCha8Rng) -> Action;
}

/// A puzzle as a kind of environment: generator, place and verifier in one.
pub struct PuzzleKind<P> {
    puzzle: Arc<P>,
    spec: Spec,
    verifier_version: String,
}

impl<P: Puzzle> PuzzleKind<P> {
    /// The kind as it is registered.
    #[must_use]
    pub fn new(puzzle: P) -> Self {
        let spec = puzzle.spec().splits(&super::spec::GENERATED_SPLITS).build();
        let verifier_version = builtin_verifier_version("rule", &spec);
        Self { puzzle: Arc::new(puzzle), spec, verifier_version }
    }

    /// The first problem of this split among the attempts that follow from the words.
    fn search(&self, split: &str, seed: u64, thousandths: u16) -> Option<P::Instance> {
        let difficulty = f64::from(thousandths) / 1000.0;
        (0..ATTEMPTS_MAX).find_map(|attempt| {
            let mut rng = seeded(&[
                self.spec.name.as_bytes(),
                split.as_bytes(),
                &seed.to_le_bytes(),
                &thousandths.to_le_bytes(),
                &attempt.to_le_bytes(),
            ]);
            let instance = self.puzzle.generate(&mut rng, difficulty)?;
            (split_of(&self.puzzle.content(&instance)) == split).then_some(instance)
        })
    }

    fn instance(&self, task: &Task) -> Option<P::Instance> {
        serde_json::from_value(task.secret.clone()).ok()
    }
}

impl<P: Puzzle> TaskGenerator for PuzzleKind<P> {
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
        let length = split_length(&self.spec, split)?;
        check_seed(seed)?;
        let asked = difficulty.map(thousandths).transpose()?;
        let id = TaskId { split: split.to_owned(), number: seed, difficulty_thousandths: asked };
        let thousandths = asked.unwrap_or_else(|| {
            let words = [self.spec.name.as_bytes(), b"difficulty", split.as_bytes(), &seed.to_le_bytes()];
            u16::try_from(pick(&words, 1001)).unwrap_or(0)
        });
        let instance = self
            .search(split, seed, thousandths)
            .ok_or_else(|| TaskError::BadChoice(format!("{} found no problem for {id}", self.spec.name)))?;
        let secret = serde_json::to_value(&instance).map_err(|error| TaskError::Broken(error.to_string()))?;
        Ok(Task {
            public: PublicTask {
                id: id.to_string(),
                split: split.to_owned(),
                index: (asked.is_none() && seed < length).then_some(seed),
                difficulty: Some(f64::from(thousandths) / 1000.0),
                template: self.spec.name.rsplit('/').next().unwrap_or_default().to_owned(),
                messages: vec![Message::new("user", self.puzzle.prompt(&instance))],
                tools: self.spec.tools.clone(),
                metadata: self.puzzle.metadata(&instance),
            },
            secret,
        })
    }
}

/// A difficulty as ids carry it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
fn thousandths(difficulty: f64) -> Result<u16, TaskError> {
    if (0.0..=1.0).contains(&difficulty) {
        Ok((difficulty * 1000.0).round() as u16)
    } else {
        Err(TaskError::BadChoice(format!("a difficulty is a number from 0 to 1, not {difficulty}")))
    }
}

impl<P: Puzzle> EnvironmentKind for PuzzleKind<P> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Generated(self)
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        ConfigError::refuse_all(opening.config)?;
        let instance = self.instance(opening.task).ok_or_else(|| ConfigError {
            field: None,
            detail: format!("task {} is none of {}", opening.task.public.id, self.spec.name),
        })?;
        let progress = self.puzzle.start(&instance);
        Ok(Place::Pure(Box::new(PuzzlePlace {
            puzzle: Arc::clone(&self.puzzle),
            instance: Arc::new(instance),
            progress,
        })))
    }

    fn verifier(&self) -> &dyn Verifier {
        self
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        Some(self.puzzle.solve(&self.instance(task)?))
    }

    fn random_action(&self, task: &Task, rng: &mut ChaCha8Rng) -> Action {
        match self.instance(task) {
            Some(instance) => self.puzzle.guess(&instance, rng),
            None => Action::Text(String::new()),
        }
    }
}

impl<P: Puzzle> Verifier for PuzzleKind<P> {
    fn name(&self) -> &str {
        "rule"
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        let instance =
            self.instance(case.task).ok_or_else(|| VerifierError("the task's secret is broken".to_owned()))?;
        let progress = serde_json::from_value(case.state.to_value())
            .map_err(|error| VerifierError(format!("the state is not one of this puzzle: {error}")))?;
        Ok(self.puzzle.judge(&instance, &progress))
    }
}

/// A puzzle on the table. Copies share the instance.
struct PuzzlePlace<P: Puzzle> {
    puzzle: Arc<P>,
    instance: Arc<P::Instance>,
    progress: P::Progress,
}

impl<P: Puzzle> Environment for PuzzlePlace<P> {
    fn observe(&self) -> Observation {
        let mut observation = self.puzzle.show(&self.instance, &self.progress);
        let shown = observation.text.trim_end();
        let separator = if shown.is_empty() { "" } else { "\n\n" };
        observation.text = format!("{}{separator}{shown}", self.puzzle.prompt(&self.instance));
        observation
    }

    fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Reaction {
        self.puzzle.act(&self.instance, &mut self.progress, input)
    }

    fn state(&self) -> State {
        // Progress is a struct of plain data, which always has a JSON form.
        State::from(serde_json::to_value(&self.progress).unwrap_or_default())
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(Self {
            puzzle: Arc::clone(&self.puzzle),
            instance: Arc::clone(&self.instance),
            progress: self.progress.clone(),
        })
    }
}

/// A call of a tool with one argument.
fn call(tool: &str, argument: &str, value: Value) -> Action {
    Action::Tool { tool: tool.to_owned(), arguments: Map::from_iter([(argument.to_owned(), value)]) }
}

/// A whole number between `easy` and `hard`, which both are reached, as the difficulty says.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between two small numbers")]
fn scale(difficulty: f64, easy: u32, hard: u32) -> u32 {
    let span = f64::from(hard) - f64::from(easy);
    let steps = (difficulty.clamp(0.0, 1.0) * (span.abs() + 1.0)).floor().min(span.abs());
    (f64::from(easy) + steps * span.signum()).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_reaches_both_ends_in_equal_parts() {
        assert_eq!([0.0, 0.24, 0.25, 0.5, 0.75, 1.0].map(|difficulty| scale(difficulty, 3, 6)), [3, 3, 4, 5, 6, 6]);
        assert_eq!([0.0, 0.4, 1.0].map(|difficulty| scale(difficulty, 14, 10)), [14, 12, 10]);
    }

    #[test]
    fn difficulties_off_the_scale_are_refused() {
        for difficulty in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(thousandths(difficulty).is_err(), "{difficulty}");
        }
        assert_eq!(thousandths(0.4), Ok(400));
    }
}
