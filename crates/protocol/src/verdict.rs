//! Verdicts: what a judge found, and whether the episode is a sample at all.

use serde::{Deserialize, Serialize};

use crate::id::EpisodeId;
use crate::list;

/// The judgement of one episode by one verifier version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Verdict {
    /// The episode that was judged.
    pub episode: EpisodeId,
    /// Only `scored` carries a score; everything else is not a sample.
    pub status: Status,
    /// In [0, 1]; null unless `scored`.
    pub score: Option<f64>,
    /// The score between the floor and the ceiling that the task declares; absent unless `scored` and declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rescaled: Option<Rescaled>,
    /// 1 when every check passed, else 0; null unless `scored`.
    pub strict: Option<u8>,
    /// True if the task counts as solved.
    pub passed: bool,
    /// True if a trainer may learn from the episode.
    pub trainable: bool,
    /// Every check by name.
    #[serde(deserialize_with = "list::plain")]
    pub checks: Vec<Check>,
    /// From where the judge looked.
    pub judge: Judge,
    /// The verifier.
    pub verifier: VerifierName,
    /// Hash of the judged state: `sha256:<hex>`; null where no state could be read.
    pub state: Option<String>,
    /// The step after which was judged.
    pub seq: u64,
    /// The usage of the episode.
    pub usage: Usage,
    /// Why the episode was not scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A score in the range that its task declares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rescaled {
    /// In [0, 1]: 0 at the floor and below, 1 at the ceiling and above.
    pub score: f64,
    /// Most that doing nothing scores.
    pub floor: f64,
    /// Least that a solution scores.
    pub ceiling: f64,
}

/// Scored, or the reason why an episode was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The judge reached a score.
    Scored,
    /// Judging took longer than it may.
    Timeout,
    /// The environment or what it runs on failed.
    InfraError,
    /// The verifier failed.
    VerifierError,
    /// The episode was aborted, or its owner is gone.
    Invalid,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 5] = [Self::Scored, Self::Timeout, Self::InfraError, Self::VerifierError, Self::Invalid];

    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scored => "scored",
            Self::Timeout => "timeout",
            Self::InfraError => "infra_error",
            Self::VerifierError => "verifier_error",
            Self::Invalid => "invalid",
        }
    }
}

/// From where the judge looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Judge {
    /// Privileged state that the acting side cannot write.
    State,
    /// Declared artefacts in a clean sandbox.
    Fresh,
    /// The whole file-system change in a clean sandbox.
    FreshDelta,
    /// The live sandbox, after the acting side was stopped.
    InPlace,
}

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Check {
    /// The name of the check.
    pub name: String,
    /// Its share of the score, relative to the other checks.
    pub weight: f64,
    /// In [0, 1].
    pub score: f64,
    /// True if it counts as fulfilled.
    pub passed: bool,
    /// The finding.
    pub evidence: String,
}

/// A verifier and the version of its rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VerifierName {
    /// Which rule judged.
    pub name: String,
    /// Which version of it: `sha256:<hex>`.
    pub version: String,
}

/// The usage of an episode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// Turns taken.
    pub steps: u64,
    /// Tool calls made.
    pub calls: u64,
    /// Milliseconds inside the environment.
    pub env_ms: u64,
    /// Milliseconds of judging.
    pub judge_ms: u64,
    /// Tokens that simulated users and judge models used.
    pub tokens: u64,
    /// The cost of those tokens.
    pub cost: f64,
}
