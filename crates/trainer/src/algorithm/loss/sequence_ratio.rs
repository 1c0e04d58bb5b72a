//! One ratio per sequence, "GSPO", <https://arxiv.org/abs/2507.18071>: s = exp(mean over its tokens of ln p_new - ln
//! p_old).
//!
//! In the token form s_t = sg(s) p_t / sg(p_t), where sg stops the gradient: each token has the value of the sequence
//! and a slope of its own, so that advantages may differ within a sequence.

use std::collections::BTreeMap;

use burn::tensor::{IndexingUpdateOp, Int, Tensor, TensorData};

use super::{LOG_RATIO_NATS_MAX, without_gradient};

/// The ratio of each token, [n]. `difference` is ln p_new - ln p_old, not clamped; the mean is.
pub(super) fn ratio(new: &Tensor<1>, difference: &Tensor<1>, sequence_of: &[usize]) -> Tensor<1> {
    let context = new.gradient_checkpointing_strategy();
    let difference = difference.clone().inner();
    let device = difference.device();
    let (places, lengths) = dense(sequence_of);
    let share: Vec<f32> = places.iter().map(|place| 1.0 / lengths[*place] as f32).collect();
    let tokens = places.len();
    let indices: Vec<i64> = places.iter().map(|place| *place as i64).collect();
    let indices = Tensor::<1, Int>::from_data(TensorData::new(indices, [tokens]), &device);
    let share = Tensor::<1>::from_data(TensorData::new(share, [tokens]), &device);
    // mean over the tokens of each sequence
    let means = Tensor::<1>::zeros([lengths.len()], &device).select_assign(
        0,
        indices.clone(),
        difference * share,
        IndexingUpdateOp::Add,
    );
    // s, at each token
    let value = means.clamp(-LOG_RATIO_NATS_MAX, LOG_RATIO_NATS_MAX).exp().select(0, indices);
    // p_t / sg(p_t): 1, with the slope of ln p_t
    let slope = (new.clone() - without_gradient(new.clone(), context)).exp();
    slope * without_gradient(value, context)
}

/// Sequences numbered from 0: the number of each token's, and how many tokens each has.
fn dense(sequence_of: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut numbers = BTreeMap::new();
    let mut lengths: Vec<usize> = Vec::new();
    let mut places = Vec::with_capacity(sequence_of.len());
    for sequence in sequence_of {
        let place = *numbers.entry(*sequence).or_insert(lengths.len());
        if place == lengths.len() {
            lengths.push(0);
        }
        lengths[place] += 1;
        places.push(place);
    }
    (places, lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_numbered_as_they_come() {
        assert_eq!(dense(&[9, 4, 9, 9]), (vec![0, 1, 0, 0], vec![3, 1]));
    }
}
