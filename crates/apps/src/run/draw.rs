//! Random functions of seeds, set-ups and events: numbers by hash of what they are for.

use std::sync::Arc;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use crate::expression::{EvalError, Host};
use crate::functions::id;
use crate::value::Value;
use crate::words;

/// A source of random values that follows from words alone.
#[derive(Debug, Clone)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// The source that follows from these words; other words, or the same letters split otherwise, give another.
    #[must_use]
    pub fn of(words: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for word in words {
            hasher.update((word.len() as u64).to_be_bytes());
            hasher.update(word);
        }
        Self(ChaCha8Rng::from_seed(hasher.finalize().into()))
    }

    /// The numbers themselves.
    pub const fn random(&mut self) -> &mut ChaCha8Rng {
        &mut self.0
    }

    fn whole(&mut self, low: i64, high: i64, step: i64) -> Result<Value, EvalError> {
        if step < 1 || low > high {
            return Err(EvalError::OutOfRange("a random number"));
        }
        let steps = high.abs_diff(low) / step.unsigned_abs();
        let offset = i64::try_from(self.0.random_range(0..=steps)).ok().and_then(|steps| steps.checked_mul(step));
        offset
            .and_then(|offset| low.checked_add(offset))
            .map(Value::Int)
            .ok_or(EvalError::OutOfRange("a random number"))
    }

    fn weighted(&mut self, arguments: &[Value]) -> Result<Value, EvalError> {
        let pairs: Vec<(&Value, u64)> = arguments
            .chunks(2)
            .filter_map(|pair| match pair {
                [word, Value::Int(weight)] => Some((word, u64::try_from(*weight).ok()?)),
                _ => None,
            })
            .collect();
        let total = pairs.iter().try_fold(0_u64, |total, (_, weight)| total.checked_add(*weight)).unwrap_or(0);
        if total == 0 || pairs.len() * 2 != arguments.len() {
            return Err(EvalError::OutOfRange("a weight"));
        }
        let mut left = self.0.random_range(0..total);
        for (word, weight) in pairs {
            if left < weight {
                return Ok(word.clone());
            }
            left -= weight;
        }
        Err(EvalError::Mismatch)
    }

    /// So many different elements of a list, in the list's order.
    fn sample(&mut self, values: &[Value], count: i64) -> Result<Value, EvalError> {
        let count = usize::try_from(count).map_err(|_| EvalError::OutOfRange("a count"))?.min(values.len());
        let mut left = count;
        let mut chosen = Vec::with_capacity(count);
        for (place, value) in values.iter().enumerate() {
            if left > 0 && self.0.random_range(0..values.len() - place) < left {
                chosen.push(value.clone());
                left -= 1;
            }
        }
        Ok(Value::List(chosen.into()))
    }

    /// One element of a list.
    ///
    /// # Errors
    /// [`EvalError::Index`] when there is none.
    pub fn pick(&mut self, values: &[Value]) -> Result<Value, EvalError> {
        if values.is_empty() {
            return Err(EvalError::Index(0));
        }
        Ok(values[self.0.random_range(0..values.len())].clone())
    }
}

impl Host for Draws {
    fn call(&mut self, function: u16, arguments: &[Value]) -> Result<Value, EvalError> {
        match (function, arguments) {
            (id::INT, [Value::Int(low), Value::Int(high)]) => self.whole(*low, *high, 1),
            (id::INT, [Value::Int(low), Value::Int(high), Value::Int(step)]) => self.whole(*low, *high, *step),
            (id::CHANCE, [Value::Int(part), Value::Int(whole)]) if 0 <= *part && part <= whole && *whole > 0 => {
                Ok(Value::Bool(self.0.random_range(0..*whole) < *part))
            }
            (id::WEIGHTS, pairs) => self.weighted(pairs),
            (id::PICK, [Value::List(values)]) => self.pick(values),
            (id::SAMPLE, [Value::List(values), Value::Int(count)]) => self.sample(values, *count),
            (id::DATE_BETWEEN, [Value::Int(from), Value::Int(to)]) => self.whole(*from, *to, 1),
            (id::INSTANT_BETWEEN, [Value::Int(from), Value::Int(to)]) => self.whole(*from, *to, 60),
            (word, texts) if word >= id::WORDS => {
                let generator = words::all().nth(usize::from(word - id::WORDS)).ok_or(EvalError::Mismatch)?;
                let texts: Vec<Arc<str>> = texts
                    .iter()
                    .map(|text| match text {
                        Value::Text(text) => Ok(Arc::clone(text)),
                        _ => Err(EvalError::Mismatch),
                    })
                    .collect::<Result<_, _>>()?;
                Ok(Value::Text(generator.generate(&mut self.0, &texts).into()))
            }
            _ => Err(EvalError::OutOfRange("an argument of a random function")),
        }
    }
}
