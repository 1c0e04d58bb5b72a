//! Truncated importance weights, <https://doi.org/10.1198/106186008X320456>, as for stale actors in "IMPALA",
//! <https://arxiv.org/abs/1802.01561>: tokens that weights of some updates ago sampled are corrected by
//! w = min(p_old / p_sampled, 2).
//!
//! `old` comes from a training forward pass just before the update, `sampled` from the sampler. The weight multiplies
//! the policy loss of its token; it has no gradient.

use super::loss::LOG_RATIO_NATS_MAX;

/// Bound of a weight: one token counts for no more than two.
pub const IMPORTANCE_WEIGHT_MAX: f64 = 2.0;

/// One weight per token, from log-probabilities in nats at the temperature that sampled.
#[must_use]
pub fn weights(old: &[f32], sampled: &[f32]) -> Vec<f32> {
    let weight = |(old, sampled): (&f32, &f32)| {
        let log_ratio = (f64::from(*old) - f64::from(*sampled)).clamp(-LOG_RATIO_NATS_MAX, LOG_RATIO_NATS_MAX);
        log_ratio.exp().min(IMPORTANCE_WEIGHT_MAX) as f32
    };
    old.iter().zip(sampled).map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::known::{assert_near, known, numbers};

    #[test]
    fn weights_are_truncated_as_worked_out_apart() {
        let case = &known()["importance"];
        let read = |name: &str| numbers(&case[name]).into_iter().map(|number| number as f32).collect::<Vec<f32>>();
        let found: Vec<f64> = weights(&read("old"), &read("sampled")).into_iter().map(f64::from).collect();
        assert_near(&found, &numbers(&case["weights"]), 1e-6);
    }

    #[test]
    fn fresh_rollouts_weigh_one() {
        assert_eq!(weights(&[-0.3, -7.0], &[-0.3, -7.0]), [1.0, 1.0]);
    }
}
