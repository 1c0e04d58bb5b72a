//! The point at which a limit cut a step off.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::engine::{CutReason, StepResult};

/// The point at which a limit of the session cut a step off: the statements before it are done, it and those after it are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutOff {
    /// Index of the statement in the step, from 0.
    pub statement: usize,
    /// The limit.
    pub by: CutReason,
    /// True if a transaction was open afterwards: SQLite rolls back some that it interrupts.
    pub in_transaction: bool,
}

impl CutOff {
    /// The point at which a limit cut off the result, if one did.
    #[must_use]
    pub fn of(ran: &StepResult) -> Option<Self> {
        let error = ran.error.as_ref()?;
        let by = error.cut.filter(|cut| cut.is_limit())?;
        Some(Self { statement: error.statement, by, in_transaction: ran.in_transaction })
    }

    /// The point at which a limit cut off a step, from the data of its observation.
    pub(crate) fn seen(data: &Json) -> Option<Self> {
        let error = &data["error"];
        let by = CutReason::deserialize(&error["cut"]).ok().filter(|cut| cut.is_limit())?;
        let statement = usize::try_from(error["statement"].as_u64()?).ok()?;
        Some(Self { statement, by, in_transaction: error["in_transaction"].as_bool()? })
    }
}
