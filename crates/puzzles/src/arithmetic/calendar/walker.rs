//! The reference solver: goes through the calendar from day to day and knows nothing but the rule of leap years.

use std::iter::successors;

use jiff::civil::Date;

use super::step::Step;

/// A day, and how far it was to walk there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Walker {
    year: i16,
    month: i8,
    day: i8,
    /// 1 is Monday.
    pub(super) weekday: i8,
    /// Days walked so far.
    pub(super) walked: u32,
}

impl Walker {
    pub(super) fn at(date: Date) -> Self {
        let weekday = date.weekday().to_monday_one_offset();
        Self { year: date.year(), month: date.month(), day: date.day(), weekday, walked: 0 }
    }

    /// True if this is the day, and its weekday the right one.
    #[cfg(test)]
    pub(super) fn is_at(self, date: Date) -> bool {
        Self { walked: 0, ..self } == Self::at(date)
    }

    /// Every day from one to another that is not before it, both included.
    pub(super) fn way(first: Self, last: Self) -> impl Iterator<Item = Self> {
        let reached = move |day: &Self| (day.year, day.month, day.day) >= (last.year, last.month, last.day);
        successors(Some(first), move |day| (!reached(day)).then(|| day.beside(1)))
    }

    /// Takes a step of the problem.
    pub(super) fn take(&mut self, step: Step) {
        match step {
            Step::Days { days } => self.go(days, |_| true),
            Step::Months { months } => self.go_months(months),
            Step::WorkingDays { days } => self.go(days, |day| day.weekday <= 5),
            Step::Weekday { iso_weekday, nth } => self.go(nth, |day| day.weekday == iso_weekday),
            Step::WeekdayOfMonth { iso_weekday, nth } => {
                // From the day before the month onwards, or from the day after it back.
                let direction = i32::from(nth.signum());
                let month = self.month;
                while self.month == month {
                    *self = self.beside(-direction);
                }
                self.go(i32::from(nth), |day| day.weekday == iso_weekday);
            }
            Step::MonthEnd => {
                while self.day < self.month_length() {
                    *self = self.beside(1);
                }
            }
            Step::LeapDay => self.go(1, |day| (day.month, day.day) == (2, 29)),
            Step::IfLeapYear { leap_days, other_days } => {
                self.go(if self.is_leap_year() { leap_days } else { other_days }, |_| true);
            }
        }
    }

    /// Goes on, or back where `count` is negative, until so many days counted.
    fn go(&mut self, count: i32, counts: impl Fn(&Self) -> bool) {
        let mut left = count.abs();
        while left > 0 {
            *self = self.beside(count.signum());
            left -= i32::from(counts(self));
        }
    }

    fn go_months(&mut self, months: i32) {
        let day = self.day;
        for _ in 0..months.abs() {
            let month = self.month;
            while self.month == month {
                *self = self.beside(months.signum());
            }
        }
        // Forward it is now the first of the month, back the last.
        while self.day != day.min(self.month_length()) {
            *self = self.beside(months.signum());
        }
    }

    /// The next day, or the one before where `direction` is negative.
    const fn beside(self, direction: i32) -> Self {
        let mut next = Self { walked: self.walked + 1, ..self };
        if direction < 0 {
            next.weekday = if self.weekday == 1 { 7 } else { self.weekday - 1 };
            next.day -= 1;
            if next.day == 0 {
                next.month -= 1;
                if next.month == 0 {
                    next.month = 12;
                    next.year -= 1;
                }
                next.day = next.month_length();
            }
        } else {
            next.weekday = if self.weekday == 7 { 1 } else { self.weekday + 1 };
            next.day += 1;
            if next.day > self.month_length() {
                next.day = 1;
                next.month += 1;
                if next.month > 12 {
                    next.month = 1;
                    next.year += 1;
                }
            }
        }
        next
    }

    const fn month_length(self) -> i8 {
        match self.month {
            4 | 6 | 9 | 11 => 30,
            2 if self.is_leap_year() => 29,
            2 => 28,
            _ => 31,
        }
    }

    const fn is_leap_year(self) -> bool {
        self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0)
    }
}
