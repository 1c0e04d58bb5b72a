//! Each name gives the parts that are documented for it, and what a job sets replaces exactly that part.

use palestra_protocol::job::JobKind;
use palestra_protocol::spec::Spec;
use palestra_protocol::spec::train::KlEstimator;
use serde_json::{Value, json};

use super::*;

/// Two answers of 50 tokens within 80: an episode has at most 80.
fn rollout() -> Rollout {
    Rollout { max_turns: 2, max_tokens: 50, max_context_tokens: 80, ..Rollout::default() }
}

fn parts(algorithm: Value) -> Result<Parts, TrainerError> {
    let algorithm: Algorithm = serde_json::from_value(algorithm).expect("an algorithm");
    Parts::new(&algorithm, &rollout())
}

fn preset(name: &str) -> Parts {
    parts(json!({ "name": name })).expect("parts")
}

#[test]
fn each_name_gives_its_documented_parts() {
    use Aggregation::{SequenceMeanOfTokenMean, SequenceMeanOfTokenSum, TokenMean};
    let grouped = || AdvantageEstimator::Compared(Advantage::GroupNormalised { epsilon: 1e-6 });
    let generalised = AdvantageEstimator::Generalised { lambda: 0.95, value_weight: 0.5, value_clip: 0.2 };
    let constant = Aggregation::TokenSumOverConstant { constant: 80.0 };
    let sequence_clip = (3e-4, 4e-4, None);
    let clip = (0.2, 0.2, Some(3.0));
    let table = [
        ("sft", AdvantageEstimator::Supervised, TokenMean, Ratio::Token, clip, 1),
        ("ppo", generalised, TokenMean, Ratio::Token, clip, 1),
        ("grpo", grouped(), SequenceMeanOfTokenMean, Ratio::Token, clip, 8),
        ("dr_grpo", AdvantageEstimator::Compared(Advantage::GroupCentred), constant, Ratio::Token, clip, 8),
        ("rloo", AdvantageEstimator::Compared(Advantage::LeaveOneOut), SequenceMeanOfTokenSum, Ratio::Token, clip, 8),
        (
            "reinforce_pp",
            AdvantageEstimator::Compared(Advantage::BatchWhitened { group_mean_first: false }),
            TokenMean,
            Ratio::Token,
            clip,
            8,
        ),
        ("dapo", grouped(), TokenMean, Ratio::Token, (0.2, 0.28, Some(3.0)), 8),
        ("gspo", grouped(), SequenceMeanOfTokenMean, Ratio::Sequence, sequence_clip, 8),
        (
            "mc_grpo",
            AdvantageEstimator::Compared(Advantage::GroupMedian { epsilon: 1e-3 }),
            SequenceMeanOfTokenMean,
            Ratio::Token,
            clip,
            8,
        ),
        (
            "gigpo",
            AdvantageEstimator::Compared(Advantage::GroupInGroup { step_weight: 1.0, normalise: true }),
            SequenceMeanOfTokenMean,
            Ratio::Token,
            clip,
            8,
        ),
        (
            "stratified",
            AdvantageEstimator::Compared(Advantage::Stratified { alpha: 0.8, epsilon: 1e-6 }),
            SequenceMeanOfTokenMean,
            Ratio::Token,
            clip,
            8,
        ),
        (
            "role_conditioned",
            AdvantageEstimator::Compared(Advantage::RoleBaseline { decay: 0.95 }),
            SequenceMeanOfTokenSum,
            Ratio::Token,
            clip,
            1,
        ),
    ];
    for (name, estimator, aggregation, ratio, (low, high, dual), group_size) in table {
        let found = preset(name);
        let ppo = name == "ppo";
        let dapo = name == "dapo";
        assert_eq!(found.estimator, estimator, "{name}");
        assert_eq!(found.aggregation, aggregation, "{name}");
        let entropy = if ppo { 0.01 } else { 0.0 };
        assert_eq!(found.loss, TokenLoss { ratio, clip: Clip { low, high, dual }, kl: None, entropy }, "{name}");
        assert_eq!(found.gamma, 1.0, "{name}");
        let split = match name {
            "sft" => (1, 1),
            "ppo" => (4, 4),
            "gspo" | "dapo" => (1, 4),
            _ => (1, 2),
        };
        assert_eq!((found.epochs, found.minibatches), split, "{name}");
        assert_eq!((found.group_size, found.tasks_per_step), (group_size, 8), "{name}");
        assert_eq!(found.rollouts_per_task(), group_size + u32::from(name == "mc_grpo"), "{name}");
        assert_eq!((found.resample_equal_groups, found.mask_truncated), (dapo, dapo), "{name}");
        assert_eq!(found.overlong, dapo.then_some(Overlong { longest: 50, cache: 10 }), "{name}");
        assert!(found.auxiliary.is_empty(), "{name}");
    }
}

