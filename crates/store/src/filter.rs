//! Filters that sessions and episodes share.

use super::cell::{Cell, text};

/// Matches no version.
const NO_VERSION: i64 = -1;

/// The parts of `family/name` or `family/name@version` to compare with. A version that is no number matches nothing.
pub(super) fn environment(wanted: Option<&str>) -> (Option<Cell<'_>>, Option<Cell<'static>>) {
    let Some(wanted) = wanted else { return (None, None) };
    match wanted.split_once('@') {
        None => (Some(text(wanted)), None),
        Some((name, version)) => {
            let version = version.parse::<u32>().map_or(NO_VERSION, i64::from);
            (Some(text(name)), Some(Cell::Integer(Some(version))))
        }
    }
}
