//! Pages of lists: `limit` and `cursor` in, rows and `next_cursor` out.

use std::fmt::Display;
use std::str::FromStr;

use palestra_protocol::list::Page;
use palestra_protocol::problem::Code;

use super::problem::Failure;
use palestra_store::row::PageRequest;

/// Rows of a page where no limit is named.
const ROWS_DEFAULT: u32 = 100;
/// Most rows of a page.
pub(super) const ROWS_MAX: u32 = 1_000;

/// The request to the store: one row more than wanted tells whether there is a next page.
pub(super) fn request<Id: FromStr>(limit: Option<u32>, cursor: Option<String>) -> Result<PageRequest, Failure> {
    let limit = limit.unwrap_or(ROWS_DEFAULT);
    if !(1..=ROWS_MAX).contains(&limit) {
        return Err(Failure::new(Code::Malformed, format!("limit must be 1 to {ROWS_MAX}")));
    }
    if cursor.as_deref().is_some_and(|cursor| cursor.parse::<Id>().is_err()) {
        return Err(unknown_cursor());
    }
    Ok(PageRequest { before: cursor, limit: limit + 1 })
}

/// The answer to a cursor that no list gave.
pub(super) fn unknown_cursor() -> Failure {
    Failure::new(Code::Malformed, "unknown cursor: pass `next_cursor` of a previous page")
}

/// The page that rows make, which were asked for by [`request`].
pub(super) fn page<T, Id: Display>(mut rows: Vec<T>, asked: &PageRequest, id: impl Fn(&T) -> Id) -> Page<T> {
    let wanted = (asked.limit - 1) as usize;
    let more = rows.len() > wanted;
    rows.truncate(wanted);
    let next_cursor = rows.last().filter(|_| more).map(|row| id(row).to_string());
    Page { data: rows, next_cursor }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::id::RunId;

    use super::*;

    #[test]
    fn the_last_page_has_no_cursor() {
        let asked = request::<RunId>(Some(2), None).unwrap();
        assert_eq!(page(vec![5, 4, 3], &asked, |row| *row).next_cursor.as_deref(), Some("4"));
        assert_eq!(page(vec![5, 4], &asked, |row| *row).next_cursor, None);
        assert_eq!(page(Vec::<u32>::new(), &asked, |row| *row).next_cursor, None);
    }

    #[test]
    fn limits_and_cursors_are_checked() {
        assert!(request::<RunId>(Some(0), None).is_err());
        assert!(request::<RunId>(Some(ROWS_MAX + 1), None).is_err());
        assert!(request::<RunId>(None, Some("run_1".to_owned())).is_err());
        assert!(request::<RunId>(None, Some(RunId::new().to_string())).is_ok());
    }
}
