//! Functions of dates, points in time and lengths of time.

use super::Parameter::{Date, Duration, Instant, Int};
use super::{Builtin, Outcome, int};
use crate::calendar::{DAY_SECONDS, DAYS, add_months, parts, weekday};
use crate::expression::frame::EvalError;
use crate::kinds::Type;
use crate::value::Value;

/// Points in time that a calendar can show: from the second day of year 1 to the last but one of year 9999.
pub(in crate::expression) const INSTANTS: std::ops::RangeInclusive<i64> = -62_135_510_400..=253_402_207_200;

pub(super) const ALL: &[Builtin] = &[
    Builtin {
        name: "date",
        parameters: &[Instant],
        result: DATE,
        run: |context, given| Ok(Value::Int(context.calendar.date(int(&given[0])?))),
    },
    Builtin {
        name: "time_of_day",
        parameters: &[Instant],
        result: DURATION,
        run: |context, given| Ok(Value::Int(context.calendar.time_of_day(int(&given[0])?))),
    },
    Builtin {
        name: "instant",
        parameters: &[Date, Duration],
        result: INSTANT,
        run: |context, given| {
            let instant = context.calendar.instant(int(&given[0])?, int(&given[1])?);
            let instant = instant.filter(|instant| INSTANTS.contains(instant));
            instant.map(Value::Int).ok_or(EvalError::OutOfRange("the time of day"))
        },
    },
    Builtin {
        name: "add_days",
        parameters: &[Date, Int],
        result: DATE,
        run: |_, given| {
            let date = int(&given[0])?.checked_add(int(&given[1])?).filter(|date| DAYS.contains(date));
            date.map(Value::Int).ok_or(EvalError::OutOfRange("add_days"))
        },
    },
    Builtin {
        name: "add_months",
        parameters: &[Date, Int],
        result: DATE,
        run: |_, given| {
            let date = add_months(int(&given[0])?, int(&given[1])?).filter(|date| DAYS.contains(date));
            date.map(Value::Int).ok_or(EvalError::OutOfRange("add_months"))
        },
    },
    Builtin {
        name: "days_between",
        parameters: &[Date, Date],
        result: INT,
        run: |_, given| {
            int(&given[1])?.checked_sub(int(&given[0])?).map(Value::Int).ok_or(EvalError::OutOfRange("days_between"))
        },
    },
    Builtin {
        name: "weekday",
        parameters: &[Date],
        result: INT,
        run: |_, given| Ok(Value::Int(weekday(int(&given[0])?))),
    },
    Builtin {
        name: "week_start",
        parameters: &[Date],
        result: DATE,
        run: |context, given| {
            let date = Some(context.calendar.week_start(int(&given[0])?)).filter(|date| DAYS.contains(date));
            date.map(Value::Int).ok_or(EvalError::OutOfRange("week_start"))
        },
    },
    Builtin {
        name: "start_of_month",
        parameters: &[Date],
        result: DATE,
        run: |_, given| {
            let date = int(&given[0])?;
            Ok(Value::Int(date - (civil(date)?.2 - 1)))
        },
    },
    Builtin {
        name: "year",
        parameters: &[Date],
        result: INT,
        run: |_, given| Ok(Value::Int(civil(int(&given[0])?)?.0)),
    },
    Builtin {
        name: "month",
        parameters: &[Date],
        result: INT,
        run: |_, given| Ok(Value::Int(civil(int(&given[0])?)?.1)),
    },
    Builtin {
        name: "day",
        parameters: &[Date],
        result: INT,
        run: |_, given| Ok(Value::Int(civil(int(&given[0])?)?.2)),
    },
    // Half-open ranges: one that begins where the other ends does not overlap it.
    Builtin {
        name: "overlap",
        parameters: &[Instant, Instant, Instant, Instant],
        result: BOOL,
        run: |_, given| Ok(Value::Bool(int(&given[0])? < int(&given[3])? && int(&given[2])? < int(&given[1])?)),
    },
    Builtin { name: "seconds", parameters: &[Int], result: DURATION, run: |_, given| times(&given[0], 1) },
    Builtin { name: "minutes", parameters: &[Int], result: DURATION, run: |_, given| times(&given[0], 60) },
    Builtin { name: "hours", parameters: &[Int], result: DURATION, run: |_, given| times(&given[0], 3600) },
    Builtin { name: "days", parameters: &[Int], result: DURATION, run: |_, given| times(&given[0], DAY_SECONDS) },
    Builtin {
        name: "minutes_of",
        parameters: &[Duration],
        result: INT,
        run: |_, given| Ok(Value::Int(int(&given[0])? / 60)),
    },
];

const BOOL: Outcome = Outcome::Is(&Type::Bool);
const DATE: Outcome = Outcome::Is(&Type::Date);
const DURATION: Outcome = Outcome::Is(&Type::Duration);
const INSTANT: Outcome = Outcome::Is(&Type::Instant);
const INT: Outcome = Outcome::Is(&Type::Int);

fn civil(date: i64) -> Result<(i64, i64, i64), EvalError> {
    parts(date).ok_or(EvalError::OutOfRange("the date"))
}

fn times(value: &Value, unit: i64) -> Result<Value, EvalError> {
    int(value)?.checked_mul(unit).map(Value::Int).ok_or(EvalError::OutOfRange("a duration"))
}
