//! `puzzle/calendar`: a walk through the Gregorian calendar by days, months, weekdays and leap years, and where it ends.

mod answer;
mod step;
mod walker;

use jiff::civil::Date;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::answer::read_count;
use self::step::{Step, day_of_week, weekday_name};
use self::walker::Walker;
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};
use palestra_environment::verifier::date;

/// Years that a walk may touch.
const YEARS: std::ops::RangeInclusive<i16> = 1600..=2400;

/// A smaller number is no answer, lest it be hit by chance.
const COUNT_MIN: i64 = 40;

/// The month has the day of the start.
static DAY: Requirement = Requirement::new("day", "the month has the day of the start", 0.05);

/// The walk stays in the years that it may touch.
static INSIDE: Requirement = Requirement::new("inside", "the walk stays in the years that it may touch", 0.05);

/// A number that is asked for is not hit by chance.
static LARGE: Requirement = Requirement::new("large", "a number that is asked for is not hit by chance", 0.1);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calendar;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    start: Date,
    steps: Vec<Step>,
    asked: Asked,
}

/// Kinds of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "question", deny_unknown_fields)]
enum Asked {
    /// The last day of the walk.
    Date,
    /// Days between the first and the last day.
    Days,
    /// Number of occurrences of a weekday from the first to the last day, both included.
    Weekdays {
        /// 1 is Monday, 7 is Sunday.
        iso_weekday: i8,
    },
}

impl Asked {
    const fn kind(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::Days => "days",
            Self::Weekdays { .. } => "weekdays",
        }
    }
}

/// A right answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    Date(Date),
    Count(i64),
}

impl Instance {
    /// Where the walk ends; `None` when it leaves [`YEARS`].
    fn end(&self) -> Option<Date> {
        self.steps.iter().try_fold(self.start, |day, step| step.apply(day).filter(|day| YEARS.contains(&day.year())))
    }

    fn truth(&self) -> Option<Truth> {
        self.truth_at(self.end()?)
    }

    /// The answer where the walk ends on this day.
    fn truth_at(&self, end: Date) -> Option<Truth> {
        let days = |first: Date, last: Date| first.until(last).map(|span| i64::from(span.get_days())).ok();
        Some(match self.asked {
            Asked::Date => Truth::Date(end),
            Asked::Days => Truth::Count(days(self.start, end)?.abs()),
            Asked::Weekdays { iso_weekday } => {
                let (first, last) = (self.start.min(end), self.start.max(end));
                let to_first = day_of_week(iso_weekday)?.since(first.weekday());
                Truth::Count((days(first, last)? - i64::from(to_first)).div_euclid(7) + 1)
            }
        })
    }
}

