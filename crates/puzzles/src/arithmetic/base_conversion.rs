//! `puzzle/base_conversion`: write a number of one base in another base.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// Digits of all bases.
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The bases differ.
static DIFFERENT: Requirement = Requirement::new("different", "the bases differ", 0.06);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct BaseConversion;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    value: u64,
    from: u8,
    to: u8,
}

impl Question for BaseConversion {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "base_conversion",
            version: 1,
            category: Category::Arithmetic,
            tags: &[],
            multi_turn: false,
            description: "Write a number that is given in one base in another base, both from 2 to 36.",
            rule: "The answer is read in the asked base, with letters of either case and leading zeros, and has to be the same number.",
            scale: "Longer numbers.",
            effort: "Divides by the new base with the digits of the old one; divisions of single digits.",
            floor: 0.02,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let bits = scale(difficulty, 14, 50);
        let value = rng.random_range(1_u64 << (bits - 1)..1 << bits);
        let (from, to) = (rng.random_range(2..=36), rng.random_range(2..=36));
        draws.note("from", from);
        draws.note("to", to);
        DIFFERENT.demand(from != to)?;
        Ok(Instance { value, from, to })
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"number": write(instance.value, instance.from), "from": instance.from, "to": instance.to})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let Instance { value, from, to } = instance;
        format!(
            "Write the number {} of base {from} in base {to}.\n\
             Digits above 9 are the letters a to z, for 10 to 35. The answer is the digits alone, such as 1a0.",
            write(*value, *from)
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let Instance { value, to, .. } = instance;
        match u64::from_str_radix(answer, u32::from(*to)) {
            // The library also reads a sign.
            Ok(read) if read == *value && !answer.starts_with('+') => Mark::right("it is the same number"),
            Ok(read) => Mark::wrong(format!("in base ten it is {read}, not {value}")),
            Err(error) => Mark::wrong(format!("it is no number of base {to}: {error}")),
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        write(instance.value, instance.to)
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        write(rng.random_range(1..=instance.value * 2), instance.to)
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // One digit is another one.
        let mut digits = write(instance.value, instance.to).into_bytes();
        let place = rng.random_range(0..digits.len());
        let others: Vec<u8> = DIGITS.iter().take(usize::from(instance.to)).copied().collect();
        let other = others[rng.random_range(0..others.len())];
        digits[place] = if other == digits[place] { others[usize::from(other == others[0])] } else { other };
        String::from_utf8_lossy(&digits).into_owned()
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let Instance { value, from, to } = *instance;
        let (mut left, mut divisions) = (value, 0_u32);
        while left > 0 {
            divisions += left.ilog(u64::from(from)) + 1;
            left /= u64::from(to);
        }
        f64::from(divisions)
    }
}

fn write(mut value: u64, base: u8) -> String {
    let mut digits = Vec::new();
    while value > 0 || digits.is_empty() {
        digits.push(char::from(DIGITS[usize::try_from(value % u64::from(base)).unwrap_or(0)]));
        value /= u64::from(base);
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_number_is_right_and_no_other_number_is() {
        let instance = Instance { value: 255, from: 10, to: 16 };
        for answer in ["ff", "FF", "0ff", "fF"] {
            assert_eq!(BaseConversion.check(&instance, answer).score, 1.0, "{answer}");
        }
        for answer in ["", "255", "+ff", "-ff", "0xff", "fe", "f f", "ff.", "11111111", "ｆｆ", &"f".repeat(100)] {
            assert_eq!(BaseConversion.check(&instance, answer).score, 0.0, "{answer}");
        }
    }
}
