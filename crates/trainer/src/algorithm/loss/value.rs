//! The clipped value loss that goes with "Proximal Policy Optimization", <https://arxiv.org/abs/1707.06347>, in the
//! form of its authors' code: the worse of the squared errors with and without a bound on how far a value moves in one
//! update.

use burn::tensor::Tensor;

/// Largest change of a value in one update before the bound gives no gradient any more.
pub const VALUE_CLIP: f64 = 0.2;

/// The loss of each value, [n]; only `values` carries a gradient.
///
/// `old` are the values before this update, `returns` what they should have been, `clip` how far they may move.
#[must_use]
pub fn loss(values: Tensor<1>, old: Tensor<1>, returns: Tensor<1>, clip: f64) -> Tensor<1> {
    let context = values.gradient_checkpointing_strategy();
    let old = super::without_gradient(old, context);
    let returns = super::without_gradient(returns, context);
    // V_old + clip(V - V_old, -c, c)
    let near = old.clone() + (values.clone() - old).clamp(-clip, clip);
    let square = |error: Tensor<1>| error.clone() * error;
    // max((V - R)^2, (V_near - R)^2) / 2
    square(values - returns.clone()).max_pair(square(near - returns)) * 0.5
}

#[cfg(test)]
mod tests {
    use super::super::known_tokens::{device, gradient, tensor, to_vec};
    use super::*;
    use crate::algorithm::known::{assert_near, known, numbers};

    #[test]
    fn value_losses_and_gradients_are_as_worked_out_apart() {
        let case = &known()["value"];
        let read = |name: &str| tensor(&numbers(&case[name]), &device());
        let values = read("values").require_grad();
        let found = loss(values.clone(), read("old"), read("returns"), case["clip"].as_f64().unwrap());
        assert_near(&to_vec(found.clone()), &numbers(&case["loss"]), 1e-5);
        assert_near(&gradient(&values, found * read("weights")), &numbers(&case["gradient"]), 1e-5);
    }
}
