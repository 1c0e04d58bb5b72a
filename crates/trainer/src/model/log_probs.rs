//! Log-probabilities of tokens, some positions at a time, so that logits of a whole batch never exist at once.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

use super::transformer::Transformer;

/// Most logits that one chunk computes: 64 MiB of f32.
const CHUNK_LOGITS_MAX: usize = 16_777_216;

impl Transformer {
    /// The log-probability of each target, and the entropy in nats of the distribution that it is drawn from; `[n]` each.
    ///
    /// `states` are `[batch, time, width]`; `positions`, `[n]`, count through batch x time; `targets`, `[n]`, are the tokens
    /// that follow there; n is at least 1. Logits are divided by `temperature`, above 0, first. Both answers carry gradients.
    pub fn log_probs(
        &self,
        states: Tensor<3>,
        positions: Tensor<1, Int>,
        targets: Tensor<1, Int>,
        temperature: f64,
    ) -> (Tensor<1>, Tensor<1>) {
        let mut entropies = Vec::new();
        let chosen = self.chunks(self.chunk_rows(), states, positions, targets, temperature, |logs| {
            // H = -sum p ln p.
            entropies.push((logs.clone().exp() * logs.clone()).sum_dim(1).squeeze_dim::<1>(1).neg());
        });
        (chosen, Tensor::cat(entropies, 0))
    }

    /// The log-probability of each target alone, as `log_probs` answers it: for losses without entropy, whose memory it spares.
    pub fn target_log_probs(
        &self,
        states: Tensor<3>,
        positions: Tensor<1, Int>,
        targets: Tensor<1, Int>,
        temperature: f64,
    ) -> Tensor<1> {
        self.chunks(self.chunk_rows(), states, positions, targets, temperature, |_| {})
    }

    fn chunk_rows(&self) -> usize {
        (CHUNK_LOGITS_MAX / self.config().vocab_size).max(1)
    }

    fn chunks(
        &self,
        rows: usize,
        states: Tensor<3>,
        positions: Tensor<1, Int>,
        targets: Tensor<1, Int>,
        temperature: f64,
        mut each: impl FnMut(&Tensor<2>),
    ) -> Tensor<1> {
        let [batch, time, width] = states.dims();
        let states = states.reshape([batch * time, width]).select(0, positions);
        let mut chosen = Vec::new();
        for (states, targets) in states.split(rows, 0).into_iter().zip(targets.split(rows, 0)) {
            let logs = log_softmax(self.logits(states).div_scalar(temperature), 1);
            each(&logs);
            chosen.push(logs.gather(1, targets.unsqueeze_dim(1)).squeeze_dim::<1>(1));
        }
        Tensor::cat(chosen, 0)
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
        let (logs, entropies) =
            model.log_probs(states.clone(), Tensor::from_ints(at, &device), Tensor::from_ints(next, &device), 0.5);
        let alone = model.target_log_probs(
            states.clone(),
            Tensor::from_ints(at, &device),
            Tensor::from_ints(next, &device),
            0.5,
        );
        let logits: Vec<f32> = model.logits(states.reshape([6, 128])).into_data().try_to_vec().unwrap();
        let logs: Vec<f32> = logs.into_data().try_to_vec().unwrap();
        let entropies: Vec<f32> = entropies.into_data().try_to_vec().unwrap();
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
            let (at, next) = (Tensor::from_ints([0, 1, 2, 3, 4], &device), Tensor::from_ints([9, 8, 7, 6, 5], &device));
            model.chunks(rows, states.clone(), at, next, 1.0, |_| {}).into_data().try_to_vec().unwrap()
        };
        for rows in 1..5 {
            for (one, other) in answers(rows).into_iter().zip(answers(5)) {
                assert!((one - other).abs() < 1e-6, "{rows}: {one} {other}");
            }
        }
    }
}
