//! Dates for templates, in the way of C's `strftime`, English and UTC.

const MONTHS: [&str; 12] = [
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
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
const DAY_SECONDS: i64 = 86_400;

/// Writes a time, given in seconds since 1970. A letter that is not known is an error that names it.
pub(super) fn strftime(format: &str, unix_seconds: i64) -> Result<String, String> {
    let days = unix_seconds.div_euclid(DAY_SECONDS);
    let second = unix_seconds.rem_euclid(DAY_SECONDS);
    let (year, month, day) = civil(days);
    let month_name = MONTHS[usize::try_from(month - 1).unwrap_or(0).min(11)];
    let day_name = DAYS[usize::try_from(days.rem_euclid(7)).unwrap_or(0)];
    let mut text = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let part = match letters.next() {
            Some('Y') => format!("{year:04}"),
            Some('y') => format!("{:02}", year.rem_euclid(100)),
            Some('m') => format!("{month:02}"),
            Some('d') => format!("{day:02}"),
            Some('e') => format!("{day:2}"),
            Some('B') => month_name.to_owned(),
            Some('b' | 'h') => month_name[..3].to_owned(),
            Some('A') => day_name.to_owned(),
            Some('a') => day_name[..3].to_owned(),
            Some('H') => format!("{:02}", second / 3_600),
            Some('I') => format!("{:02}", (second / 3_600 + 11) % 12 + 1),
            Some('p') => if second < DAY_SECONDS / 2 { "AM" } else { "PM" }.to_owned(),
            Some('M') => format!("{:02}", second / 60 % 60),
            Some('S') => format!("{:02}", second % 60),
            Some('F') => format!("{year:04}-{month:02}-{day:02}"),
            Some('T') => format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60),
            Some('%') => "%".to_owned(),
            Some(other) => return Err(format!("strftime_now does not know %{other}")),
            None => return Err("the format of strftime_now ends with %".to_owned()),
        };
        text.push_str(&part);
    }
    Ok(text)
}

/// Year, month and day of the Gregorian calendar, days counted from 1970. Eras of 400 years begin on 1 March, so that a
/// leap day is the last of its year (<https://howardhinnant.github.io/date_algorithms.html>).
fn civil(days: i64) -> (i64, i64, i64) {
    const DAYS_TO_1970: i64 = 719_468;
    const ERA_DAYS: i64 = 146_097;
    let shifted = days + DAYS_TO_1970;
    let era = shifted.div_euclid(ERA_DAYS);
    let day_of_era = shifted.rem_euclid(ERA_DAYS);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::strftime;

    #[test]
    fn dates_are_written_as_c_writes_them() {
        let text = |format: &str, seconds: i64| strftime(format, seconds).expect(format);
        assert_eq!(text("%d %b %Y", 1_721_952_000), "26 Jul 2024");
        assert_eq!(text("%A %F %T %I %p", 951_827_696), "Tuesday 2000-02-29 12:34:56 12 PM");
        assert_eq!(text("%a %Y-%m-%d 100%%", -1), "Wed 1969-12-31 100%");
        assert!(strftime("%Q", 0).is_err() && strftime("%", 0).is_err());
    }
}
