//! The choice of one token from one row of logits, on the host: the same arithmetic for every device.

use std::cmp::Ordering;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::failure::TrainerError;

/// A sampled token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Its id.
    pub token: u32,
    /// Its natural log-probability with the temperature applied, before nucleus truncation; at temperature 0 that of
    /// temperature 1.
    pub log_prob: f32,
}

/// Chooses a token from `logits` `[vocabulary]`: softmax(logits / temperature), cut to its nucleus, the smallest set of
/// the most probable tokens whose mass reaches `top_p` (<https://arxiv.org/abs/1904.09751>; the lower id first on
/// ties). At temperature 0 it is the most probable token, the lowest id on ties, and nothing is drawn from `random`;
/// above, one number is.
///
/// # Errors
/// [`TrainerError::NotFinite`] where a logit is NaN or plus infinity, or where none is finite. Minus infinity is a
/// token that cannot be chosen.
pub fn choose(logits: &[f32], temperature: f64, top_p: f64, random: &mut ChaCha8Rng) -> Result<Choice, TrainerError> {
    let (best, top) = most_probable(logits)?;
    let divisor = if temperature == 0.0 { 1.0 } else { temperature };
    // exp((l - max) / T): at most 1, and exactly 1 for the most probable token.
    let weight = |logit: f32| ((f64::from(logit) - f64::from(top)) / divisor).exp();
    let total: f64 = logits.iter().map(|&logit| weight(logit)).sum();
    let log_prob = |token: usize| ((f64::from(logits[token]) - f64::from(top)) / divisor - total.ln()) as f32;
    let token = if temperature == 0.0 {
        best
    } else {
        let uniform: f64 = random.random();
        if top_p < 1.0 {
            nucleus(logits, weight, total, top_p, uniform)
        } else {
            reached(logits.iter().map(|&logit| weight(logit)).enumerate(), uniform * total).unwrap_or(best)
        }
    };
    Ok(Choice { token: token as u32, log_prob: log_prob(token) })
}

/// Index and value of the largest logit, the first of equals.
fn most_probable(logits: &[f32]) -> Result<(usize, f32), TrainerError> {
    let mut best = (0, f32::NEG_INFINITY);
    for (token, &logit) in logits.iter().enumerate() {
        if logit.is_nan() || logit == f32::INFINITY {
            return Err(TrainerError::NotFinite { tensor: format!("the logit of token {token}") });
        }
        if logit > best.1 {
            best = (token, logit);
        }
    }
    if best.1 == f32::NEG_INFINITY {
        return Err(TrainerError::NotFinite { tensor: "every logit of a row".to_owned() });
    }
    Ok(best)
}

/// The token at which the running sum of `weights` passes `point`; the last with weight where rounding keeps it below.
fn reached(weights: impl Iterator<Item = (usize, f64)>, point: f64) -> Option<usize> {
    let mut sum = 0.0;
    let mut last = None;
    for (token, weight) in weights {
        if weight > 0.0 {
            sum += weight;
            last = Some(token);
            if sum > point {
                break;
            }
        }
    }
    last
}