#[test]
fn settings_of_a_job_replace_exactly_that_part() {
    type Change = fn(&mut Parts);
    let changes: [(&str, Value, Change); 9] = [
        ("group_size", json!(4), |parts| parts.group_size = 4),
        ("tasks_per_step", json!(3), |parts| parts.tasks_per_step = 3),
        ("epochs", json!(2), |parts| parts.epochs = 2),
        ("minibatches", json!(5), |parts| parts.minibatches = 5),
        ("clip", json!({"low": 0.1, "high": 0.3}), |parts| {
            parts.loss.clip = Clip { low: 0.1, high: 0.3, dual: None };
        }),
        ("kl", json!({"beta": 0.01, "estimator": "k2"}), |parts| parts.loss.kl = Some((0.01, KlEstimator::K2))),
        ("aggregation", json!({"name": "token_mean"}), |parts| parts.aggregation = Aggregation::TokenMean),
        ("entropy", json!(0.02), |parts| parts.loss.entropy = 0.02),
        ("auxiliary", json!([{"name": "echo", "weight": 0.05}]), |parts| {
            parts.auxiliary = vec![Auxiliary::Echo { weight: 0.05 }];
        }),
    ];
    for (field, value, change) in changes {
        let mut expected = preset("grpo");
        change(&mut expected);
        let found = parts(json!({ "name": "grpo", field: value })).expect("parts");
        assert_eq!(found, expected, "{field}");
        assert_ne!(found, preset("grpo"), "{field}");
    }
}

#[test]
fn settings_of_a_value_function_are_replaced_there() {
    let found = parts(json!({"name": "ppo", "lambda": 0.5, "value": 1.0, "gamma": 0.9})).expect("parts");
    let mut expected = preset("ppo");
    expected.estimator = AdvantageEstimator::Generalised { lambda: 0.5, value_weight: 1.0, value_clip: 0.2 };
    expected.gamma = 0.9;
    assert_eq!(found, expected);
}

#[test]
fn a_policy_over_vectors_discounts_and_a_language_model_does_not() {
    let over_vectors = |algorithm: Value| {
        let algorithm: Algorithm = serde_json::from_value(algorithm).expect("an algorithm");
        Parts::of_vectors(&algorithm, &rollout())
    };
    let found = over_vectors(json!({"name": "ppo"})).expect("parts");
    assert_eq!(found, Parts { gamma: 0.99, ..preset("ppo") });
    assert_eq!(over_vectors(json!({"name": "ppo", "gamma": 1.0})).expect("parts"), preset("ppo"));
    for (field, value) in [
        ("kl", json!({"beta": 0.1})),
        ("aggregation", json!({"name": "token_mean"})),
        ("auxiliary", json!([{"name": "echo", "weight": 0.1}])),
    ] {
        let error = over_vectors(json!({"name": "ppo", field: value})).expect_err("a refusal").to_string();
        assert!(error.contains(&format!("spec: algorithm.{field}: ")), "{error}");
    }
}

#[test]
fn the_extra_rollout_goes_with_the_median() {
    let without = parts(json!({"name": "mc_grpo", "advantage": {"name": "group_centred"}})).expect("parts");
    assert_eq!(without.rollouts_per_task(), 8);
    let with = parts(json!({"name": "grpo", "advantage": {"name": "group_median"}, "group_size": 6})).expect("parts");
    assert_eq!(with.rollouts_per_task(), 7);
}

#[test]
fn a_divergence_of_weight_zero_needs_no_reference() {
    assert_eq!(parts(json!({"name": "grpo", "kl": {"beta": 0.0}})).expect("parts").loss.kl, None);
}

#[test]
fn a_comparison_within_groups_of_one_is_refused() {
    let error =
        parts(json!({"name": "role_conditioned", "advantage": {"name": "group_centred"}})).expect_err("a refusal");
    assert_eq!(error.code(), "bad_spec");
    assert!(error.to_string().contains("spec: algorithm.advantage: "), "{error}");
    assert!(parts(json!({"name": "role_conditioned", "advantage": {"name": "batch_whitened"}})).is_ok());
}

#[test]
fn a_spec_with_an_advantage_that_cannot_be_is_refused_with_the_field() {
    let refused = [
        ("role_conditioned", json!({"name": "group_centred"}), ""),
        ("grpo", json!({"name": "group_normalised", "epsilon": -1.0}), ".epsilon"),
        ("mc_grpo", json!({"name": "group_median", "epsilon": -1.0}), ".epsilon"),
        ("stratified", json!({"name": "stratified", "alpha": 1.5}), ".alpha"),
        ("stratified", json!({"name": "stratified", "epsilon": -1.0}), ".epsilon"),
        ("gigpo", json!({"name": "group_in_group", "step_weight": -1.0}), ".step_weight"),
        ("role_conditioned", json!({"name": "role_baseline", "decay": 2.0}), ".decay"),
    ];
    for (name, advantage, field) in refused {
        let spec = json!({
            "policy": {"from": "builtin:tiny-transformer"},
            "environments": [{"name": "puzzle/countdown", "split": "train"}],
            "algorithm": {"name": name, "advantage": advantage},
            "steps": 1,
        });
        let faults = Spec::read(JobKind::Train, &spec).expect_err("a refusal");
        let fields: Vec<Option<String>> = faults.into_iter().map(|fault| fault.field).collect();
        assert_eq!(fields, [Some(format!("spec.algorithm.advantage{field}"))], "{name} {advantage}");
    }
}
