//! The steps of a walk through the calendar.

use std::fmt;

use jiff::Span;
use jiff::civil::{Date, Weekday};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::scale;

/// Names by number: 1 is Monday.
pub(super) const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// From one 29 February to the next there are at most eight years.
const LEAP_YEARS_APART_MAX: i16 = 8;

/// One step. Negative numbers lead back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step", deny_unknown_fields)]
pub(super) enum Step {
    /// So many days on.
    Days { days: i32 },
    /// So many months on; the last day of the month where it is shorter.
    Months { months: i32 },
    /// So many days on that are no Saturday and no Sunday.
    WorkingDays { days: i32 },
    /// The so-manieth such weekday after (or before) this day.
    Weekday { iso_weekday: i8, nth: i32 },
    /// The so-manieth such weekday of this month; -1 is the last.
    WeekdayOfMonth { iso_weekday: i8, nth: i8 },
    /// The last day of this month.
    MonthEnd,
    /// The first 29 February after this day.
    LeapDay,
    /// So many days on in a leap year, and so many in another.
    IfLeapYear { leap_days: i32, other_days: i32 },
}

impl Step {
    /// Any step, as long as the difficulty says.
    pub(super) fn draw(rng: &mut ChaCha8Rng, difficulty: f64) -> Self {
        let mut signed = |easy, hard| {
            let size = rng.random_range(1..=scale(difficulty, easy, hard));
            let size = i32::try_from(size).unwrap_or(1);
            if rng.random_range(0..3) == 0 { -size } else { size }
        };
        let (days, other_days, months) = (signed(40, 9000), signed(40, 9000), signed(12, 400));
        let (working_days, nth) = (signed(8, 600), signed(2, 60));
        let iso_weekday = rng.random_range(1..=7);
        match rng.random_range(0..8) {
            0 => Self::Days { days },
            1 => Self::Months { months },
            2 => Self::WorkingDays { days: working_days },
            3 => Self::Weekday { iso_weekday, nth },
            4 => Self::WeekdayOfMonth { iso_weekday, nth: [1, 2, 3, 4, -1][rng.random_range(0..5)] },
            5 => Self::MonthEnd,
            6 => Self::LeapDay,
            _ => Self::IfLeapYear { leap_days: days, other_days },
        }
    }

    /// Name in reports.
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Days { .. } => "days",
            Self::Months { .. } => "months",
            Self::WorkingDays { .. } => "working_days",
            Self::Weekday { .. } => "weekday",
            Self::WeekdayOfMonth { .. } => "weekday_of_month",
            Self::MonthEnd => "month_end",
            Self::LeapDay => "leap_day",
            Self::IfLeapYear { .. } => "if_leap_year",
        }
    }

    /// Where the step leads from a day; `None` out of the calendar.
    pub(super) fn apply(self, day: Date) -> Option<Date> {
        let days_on = |days: i32| day.checked_add(Span::new().try_days(days).ok()?).ok();
        match self {
            Self::Days { days } => days_on(days),
            Self::Months { months } => day.checked_add(Span::new().try_months(months).ok()?).ok(),
            Self::WorkingDays { days } => working_days_on(day, days),
            Self::Weekday { iso_weekday, nth } => day.nth_weekday(nth, day_of_week(iso_weekday)?).ok(),
            Self::WeekdayOfMonth { iso_weekday, nth } => day.nth_weekday_of_month(nth, day_of_week(iso_weekday)?).ok(),
            Self::MonthEnd => Some(day.last_of_month()),
            Self::LeapDay => (day.year()..=day.year().checked_add(LEAP_YEARS_APART_MAX)?)
                .filter_map(|year| Date::new(year, 2, 29).ok())
                .find(|leap_day| *leap_day > day),
            Self::IfLeapYear { leap_days, other_days } => {
                days_on(if day.in_leap_year() { leap_days } else { other_days })
            }
        }
    }
}

/// The first weeks at once, each of which has five of these days, and the last one to five days one by one.
fn working_days_on(day: Date, days: i32) -> Option<Date> {
    let weeks = (days.abs() - 1).max(0) / 5;
    let mut day = day.checked_add(Span::new().try_weeks(days.signum() * weeks).ok()?).ok()?;
    let mut left = days.abs() - 5 * weeks;
    while left > 0 {
        day = if days > 0 { day.tomorrow() } else { day.yesterday() }.ok()?;
        left -= i32::from(!is_weekend(day));
    }
    Some(day)
}

