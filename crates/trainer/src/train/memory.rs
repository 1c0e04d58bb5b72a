//! Memory of a training, estimated before it begins: what cannot fit is refused with numbers instead of taking the machine down.

use std::fmt;

use burn::module::Module;

use super::Context;
use crate::device::free_memory_bytes;
use crate::failure::TrainerError;
use crate::model::Transformer;
use crate::optimizer::trainable_shapes;

/// Bytes that a training takes beside the weights that are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Estimate {
    /// Tokens of the longest sequence.
    tokens: usize,
    /// Gradients, both running means of the optimizer and the changed weights.
    weights: u64,
    /// Keys and values of one sequence.
    cache: u64,
    /// Activations of one pass over the longest sequence.
    pass: u64,
}

impl Estimate {
    fn new(model: &Transformer, trained: &impl Module, tokens: usize) -> Self {
        let elements: usize = trainable_shapes(trained).values().map(|shape| shape.iter().product::<usize>()).sum();
        let numbers = (size_of::<f32>() * elements) as u64;
        Self { tokens, weights: 4 * numbers, cache: model.cache_bytes(tokens), pass: model.learning_bytes(tokens) }
    }

    /// Answers the refusal where so many free bytes are not enough.
    fn check(&self, free: u64) -> Result<(), TrainerError> {
        if self.weights + self.cache + self.pass <= free {
            return Ok(());
        }
        Err(TrainerError::DoesNotFit(format!("{self}, and {} are free", Bytes(free))))
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tokens, weights, cache, pass } = *self;
        write!(
            to,
            "to learn from a sequence of {tokens} tokens takes about {}: {} for gradients, means of the optimizer and changed weights, {} \
             for keys and values, {} for a pass forwards and backwards",
            Bytes(weights + cache + pass),
            Bytes(weights),
            Bytes(cache),
            Bytes(pass)
        )
    }
}

/// Bytes, written in GB.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:.2} GB", self.0 as f64 / 1e9)
    }
}

/// Checks that `model`, of which `trained` is trained, can learn from a sequence of so many tokens. A device that does not tell its memory
/// is believed to have enough.
///
/// # Errors
/// [`TrainerError::DoesNotFit`].
pub(super) fn check(
    context: &Context,
    model: &Transformer,
    trained: &impl Module,
    tokens: usize,
) -> Result<(), TrainerError> {
    let tokens = tokens.min(model.config().positions_max);
    free_memory_bytes(&context.device).map_or(Ok(()), |free| Estimate::new(model, trained, tokens).check(free))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::Estimate;
    use crate::model::{Transformer, TransformerConfig};

    #[test]
    fn what_does_not_fit_is_refused_with_numbers() {
        let config = TransformerConfig::tiny(300, None, 1 << 20);
        let model = Transformer::init(&config, 1, &Device::flex().autodiff()).unwrap();
        let estimate = Estimate::new(&model, &model, 4_096);
        assert!(estimate.check(8 << 30).is_ok());
        let refusal = Estimate::new(&model, &model, 1 << 20).check(8 << 30).unwrap_err();
        assert_eq!(refusal.code(), "out_of_memory");
        assert!(!refusal.may_pass());
        let text = refusal.to_string();
        assert!(text.contains("a sequence of 1048576 tokens") && text.contains("8.59 GB are free"), "{text}");
        assert!(text.contains("rollout.max_context_tokens"), "{text}");
    }

    #[test]
    fn longer_sequences_take_more_but_never_the_square() {
        let config = TransformerConfig::tiny(300, None, 1 << 20);
        let model = Transformer::init(&config, 1, &Device::flex().autodiff()).unwrap();
        let pass = |tokens| Estimate::new(&model, &model, tokens).pass as f64;
        let lengths = (3..=20).map(|power| 1_usize << power);
        for (shorter, longer) in lengths.clone().zip(lengths.skip(1)).skip_while(|(shorter, _)| *shorter < 16_384) {
            let ratio = pass(longer) / pass(shorter);
            assert!((1.0..=2.1).contains(&ratio), "{shorter} to {longer} tokens: {ratio}");
        }
    }
}
