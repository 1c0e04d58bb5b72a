//! Faults that draws have shown.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::task::outcome::{Flaw, ShownDraw};

/// Kind of fault.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A single draw shows it.
    Flaw(Flaw),
    /// Two tasks are told alike and begin alike, and what solves one does not solve the other.
    Ambiguous,
    /// The text names a row by what other rows have too.
    Namesake,
    /// The text tells a value that the goal does not depend on.
    Ignored,
    /// A value that a parameter can take is in no task.
    NeverSurvives,
    /// A value that a parameter can take is never drawn.
    NeverDrawn,
    /// Too many draws are thrown away.
    ThrownAway,
    /// An answer follows from what no call of the solution has shown.
    Unseen,
    /// A value that follows from the data is another one when the task begins.
    Stale,
    /// The solution writes in every task what nothing tells.
    Untold,
    /// A value that the text tells is exchanged for another one.
    Contradicted,
    /// Two templates tell the same of the same beginning, and what solves one does not solve the other.
    SameText,
    /// A task is called impossible, and no call is refused as its answer says.
    Unfounded,
    /// A condition of `require` throws draws away whose goal the solution misses.
    RequireHides,
}

impl Kind {
    /// A word for it.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Flaw(flaw) => flaw.word(),
            Self::Ambiguous => "ambiguous",
            Self::Namesake => "namesake",
            Self::Ignored => "ignored",
            Self::NeverSurvives => "never_survives",
            Self::NeverDrawn => "never_drawn",
            Self::ThrownAway => "thrown_away",
            Self::Unseen => "unseen",
            Self::Stale => "stale",
            Self::Untold => "untold",
            Self::Contradicted => "contradicted",
            Self::SameText => "same_text",
            Self::Unfounded => "unfounded",
            Self::RequireHides => "require_hides",
        }
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// A fault that draws have shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Kind of fault.
    pub kind: Kind,
    /// The template.
    pub template: Arc<str>,
    /// The parameter that it is about.
    pub parameter: Option<Arc<str>>,
    /// Message.
    pub message: String,
    /// Draws that show it.
    pub draws: u64,
    /// The first of them; none where it is that there is none.
    pub shown: Option<ShownDraw>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.draws > 1 {
            write!(f, ", in {} draws", self.draws)?;
        }
        match &self.shown {
            Some(shown) => write!(f, " ({shown})"),
            None => Ok(()),
        }
    }
}
