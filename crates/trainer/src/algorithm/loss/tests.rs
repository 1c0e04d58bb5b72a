//! Policy losses beside numbers that were worked out apart, and what they must not do.

use burn::tensor::{Device, Tensor};
use palestra_protocol::spec::train::{Clip, KlEstimator};
use serde_json::Value;

use super::known_tokens::{KnownTokens, device, gradient, tensor, to_vec};
use super::{LossParts, Ratio, TokenBatch, TokenLoss};
use crate::algorithm::known::{assert_near, known, numbers};

/// Agreement of f32 with f64.
const TOLERANCE: f64 = 1e-5;

fn plain(ratio: Ratio, case: &Value) -> TokenLoss {
    let clip =
        Clip { low: case["low"].as_f64().unwrap(), high: case["high"].as_f64().unwrap(), dual: case["dual"].as_f64() };
    TokenLoss { ratio, clip, kl: None, entropy: 0.0 }
}

fn assert_parts(tokens: &KnownTokens, parts: LossParts, case: &Value) {
    assert_near(&to_vec(parts.per_token.clone()), &numbers(&case["loss"]), TOLERANCE);
    assert_near(&to_vec(parts.ratio), &numbers(&case["ratio"]), TOLERANCE);
    assert_near(&to_vec(parts.clipped), &numbers(&case["held"]), 0.0);
    assert_near(&tokens.gradient(parts.per_token), &numbers(&case["gradient"]), TOLERANCE);
}

#[test]
fn clipped_losses_and_gradients_are_as_worked_out_apart() {
    for case in known()["policy"]["token"].as_array().unwrap() {
        let tokens = KnownTokens::read();
        let parts = tokens.loss(&plain(Ratio::Token, case), case["importance"].as_bool().unwrap());
        assert_parts(&tokens, parts, case);
    }
}

#[test]
fn a_sequence_ratio_has_the_value_of_the_sequence_and_the_slope_of_the_token() {
    let case = &known()["policy"]["sequence"];
    let tokens = KnownTokens::read();
    let parts = tokens.loss(&plain(Ratio::Sequence, case), false);
    assert_parts(&tokens, parts, case);
}

#[test]
fn divergences_and_their_gradients_are_as_worked_out_apart() {
    for case in known()["policy"]["kl"].as_array().unwrap() {
        let estimator: KlEstimator = serde_json::from_value(case["estimator"].clone()).unwrap();
        let tokens = KnownTokens::read();
        let kl = super::kl::divergence(estimator, tokens.new.clone(), tokens.tensor("reference"));
        assert_near(&to_vec(kl.clone()), &numbers(&case["values"]), TOLERANCE);
        assert_near(&tokens.gradient(kl), &numbers(&case["gradient"]), TOLERANCE);
    }
}

#[test]
fn terms_add_up_with_their_weights() {
    let case = &known()["policy"]["token"][0];
    let mut loss = plain(Ratio::Token, case);
    loss.kl = Some((0.5, KlEstimator::K1));
    loss.entropy = 0.25;
    let tokens = KnownTokens::read();
    let parts = tokens.loss(&loss, false);
    let kl = numbers(&known()["policy"]["kl"][0]["values"]);
    let entropies = numbers(&tokens.inputs["entropies"]);
    let policy = numbers(&case["loss"]);
    let expected: Vec<f64> = (0..policy.len()).map(|i| policy[i] + 0.5 * kl[i] - 0.25 * entropies[i]).collect();
    assert_near(&to_vec(parts.per_token), &expected, TOLERANCE);
    assert_near(&to_vec(parts.kl.expect("a divergence")), &kl, TOLERANCE);
}

#[test]
fn a_policy_that_did_not_move_has_the_gradient_of_plain_policy_gradients() {
    for ratio in [Ratio::Token, Ratio::Sequence] {
        let log_probs = [-0.3, -1.0, -2.0, -0.1];
        let advantages = [1.0, -2.0, 0.5, 0.0];
        let new = tensor(&log_probs, &device()).require_grad();
        let clip = Clip { low: 0.2, high: 0.2, dual: Some(3.0) };
        let batch = TokenBatch {
            new: new.clone(),
            old: tensor(&log_probs, &device()),
            reference: None,
            advantages: tensor(&advantages, &device()),
            entropies: None,
            importance: None,
            sequence_of: &[5, 5, 2, 2],
        };
        let parts = TokenLoss { ratio, clip, kl: None, entropy: 0.0 }.loss(batch).unwrap();
        assert_eq!(to_vec(parts.approx_kl), [0.0; 4]);
        assert_near(&gradient(&new, parts.per_token), &advantages.map(|advantage| -advantage), 0.0);
    }
}

#[test]
fn nothing_but_the_new_log_probabilities_carries_a_gradient() {
    let on = device();
    let [new, old, advantages, importance, reference] =
        [-0.5, -0.6, 1.0, 1.5, -0.7].map(|value| tensor(&[value], &on).require_grad());
    let batch = TokenBatch {
        new: new.clone(),
        old: old.clone(),
        reference: Some(reference.clone()),
        advantages: advantages.clone(),
        entropies: None,
        importance: Some(importance.clone()),
        sequence_of: &[0],
    };
    let clip = Clip { low: 0.2, high: 0.2, dual: None };
    let loss = TokenLoss { ratio: Ratio::Token, clip, kl: Some((0.1, KlEstimator::K3)), entropy: 0.0 };
    let gradients = loss.loss(batch).unwrap().per_token.sum().backward();
    assert!(new.grad(&gradients).is_some());
    for constant in [old, advantages, importance, reference] {
        assert!(constant.grad(&gradients).is_none());
    }
}

#[test]
fn it_is_computed_without_gradients_too() {
    let one = |value: f64| tensor(&[value], &Device::flex());
    let clip = Clip { low: 0.2, high: 0.2, dual: None };
    for ratio in [Ratio::Token, Ratio::Sequence] {
        let batch = TokenBatch { new: one(-0.5), old: one(-0.5), advantages: one(2.0), ..batch_of_one() };
        let parts = TokenLoss { ratio, clip, kl: None, entropy: 0.0 }.loss(batch).unwrap();
        assert_eq!(to_vec(parts.per_token), [-2.0]);
    }
}

fn batch_of_one() -> TokenBatch<'static> {
    let none = || Tensor::<1>::zeros([1], &Device::flex());
    TokenBatch {
        new: none(),
        old: none(),
        reference: None,
        advantages: none(),
        entropies: None,
        importance: None,
        sequence_of: &[0],
    }
}

#[test]
fn missing_tensors_and_other_lengths_are_refused() {
    let clip = Clip { low: 0.2, high: 0.2, dual: None };
    let loss = TokenLoss { ratio: Ratio::Token, clip, kl: None, entropy: 0.0 };
    let message = |loss: &TokenLoss, batch| loss.loss(batch).expect_err("a refusal").to_string();
    let failed = |what: &str| format!("the trainer failed, report it with its log: {what}");
    let longer = TokenBatch { old: Tensor::zeros([2], &Device::flex()), ..batch_of_one() };
    assert_eq!(message(&loss, longer), failed("the loss got 2 numbers as old for 1 tokens"));
    let with_kl = TokenLoss { kl: Some((0.1, KlEstimator::K3)), ..loss };
    assert_eq!(message(&with_kl, batch_of_one()), failed("the loss got no log-probabilities of the reference"));
    let with_entropy = TokenLoss { kl: None, entropy: 0.1, ..with_kl };
    assert_eq!(message(&with_entropy, batch_of_one()), failed("the loss got no entropies"));
}
