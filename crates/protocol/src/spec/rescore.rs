//! `rescore`: judges stored episodes again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Faults, JobSpec};
use crate::id::{EpisodeId, RunId};

/// Judges stored episodes again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Rescore {
    /// These episodes; at most 10,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 10_000))]
    pub episodes: Vec<EpisodeId>,
    /// Or those of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Or those of an environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// The verifier version; the current one where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier: Option<String>,
}

impl JobSpec for Rescore {
    fn check(&self, faults: &mut Faults) {
        let ways = [!self.episodes.is_empty(), self.run.is_some(), self.environment.is_some()];
        let named = ways.iter().filter(|way| **way).count();
        faults.unless(named == 1, "episodes", "name episodes, a run or an environment: one of the three");
        faults.unless(self.episodes.len() <= 10_000, "episodes", "must be at most 10000");
        let known = self.verifier.as_deref().is_none_or(|verifier| {
            let version = verifier.strip_prefix('@').unwrap_or(verifier);
            verifier.strip_prefix("sha256:").is_some_and(|digest| !digest.is_empty())
                || version.parse::<u32>().is_ok_and(|version| version > 0)
        });
        faults.unless(
            known,
            "verifier",
            "must be a version of the environment, such as 2, or of the rule, as sha256:..",
        );
        let different: BTreeSet<&EpisodeId> = self.episodes.iter().collect();
        faults.unless(different.len() == self.episodes.len(), "episodes", "an episode is named twice: name each once");
    }
}
