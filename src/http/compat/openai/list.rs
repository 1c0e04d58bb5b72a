//! Lists as clients of OpenAI read them: `after` names the last row of the page before.

use palestra_protocol::file::ListObject;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::problem::Failure;

/// Rows of a page where no limit is named.
const ROWS_DEFAULT: u32 = 20;
/// Most rows of a page.
const ROWS_MAX: u32 = 1_000;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(in crate::http) struct Rows<T> {
    /// The kind of this object.
    object: ListObject,
    /// The rows of this page.
    data: Vec<T>,
    /// True if more come behind the last one.
    has_more: bool,
}

impl<T> Rows<T> {
    /// The page that rows make of which one more was asked for than is wanted.
    pub(super) fn of(rows: Vec<T>, limit: u32) -> Self {
        let (data, has_more) = cut(rows, limit);
        Self::from_parts(data, has_more)
    }

    /// A page of these rows.
    pub(super) const fn from_parts(data: Vec<T>, has_more: bool) -> Self {
        Self { object: ListObject::List, data, has_more }
    }

    /// The rows, and whether more come behind.
    pub(super) fn into_parts(self) -> (Vec<T>, bool) {
        (self.data, self.has_more)
    }
}

/// As many rows as are wanted, and whether there were more.
pub(super) fn cut<T>(mut rows: Vec<T>, limit: u32) -> (Vec<T>, bool) {
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    (rows, more)
}

/// Number of rows that are wanted.
pub(super) fn limit(asked: Option<u32>) -> Result<u32, Failure> {
    let limit = asked.unwrap_or(ROWS_DEFAULT);
    if (1..=ROWS_MAX).contains(&limit) {
        Ok(limit)
    } else {
        Err(Failure::invalid("limit", format!("must be 1 to {ROWS_MAX}")))
    }
}

/// Rows that are there as a whole, behind the one that `after` names.
pub(super) fn behind<T>(rows: Vec<T>, after: Option<&str>, id: impl Fn(&T) -> &str) -> Result<Vec<T>, Failure> {
    let Some(after) = after else { return Ok(rows) };
    let place = rows.iter().position(|row| id(row) == after);
    let place = place.ok_or_else(|| Failure::invalid("after", "not an id of this list: pass one that it answered"))?;
    Ok(rows.into_iter().skip(place + 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_whether_more_come() {
        assert_eq!(cut(vec![1, 2, 3], 2), (vec![1, 2], true));
        assert_eq!(cut(vec![1, 2], 2), (vec![1, 2], false));
        assert!(limit(Some(0)).is_err() && limit(Some(ROWS_MAX + 1)).is_err());
        assert_eq!(limit(None).unwrap(), ROWS_DEFAULT);
        let rows = || vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(behind(rows(), Some("a"), String::as_str).unwrap(), ["b"]);
        assert_eq!(behind(rows(), None, String::as_str).unwrap(), rows());
        assert!(behind(rows(), Some("c"), String::as_str).is_err());
    }
}
