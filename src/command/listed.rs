//! Lists: a table or JSON of one page, and a word where that is not all.

use std::io::Write;

use palestra_protocol::list::Page;
use serde::Serialize;

use super::failure::Failure;
use super::jobs::write_json;
use crate::table::Table;
use crate::terminal::errors;

/// Writes the rows of a page. That others are left out, or that there are none, stands on standard error.
pub(super) fn write_page<T: Serialize>(
    page: &Page<T>,
    table: impl Fn(&[T]) -> Table,
    json: bool,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if json {
        write_json(output, &page.data)?;
    } else {
        writeln!(output, "{}", table(&page.data))?;
    }
    let note = match (page.data.len(), page.next_cursor.is_some()) {
        (0, _) => "nothing is there, or nothing fits the filters".to_owned(),
        (shown, true) => {
            format!("the first {shown} are shown: --limit shows more, filters choose, and the HTTP API has all pages")
        }
        (_, false) => return Ok(()),
    };
    // Nothing is left to tell when standard error is closed.
    let _ = writeln!(errors(), "{note}");
    Ok(())
}
