//! Where a limit ended a step.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::engine::{Cut, Ran};

/// Where a limit of the session ended a step: the statements before it are done, it and those after it are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutOff {
    /// Which statement of the step, from 0.
    pub statement: usize,
    /// Which limit.
    pub by: Cut,
    /// Whether a transaction was open afterwards: SQLite rolls back some that it interrupts.
    pub in_transaction: bool,
}

impl CutOff {
    /// Where a limit ended what was run, if one did.
    #[must_use]
    pub fn of(ran: &Ran) -> Option<Self> {
        let error = ran.error.as_ref()?;
        let by = error.cut.filter(|cut| cut.is_limit())?;
        Some(Self { statement: error.statement, by, in_transaction: ran.in_transaction })
    }

    /// Where a limit ended a step, from the data of what was seen of it.
    pub(crate) fn seen(data: &Json) -> Option<Self> {
        let error = &data["error"];
        let by = Cut::deserialize(&error["cut"]).ok().filter(|cut| cut.is_limit())?;
        let statement = usize::try_from(error["statement"].as_u64()?).ok()?;
        Some(Self { statement, by, in_transaction: error["in_transaction"].as_bool()? })
    }
}