fn nucleus(logits: &[f32], weight: impl Fn(f32) -> f64, total: f64, top_p: f64, uniform: f64) -> usize {
    // Tokens below this weight hold less than 1 - top_p together, so the nucleus is complete without them: it spares
    // the sort.
    let floor = (1.0 - top_p) * total / logits.len() as f64;
    let mut candidates: Vec<(usize, f64)> =
        logits.iter().map(|&logit| weight(logit)).enumerate().filter(|&(_, weight)| weight >= floor).collect();
    candidates.sort_by(|left, right| right.1.partial_cmp(&left.1).unwrap_or(Ordering::Equal));
    let mut mass = 0.0;
    let mut size = 0;
    for &(_, weight) in &candidates {
        mass += weight;
        size += 1;
        if mass >= top_p * total {
            break;
        }
    }
    candidates.truncate(size);
    let first = candidates.first().map_or(0, |&(token, _)| token);
    reached(candidates.into_iter(), uniform * mass).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert, proptest};
    use rand::SeedableRng;

    use super::*;

    const DRAWS: usize = 20_000;

    fn frequencies(logits: &[f32], temperature: f64, top_p: f64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut counts = vec![0.0; logits.len()];
        for _ in 0..DRAWS {
            counts[choose(logits, temperature, top_p, &mut random).unwrap().token as usize] += 1.0;
        }
        counts.into_iter().map(|count| count / DRAWS as f64).collect()
    }

    /// Within five standard deviations of the binomial distribution.
    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 5.0 * (expected * (1.0 - expected) / DRAWS as f64).sqrt()
    }

    #[test]
    fn frequencies_follow_the_softmax_at_the_temperature() {
        let logits = [1.0_f32, 0.0, -1.0, 2.0, f32::NEG_INFINITY];
        for temperature in [0.5, 1.0, 2.0] {
            let weights: Vec<f64> = logits.iter().map(|&logit| (f64::from(logit) / temperature).exp()).collect();
            let total: f64 = weights.iter().sum();
            let found = frequencies(&logits, temperature, 1.0);
            for (found, weight) in found.iter().zip(&weights) {
                assert!(near(*found, weight / total), "{found} for {}", weight / total);
            }
        }
    }

    #[test]
    fn the_nucleus_is_the_smallest_set_that_reaches_the_mass() {
        // Probabilities 0.5, 0.25, 0.15, 0.1: 0.7 needs the first two, whose shares become 2/3 and 1/3.
        let logits = [0.1_f32, 0.5, 0.15, 0.25].map(f32::ln);
        let found = frequencies(&logits, 1.0, 0.7);
        assert!(near(found[1], 2.0 / 3.0) && near(found[3], 1.0 / 3.0), "{found:?}");
        assert!(found[0] == 0.0 && found[2] == 0.0, "{found:?}");
        assert_eq!(frequencies(&logits, 1.0, 1e-9)[1], 1.0, "the nucleus is never empty");
        let even = frequencies(&[0.0; 4], 1.0, 0.5);
        assert!(near(even[0], 0.5) && near(even[1], 0.5), "ties enter by the lower id: {even:?}");
    }

    #[test]
    fn temperature_zero_takes_the_lowest_of_the_largest_and_draws_nothing() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut untouched = random.clone();
        let choice = choose(&[0.0, 3.0, 3.0, -1.0], 0.0, 0.3, &mut random).unwrap();
        assert_eq!(choice.token, 1);
        let expected = 3.0 - (1.0_f64 + 2.0 * 3f64.exp() + (-1f64).exp()).ln();
        assert!((f64::from(choice.log_prob) - expected).abs() < 1e-6);
        assert_eq!(random.random::<u64>(), untouched.random::<u64>());
    }

    #[test]
    fn log_probabilities_are_of_the_distribution_before_the_nucleus() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let choice = choose(&[2.0, 0.0], 2.0, 0.1, &mut random).unwrap();
        assert_eq!(choice.token, 0);
        assert!((f64::from(choice.log_prob) - (-(1.0 + (-1f64).exp()).ln())).abs() < 1e-6);
    }

    #[test]
    fn broken_logits_are_told_by_their_token() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for logits in [&[0.0, f32::NAN][..], &[f32::INFINITY, 0.0], &[f32::NEG_INFINITY; 3], &[]] {
            for temperature in [0.0, 1.0] {
                let error = choose(logits, temperature, 0.9, &mut random).unwrap_err();
                assert_eq!(error.code(), "not_finite", "{logits:?}");
            }
        }
        let error = choose(&[0.0, f32::NAN], 1.0, 1.0, &mut random).unwrap_err();
        assert!(error.to_string().contains("token 1"), "{error}");
    }

    proptest! {
        #[test]
        fn any_finite_logits_give_a_token_that_is_possible(
            logits in prop::collection::vec(-1e30_f32..1e30, 1..50),
            temperature in 0.0_f64..10.0,
            top_p in 0.0_f64..=1.0,
            seed in any::<u64>(),
        ) {
            let choice = choose(&logits, temperature, top_p, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
            prop_assert!((choice.token as usize) < logits.len());
            prop_assert!(choice.log_prob <= 0.0 && choice.log_prob.is_finite());
        }
    }
}
