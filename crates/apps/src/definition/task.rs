//! `tasks`: task templates.

use std::sync::Arc;

use super::action::{EffectDefinition, RESERVED, each, effects, variable};
use super::kind::KindDefinition;
use super::{Bindings, Entries, EventDefinition, Name, bindings, listed, maybe};
use crate::syntax::read::{At, Fields};
use crate::syntax::source::Source;

/// A task template.
#[derive(Debug, Clone)]
pub struct TaskDefinition {
    /// Whether an obstacle makes it impossible.
    pub infeasible: bool,
    /// The template that it is a twin of.
    pub twin_of: Option<Name>,
    /// What is drawn, in order.
    pub params: Entries<DrawDefinition>,
    /// Effects before the episode begins.
    pub setup: Vec<EffectDefinition>,
    /// Effects that add near misses.
    pub plant: Vec<EffectDefinition>,
    /// What must hold at the beginning.
    pub require: Vec<Source>,
    /// Templates of the instruction.
    pub text: Vec<Source>,
    /// What is to be reached.
    pub goal: GoalDefinition,
    /// Parts of the way.
    pub milestones: Vec<MilestoneDefinition>,
    /// What must never happen.
    pub minefields: Vec<MinefieldDefinition>,
    /// Events of this task alone.
    pub world: Vec<EventDefinition>,
    /// How it is done; where it is left out, the shortest way that is found.
    pub solution: Option<Vec<StepDefinition>>,
}

/// How a parameter is drawn.
#[derive(Debug, Clone)]
pub struct DrawDefinition {
    /// From what.
    pub draw: Draw,
    /// A value that is not wanted.
    pub not: Option<Source>,
    /// Columns that must single the row out.
    pub refer: Vec<Name>,
    /// Where it stands.
    pub name: Name,
}

/// From what a parameter is drawn.
#[derive(Debug, Clone)]
pub enum Draw {
    /// One of some literals; `kind` where it is not told by them.
    Choice {
        /// The literals as they are written.
        values: Vec<Source>,
        /// Their type.
        kind: Option<KindDefinition>,
    },
    /// A whole number.
    Int {
        /// Least.
        low: i64,
        /// Most.
        high: i64,
        /// Between two.
        step: i64,
    },
    /// An amount.
    Money {
        /// Least, as written.
        low: Arc<str>,
        /// Most, as written.
        high: Arc<str>,
        /// Between two, as written.
        step: Option<Arc<str>>,
        /// Code of three letters.
        currency: Arc<str>,
    },
    /// A day between two, both included.
    Date(Source, Source),
    /// An element of a list.
    Pick(Source),
    /// The element of a list that is least or greatest.
    First {
        /// The list.
        of: Source,
        /// By what; the element is called `x`.
        by: Source,
        /// Whether the greatest is meant.
        descending: bool,
        /// How far the next one must be.
        gap: Option<Source>,
    },
    /// A value that follows.
    Let(Source),
    /// Made-up text.
    Word(Source),
}

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

/// A part of the way.
#[derive(Debug, Clone)]
pub struct MilestoneDefinition {
    /// Its name.
    pub name: Name,
    /// When it is reached, after a call.
    pub when: Source,
    /// Its share.
    pub weight: u32,
    /// What must be reached before.
    pub after: Vec<Name>,
}

/// What must never happen.
#[derive(Debug, Clone)]
pub struct MinefieldDefinition {
    /// Its name.
    pub name: Name,
    /// When it has happened, after a call.
    pub when: Source,
}

/// A step of a solution.
#[derive(Debug, Clone)]
pub struct StepDefinition {
    /// Where it stands.
    pub name: Name,
    /// What is done.
    pub step: StepKind,
}

