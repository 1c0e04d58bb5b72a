//! Fixtures of several test programs: answers without randomness.

use palestra_trainer::model::Transformer;
use palestra_trainer::sampling::{SampleRequest, Sampler};

/// The most probable tokens after a prompt, from the cache, up to a stop. For a model without autodiff.
pub(crate) fn greedy(model: Transformer, prompt: &[u32], max_tokens: usize, stops: &[u32]) -> Vec<u32> {
    let mut sampler = Sampler::new(model, 1, prompt.len() + max_tokens, 0);
    let slot = sampler.open(0).unwrap();
    let request = SampleRequest { slot, tokens: prompt, max_tokens, temperature: 0.0, top_p: 1.0, stops };
    sampler.answer(&[request]).unwrap().remove(0).tokens
}
