//! `serve`: answers for a policy until it is cancelled.

use serde::{Deserialize, Serialize};

use super::tool_format::ToolFormat;
use super::{Faults, JobSpec, References};
use crate::id::PolicyId;

/// Answers for a policy until it is cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Serve {
    /// The policy that is served.
    pub policy: PolicyId,
    /// Most requests that are answered at once.
    #[serde(default = "batch")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_024))]
    pub batch_max: u32,
    /// Ends by itself after this long without a request, and after 2 s where another job waits for the trainer; never where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// The form of actions in its text, in place of the one that the policy keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_format: Option<ToolFormat>,
}

fn batch() -> u32 {
    32
}

impl JobSpec for Serve {
    const LIGHT: bool = false;

    fn check(&self, faults: &mut Faults) {
        faults.unless((1..=1_024).contains(&self.batch_max), "batch_max", "must be 1 to 1024");
    }

    fn references(&self) -> References {
        References { policies: [self.policy].into(), ..References::default() }
    }
}
