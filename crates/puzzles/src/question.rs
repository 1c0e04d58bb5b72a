//! Puzzles with one answer: what they share, so that a file has the problem and its rule alone.

use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use rand_chacha::ChaCha8Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::facts::Facts;
use super::{Puzzle, call};
use palestra_environment::draws::{Draws, Refusal};
use palestra_environment::tool::function;
use palestra_environment::verifier::Judgement;
use palestra_environment::verifier::final_answer::extract;
use palestra_environment::{Input, Reaction};

/// A longer answer is wrong; no right one is as long.
const ANSWER_BYTES_MAX: usize = 8_000;

/// A problem that is solved by one answer in writing. All functions are pure.
pub(super) trait Question: Send + Sync + 'static {
    /// A problem with its solution, kept as the task's secret.
    type Instance: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Facts for lists and guides.
    fn facts(&self) -> Facts;

    /// Makes a problem of a difficulty in [0, 1]. What is drawn again inside an attempt is counted in `draws`.
    ///
    /// # Errors
    /// When what was drawn lacks a declared requirement, so that another attempt is made, or when the generator is wrong.
    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Self::Instance, Refusal>;

    /// Content that makes two problems the same problem: decides the split, so that no problem is in two.
    fn content(&self, instance: &Self::Instance) -> Value {
        self.metadata(instance)
    }

    /// The whole problem as data, enough to solve it without the prompt. Never its solution.
    fn metadata(&self, instance: &Self::Instance) -> Value;

    /// The problem in words, the rules, and the form of the answer with an example. How to hand it in is added.
    fn prompt(&self, instance: &Self::Instance) -> String;

    /// Judges an answer, freed of what surrounds it in a longer text, by rule.
    fn check(&self, instance: &Self::Instance, answer: &str) -> Mark;

    /// A right answer, in the form that the prompt asks for.
    fn solution(&self, instance: &Self::Instance) -> String;

    /// A well-formed answer, chosen without looking.
    fn guess(&self, instance: &Self::Instance, rng: &mut ChaCha8Rng) -> String;

    /// A plausible answer that is wrong by its making, not because [`Question::check`] was asked.
    fn mistake(&self, instance: &Self::Instance, rng: &mut ChaCha8Rng) -> String;

    /// Effort of a reference solver that does not know the solution, in the unit that [`Facts::effort`] names.
    fn effort(&self, instance: &Self::Instance) -> f64;
}

/// Score of an answer, with its reason.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mark {
    /// In [0, 1]; 1 for right answers alone.
    pub(super) score: f64,
    /// Why, in words for whoever reads verdicts.
    pub(super) evidence: String,
}

impl Mark {
    /// A right answer.
    pub(super) fn right(evidence: impl Into<String>) -> Self {
        Self { score: 1.0, evidence: evidence.into() }
    }

    /// A wrong answer.
    pub(super) fn wrong(evidence: impl Into<String>) -> Self {
        Self { score: 0.0, evidence: evidence.into() }
    }

    /// A wrong answer that is worth something: `score` in [0, 1), kept below 1 whatever it is.
    pub(super) fn partial(score: f64, evidence: impl Into<String>) -> Self {
        Self { score: score.clamp(0.0, 0.99), evidence: evidence.into() }
    }
}

/// The one answer, once it was given.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Given {
    /// As it was written, cut at [`ANSWER_BYTES_MAX`].
    answer: Option<String>,
    /// Length before it was cut.
    bytes: usize,
}

/// A question as a puzzle.
pub(super) struct Single<Q>(pub(super) Q);

impl<Q: Question> Puzzle for Single<Q> {
    type Instance = Q::Instance;
    type Progress = Given;

    fn facts(&self) -> Facts {
        self.0.facts()
    }

    fn tools(&self) -> Vec<Value> {
        vec![function(
            "answer",
            "Gives the one answer.",
            json!({
                "type": "object", "required": ["answer"], "additionalProperties": false,
                "properties": {"answer": {"type": "string", "description": "In the form that the problem asks for."}}
            }),
        )]
    }

    fn observation_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn steps_max(&self) -> u64 {
        4
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Q::Instance, Refusal> {
        self.0.generate(rng, difficulty, draws)
    }

    fn content(&self, instance: &Q::Instance) -> Value {
        self.0.content(instance)
    }

    fn metadata(&self, instance: &Q::Instance) -> Value {
        self.0.metadata(instance)
    }

    fn prompt(&self, instance: &Q::Instance) -> String {
        format!(
            "{}\nYou have one answer. Answer with nothing else, or think first and put the answer into <answer></answer>; or \
             call the tool `answer`.",
            self.0.prompt(instance)
        )
    }

    fn start(&self, _instance: &Q::Instance) -> Given {
        Given { answer: None, bytes: 0 }
    }

    fn show(&self, instance: &Q::Instance, progress: &Given) -> Observation {
        let text = progress.answer.as_ref().map_or_else(String::new, |answer| format!("Your answer: {answer}"));
        Observation { data: self.0.metadata(instance), ..Observation::text(text) }
    }

    fn act(&self, _instance: &Q::Instance, progress: &mut Given, input: Input<'_>) -> Reaction {
        let answer = match input {
            Input::Text(text) => extract(text),
            Input::Call { arguments, .. } => arguments.get("answer").and_then(Value::as_str).unwrap_or_default(),
        };
        let cut = answer.floor_char_boundary(ANSWER_BYTES_MAX);
        *progress = Given { answer: Some(answer[..cut].to_owned()), bytes: answer.len() };
        Reaction::end("Your answer was taken.")
    }

    fn judge(&self, instance: &Q::Instance, progress: &Given) -> Judgement {
        let mark = match &progress.answer {
            None => Mark::wrong("no answer was given"),
            Some(_) if progress.bytes > ANSWER_BYTES_MAX => {
                Mark::wrong(format!("the answer is longer than {ANSWER_BYTES_MAX} bytes"))
            }
            Some(answer) => self.0.check(instance, answer.trim()),
        };
        Judgement::single("answer", mark.score, mark.evidence)
    }

    fn solve(&self, instance: &Q::Instance) -> Vec<Action> {
        vec![answer(self.0.solution(instance))]
    }

    fn guess(&self, instance: &Q::Instance, rng: &mut ChaCha8Rng) -> Action {
        answer(self.0.guess(instance, rng))
    }

    fn mistake(&self, instance: &Q::Instance, rng: &mut ChaCha8Rng) -> Vec<Action> {
        vec![answer(self.0.mistake(instance, rng))]
    }

    fn effort(&self, instance: &Q::Instance) -> f64 {
        self.0.effort(instance)
    }
}

fn answer(text: String) -> Action {
    call("answer", "answer", Value::String(text))
}
