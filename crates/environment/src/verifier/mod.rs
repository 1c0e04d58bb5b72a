//! Verifiers: deterministic, repeatable judges that look at privileged state and never at what the acting side says of itself.

pub mod bound;
pub mod choice;
pub mod date;
pub mod exact;
pub mod final_answer;
pub mod json;
pub mod number;
pub mod rational;
pub mod regular;
pub mod rule;
pub mod rules;
pub mod set;
pub mod text;

use async_trait::async_trait;
use palestra_protocol::action::Action;
use palestra_protocol::step::Stepped;
use palestra_protocol::verdict::{Check, Judge, Status};

use crate::Secrets;
use crate::state::State;
use crate::task::Task;

/// The rule that judges the episodes of an environment.
#[derive(Clone, Copy)]
pub enum AnyVerifier<'a> {
    /// In this process, without IO.
    Pure(&'a dyn Verifier),
    /// In sandboxes or databases of its own.
    Live(&'a dyn LiveVerifier),
}

impl<'a> AnyVerifier<'a> {
    /// The rule's name.
    #[must_use]
    pub fn name(self) -> &'a str {
        match self {
            Self::Pure(verifier) => verifier.name(),
            Self::Live(verifier) => verifier.name(),
        }
    }

    /// The rule's version: `sha256:<hex>`. Changes whenever a verdict could.
    #[must_use]
    pub fn version(self) -> &'a str {
        match self {
            Self::Pure(verifier) => verifier.version(),
            Self::Live(verifier) => verifier.version(),
        }
    }

    /// From where it looks, so long as it has not judged.
    #[must_use]
    pub fn judge(self) -> Judge {
        match self {
            Self::Pure(verifier) => verifier.judge(),
            Self::Live(_) => Judge::Fresh,
        }
    }

    /// True if [`Case::trajectory`] is needed; loading it costs a query.
    #[must_use]
    pub fn needs_trajectory(self) -> bool {
        matches!(self, Self::Pure(verifier) if verifier.needs_trajectory())
    }

    /// The verifier that judges in this process.
    ///
    /// # Errors
    /// When it judges in places of its own.
    pub fn pure(self) -> Result<&'a dyn Verifier, VerifierError> {
        match self {
            Self::Pure(verifier) => Ok(verifier),
            Self::Live(verifier) => Err(VerifierError(format!("{} judges in places of its own", verifier.name()))),
        }
    }
}

/// Judges finished (or probed) episodes of an environment.
pub trait Verifier: Send + Sync {
    /// As [`AnyVerifier::name`].
    fn name(&self) -> &str;

    /// As [`AnyVerifier::version`].
    fn version(&self) -> &str;

    /// From where it looks.
    fn judge(&self) -> Judge {
        Judge::State
    }

    /// As [`AnyVerifier::needs_trajectory`].
    fn needs_trajectory(&self) -> bool {
        false
    }

    /// Judges. The same case always gives the same judgement.
    ///
    /// # Errors
    /// When the verifier itself fails; the episode is then not a sample.
    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError>;
}

/// Judges episodes in places of its own, which the acting side never saw. A case is judged from its state alone, so that it can
/// be judged again after everything else of the episode is gone.
#[async_trait]
pub trait LiveVerifier: Send + Sync {
    /// As [`AnyVerifier::name`].
    fn name(&self) -> &str;

    /// As [`AnyVerifier::version`].
    fn version(&self) -> &str;

    /// Judges, and says from where it looked. The same case always gives the same judgement. `seed` and `secrets` are those of the
    /// episode's opening.
    ///
    /// # Errors
    /// What kept it from a score.
    async fn judge(
        &self,
        task: &Task,
        seed: u64,
        secrets: Secrets,
        state: &State,
    ) -> Result<(Judgement, Judge), Unjudged>;
}

/// Why an episode was not scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unjudged {
    /// Never `scored`.
    pub status: Status,
    /// In words.
    pub detail: String,
}

/// The input of a verifier.
pub struct Case<'a> {
    /// The problem, with its secret part.
    pub task: &'a Task,
    /// The state after the last step.
    pub state: &'a State,
    /// Every turn in order; empty unless the verifier asks for it.
    pub trajectory: &'a [Turn],
}

/// One turn of a trajectory.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The action; `None` if the turn never reached the environment.
    pub action: Option<Action>,
    /// The observation.
    pub answer: Stepped,
}

/// The finding of a verifier.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Every check by name; at least one.
    pub checks: Vec<Check>,
    /// False where a rule says that the episode must not be learnt from although it was scored.
    pub trainable: bool,
}

impl Judgement {
    /// A judgement of one check that passes at a score of 1.
    #[must_use]
    pub fn single(name: &str, score: f64, evidence: impl Into<String>) -> Self {
        Self {
            checks: vec![Check {
                name: name.to_owned(),
                weight: 1.0,
                score,
                passed: score >= 1.0,
                evidence: evidence.into(),
            }],
            trainable: true,
        }
    }

    /// The weighted mean of the checks' scores.
    ///
    /// # Errors
    /// When there is no check, or a score or weight is not a number in its range: such a verdict would be a false one.
    pub fn score(&self) -> Result<f64, VerifierError> {
        let mut total = 0.0;
        let mut weights = 0.0;
        for check in &self.checks {
            if !(0.0..=1.0).contains(&check.score) || !check.weight.is_finite() || check.weight < 0.0 {
                return Err(VerifierError(format!(
                    "check {:?} has score {} with weight {}",
                    check.name, check.score, check.weight
                )));
            }
            total += check.score * check.weight;
            weights += check.weight;
        }
        if weights > 0.0 { Ok(total / weights) } else { Err(VerifierError("no check has a weight".to_owned())) }
    }
}

/// A verifier failed; the episode is not a sample.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct VerifierError(pub String);
