//! `tables`: the state.

use std::sync::Arc;

use super::kind::{FLAGS, KindDefinition, spelled};
use super::{Entries, Name, maybe};
use crate::syntax::nearest;
use crate::syntax::read::At;
use crate::syntax::source::Source;

/// A table.
#[derive(Debug, Clone)]
pub struct TableDefinition {
    /// Form of ids; made from the table's name where left out.
    pub id: Option<Source>,
    /// True if it has exactly one row.
    pub single: bool,
    /// True if goals leave it alone.
    pub untracked: bool,
    /// The table whose rows own this one's.
    pub owned_by: Option<Name>,
    /// Its columns.
    pub columns: Entries<ColumnDefinition>,
}

/// A column.
#[derive(Debug, Clone)]
pub struct ColumnDefinition {
    /// The type.
    pub kind: KindDefinition,
    /// Two rows never share a value.
    pub unique: bool,
    /// An index is asked for.
    pub index: bool,
    /// Goals do not compare it.
    pub volatile: bool,
    /// No view shows it.
    pub secret: bool,
    /// Action on the deletion of the referenced row.
    pub on_delete: Option<OnDelete>,
    /// The value where none is given.
    pub default: Option<DefaultDefinition>,
}

/// Action on a row when one that it refers to is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDelete {
    /// The deletion is refused.
    Restrict,
    /// It is deleted too.
    Cascade,
    /// Its reference becomes null.
    Null,
}

/// A default as it is written behind `=`.
#[derive(Debug, Clone)]
pub struct DefaultDefinition {
    /// The text: a word, a number, or a text in quotes.
    pub text: Arc<str>,
    /// The position.
    pub source: Source,
}

impl TableDefinition {
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let id = maybe(fields.optional("id"), At::source);
        let single = maybe(fields.optional("single"), At::bool);
        let untracked = maybe(fields.optional("untracked"), At::bool);
        let owned_by = maybe(fields.optional("owned_by"), Name::read);
        let columns = fields
            .required("cols")
            .and_then(|at| at.named(&["id"], |key, at| Some((Name::of_key(key, at), ColumnDefinition::read(at)?))));
        fields.finish();
        Some(Self {
            id: id?,
            single: single?.unwrap_or(false),
            untracked: untracked?.unwrap_or(false),
            owned_by: owned_by?,
            columns: columns?,
        })
    }
}

impl ColumnDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let spelled = spelled(at)?;
        let mut column = Self {
            kind: spelled.kind,
            unique: false,
            index: false,
            volatile: false,
            secret: false,
            on_delete: None,
            default: None,
        };
        for flag in &spelled.flags {
            match &**flag {
                "unique" => column.unique = true,
                "index" => column.index = true,
                "volatile" => column.volatile = true,
                "secret" => column.secret = true,
                "restrict" => column.on_delete = Some(OnDelete::Restrict),
                "cascade" => column.on_delete = Some(OnDelete::Cascade),
                "null" => column.on_delete = Some(OnDelete::Null),
                other => {
                    let near = nearest(other, FLAGS.iter().copied());
                    let hint = near.map_or_else(|| FLAGS.join(", "), |near| format!("did you mean `{near}`?"));
                    at.fault(format!("`{other}` is no flag of a column; {hint}"));
                    return None;
                }
            }
        }
        if column.kind.bounds.is_some() {
            at.fault("a column has no bounds: guard the actions that write it, or add an invariant");
            return None;
        }
        column.default = DefaultDefinition::read(spelled.default, at);
        Some(column)
    }
}

impl DefaultDefinition {
    /// The default that was split off a type.
    pub(super) fn read(text: Option<Arc<str>>, at: &At<'_>) -> Option<Self> {
        Some(Self { text: text?, source: at.source()? })
    }
}
