//! Operations of a model that sampling needs: a cache of what was read, and the logits after it.

use burn::tensor::Tensor;

use crate::failure::TrainerError;

/// A model that answers the logits of the next token and remembers what each slot of a cache has read.
pub trait Decoder {
    /// Cache of the tokens read, per slot.
    type Cache;

    /// Number of tokens.
    fn vocabulary(&self) -> usize;

    /// A cache of `slots` empty slots that hold `capacity` tokens each.
    fn new_cache(&self, slots: usize, capacity: usize) -> Self::Cache;

    /// Empties a slot.
    fn clear(&self, cache: &mut Self::Cache, slot: usize);

    /// Reads `tokens[i]`, at least one, into slot `slots[i]`, each slot at most once. Answers what follows each row's
    /// last token, as states `[rows, width]`.
    ///
    /// # Errors
    /// Where a row exceeds the capacity.
    fn append(&self, cache: &mut Self::Cache, slots: &[usize], tokens: &[&[u32]]) -> Result<Tensor<2>, TrainerError>;

    /// Logits `[rows, vocabulary]` of states `[rows, width]`.
    fn logits(&self, states: Tensor<2>) -> Tensor<2>;
}
