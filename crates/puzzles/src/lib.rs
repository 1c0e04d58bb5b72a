//! The `puzzle` family: problems made from a seed and judged by rule. A new puzzle is one file in the folder of its category,
//! with a [`Question`](question::Question) in it (one answer) or a [`Puzzle`] (anything else), and a line in the list of that
//! category; everything that puzzles share is here.

mod arithmetic;
#[cfg(test)]
mod conformance;
mod crypto;
mod expression;
pub mod facts;
mod graph;
mod grid;
#[cfg(test)]
mod guide;
mod kind;
mod list;
mod logic;
mod numbers;
#[cfg(test)]
mod planted;
mod question;
mod search;
mod sequential;
mod walk;

use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use facts::Facts;
use palestra_environment::draws::{Draws, Refusal};
use palestra_environment::task::Task;
use palestra_environment::verifier::Judgement;
use palestra_environment::{EnvironmentKind, Input, Reaction};

/// Earlier versions of puzzles: what began as one goes on as one.
#[must_use]
pub fn former() -> Vec<Arc<dyn Examinable>> {
    grid::former()
}

/// Every puzzle, by category.
#[must_use]
pub fn all() -> Vec<Arc<dyn Examinable>> {
    let categories = [
        crypto::puzzles(),
        arithmetic::puzzles(),
        logic::puzzles(),
        grid::puzzles(),
        graph::puzzles(),
        search::puzzles(),
        sequential::puzzles(),
    ];
    categories.into_iter().flatten().collect()
}

/// One kind of puzzle. All functions are pure: what they return follows from their arguments.
pub trait Puzzle: Send + Sync + 'static {
    /// A problem with its solution, kept as the task's secret.
    type Instance: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// State of the episode; it is the privileged state, and all that a verdict depends on beside the instance.
    type Progress: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Facts for lists and guides.
    fn facts(&self) -> Facts;

    /// The OpenAI function tools.
    fn tools(&self) -> Vec<Value>;

    /// JSON Schema of `observation.data`.
    fn observation_schema(&self) -> Value;

    /// Turns in an episode where a session names no limit.
    fn steps_max(&self) -> u64;

    /// Makes a problem of a difficulty in [0, 1]. What is drawn again inside an attempt is counted in `draws`.
    ///
    /// # Errors
    /// When what was drawn lacks a declared requirement, so that another attempt is made, or when the generator is wrong.
    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Self::Instance, Refusal>;

    /// Content that makes two problems the same problem: decides the split, so that no problem is in two.
    fn content(&self, instance: &Self::Instance) -> Value;

    /// Everything that a player sees of the problem, as data. Never its solution.
    fn metadata(&self, instance: &Self::Instance) -> Value;

    /// The whole instruction, with the form that answers have.
    fn prompt(&self, instance: &Self::Instance) -> String;

    /// The beginning.
    fn start(&self, instance: &Self::Instance) -> Self::Progress;

    /// Observation without the instruction.
    fn show(&self, instance: &Self::Instance, progress: &Self::Progress) -> Observation;

    /// Reacts to one input.
    fn act(&self, instance: &Self::Instance, progress: &mut Self::Progress, input: Input<'_>) -> Reaction;

    /// Judges by rule, not by comparison with the stored solution where several answers are right.
    fn judge(&self, instance: &Self::Instance, progress: &Self::Progress) -> Judgement;

    /// Actions that solve the problem.
    fn solve(&self, instance: &Self::Instance) -> Vec<Action>;

    /// A well-formed action, chosen without looking.
    fn guess(&self, instance: &Self::Instance, rng: &mut ChaCha8Rng) -> Action;

    /// A whole attempt as somebody would make it who nearly understood: plausible, and wrong by its making (not because the
    /// judge was asked), so that tests can hold the judge to rejecting it.
    fn mistake(&self, instance: &Self::Instance, rng: &mut ChaCha8Rng) -> Vec<Action>;

    /// Effort of a reference solver that does not know the solution, in the unit that [`Facts::effort`] names. Shows
    /// that difficulty means something.
    fn effort(&self, instance: &Self::Instance) -> f64;
}

/// Questions of tests and of the guide to a puzzle beside those to every environment. `None` where the task is another kind's.
pub trait Examinable: EnvironmentKind {
    /// Facts of the puzzle.
    fn facts(&self) -> &Facts;

    /// Content that distinguishes the task from others.
    fn content(&self, task: &Task) -> Option<Value>;

    /// A whole attempt that is plausible and wrong.
    fn mistake(&self, task: &Task, rng: &mut ChaCha8Rng) -> Option<Vec<Action>>;

    /// Effort of a reference solver for the task, in the unit that the facts name.
    fn effort(&self, task: &Task) -> Option<f64>;
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
}
