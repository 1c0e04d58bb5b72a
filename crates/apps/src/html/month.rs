//! The weeks of a month with the rows of each day.

use std::sync::Arc;

use serde::Serialize;

use super::cell::date;
use super::model::Row;
use crate::calendar::show_date;
use crate::run::World;

/// Weeks that are shown.
const WEEKS: i64 = 5;

/// Seven days.
#[derive(Debug, Serialize)]
pub(super) struct Week {
    days: Vec<Day>,
}

#[derive(Debug, Serialize)]
struct Day {
    iso: String,
    label: String,
    number: String,
    today: bool,
    rows: Vec<Arc<Row>>,
}

/// Weeks from that of the first row, or from this one where there is no row. `at` is the key of the time.
pub(super) fn weeks(world: &World, rows: &[Arc<Row>], at: &str) -> Vec<Week> {
    let app = world.app();
    let today = app.calendar.date(world.now());
    let day_of = |row: &Arc<Row>| row.cell.get(at).and_then(|cell| cell.iso.as_deref()?.get(..10).map(str::to_owned));
    let first = rows.iter().filter_map(&day_of).min().and_then(|iso| crate::calendar::parse_date(&iso)).unwrap_or(today);
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
