//! The transformer as a decoder.

use burn::tensor::Tensor;

use super::decoder::Decoder;
use crate::failure::TrainerError;
use crate::model::{Cache, Transformer};

impl Decoder for Transformer {
    type Cache = Cache;

    fn vocabulary(&self) -> usize {
        self.config().vocab_size
    }

    fn new_cache(&self, slots: usize, capacity: usize) -> Cache {
        Transformer::new_cache(self, slots, capacity)
    }

    fn clear(&self, cache: &mut Cache, slot: usize) {
        cache.clear(slot);
    }

    fn append(&self, cache: &mut Cache, slots: &[usize], tokens: &[&[u32]]) -> Result<Tensor<2>, TrainerError> {
        Transformer::append(self, cache, slots, tokens)
    }

    fn logits(&self, states: Tensor<2>) -> Tensor<2> {
        Transformer::logits(self, states)
    }
}

#[cfg(test)]
mod tests {
    use burn::module::Module;
    use burn::tensor::{Device, Int, TensorData};

    use super::*;
    use crate::model::TransformerConfig;
    use crate::sampling::{Answer, SampleRequest, Sampler};

    const SLOTS: usize = 4;
    const CAPACITY: usize = 64;

    fn model() -> Transformer {
        Transformer::init(&TransformerConfig::tiny(264, None, CAPACITY), 3, &Device::flex()).unwrap().valid()
    }

    fn largest(model: &Transformer, text: &[u32]) -> u32 {
        let tokens: Vec<i64> = text.iter().map(|&token| i64::from(token)).collect();
        let tokens = Tensor::<2, Int>::from_data(TensorData::new(tokens, [1, text.len()]), &Device::flex());
        let states = model.states(tokens);
        let [_, time, width] = states.dims();
        let logits = model.logits(states.slice([0..1, time - 1..time, 0..width]).reshape([1, width]));
        let logits = logits.into_data().try_into_vec::<f32>().unwrap();
        (0..logits.len()).max_by(|&left, &right| logits[left].total_cmp(&logits[right])).unwrap() as u32
    }

    #[test]
    fn greedy_answers_over_turns_are_those_without_a_cache() {
        let model = model();
        let mut sampler = Sampler::new(model.clone(), SLOTS, CAPACITY, 1);
        let slots: Vec<_> = (0..3).map(|key| sampler.open(key).unwrap()).collect();
        let mut texts: Vec<Vec<u32>> = vec![Vec::new(); 3];
        for turn in 0..3_u32 {
            let prompts: Vec<Vec<u32>> =
                (0..3).map(|row| (0..=row * 4 + turn).map(|step| step * 7 + row).collect()).collect();
            let requests: Vec<SampleRequest<'_>> = slots
                .iter()
                .zip(&prompts)
                .map(|(&slot, tokens)| SampleRequest {
                    slot,
                    tokens,
                    max_tokens: 4,
                    temperature: 0.0,
                    top_p: 1.0,
                    stops: &[],
                })
                .collect();
            let answers = sampler.answer(&requests).unwrap();
            for ((text, prompt), answer) in texts.iter_mut().zip(&prompts).zip(answers) {
                text.extend(prompt);
                for token in answer.tokens {
                    assert_eq!(token, largest(&model, text));
                    text.push(token);
                }
            }
        }
    }

    #[test]
    fn sampled_answers_agree_alone_and_together_up_to_rounding() {
        let request =
            |slot, tokens| SampleRequest { slot, tokens, max_tokens: 12, temperature: 1.0, top_p: 0.95, stops: &[] };
        let prompts: [&[u32]; 3] = [&[1, 2, 3, 4, 5], &[9], &[7, 7, 7]];
        let alone: Vec<Answer> = (0..3)
            .map(|key| {
                let mut sampler = Sampler::new(model(), 1, CAPACITY, 1);
                let slot = sampler.open(key as u64).unwrap();
                sampler.answer(&[request(slot, prompts[key])]).unwrap().remove(0)
            })
            .collect();
        let mut sampler = Sampler::new(model(), SLOTS, CAPACITY, 1);
        let slots: Vec<_> = (0..3).map(|key| sampler.open(key).unwrap()).collect();
        let requests: Vec<SampleRequest<'_>> =
            slots.iter().zip(prompts).map(|(&slot, tokens)| request(slot, tokens)).collect();
        for (found, expected) in sampler.answer(&requests).unwrap().iter().zip(&alone) {
            assert_eq!(found.tokens, expected.tokens);
            for (found, expected) in found.log_probs.iter().zip(&expected.log_probs) {
                assert!((found - expected).abs() < 1e-4, "{found} for {expected}");
            }
        }
    }
}