/// What is done in a step.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// Calls an action or a view.
    Do {
        /// Which.
        call: Name,
        /// With which arguments.
        args: Bindings,
        /// What its answer is called.
        variable: Option<Name>,
    },
    /// Lets time pass, in seconds.
    Wait(Source),
    /// Ends the task.
    Submit {
        /// How.
        status: Status,
        /// With which error.
        code: Option<Source>,
        /// With which values.
        answers: Bindings,
    },
    /// Does something for each element of a list.
    Each {
        /// What the element is called.
        variable: Name,
        /// The list.
        of: Source,
        /// What is done.
        body: Vec<StepDefinition>,
    },
    /// Does one thing or the other.
    If {
        /// The condition.
        condition: Source,
        /// Where it holds.
        then: Vec<StepDefinition>,
        /// Where it does not.
        otherwise: Vec<StepDefinition>,
    },
}

/// Share of a milestone that names none.
const WEIGHT: u32 = 1;

impl TaskDefinition {
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let infeasible = maybe(fields.optional("infeasible"), At::bool);
        let twin_of = maybe(fields.optional("twin_of"), Name::read);
        let params = listed(fields.optional("params"), |at| {
            at.named(&RESERVED, |key, at| Some((Name::of_key(key, at), DrawDefinition::read(at)?)))
        });
        let setup = listed(fields.optional("setup"), effects);
        let plant = listed(fields.optional("plant"), effects);
        let require = listed(fields.optional("require"), |at| at.list(At::source));
        let text = fields.required("text").and_then(|at| at.list(At::source));
        let goal = fields.required("goal").and_then(|at| GoalDefinition::read(&at));
        let milestones = listed(fields.optional("milestones"), |at| at.list(MilestoneDefinition::read));
        let minefields = listed(fields.optional("minefields"), |at| at.list(MinefieldDefinition::read));
        let world = listed(fields.optional("world"), |at| at.list(EventDefinition::read));
        let solution = maybe(fields.optional("solution"), steps);
        fields.finish();
        Some(Self {
            infeasible: infeasible?.unwrap_or(false),
            twin_of: twin_of?,
            params: params?,
            setup: setup?,
            plant: plant?,
            require: require?,
            text: text?,
            goal: goal?,
            milestones: milestones?,
            minefields: minefields?,
            world: world?,
            solution: solution?,
        })
    }
}

const DRAWS: [&str; 8] = ["choice", "int", "money", "date", "pick", "first", "let", "word"];

impl DrawDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let not = maybe(fields.optional("not"), At::source);
        let refer = listed(fields.optional("refer"), |at| at.list(Name::read));
        let Some((word, inner)) = DRAWS.iter().find_map(|word| Some((*word, fields.optional(word)?))) else {
            return at.expected(&format!("one of {}", DRAWS.join(", ")));
        };
        let draw = match word {
            "choice" => {
                let kind = maybe(fields.optional("as"), KindDefinition::read);
                let values = inner.list(At::source);
                if values.as_ref().is_some_and(Vec::is_empty) {
                    inner.fault("a choice has at least one value");
                }
                values.zip(kind).map(|(values, kind)| Draw::Choice { values, kind })
            }
            "int" => whole(&inner, &mut fields),
            "money" => money(&inner, &mut fields),
            "date" => {
                let ends = inner.list(At::source);
                match ends.as_deref() {
                    Some([from, to]) => Some(Draw::Date(from.clone(), to.clone())),
                    Some(_) => inner.expected("two dates, the first and the last"),
                    None => None,
                }
            }
            "pick" => inner.source().map(Draw::Pick),
            "first" => first(&inner, &mut fields),
            "let" => inner.source().map(Draw::Let),
            _ => inner.source().map(Draw::Word),
        };
        fields.finish();
        Some(Self { draw: draw?, not: not?, refer: refer?, name: Name::at("".into(), at) })
    }
}

/// The two ends of `2..7`.
fn range(at: &At<'_>) -> Option<(Arc<str>, Arc<str>)> {
    let text = at.text()?;
    match text.split_once("..") {
        Some((low, high)) if !low.is_empty() && !high.is_empty() => Some((low.trim().into(), high.trim().into())),
        _ => at.expected("a range such as 2..7"),
    }
}

