//! `params` of a task: how they are drawn.

use std::sync::Arc;

use super::kind::KindDefinition;
use super::{Name, listed, maybe};
use crate::syntax::read::{At, Fields};
use crate::syntax::source::Source;

/// Draw of a parameter.
#[derive(Debug, Clone)]
pub struct DrawDefinition {
    /// Its source.
    pub draw: Draw,
    /// A value that is not wanted.
    pub not: Option<Source>,
    /// Columns that must single the row out.
    pub refer: Vec<Name>,
    /// Its position.
    pub name: Name,
}

/// Source of a parameter's values.
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
        /// Sort key; the element is called `x`.
        by: Source,
        /// True if the greatest is meant.
        descending: bool,
        /// Distance to the next one.
        gap: Option<Source>,
    },
    /// A value that follows.
    Let(Source),
    /// Made-up text.
    Word(Source),
}

const DRAWS: [&str; 8] = ["choice", "int", "money", "date", "pick", "first", "let", "word"];

impl DrawDefinition {
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
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