fn is_weekend(day: Date) -> bool {
    matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// The weekday of a number from 1, Monday, to 7, Sunday.
pub(super) fn day_of_week(iso_weekday: i8) -> Option<Weekday> {
    Weekday::from_monday_one_offset(iso_weekday).ok()
}

pub(super) fn weekday_name(iso_weekday: i8) -> &'static str {
    usize::try_from(iso_weekday - 1).ok().and_then(|index| WEEKDAYS.get(index)).copied().unwrap_or("day")
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Days { days } => write!(f, "Go {}.", way(days, "day")),
            Self::Months { months } => write!(
                f,
                "Go {}, to the same day of the month, or to the last day of the month if it is shorter.",
                way(months, "month")
            ),
            Self::WorkingDays { days } => {
                write!(f, "Go {} (Monday to Friday; Saturdays and Sundays are not counted).", way(days, "working day"))
            }
            Self::Weekday { iso_weekday, nth } => {
                let side = if nth > 0 { "after" } else { "before" };
                let (nth, name) = (ordinal(nth.unsigned_abs()), weekday_name(iso_weekday));
                write!(f, "Go to the {nth} {name} {side} the day where you are (which itself does not count).")
            }
            Self::WeekdayOfMonth { iso_weekday, nth } => {
                let nth = if nth < 0 { "last".to_owned() } else { ordinal(u32::from(nth.unsigned_abs())) };
                write!(f, "Go to the {nth} {} of the month where you are.", weekday_name(iso_weekday))
            }
            Self::MonthEnd => f.write_str("Go to the last day of the month where you are."),
            Self::LeapDay => f.write_str("Go to the next 29 February after the day where you are."),
            Self::IfLeapYear { leap_days, other_days } => write!(
                f,
                "If the year where you are is a leap year, go {}, otherwise {}.",
                way(leap_days, "day"),
                way(other_days, "day")
            ),
        }
    }
}

/// `3 days forward`.
fn way(count: i32, unit: &str) -> String {
    let plural = if count.abs() == 1 { "" } else { "s" };
    format!("{} {unit}{plural} {}", count.abs(), if count < 0 { "back" } else { "forward" })
}

/// `22nd`.
fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lead_where_a_printed_calendar_says() {
        for (from, step, to) in [
            ("2023-12-31", Step::Days { days: 60 }, "2024-02-29"),
            ("1900-02-28", Step::Days { days: 1 }, "1900-03-01"),
            ("2024-01-31", Step::Months { months: 1 }, "2024-02-29"),
            ("2024-03-31", Step::Months { months: -13 }, "2023-02-28"),
            // Monday to Friday of the first weeks of 2024, which began on a Monday.
            ("2024-01-05", Step::WorkingDays { days: 1 }, "2024-01-08"),
            ("2024-01-06", Step::WorkingDays { days: 1 }, "2024-01-08"),
            ("2024-01-06", Step::WorkingDays { days: 5 }, "2024-01-12"),
            ("2024-01-07", Step::WorkingDays { days: -5 }, "2024-01-01"),
            ("2024-01-07", Step::WorkingDays { days: 6 }, "2024-01-15"),
            ("2024-01-08", Step::WorkingDays { days: -1 }, "2024-01-05"),
            ("2024-01-01", Step::WorkingDays { days: 10 }, "2024-01-15"),
            ("2024-01-01", Step::Weekday { iso_weekday: 1, nth: 1 }, "2024-01-08"),
            ("2024-01-01", Step::Weekday { iso_weekday: 7, nth: -2 }, "2023-12-24"),
            ("2024-05-20", Step::WeekdayOfMonth { iso_weekday: 5, nth: -1 }, "2024-05-31"),
            ("2024-05-20", Step::WeekdayOfMonth { iso_weekday: 2, nth: 2 }, "2024-05-14"),
            ("2023-02-11", Step::MonthEnd, "2023-02-28"),
            ("1896-02-29", Step::LeapDay, "1904-02-29"),
            ("2024-02-28", Step::LeapDay, "2024-02-29"),
            ("2000-06-01", Step::IfLeapYear { leap_days: 1, other_days: -1 }, "2000-06-02"),
            ("1900-06-01", Step::IfLeapYear { leap_days: 1, other_days: -1 }, "1900-05-31"),
        ] {
            let from: Date = from.parse().expect("a date");
            assert_eq!(step.apply(from).map(|day| day.to_string()).as_deref(), Some(to), "{from} {step}");
        }
        assert_eq!(Step::Days { days: i32::MAX }.apply(Date::MAX), None);
    }

    #[test]
    fn steps_read_as_sentences() {
        assert_eq!(Step::Days { days: -1 }.to_string(), "Go 1 day back.");
        assert_eq!(
            Step::Weekday { iso_weekday: 3, nth: 22 }.to_string(),
            "Go to the 22nd Wednesday after the day where you are (which itself does not count)."
        );
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 13, 21, 113].map(ordinal).join(" "),
            "1st 2nd 3rd 4th 11th 12th 13th 21st 113th"
        );
    }
}
