//! Log-probabilities of tokens, some positions at a time, so that logits of a whole batch never exist at once.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

use super::transformer::Transformer;

/// Most logits that one chunk computes: 64 MiB of f32.
pub(super) const CHUNK_LOGITS_MAX: usize = 16_777_216;

/// Log-probabilities of targets, `[n]`, and the entropies in nats of the distributions that they are drawn from, `[n]`, where those are asked
/// for.
pub(super) type Scored = (Tensor<1>, Option<Tensor<1>>);

impl Transformer {
    /// The log-probability of each target, and the entropy in nats of the distribution that it is drawn from, where that is asked for;
    /// `[n]` each.
    ///
    /// `states` are `[batch, time, width]`; `positions`, `[n]`, count through batch x time; `targets`, `[n]`, are the tokens
    /// that follow there; n is at least 1. Logits are divided by `temperature`, above 0, first. Both answers carry gradients.
    pub(super) fn log_probs(
        &self,
        states: Tensor<3>,
        positions: Tensor<1, Int>,
        targets: Tensor<1, Int>,
        temperature: f64,
        entropies: bool,
    ) -> Scored {
        let [batch, time, width] = states.dims();
        let states = states.reshape([batch * time, width]).select(0, positions);
        self.scored(self.chunk_rows(), states, targets, temperature, entropies)
    }

    /// Number of positions whose logits exist at once.
    pub(super) fn chunk_rows(&self) -> usize {
        (CHUNK_LOGITS_MAX / self.config().vocab_size).max(1)
    }

    /// The same from the states at the positions alone, `[n, width]`, so many positions at a time.
    pub(super) fn scored(
        &self,
        rows: usize,
        states: Tensor<2>,
        targets: Tensor<1, Int>,
        temperature: f64,
        entropies: bool,
    ) -> Scored {
        let (mut chosen, mut spread) = (Vec::new(), Vec::new());
        for (states, targets) in states.split(rows, 0).into_iter().zip(targets.split(rows, 0)) {
            let logs = log_softmax(self.logits(states).div_scalar(temperature), 1);
            if entropies {
                // H = -sum p ln p.
                spread.push((logs.clone().exp() * logs.clone()).sum_dim(1).squeeze_dim::<1>(1).neg());
            }
            chosen.push(logs.gather(1, targets.unsqueeze_dim(1)).squeeze_dim::<1>(1));
        }
        (Tensor::cat(chosen, 0), entropies.then(|| Tensor::cat(spread, 0)))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Int, Tensor};

    use crate::model::{Transformer, TransformerConfig};

    #[test]
    fn log_probabilities_and_entropies_are_those_of_the_whole_softmax() {
        let device = Device::flex();
        let model = Transformer::init(&TransformerConfig::tiny(50, None, 16), 4, &device).unwrap();
        let tokens = Tensor::<2, Int>::from_ints([[1, 2, 3], [4, 5, 6]], &device);
        let states = model.states(tokens);
        let (at, next) = ([0_i64, 4, 5], [7_i64, 8, 49]);
        let (logs, entropies) = model.log_probs(
            states.clone(),
            Tensor::from_ints(at, &device),
            Tensor::from_ints(next, &device),
            0.5,
            true,
        );
        let (alone, _) = model.log_probs(
            states.clone(),
            Tensor::from_ints(at, &device),
            Tensor::from_ints(next, &device),
            0.5,
            false,
        );
        let logits: Vec<f32> = model.logits(states.reshape([6, 128])).into_data().try_to_vec().unwrap();
        let logs: Vec<f32> = logs.into_data().try_to_vec().unwrap();
        let entropies: Vec<f32> = entropies.unwrap().into_data().try_to_vec().unwrap();
        assert_eq!(alone.into_data().try_to_vec::<f32>().unwrap(), logs);
        for (n, (at, next)) in at.into_iter().zip(next).enumerate() {
            let row: Vec<f64> = logits[at as usize * 50..][..50].iter().map(|x| f64::from(*x) / 0.5).collect();
            let total = row.iter().map(|x| x.exp()).sum::<f64>().ln();
            assert!((f64::from(logs[n]) - (row[next as usize] - total)).abs() < 1e-5);
            let entropy: f64 = row.iter().map(|x| -(x - total) * (x - total).exp()).sum();
            assert!((f64::from(entropies[n]) - entropy).abs() < 1e-5);
        }
    }

    #[test]
    fn chunks_of_any_size_answer_the_same() {
        let device = Device::flex();
        let model = Transformer::init(&TransformerConfig::tiny(50, None, 16), 4, &device).unwrap();
        let states = model.states(Tensor::<2, Int>::from_ints([[1, 2, 3, 4, 5]], &device));
        let answers = |rows| -> Vec<f32> {
            let states = states.clone().squeeze_dim::<2>(0);
            model
                .scored(rows, states, Tensor::from_ints([9, 8, 7, 6, 5], &device), 1.0, false)
                .0
                .into_data()
                .try_to_vec()
                .unwrap()
        };
        for rows in 1..5 {
            for (one, other) in answers(rows).into_iter().zip(answers(5)) {
                assert!((one - other).abs() < 1e-6, "{rows}: {one} {other}");
            }
        }
    }
}
