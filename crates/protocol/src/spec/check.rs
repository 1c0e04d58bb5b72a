//! `check`: runs the publication gate of an environment.

use serde::{Deserialize, Serialize};

use super::play::{UNNAMED, covers, is_environment};
use super::{Disclosure, Faults, JobSpec};

/// Runs the publication gate of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// `family/name`, optionally `@version`.
    #[cfg_attr(feature = "openapi", schema(max_length = 300))]
    pub environment: String,
    /// Tasks that are tried per split and policy.
    #[serde(default = "hundred")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub tasks: u32,
    /// Chooses them.
    #[serde(default)]
    pub seed: u64,
}

fn hundred() -> u32 {
    100
}

impl JobSpec for Check {
    fn check(&self, faults: &mut Faults) {
        faults.unless(is_environment(&self.environment), "environment", UNNAMED);
        faults.unless((1..=100_000).contains(&self.tasks), "tasks", "must be 1 to 100000");
    }

    fn may_learn(&self, _: Disclosure, environment: &str) -> bool {
        covers(&self.environment, environment)
    }
}
