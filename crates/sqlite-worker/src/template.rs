//! Templates: databases that sessions are clones of, made of a script or of a file.

use std::sync::Arc;

use crate::guard::Asking;
use crate::limits::Meter;
use crate::pages::{Ledger, Table};
use crate::session::{Session, Settings};
use crate::wire::{Content, Limits, SqlError};

/// First bytes of a database file.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where a database file says that it wants a write-ahead log, and what it says if it does not.
const JOURNAL: (std::ops::Range<usize>, u8) = (18..20, 1);

/// Makes the pages of a template.
///
/// # Errors
/// In words: SQLite's, with the number of the statement, when the content is broken.
pub fn make(content: &Content, limits: Limits) -> Result<Table, String> {
    let settings = Settings { asking: Asking::Template, limits, seed: 0, size_max: limits.growth_max };
    match content {
        Content::Script(sql) => {
            let mut session = Session::open(&Table::default(), settings, Arc::new(Meter::default()))?;
            session.run_script(sql).map_err(|error| in_words(&error))?;
            Ok(session.table())
        }
        Content::File(bytes) => of_file(bytes, settings),
    }
}

fn of_file(bytes: &[u8], settings: Settings) -> Result<Table, String> {
    if bytes.is_empty() {
        return Ok(Table::default());
    }
    if !bytes.starts_with(MAGIC) || bytes.len() < 100 {
        return Err("this is no database file of SQLite".to_owned());
    }
    let mut bytes = bytes.to_vec();
    bytes[JOURNAL.0].fill(JOURNAL.1);
    let table = Table::of(&bytes, &Arc::<Ledger>::default());
    let settings = Settings { size_max: settings.size_max.max(table.len()), ..settings };
    let mut session = Session::open(&table, settings, Arc::new(Meter::default()))?;
    session.check_file()?;
    Ok(table)
}

/// An error of a script, for whoever wrote it.
fn in_words(error: &SqlError) -> String {
    let place = error.offset.map(|offset| format!(", byte {offset}")).unwrap_or_default();
    format!("statement {}{place}: {} ({})", error.statement + 1, error.message, error.code)
}
