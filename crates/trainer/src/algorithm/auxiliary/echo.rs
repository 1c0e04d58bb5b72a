//! Cross-entropy on what the environment answered, "ECHO", <https://arxiv.org/abs/2605.24517>: the policy also learns
//! to predict what its actions lead to, from the logits of the same forward pass.
//!
//! loss = policy loss + weight x mean over observation tokens of -ln p(token). The mean is over all observation tokens
//! of the update, like every other loss here. A prompt is not an observation: no action led to it.

/// The weight of each observation token of an update: `weight` / their number, 0 where there are none.
///
/// `counts` are the observation tokens of each sequence; 0 for a sequence that left the update.
#[must_use]
pub fn token_weight(weight: f64, counts: &[usize]) -> f64 {
    let tokens: usize = counts.iter().sum();
    if tokens == 0 { 0.0 } else { weight / tokens as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_term_is_a_mean_over_observation_tokens() {
        assert_eq!(token_weight(0.5, &[3, 0, 7]), 0.05);
        assert_eq!(token_weight(0.5, &[0, 0]), 0.0);
    }
}