impl Question for Calendar {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "calendar",
            version: 1,
            category: Category::Arithmetic,
            tags: &[],
            multi_turn: false,
            description: "Follow steps through the calendar (days, months, weekdays, working days, leap years) and tell the day or count the days.",
            rule: "The answer has to name the right day in any unmistakable spelling, or the right number.",
            scale: "More steps, and longer ones.",
            effort: "Walks from day to day by the rules of the calendar; days walked.",
            floor: 0.03,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let (year, month, day) = (rng.random_range(1900..2100), rng.random_range(1..=12), rng.random_range(1..=31));
        draws.note("day", day);
        draws.note("month", month);
        let start = Date::new(year, month, day).map_err(|_| &DAY)?;
        let steps: Vec<Step> = (0..scale(difficulty, 2, 9)).map(|_| Step::draw(rng, difficulty)).collect();
        let asked = match rng.random_range(0..4) {
            0 => Asked::Days,
            1 => Asked::Weekdays { iso_weekday: rng.random_range(1..=7) },
            _ => Asked::Date,
        };
        steps.iter().for_each(|step| draws.note("step", step.kind()));
        draws.note("asked", asked.kind());
        let instance = Instance { start, steps, asked };
        let end = instance.end().ok_or(&INSIDE)?;
        let truth = instance.truth_at(end).ok_or_else(|| Refusal::fault("a walk that ends has no answer"))?;
        LARGE.demand(!matches!(truth, Truth::Count(count) if count < COUNT_MIN))?;
        Ok(instance)
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"start": instance.start, "steps": instance.steps, "asked": instance.asked})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let steps: Vec<String> =
            instance.steps.iter().enumerate().map(|(index, step)| format!("{}. {step}", index + 1)).collect();
        let asked = match instance.asked {
            Asked::Date => "On which day do you end? The answer is a date such as 1987-06-30.".to_owned(),
            Asked::Days => {
                "How many days lie between the day where you start and the day where you end (one day and the next: 1), \
                 whichever is earlier? The answer is a number such as 1234."
                    .to_owned()
            }
            Asked::Weekdays { iso_weekday } => format!(
                "How many {}s are there from the day where you start to the day where you end, whichever is earlier, both \
                 included? The answer is a number such as 1234.",
                weekday_name(iso_weekday)
            ),
        };
        format!(
            "You are at a day of the Gregorian calendar, {}, {}, and follow these steps, one after the other, each from the day \
             where the one before it ended:\n{}\n{asked}",
            weekday_name(instance.start.weekday().to_monday_one_offset()),
            instance.start,
            steps.join("\n")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        match instance.truth() {
            Some(Truth::Date(day)) => match date::read(answer) {
                Ok(read) if read == day => Mark::right(format!("it is {day}")),
                Ok(read) => Mark::wrong(format!("it is {day}, not {read}")),
                Err(fault) => Mark::wrong(fault),
            },
            Some(Truth::Count(count)) => match read_count(answer) {
                Some(read) if read == count => Mark::right(format!("there are {count}")),
                Some(read) => Mark::wrong(format!("there are {count}, not {read}")),
                None => Mark::wrong("the answer is no whole number"),
            },
            None => Mark::wrong("the walk leaves the calendar"),
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        match instance.truth() {
            Some(Truth::Date(day)) => day.to_string(),
            Some(Truth::Count(count)) => count.to_string(),
            None => String::new(),
        }
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        match instance.asked {
            Asked::Date => {
                let year = instance.start.year() + rng.random_range(-1..=1);
                format!("{year:04}-{:02}-{:02}", rng.random_range(1..=12), rng.random_range(1..=28))
            }
            _ => rng.random_range(1..1000).to_string(),
        }
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // Off by some days, as a step that is miscounted or a forgotten leap day leaves one.
        let off = [-7, -2, -1, 1, 2, 7][rng.random_range(0..6)];
        match instance.truth() {
            Some(Truth::Date(day)) => {
                Step::Days { days: off }.apply(day).map_or_else(String::new, |day| day.to_string())
            }
            Some(Truth::Count(count)) => (count + i64::from(off)).to_string(),
            None => String::new(),
        }
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let start = Walker::at(instance.start);
        let mut walker = start;
        for step in &instance.steps {
            walker.take(*step);
        }
        // Counting the days, or the weekdays among them, is walking once more.
        let counted = match instance.asked {
            Asked::Date => 0,
            _ => Walker::way(start.min(walker), start.max(walker)).count(),
        };
        f64::from(walker.walked) + f64::from(u32::try_from(counted).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(start: &str, steps: &[Step], asked: Asked) -> Instance {
        Instance { start: start.parse().expect("a date"), steps: steps.to_vec(), asked }
    }

    #[test]
    fn days_and_weekdays_are_counted_in_both_directions() {
        let step = |days| [Step::Days { days }];
        let truth = |start, days, asked| instance(start, &step(days), asked).truth();
        assert_eq!(truth("2024-02-28", 2, Asked::Days), Some(Truth::Count(2)));
        assert_eq!(truth("2024-03-01", -366, Asked::Days), Some(Truth::Count(366)));
        // The first of January 2024 was a Monday.
        for (iso_weekday, days, count) in
            [(1, 7, 2), (1, 6, 1), (2, 0, 0), (7, 6, 1), (3, 365, 52), (1, -7, 2), (7, -1, 1)]
        {
            let asked = Asked::Weekdays { iso_weekday };
            assert_eq!(truth("2024-01-01", days, asked), Some(Truth::Count(count)), "{iso_weekday} {days}");
        }
    }

    #[test]
    fn every_spelling_of_the_day_is_right_and_no_other_day() {
        let instance = instance("2024-02-28", &[Step::Days { days: 1 }], Asked::Date);
        for answer in ["2024-02-29", "29 February 2024", "Feb 29th, 2024", "Thursday, 29 February 2024", "2024/2/29"] {
            assert_eq!(Calendar.check(&instance, answer).score, 1.0, "{answer}");
        }
        for answer in ["", "2024-02-28", "29/02/2024", "Friday, 29 February 2024", "1", "2024-02-30", "２０２４-02-29"]
        {
            assert_eq!(Calendar.check(&instance, answer).score, 0.0, "{answer}");
        }
    }

    #[test]
    fn a_count_is_a_number_in_any_spelling() {
        let instance = instance("2020-01-01", &[Step::Days { days: 1234 }], Asked::Days);
        for answer in ["1234", "1,234", "1234 days", "+1234", "1234.", "01234"] {
            assert_eq!(Calendar.check(&instance, answer).score, 1.0, "{answer}");
        }
        for answer in ["", "1235", "-1234", "1234 1234", "123400%", "$1234", "NaN", "1234-", "١٢٣٤", "2023-05-19"] {
            assert_eq!(Calendar.check(&instance, answer).score, 0.0, "{answer}");
        }
    }

    #[test]
    fn walking_day_by_day_leads_to_the_same_end() {
        let mut rng = palestra_environment::task::seeded(&[b"walks"]);
        for walk in 0..150_u8 {
            let Ok(instance) = Calendar.generate(&mut rng, f64::from(walk % 5) / 8.0, &mut Draws::default()) else {
                continue;
            };
            let mut walker = Walker::at(instance.start);
            instance.steps.iter().for_each(|step| walker.take(*step));
            let end = instance.end().expect("an end");
            assert!(walker.is_at(end), "{instance:?}: {end}, {walker:?}");
            let start = Walker::at(instance.start);
            let way = Walker::way(start.min(walker), start.max(walker));
            let count = match instance.asked {
                Asked::Date => continue,
                Asked::Days => way.count() - 1,
                Asked::Weekdays { iso_weekday } => way.filter(|day| day.weekday == iso_weekday).count(),
            };
            assert_eq!(Some(Truth::Count(i64::try_from(count).expect("few"))), instance.truth(), "{instance:?}");
        }
    }
}
