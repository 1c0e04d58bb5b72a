//! The moment at which the sessions of a question begin: the one that its author names, or one at which its relative times decide
//! something. "Orders of the last 30 days" finds nothing in a database that ends years before the usual moment, and then a constant is
//! right.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::test_bed::OpenDatabase;
use super::{Imported, references};
use crate::compare::difference;
use crate::dataset::{Dataset, Sort};
use crate::engine::{Engine, StatementResult};
use crate::task::{Compare, Data, Task};
use crate::value::Value;

/// Moments that are tried for a question at most.
const MOMENTS_MAX: usize = 12;
/// Long before and long after what any database speaks of.
const EXTREMES: [Date; 2] = [Date::constant(1000, 1, 1), Date::constant(3000, 1, 1)];
/// Years that a column of years may hold.
const YEARS: std::ops::RangeInclusive<i64> = 1500..=2200;

/// The moment that a text means, in milliseconds since 1970: a date, or a date and a time, in UTC unless it names its zone.
pub(super) fn read(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let zoned = || text.parse::<Timestamp>().ok();
    let plain = || {
        text.parse::<DateTime>()
            .ok()
            .and_then(|moment| moment.to_zoned(TimeZone::UTC).ok())
            .map(|moment| moment.timestamp())
    };
    let moment =
        zoned().or_else(plain).filter(|moment| (1_000..=9_000).contains(&moment.to_zoned(TimeZone::UTC).year()));
    moment.map(Timestamp::as_millisecond).ok_or_else(|| {
        format!("now must be a date or a time of the years 1000 to 9000, as 2024-06-01 or 2024-06-01T08:00:00Z, not {text:?}")
    })
}

/// Chooses the moment of every question that names none and has relative times. Where the usual one decides nothing, because the result
/// is the same as long before or long after, it is one that follows from the dates of the database. Notes say which.
pub async fn choose(sqlite: &Arc<dyn Engine>, imported: &mut Imported) {
    for (name, dataset) in imported.databases.iter().filter(|(name, _)| !name.contains('#')) {
        let data = Data::Stored(name.clone());
        let asked = |task: &&mut Task| task.data == data && task.begins_ms.is_none();
        let tasks: Vec<&mut Task> = imported.rows.iter_mut().map(|(_, task)| task).filter(asked).collect();
        let mut relative: Vec<(&mut Task, String, Compare)> = Vec::new();
        for task in tasks {
            let first = references(task).first().map(|(sql, compare)| ((*sql).to_owned(), *compare));
            if let Some((sql, compare)) = first.filter(|(sql, _)| speaks_of_now(sql)) {
                relative.push((task, sql, compare));
            }
        }
        if relative.is_empty() {
            continue;
        }
        // What does not load, or does not run, is told by whoever tries it next.
        let Ok(mut opened) = OpenDatabase::open(sqlite, dataset).await else { continue };
        for (task, sql, compare) in relative {
            let Some(found) = moment(&mut opened, dataset, &sql, &compare).await else { continue };
            let label = format!("{name}: {}", task.instruction.lines().next().unwrap_or_default());
            imported.notes.push(match found {
                Found::Usual => continue,
                Found::At(begins) => {
                    task.begins_ms = Some(begins.as_millisecond());
                    let day = begins.strftime("%Y-%m-%d");
                    format!("{label}: its time is {day}, because its relative times decide nothing on 2025-01-01: set `now` for another")
                }
                Found::Nowhere => format!(
                    "{label}: a weak judge: the time decides nothing in it on any day that was tried: set `now` to one on which it does"
                ),
            });
        }
        opened.close().await;
    }
}

enum Found {
    Usual,
    At(Timestamp),
    Nowhere,
}

/// The first moment at which a reference gives something else than long before and long after; `None` where it does not run.
async fn moment(opened: &mut OpenDatabase, dataset: &Dataset, sql: &str, compare: &Compare) -> Option<Found> {
    let mut extremes: Vec<StatementResult> = Vec::new();
    for day in EXTREMES {
        extremes.push(opened.run(sql, Some(evening(day)?.as_millisecond())).await.ok()?);
    }
    let usual = opened.run(sql, None).await.ok()?;
    let decides = |found: &StatementResult| {
        extremes.iter().all(|extreme| difference(extreme.into(), found.into(), compare).is_some())
    };
    if decides(&usual) {
        return Some(Found::Usual);
    }
    for day in days(dataset, sql) {
        let Some(begins) = evening(day) else { continue };
        if decides(&opened.run(sql, Some(begins.as_millisecond())).await.ok()?) {
            return Some(Found::At(begins));
        }
    }
    Some(Found::Nowhere)
}

/// The end of a day: what its rows say has then happened.
fn evening(day: Date) -> Option<Timestamp> {
    day.at(23, 59, 59, 0).to_zoned(TimeZone::UTC).ok().map(|moment| moment.timestamp())
}

