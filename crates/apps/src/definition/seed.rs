//! `seed`: how initial rows are made.

use super::{Bindings, Entries, Name, bindings};
use crate::syntax::read::At;
use crate::syntax::source::Source;

/// The whole section.
#[derive(Debug, Clone)]
pub struct SeedDefinition {
    /// Number of different initial databases.
    pub variants: u32,
    /// By table, in the order in which they are filled.
    pub tables: Entries<TableSeed>,
}

/// Recipe of a table's rows.
#[derive(Debug, Clone)]
pub struct TableSeed {
    /// Number of rows, and their source.
    pub count: Count,
    /// Expressions by column.
    pub columns: Bindings,
}

/// Number of rows, and their source.
#[derive(Debug, Clone)]
pub enum Count {
    /// The row of a single table.
    Single,
    /// So many.
    Number(Source),
    /// One for each, with columns of its own.
    Rows(Vec<Bindings>),
    /// One per element of a list, under a name.
    Each {
        /// Variable of the element.
        variable: Name,
        /// The list.
        of: Source,
    },
    /// So many for each row of another table.
    Per {
        /// That table.
        table: Name,
        /// Number of rows for each.
        number: Source,
    },
}

/// Different initial databases where a definition does not say.
const VARIANTS: i64 = 8;
/// Most different initial databases: each is kept in memory once it was asked for.
const VARIANTS_MAX: i64 = 32;

impl SeedDefinition {
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        let mut variants = Some(VARIANTS);
        let mut tables = Vec::new();
        let mut sound = true;
        for (key, at) in at.entries()? {
            if &*key.text == "variants" {
                variants = at.int_in(1..=VARIANTS_MAX);
                continue;
            }
            match TableSeed::read(&at) {
                Some(seed) => tables.push((Name::of_key(key, &at), seed)),
                None => sound = false,
            }
        }
        let variants = variants.and_then(|variants| u32::try_from(variants).ok())?;
        sound.then_some(Self { variants, tables })
    }

    pub(super) const fn none() -> Self {
        Self { variants: 1, tables: Vec::new() }
    }
}

impl TableSeed {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut columns = Vec::new();
        let (mut number, mut rows, mut each, mut per) = (None, None, None, None);
        let mut sound = true;
        for (key, at) in at.entries()? {
            match &*key.text {
                "n" => number = at.source(),
                "rows" => rows = at.list(bindings),
                "each" => each = one_binding(&at),
                "per" => per = Name::read(&at),
                _ => {
                    match at.source() {
                        Some(source) => columns.push((Name::of_key(key, &at), source)),
                        None => sound = false,
                    }
                    continue;
                }
            }
            sound &= match &*key.text {
                "n" => number.is_some(),
                "rows" => rows.is_some(),
                "each" => each.is_some(),
                _ => per.is_some(),
            };
        }
        if !sound {
            return None;
        }
        let count = match (number, rows, each, per) {
            (None, None, None, None) => Count::Single,
            (Some(number), None, None, None) => Count::Number(number),
            (None, Some(rows), None, None) => Count::Rows(rows),
            (None, None, Some((variable, of)), None) => Count::Each { variable, of },
            (Some(number), None, None, Some(table)) => Count::Per { table, number },
            _ => return at.expected("one of `n`, `rows`, `each`, or `per` with `n`"),
        };
        Some(Self { count, columns })
    }
}

/// `{x: list}`.
fn one_binding(at: &At<'_>) -> Option<(Name, Source)> {
    let mut found = bindings(at)?;
    match (found.pop(), found.is_empty()) {
        (Some(binding), true) => Some(binding),
        _ => at.expected("one name with its list, such as {x: find(tool)}"),
    }
}
