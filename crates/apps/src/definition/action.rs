//! `actions` and `macros`: what can be done.

use std::sync::Arc;

use super::kind::{KindDefinition, spelled};
use super::table::DefaultDefinition;
use super::{Bindings, Entries, Name, bindings, duration, listed, maybe};
use crate::syntax::read::{At, Fields};
use crate::syntax::source::Source;

/// An action.
#[derive(Debug, Clone)]
pub struct ActionDefinition {
    /// Description for the tool.
    pub about: Option<Arc<str>>,
    /// Roles that may call it; the agent where left out.
    pub who: Vec<Name>,
    /// Parameters.
    pub params: Entries<ParameterDefinition>,
    /// Names for expressions.
    pub bindings: Bindings,
    /// Guards, in order.
    pub guards: Vec<GuardDefinition>,
    /// Effects, in order.
    pub effects: Vec<EffectDefinition>,
    /// Members of its answer.
    pub returns: Bindings,
    /// True if nothing takes it back.
    pub irreversible: bool,
    /// Seconds by which the clock moves.
    pub cost: Option<i64>,
    /// A registered native function that computes `returns.result` from the parameters.
    pub native: Option<Name>,
}

/// A parameter of an action or view.
#[derive(Debug, Clone)]
pub struct ParameterDefinition {
    /// The type with bounds.
    pub kind: KindDefinition,
    /// The value where none is given.
    pub default: Option<DefaultDefinition>,
}

/// A condition, and the error where it is false.
#[derive(Debug, Clone)]
pub struct GuardDefinition {
    /// Condition.
    pub check: Source,
    /// The error.
    pub otherwise: Name,
}

/// Effects under a name.
#[derive(Debug, Clone)]
pub struct MacroDefinition {
    /// Parameters.
    pub params: Entries<KindDefinition>,
    /// Effects.
    pub effects: Vec<EffectDefinition>,
}

/// Rows that an effect acts on.
#[derive(Debug, Clone)]
pub enum Target {
    /// One row.
    Row(Source),
    /// Rows of a table that meet a condition.
    Where {
        /// The table.
        table: Name,
        /// Variable of the row.
        variable: Name,
        /// The condition; all rows where left out.
        condition: Option<Source>,
    },
}

/// One statement.
#[derive(Debug, Clone)]
pub struct EffectDefinition {
    /// Its position.
    pub name: Name,
    /// Effect.
    pub effect: EffectKind,
}

/// Kind of statement.
#[derive(Debug, Clone)]
pub enum EffectKind {
    /// Adds a row.
    Insert {
        /// The table.
        into: Name,
        /// Variable of the row afterwards.
        variable: Option<Name>,
        /// Values by column.
        set: Bindings,
    },
    /// Changes rows.
    Update {
        /// The rows.
        target: Target,
        /// Values by column.
        set: Bindings,
    },
    /// Removes rows.
    Delete {
        /// The rows.
        target: Target,
    },
    /// Does something for each element of a list.
    Each {
        /// Variable of the element.
        variable: Name,
        /// The list.
        of: Source,
        /// Body.
        body: Vec<EffectDefinition>,
    },
    /// Does one thing or the other.
    If {
        /// The condition.
        condition: Source,
        /// Body if it holds.
        then: Vec<EffectDefinition>,
        /// Body if it does not.
        otherwise: Vec<EffectDefinition>,
    },
    /// Names a value.
    Let(Bindings),
    /// Runs an action of the system later.
    At {
        /// The time.
        time: Source,
        /// The scheduled action.
        run: Name,
        /// Its arguments.
        args: Bindings,
        /// Key by which it can be cancelled.
        key: Option<Source>,
    },
    /// Forgets what was to run later under a key.
    Cancel {
        /// The key.
        key: Source,
    },
    /// Raises an error.
    Fail(Name),
    /// Does what a macro says.
    Call {
        /// The macro.
        name: Name,
        /// Its arguments.
        args: Bindings,
    },
}

/// A week: no single action takes longer.
const COST_MAX: i64 = 7 * 86_400;

/// Names that mean something in expressions everywhere.
pub(super) const RESERVED: [&str; 8] = ["now", "init", "old", "true", "false", "null", "in", "has"];

impl ActionDefinition {
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let about = maybe(fields.optional("about"), |at| at.text_within(1_000));
        let who = maybe(fields.optional("who"), |at| at.list(Name::read));
        let params = listed(fields.optional("params"), parameters);
        let let_ = listed(fields.optional("let"), bindings);
        let guards = listed(fields.optional("guards"), |at| at.list(GuardDefinition::read));
        let effects = listed(fields.optional("effects"), effects);
        let returns = listed(fields.optional("returns"), bindings);
        let irreversible = maybe(fields.optional("irreversible"), At::bool);
        let cost = maybe(fields.optional("cost"), |at| duration(at, COST_MAX));
        let native = maybe(fields.optional("native"), Name::read);
        fields.finish();
        Some(Self {
            about: about?,
            who: who?.unwrap_or_default(),
            params: params?,
            bindings: let_?,
            guards: guards?,
            effects: effects?,
            returns: returns?,
            irreversible: irreversible?.unwrap_or(false),
            cost: cost?,
            native: native?,
        })
    }
}

/// Reads `params`.
pub(super) fn parameters(at: &At<'_>) -> Option<Entries<ParameterDefinition>> {
    at.named(&RESERVED, |key, at| Some((Name::of_key(key, at), ParameterDefinition::read(at)?)))
}

