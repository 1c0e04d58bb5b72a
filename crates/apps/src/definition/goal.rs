//! `goal` of a task: what changes, and what is answered.

use super::action::each;
use super::{Bindings, Entries, Name, bindings, listed, maybe};
use crate::syntax::read::At;
use crate::syntax::source::Source;

/// What is to be reached.
#[derive(Debug, Clone)]
pub struct GoalDefinition {
    /// The whole difference between beginning and end.
    pub changes: Vec<ChangeDefinition>,
    /// What may change as it likes.
    pub free: Vec<Source>,
    /// Whether changing something and changing it back fails.
    pub strict_history: bool,
    /// What must hold at the end.
    pub also: Vec<Source>,
    /// What must have been submitted.
    pub answer: Option<AnswerDefinition>,
    /// Where it stands.
    pub name: Name,
}

/// One change.
#[derive(Debug, Clone)]
pub struct ChangeDefinition {
    /// What changes.
    pub what: ChangeWhat,
    /// Values by column.
    pub fields: Entries<FieldDefinition>,
    /// For each element of a list, under a name.
    pub each: Option<(Name, Source)>,
    /// Where it stands.
    pub name: Name,
}

/// What changes.
#[derive(Debug, Clone)]
pub enum ChangeWhat {
    /// So many rows of a table come into being.
    Created {
        /// The table.
        table: Name,
        /// How many; one where left out.
        count: Option<Source>,
    },
    /// A row changes.
    Updated(Source),
    /// A row goes.
    Deleted(Source),
}

/// What a column must be.
#[derive(Debug, Clone)]
pub enum FieldDefinition {
    /// Equal to this.
    Equal(Source),
    /// Text that contains this.
    Contains(Source),
    /// Whatever.
    Any,
    /// The condition holds for the value `v`.
    Check(Source),
}

/// What must have been submitted.
#[derive(Debug, Clone)]
pub struct AnswerDefinition {
    /// How it ended.
    pub status: Status,
    /// With which error.
    pub code: Option<Name>,
    /// With which values.
    pub slots: Bindings,
}

/// How a task was ended by the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It is done.
    Ok,
    /// It cannot be done.
    Impossible,
    /// It must not be done.
    Refused,
}

impl Status {
    /// Every status by its word.
    pub const WORDS: [(&'static str, Self); 3] =
        [("ok", Self::Ok), ("impossible", Self::Impossible), ("refused", Self::Refused)];

    /// The word of a definition and of submissions.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, status)| *status == self).map_or("ok", |(word, _)| word)
    }
}

impl GoalDefinition {
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let changes = fields.required("changes").and_then(|at| at.list(ChangeDefinition::read));
        let free = listed(fields.optional("free"), |at| at.list(At::source));
        let history = maybe(fields.optional("history"), |at| at.one_of(&["strict", "net"]));
        let also = listed(fields.optional("also"), |at| at.list(At::source));
        let answer = maybe(fields.optional("answer"), AnswerDefinition::read);
        fields.finish();
        Some(Self {
            changes: changes?,
            free: free?,
            strict_history: history? == Some("strict"),
            also: also?,
            answer: answer?,
            name: Name::at("".into(), at),
        })
    }
}

impl ChangeDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut inner = at.fields()?;
        let created = maybe(inner.optional("created"), Name::read);
        let count = maybe(inner.optional("count"), At::source);
        let updated = maybe(inner.optional("updated"), At::source);
        let deleted = maybe(inner.optional("deleted"), At::source);
        let each = maybe(inner.optional("each"), each);
        let fields = listed(inner.optional("fields"), |at| {
            at.named(&[], |key, at| Some((Name::of_key(key, at), FieldDefinition::read(at)?)))
        });
        inner.finish();
        let what = match (created?, updated?, deleted?, count?) {
            (Some(table), None, None, count) => ChangeWhat::Created { table, count },
            (None, Some(row), None, None) => ChangeWhat::Updated(row),
            (None, None, Some(row), None) => ChangeWhat::Deleted(row),
            _ => return at.expected("one of created (with count), updated, deleted"),
        };
        Some(Self { what, fields: fields?, each: each?, name: Name::at("".into(), at) })
    }
}

impl FieldDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        if at.node().as_map().is_none() {
            return at.source().map(Self::Equal);
        }
        let (word, inner) = at.variant(&["contains", "any", "check"])?;
        match word {
            "contains" => inner.source().map(Self::Contains),
            "check" => inner.source().map(Self::Check),
            _ => match inner.bool()? {
                true => Some(Self::Any),
                false => inner.expected("true"),
            },
        }
    }
}

impl AnswerDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let status = fields.required("status").and_then(|at| at.choice(&Status::WORDS));
        let code = maybe(fields.optional("code"), Name::read);
        let slots = listed(fields.optional("slots"), bindings);
        fields.finish();
        Some(Self { status: status?, code: code?, slots: slots? })
    }
}
