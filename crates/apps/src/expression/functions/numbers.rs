//! Functions of numbers and amounts. Intermediate results have 128 bits, so that only the result can be out of range.

use super::Parameter::{Int, Money, Number, Ordered, Same, Signed, Word};
use super::{Builtin, Context, Outcome, int};
use crate::expression::frame::EvalError;
use crate::kinds::Type;
use crate::value::Value;

/// Names of roundings of a quotient. `half_up` takes a half away from zero, `up` takes any rest away from zero.
const ROUNDING: &[&str] = &["half_up", "half_even", "down", "up"];

pub(super) const ALL: &[Builtin] = &[
    Builtin {
        name: "abs",
        parameters: &[Signed],
        result: Outcome::First,
        run: |_, given| int(&given[0])?.checked_abs().map(Value::Int).ok_or(EvalError::OutOfRange("abs")),
    },
    Builtin {
        name: "min2",
        parameters: &[Ordered, Same],
        result: Outcome::First,
        run: |_, given| Ok(if given[1] < given[0] { given[1].clone() } else { given[0].clone() }),
    },
    Builtin {
        name: "max2",
        parameters: &[Ordered, Same],
        result: Outcome::First,
        run: |_, given| Ok(if given[1] > given[0] { given[1].clone() } else { given[0].clone() }),
    },
    Builtin {
        name: "clamp",
        parameters: &[Ordered, Same, Same],
        result: Outcome::First,
        run: |_, given| {
            let [value, low, high] = given else { return Err(EvalError::Mismatch) };
            match () {
                () if low > high => Err(EvalError::OutOfRange("the range of clamp")),
                () if value < low => Ok(low.clone()),
                () if value > high => Ok(high.clone()),
                () => Ok(value.clone()),
            }
        },
    },
    Builtin {
        name: "mul_div",
        parameters: &[Number, Int, Int],
        result: Outcome::First,
        run: |_, given| mul_div(int(&given[0])?, int(&given[1])?, int(&given[2])?, "half_up"),
    },
    Builtin {
        name: "mul_div",
        parameters: &[Number, Int, Int, Word(ROUNDING)],
        result: Outcome::First,
        run: |_, given| mul_div(int(&given[0])?, int(&given[1])?, int(&given[2])?, super::words(&given[3])?),
    },
    Builtin {
        name: "percent",
        parameters: &[Number, Int],
        result: Outcome::First,
        run: |_, given| mul_div(int(&given[0])?, int(&given[1])?, 10_000, "half_up"),
    },
    Builtin { name: "split", parameters: &[Money, Int], result: Outcome::ListOfFirst, run: split },
    Builtin {
        name: "int",
        parameters: &[Number],
        result: Outcome::Is(&Type::Int),
        run: |_, given| int(&given[0]).map(Value::Int),
    },
];

fn mul_div(value: i64, numerator: i64, denominator: i64, rounding: &str) -> Result<Value, EvalError> {
    let (product, divisor) = (i128::from(value) * i128::from(numerator), i128::from(denominator));
    if divisor == 0 {
        return Err(EvalError::OutOfRange("a division by zero"));
    }
    let (whole, rest) = (product / divisor, product % divisor);
    let twice = (2 * rest).abs().cmp(&divisor.abs());
    let away = match rounding {
        "down" => false,
        "up" => rest != 0,
        "half_even" => twice.is_gt() || (twice.is_eq() && whole % 2 != 0),
        _ => twice.is_ge(),
    };
    let sign = if (product < 0) == (divisor < 0) { 1 } else { -1 };
    let rounded = if away { whole + sign } else { whole };
    i64::try_from(rounded).map(Value::Int).map_err(|_| EvalError::OutOfRange("mul_div"))
}

/// Equal parts by largest remainder: the first parts are one minor unit larger, and the sum is exact.
fn split(context: &mut Context<'_>, given: &[Value]) -> Result<Value, EvalError> {
    let (amount, parts) = (int(&given[0])?, int(&given[1])?);
    let count = usize::try_from(parts).ok().filter(|count| *count > 0);
    let count = count.ok_or(EvalError::OutOfRange("the number of parts"))?;
    context.spend(count)?;
    let (base, rest) = (amount / parts, amount % parts);
    let larger = usize::try_from(rest.unsigned_abs()).unwrap_or(count);
    Ok(Value::List((0..count).map(|at| Value::Int(base + if at < larger { rest.signum() } else { 0 })).collect()))
}