fn whole(at: &At<'_>, fields: &mut Fields<'_>) -> Option<Draw> {
    let step = maybe(fields.optional("step"), |at| at.int_in(1..=1_000_000_000));
    let (low, high) = range(at)?;
    let step = step?.unwrap_or(1);
    match (low.parse::<i64>(), high.parse::<i64>()) {
        (Ok(low), Ok(high)) if low <= high && high.checked_sub(low).is_some() => Some(Draw::Int { low, high, step }),
        _ => at.expected("a range of whole numbers, the lower one first"),
    }
}

fn money(at: &At<'_>, fields: &mut Fields<'_>) -> Option<Draw> {
    let step = maybe(fields.optional("step"), |at| Some(at.source()?.text));
    let currency = fields.required("currency").and_then(|at| at.text_within(3));
    let (low, high) = range(at)?;
    Some(Draw::Money { low, high, step: step?, currency: currency? })
}

fn first(at: &At<'_>, fields: &mut Fields<'_>) -> Option<Draw> {
    let by = fields.required("by").and_then(|at| at.source());
    let descending = maybe(fields.optional("desc"), At::bool);
    let gap = maybe(fields.optional("gap"), At::source);
    let of = at.source();
    Some(Draw::First { of: of?, by: by?, descending: descending?.unwrap_or(false), gap: gap? })
}

impl GoalDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
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

impl MilestoneDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let name = fields.required("name").and_then(|at| variable(&at));
        let when = fields.required("when").and_then(|at| at.source());
        let weight = maybe(fields.optional("weight"), |at| at.int_in(1..=100));
        let after = listed(fields.optional("after"), |at| at.list(Name::read));
        fields.finish();
        let weight = weight?.map_or(Some(WEIGHT), |weight| u32::try_from(weight).ok());
        Some(Self { name: name?, when: when?, weight: weight?, after: after? })
    }
}

impl MinefieldDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let name = fields.required("name").and_then(|at| variable(&at));
        let when = fields.required("when").and_then(|at| at.source());
        fields.finish();
        Some(Self { name: name?, when: when? })
    }
}

fn steps(at: &At<'_>) -> Option<Vec<StepDefinition>> {
    at.list(|at| Some(StepDefinition { name: Name::at("".into(), at), step: step(at)? }))
}

const STEPS: [&str; 5] = ["wait", "submit", "each", "if", "do"];

fn step(at: &At<'_>) -> Option<StepKind> {
    let mut fields = at.fields()?;
    // `do` comes last: beside `each` it holds the steps.
    let Some((word, inner)) = STEPS.iter().find_map(|word| Some((*word, fields.optional(word)?))) else {
        return at.expected("one of do, wait, submit, each, if");
    };
    let kind = match word {
        "wait" => inner.source().map(StepKind::Wait),
        "submit" => submit(&inner),
        "each" => {
            let body = fields.required("do").and_then(|at| steps(&at));
            let (variable, of) = each(&inner)?;
            body.map(|body| StepKind::Each { variable, of, body })
        }
        "if" => {
            let then = fields.required("then").and_then(|at| steps(&at));
            let otherwise = listed(fields.optional("else"), steps);
            let condition = inner.source();
            Some(StepKind::If { condition: condition?, then: then?, otherwise: otherwise? })
        }
        _ => {
            let args = listed(fields.optional("args"), bindings);
            let name = maybe(fields.optional("as"), variable);
            let call = Name::read(&inner);
            Some(StepKind::Do { call: call?, args: args?, variable: name? })
        }
    };
    fields.finish();
    kind
}

fn submit(at: &At<'_>) -> Option<StepKind> {
    let mut fields = at.fields()?;
    let status = fields.required("status").and_then(|at| at.choice(&Status::WORDS));
    let code = maybe(fields.optional("code"), At::source);
    let answers = listed(fields.optional("answers"), bindings);
    fields.finish();
    Some(StepKind::Submit { status: status?, code: code?, answers: answers? })
}
