//! `goal` of a task: what changes, and what is answered.

use super::action::each;
use super::{Bindings, Entries, Name, bindings, listed, maybe};
use crate::syntax::read::{At, Fields};
use crate::syntax::source::Source;

/// Goal of a task.
#[derive(Debug, Clone)]
pub struct GoalDefinition {
    /// The whole difference between beginning and end.
    pub changes: Vec<ChangeDefinition>,
    /// True if everything beside the other conditions may change: `changes: any`.
    pub open: bool,
    /// Changes that are allowed.
    pub free: Vec<Source>,
    /// True if changing something and changing it back fails.
    pub strict_history: bool,
    /// Conditions at the end.
    pub also: Vec<Source>,
    /// Required submission.
    pub answer: Option<AnswerDefinition>,
    /// Its position.
    pub name: Name,
}

/// One change.
#[derive(Debug, Clone)]
pub struct ChangeDefinition {
    /// Kind of change.
    pub what: ChangeWhat,
    /// Values by column.
    pub fields: Entries<FieldDefinition>,
    /// For each element of a list, under a name.
    pub each: Option<(Name, Source)>,
    /// Its position.
    pub name: Name,
}

/// Kind of change.
#[derive(Debug, Clone)]
pub enum ChangeWhat {
    /// So many rows of a table come into being.
    Created {
        /// The table.
        table: Name,
        /// Number of rows; one where left out.
        count: Option<Source>,
    },
    /// A row changes.
    Updated(Source),
    /// A row goes.
    Deleted(Source),
}

/// Required value of a column.
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

/// Required submission.
#[derive(Debug, Clone)]
pub struct AnswerDefinition {
    /// Required status.
    pub status: Status,
    /// Code of the error.
    pub code: Option<Name>,
    /// Values of the answer.
    pub slots: Bindings,
}

/// Status with which the agent ends a task.
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
        let changes = fields.required("changes").and_then(|at| Written::read(&at));
        Self::rest(at, fields, changes)
    }

    /// Reads the goal of a fixed task, where `end` may say what changes: a goal that lists nothing leaves everything as it is.
    pub(super) fn read_fixed(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let changes = maybe(fields.optional("changes"), Written::read);
        let end = maybe(fields.optional("end"), |at| at.entries());
        end?;
        Self::rest(at, fields, changes.map(|written| written.unwrap_or(Written::Listed(Vec::new()))))
    }

    fn rest(at: &At<'_>, mut fields: Fields<'_>, changes: Option<Written>) -> Option<Self> {
        let free = listed(fields.optional("free"), |at| at.list(At::source));
        let history = maybe(fields.optional("history"), |at| at.one_of(&["strict", "net"]));
        let also = listed(fields.optional("also"), |at| at.list(At::source));
        let answer = maybe(fields.optional("answer"), AnswerDefinition::read);
        fields.finish();
        let (changes, open) = match changes? {
            Written::Listed(changes) => (changes, false),
            Written::Any => (Vec::new(), true),
        };
        Some(Self {
            changes,
            open,
            free: free?,
            strict_history: history? == Some("strict"),
            also: also?,
            answer: answer?,
            name: Name::at("".into(), at),
        })
    }
}

/// `changes` as it is written.
enum Written {
    Listed(Vec<ChangeDefinition>),
    Any,
}

impl Written {
    fn read(at: &At<'_>) -> Option<Self> {
        match at.node().as_text() {
            Some(_) => at.one_of(&["any"]).map(|_| Self::Any),
            None => at.list(ChangeDefinition::read).map(Self::Listed),
        }
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

/// Advice where a definition gives the obstacle itself.
const ABOUT: &str = "is not written: of an impossible task from a template it is the id of a row that the task draws, and a fixed task draws none; \
    leave it out, or ask for the id as one of `slots`";

impl AnswerDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        // No field: what others see of answers has it, so that it is written here too.
        if let Some((_, about)) = at.entries()?.into_iter().find(|(key, _)| &*key.text == "about") {
            about.fault(ABOUT.to_owned());
            return None;
        }
        let mut fields = at.fields()?;
        let status = fields.required("status").and_then(|at| at.choice(&Status::WORDS));
        let code = maybe(fields.optional("code"), Name::read);
        let slots = listed(fields.optional("slots"), bindings);
        fields.finish();
        Some(Self { status: status?, code: code?, slots: slots? })
    }
}
