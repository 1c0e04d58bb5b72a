//! Dates and times in words.

use jiff::civil::Date;

/// Names of months.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Names of weekdays.
pub(super) const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// `May`.
pub(super) fn month(day: Date) -> &'static str {
    MONTHS[usize::try_from(day.month() - 1).unwrap_or_default()]
}

/// `9 May 2031`.
pub(super) fn long(day: Date) -> String {
    format!("{} {} {}", day.day(), month(day), day.year())
}

/// Place of the weekday, from 0 for Monday.
pub(super) fn weekday(day: Date) -> i64 {
    i64::from(day.weekday().to_monday_zero_offset())
}

/// Minutes of a day as `09:05`.
pub(super) fn clock(minutes: i64) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Minutes of a day as `9:05 AM`.
pub(super) fn half_clock(minutes: i64) -> String {
    let hour = minutes / 60;
    format!("{}:{:02} {}", (hour + 11) % 12 + 1, minutes % 60, if hour < 12 { "AM" } else { "PM" })
}