/// Days on which relative times may decide something: late, later and middle ones of the columns of dates that the reference names, or
/// of all where it names none.
fn days(dataset: &Dataset, sql: &str) -> Vec<Date> {
    let sql = sql.to_ascii_lowercase();
    let columns = dataset.tables.iter().flat_map(|table| {
        table
            .columns
            .iter()
            .enumerate()
            .map(move |(place, column)| (column, table.rows.iter().map(move |row| &row[place])))
    });
    let mut of_columns: Vec<(bool, Vec<Date>)> = columns
        .filter_map(|(column, values)| {
            let years = column.sort == Sort::Integer && column.name.to_ascii_lowercase().contains("year");
            let mut days: Vec<Date> = values.filter_map(|value| day(value, years)).collect();
            days.sort_unstable();
            (!days.is_empty()).then(|| (sql.contains(&column.name.to_ascii_lowercase()), days))
        })
        .collect();
    if of_columns.iter().any(|(named, _)| *named) {
        of_columns.retain(|(named, _)| *named);
    }
    let mut chosen: BTreeSet<Date> = BTreeSet::new();
    let mut days = Vec::new();
    for of in [|last: usize| last, |last| last * 3 / 4, |last| last / 2, |last| last / 4] {
        for (_, column) in &of_columns {
            let day = column[of(column.len() - 1)];
            let next = day.checked_add(1.day()).ok();
            days.extend([Some(day), next].into_iter().flatten().filter(|day| chosen.insert(*day)));
        }
    }
    days.truncate(MOMENTS_MAX);
    days
}

/// The day that a value means.
fn day(value: &Value, years: bool) -> Option<Date> {
    match value {
        Value::Text(text) => text.get(..10).and_then(|day| day.parse().ok()),
        Value::Integer(year) if years && YEARS.contains(year) => Date::new(i16::try_from(*year).ok()?, 7, 1).ok(),
        _ => None,
    }
}

/// True if a query of SQLite seems to ask what time it is.
fn speaks_of_now(sql: &str) -> bool {
    const WORDS: [&str; 7] =
        ["'now'", "current_date", "current_time", "date()", "time()", "julianday()", "unixepoch()"];
    let sql: String = sql.chars().filter(|sign| !sign.is_whitespace()).collect::<String>().to_ascii_lowercase();
    let formats =
        sql.split("strftime(").skip(1).any(|rest| rest.split(')').next().is_some_and(|inside| !inside.contains(',')));
    formats || WORDS.iter().any(|word| sql.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Column, Table};

    #[test]
    fn moments_are_read_in_utc_unless_they_name_a_zone() {
        let midnight = 1_717_200_000_000;
        for text in ["2024-06-01", " 2024-06-01 00:00:00", "2024-06-01T00:00:00Z", "2024-06-01T02:00:00+02:00"] {
            assert_eq!(read(text), Ok(midnight), "{text}");
        }
        for text in ["", "soon", "2024-13-01", "0024-01-01", "1717200000"] {
            assert!(read(text).expect_err(text).starts_with("now must be a date or a time"), "{text}");
        }
    }

    #[test]
    fn queries_that_ask_what_time_it_is_are_known() {
        for sql in
            ["SELECT date( 'NOW', '-1 day')", "SELECT CURRENT_TIMESTAMP", "SELECT date()", "SELECT strftime('%Y')"]
        {
            assert!(speaks_of_now(sql), "{sql}");
        }
        for sql in ["SELECT known FROM t", "SELECT date(day) FROM t", "SELECT strftime('%Y', day) FROM t"] {
            assert!(!speaks_of_now(sql), "{sql}");
        }
    }

    #[test]
    fn days_come_from_the_columns_that_are_named() {
        let column = |name: &str, sort| Column { name: name.to_owned(), sort, ..Column::default() };
        let text = |day: &str| Value::Text(day.to_owned());
        let table = Table {
            name: "sale".to_owned(),
            columns: vec![column("sold", Sort::Text), column("born", Sort::Date), column("year", Sort::Integer)],
            rows: vec![
                vec![text("2019-03-01 08:00:00"), text("1970-01-01"), Value::Integer(1999)],
                vec![text("2019-05-30"), text("1980-01-01"), Value::Integer(3)],
            ],
            ..Table::default()
        };
        let dataset = Dataset { tables: vec![table], ..Dataset::default() };
        let shown = |sql: &str| days(&dataset, sql).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(shown("SELECT sold FROM sale"), ["2019-05-30", "2019-05-31", "2019-03-01", "2019-03-02"]);
        assert_eq!(shown("SELECT year"), ["1999-07-01", "1999-07-02"]);
        assert!(shown("SELECT 1").contains(&"1980-01-01".to_owned()));
    }
}
