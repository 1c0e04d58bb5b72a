//! The weeks of a month with the rows of each day.

use std::sync::Arc;

use serde::Serialize;

use super::cell::date;
use crate::calendar::show_date;
use crate::run::World;

/// Weeks that are shown.
const WEEKS: i64 = 5;

/// Seven days.
#[derive(Debug, Serialize)]
pub(super) struct Week<R> {
    days: Vec<Day<R>>,
}

#[derive(Debug, Serialize)]
struct Day<R> {
    iso: String,
    label: String,
    number: String,
    today: bool,
    rows: Vec<Arc<R>>,
}

/// Weeks from that of the first row, or from this one where there is no row. `day_of` is the day of a row.
pub(super) fn weeks<R>(world: &World, rows: &[Arc<R>], day_of: &dyn Fn(&R) -> Option<String>) -> Vec<Week<R>> {
    let app = world.app();
    let today = app.calendar.date(world.now());
    let first = rows.iter().filter_map(|row| day_of(row)).min();
    let first = first.and_then(|iso| crate::calendar::parse_date(&iso)).unwrap_or(today);
    // Day 0 was a Thursday; weeks begin on Monday.
    let monday = first - (first + 3).rem_euclid(7);
    let day = |day: i64| {
        let iso = show_date(day);
        Day {
            label: date(&iso),
            number: iso.rsplit('-').next().unwrap_or_default().trim_start_matches('0').to_owned(),
            today: day == today,
            rows: rows.iter().filter(|row| day_of(row).as_deref() == Some(&*iso)).cloned().collect(),
            iso,
        }
    };
    (0..WEEKS).map(|week| Week { days: (0..7).map(|offset| day(monday + week * 7 + offset)).collect() }).collect()
}