impl ParameterDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let spelled = spelled(at)?;
        if let Some(flag) = spelled.flags.first() {
            at.fault(format!("`{flag}` has no meaning for a parameter"));
            return None;
        }
        Some(Self { kind: spelled.kind, default: DefaultDefinition::read(spelled.default, at) })
    }
}

impl GuardDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let check = fields.required("check").and_then(|at| at.source());
        let otherwise = fields.required("else").and_then(|at| Name::read(&at));
        fields.finish();
        Some(Self { check: check?, otherwise: otherwise? })
    }
}

impl MacroDefinition {
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let params = listed(fields.optional("params"), |at| {
            at.named(&RESERVED, |key, at| Some((Name::of_key(key, at), KindDefinition::read(at)?)))
        });
        let effects = fields.required("effects").and_then(|at| effects(&at));
        fields.finish();
        Some(Self { params: params?, effects: effects? })
    }
}

/// Reads a list of statements.
pub(super) fn effects(at: &At<'_>) -> Option<Vec<EffectDefinition>> {
    at.list(|at| Some(EffectDefinition { name: Name::at("".into(), at), effect: effect(at)? }))
}

const EFFECTS: [&str; 10] = ["insert", "update", "delete", "each", "if", "let", "at", "cancel", "fail", "call"];

fn effect(at: &At<'_>) -> Option<EffectKind> {
    let mut fields = at.fields()?;
    let Some((word, inner)) = EFFECTS.iter().find_map(|word| Some((*word, fields.optional(word)?))) else {
        return at.expected(&format!("one of {}", EFFECTS.join(", ")));
    };
    let kind = match word {
        "insert" => insert(&inner),
        "update" => update(&inner),
        "delete" => delete(&inner),
        "each" => {
            let body = fields.required("do").and_then(|at| effects(&at));
            let (variable, of) = each(&inner)?;
            body.map(|body| EffectKind::Each { variable, of, body })
        }
        "if" => {
            let then = fields.required("then").and_then(|at| effects(&at));
            let otherwise = listed(fields.optional("else"), effects);
            let condition = inner.source();
            Some(EffectKind::If { condition: condition?, then: then?, otherwise: otherwise? })
        }
        "let" => bindings(&inner).map(EffectKind::Let),
        "at" => later(&inner),
        "cancel" => cancel(&inner),
        "fail" => Name::read(&inner).map(EffectKind::Fail),
        _ => call(&inner),
    };
    fields.finish();
    kind
}

fn insert(at: &At<'_>) -> Option<EffectKind> {
    let mut fields = at.fields()?;
    let into = fields.required("into").and_then(|at| Name::read(&at));
    let variable = maybe(fields.optional("as"), variable);
    let set = listed(fields.optional("set"), bindings);
    fields.finish();
    Some(EffectKind::Insert { into: into?, variable: variable?, set: set? })
}

fn update(at: &At<'_>) -> Option<EffectKind> {
    let mut fields = at.fields()?;
    let target = target(&mut fields);
    let set = fields.required("set").and_then(|at| bindings(&at));
    fields.finish();
    Some(EffectKind::Update { target: target?, set: set? })
}

fn delete(at: &At<'_>) -> Option<EffectKind> {
    let mut fields = at.fields()?;
    let target = target(&mut fields);
    fields.finish();
    Some(EffectKind::Delete { target: target? })
}

fn target(fields: &mut Fields<'_>) -> Option<Target> {
    let row = maybe(fields.optional("row"), At::source);
    let table = maybe(fields.optional("in"), Name::read);
    let name = maybe(fields.optional("as"), variable);
    let condition = maybe(fields.optional("where"), At::source);
    match (row?, table?, name?, condition?) {
        (Some(row), None, None, None) => Some(Target::Row(row)),
        (None, Some(table), Some(variable), condition) => Some(Target::Where { table, variable, condition }),
        _ => fields.at().expected("either `row`, or `in` and `as` with `where`"),
    }
}

/// `{var: x, of: list}`.
pub(super) fn each(at: &At<'_>) -> Option<(Name, Source)> {
    let mut fields = at.fields()?;
    let name = fields.required("var").and_then(|at| variable(&at));
    let of = fields.required("of").and_then(|at| at.source());
    fields.finish();
    Some((name?, of?))
}

fn later(at: &At<'_>) -> Option<EffectKind> {
    let mut fields = at.fields()?;
    let time = fields.required("time").and_then(|at| at.source());
    let run = fields.required("run").and_then(|at| Name::read(&at));
    let args = listed(fields.optional("args"), bindings);
    let key = maybe(fields.optional("key"), At::source);
    fields.finish();
    Some(EffectKind::At { time: time?, run: run?, args: args?, key: key? })
}

fn cancel(at: &At<'_>) -> Option<EffectKind> {
    let mut fields = at.fields()?;
    let key = fields.required("key").and_then(|at| at.source());
    fields.finish();
    Some(EffectKind::Cancel { key: key? })
}

fn call(at: &At<'_>) -> Option<EffectKind> {
    let mut fields = at.fields()?;
    let name = fields.required("macro").and_then(|at| Name::read(&at));
    let args = listed(fields.optional("args"), bindings);
    fields.finish();
    Some(EffectKind::Call { name: name?, args: args? })
}

/// A name that is given to a value.
pub(super) fn variable(at: &At<'_>) -> Option<Name> {
    Some(Name::at(at.identifier(&RESERVED)?, at))
}
