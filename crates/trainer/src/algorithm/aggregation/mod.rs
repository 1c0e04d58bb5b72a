//! Aggregation of token losses into one number: each kind is one weight per sequence, the same for all its action tokens.
//!
//! loss = sum over sequences of weight x sum over its tokens of token loss. Weights are worked out over all sequences
//! of an update at once, so that micro-batches add up to the same loss and gradient however the sequences are spread
//! over them.

mod sequence_mean_of_token_mean;
mod sequence_mean_of_token_sum;
mod token_mean;
mod token_sum_over_constant;

use palestra_protocol::spec::train::Aggregation;

/// One weight per sequence. `lengths` are the action tokens of each sequence of the whole update (of the whole
/// minibatch, where an update is cut into several); 0 stands for a sequence that left the update: it weighs and counts
/// nothing.
#[must_use]
pub fn weights(kind: &Aggregation, lengths: &[usize]) -> Vec<f64> {
    let present = lengths.iter().filter(|length| **length > 0).count() as f64;
    let tokens = lengths.iter().sum::<usize>() as f64;
    let weight = |length: usize| match *kind {
        Aggregation::TokenMean => token_mean::weight(tokens),
        Aggregation::SequenceMeanOfTokenMean => sequence_mean_of_token_mean::weight(present, length),
        Aggregation::SequenceMeanOfTokenSum => sequence_mean_of_token_sum::weight(present),
        Aggregation::TokenSumOverConstant { constant } => token_sum_over_constant::weight(present, constant),
    };
    lengths.iter().map(|length| if *length > 0 { weight(*length) } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::algorithm::known::{known, numbers};

    fn kinds(constant: f64) -> [(&'static str, Aggregation); 4] {
        [
            ("token_mean", Aggregation::TokenMean),
            ("sequence_mean_of_token_mean", Aggregation::SequenceMeanOfTokenMean),
            ("sequence_mean_of_token_sum", Aggregation::SequenceMeanOfTokenSum),
            ("token_sum_over_constant", Aggregation::TokenSumOverConstant { constant }),
        ]
    }

    #[test]
    fn weighted_sums_are_the_numbers_worked_out_apart() {
        let case = &known()["aggregation"];
        let lengths: Vec<usize> = numbers(&case["lengths"]).into_iter().map(|length| length as usize).collect();
        for (name, kind) in kinds(case["constant"].as_f64().unwrap()) {
            let weights = weights(&kind, &lengths);
            let losses = case["losses"].as_array().unwrap().iter();
            let total: f64 =
                losses.zip(weights).map(|(losses, weight)| weight * numbers(losses).iter().sum::<f64>()).sum();
            assert!((total - case["expected"][name].as_f64().unwrap()).abs() < 1e-12, "{name}: {total}");
        }
    }

    #[test]
    fn an_update_without_tokens_has_no_weights() {
        for (_, kind) in kinds(8.0) {
            assert_eq!(weights(&kind, &[0, 0]), [0.0, 0.0]);
            assert!(weights(&kind, &[]).is_empty());
        }
    }

    proptest! {
        #[test]
        fn means_weigh_one_in_all_and_absent_sequences_do_not_count(
            lengths in prop::collection::vec(0_usize..50, 1..20),
        ) {
            let present: Vec<usize> = lengths.iter().copied().filter(|length| *length > 0).collect();
            for (name, kind) in kinds(16.0) {
                let found = weights(&kind, &lengths);
                let alone = weights(&kind, &present);
                let kept = found.iter().zip(&lengths).filter(|(_, length)| **length > 0);
                let kept: Vec<f64> = kept.map(|(weight, _)| *weight).collect();
                prop_assert_eq!(kept, alone, "{}", name);
                let total: f64 = found.iter().zip(&lengths).map(|(weight, length)| weight * *length as f64).sum();
                let mean = matches!(kind, Aggregation::TokenMean | Aggregation::SequenceMeanOfTokenMean);
                if mean && !present.is_empty() {
                    prop_assert!((total - 1.0).abs() < 1e-12, "{}: {}", name, total);
                }
            }
        }
    }
}
