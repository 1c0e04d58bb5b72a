//! Combinations that a training may ask for, and the field that is named where it may not.

use serde_json::{Value, json};

use crate::job::JobKind;
use crate::spec::Spec;

const FILE: &str = "file-0197a3c2f2a87c53b0a1d5e6f7089abc";
const OTHER: &str = "file-0197a3c2f2a87c53b0a1d5e6f7089abd";

/// A supervised training with more fields.
fn supervised(more: &Value) -> Value {
    with(
        json!({
            "policy": {"from": "builtin:tiny-transformer"},
            "algorithm": {"name": "sft"},
            "data": {"file": FILE},
            "steps": 1,
        }),
        more,
    )
}

/// A training by playing with more fields.
fn played(more: &Value) -> Value {
    with(
        json!({
            "policy": {"from": "builtin:tiny-transformer"},
            "environments": [{"name": "puzzle/countdown"}],
            "algorithm": {"name": "ppo"},
            "steps": 1,
        }),
        more,
    )
}

fn with(mut spec: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().into_iter().flatten() {
        spec[name] = value.clone();
    }
    spec
}

/// The fields that are at fault.
fn faults(spec: &Value) -> Vec<String> {
    match Spec::read(JobKind::Train, spec) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.into_iter().filter_map(|fault| fault.field).collect(),
    }
}

#[test]
fn consistent_settings_are_accepted() {
    let validation = |data: Value| json!({"validation": {"data": data, "every": 2}});
    for spec in [
        supervised(&json!({})),
        supervised(&validation(json!({"file": OTHER}))),
        supervised(&validation(json!({"lines": "{}"}))),
        supervised(&validation(json!({"job": "job_0197a3c2f2a87c53b0a1d5e6f7089abc"}))),
        played(&json!({})),
        played(&json!({"algorithm": {"name": "grpo", "epochs": 1, "minibatches": 1}})),
        played(&json!({"algorithm": {"name": "gspo", "epochs": 2, "minibatches": 1}})),
        played(&json!({"algorithm": {"name": "ppo", "gamma": 1.0, "lambda": 0.9, "value": 0.1, "kl": {"beta": 0.01}}})),
    ] {
        assert_eq!(faults(&spec), Vec::<String>::new(), "{spec}");
    }
}

#[test]
fn a_file_is_named_by_its_id_and_by_nothing_else() {
    for name in ["examples.jsonl", "job_0197a3c2f2a87c53b0a1d5e6f7089abc", "file-1", ""] {
        assert_eq!(faults(&supervised(&json!({"data": {"file": name}}))), ["spec.data.file"], "{name}");
    }
}

#[test]
fn a_validation_that_cannot_be_is_refused_with_its_field() {
    let validation =
        |more: Value| supervised(&json!({"validation": with(json!({"data": {"file": OTHER}, "every": 1}), &more)}));
    let long = "x".repeat((4 << 20) + 1);
    for (spec, field) in [
        (validation(json!({"every": 0})), "spec.validation.every"),
        (validation(json!({"data": {"file": FILE}})), "spec.validation.data"),
        (validation(json!({"data": {"lines": long}})), "spec.validation.data.lines"),
        (validation(json!({"data": {"file": "held-out"}})), "spec.validation.data.file"),
        (validation(json!({"share": 0.1})), "spec.validation.share"),
        (supervised(&json!({"data": {"lines": long}})), "spec.data.lines"),
        (played(&json!({"validation": {"data": {"file": FILE}, "every": 1}})), "spec.validation"),
    ] {
        assert_eq!(faults(&spec), [field]);
    }
}

#[test]
fn what_a_policy_over_vectors_cannot_learn_by_is_refused() {
    let over_vectors = |algorithm: Value| played(&json!({"policy": {"from": "builtin:mlp"}, "algorithm": algorithm}));
    assert_eq!(faults(&over_vectors(json!({"name": "ppo"}))), Vec::<String>::new());
    for (algorithm, field) in [
        (json!({"name": "grpo"}), "name"),
        (json!({"name": "ppo", "kl": {"beta": 0.0}}), "kl"),
        (json!({"name": "ppo", "aggregation": {"name": "token_mean"}}), "aggregation"),
        (json!({"name": "ppo", "auxiliary": [{"name": "echo", "weight": 0.1}]}), "auxiliary"),
    ] {
        assert_eq!(faults(&over_vectors(algorithm)), [format!("spec.algorithm.{field}")]);
    }
}

#[test]
fn settings_of_another_algorithm_are_refused() {
    for (algorithm, field) in [
        (json!({"name": "grpo", "value": 0.5}), "value"),
        (json!({"name": "grpo", "lambda": 0.5}), "lambda"),
        (json!({"name": "grpo", "gamma": 0.5}), "gamma"),
        (json!({"name": "ppo", "group_size": 4}), "group_size"),
        (json!({"name": "ppo", "advantage": {"name": "group_centred"}}), "advantage"),
        (json!({"name": "ppo", "gamma": 1.5}), "gamma"),
        (json!({"name": "gspo", "epochs": 1, "minibatches": 1}), "minibatches"),
        (json!({"name": "grpo", "epochs": 1, "minibatches": 1, "clip": {"low": 0.1, "high": 0.1}}), "minibatches"),
    ] {
        assert_eq!(faults(&played(&json!({"algorithm": algorithm}))), [format!("spec.algorithm.{field}")]);
    }
}

#[test]
fn fields_that_a_training_would_not_use_are_named() {
    let measured = json!({
        "environments": [{"name": "puzzle/countdown"}], "rollout": {"concurrent_sessions": 8},
        "evaluate": {"every": 1, "split": "validation", "episodes": 4},
    });
    for (spec, field) in [
        (played(&json!({"optimizer": {"examples_per_step": 8}})), Some("spec.optimizer.examples_per_step")),
        (supervised(&json!({"optimizer": {"examples_per_step": 8}})), None),
        (supervised(&json!({"reward": {"from": "return"}})), Some("spec.reward")),
        (played(&json!({"reward": {"from": "return"}})), None),
        (supervised(&json!({"rollout": {"concurrent_sessions": 8}})), Some("spec.rollout.concurrent_sessions")),
        (supervised(&measured), None),
    ] {
        assert_eq!(faults(&spec), field.into_iter().collect::<Vec<_>>(), "{spec}");
    }
}

#[test]
fn numbers_that_contradict_each_other_are_named() {
    for (spec, field) in [
        (played(&json!({"steps": 4, "optimizer": {"warmup_steps": 5}})), Some("spec.optimizer.warmup_steps")),
        (played(&json!({"steps": 4, "optimizer": {"warmup_steps": 4}})), None),
        (played(&json!({"rollout": {"max_tokens": 65, "max_context_tokens": 64}})), Some("spec.rollout.max_tokens")),
        (played(&json!({"rollout": {"max_tokens": 64, "max_context_tokens": 64}})), None),
        // Only one of the two was chosen.
        (played(&json!({"rollout": {"max_context_tokens": 64}})), None),
    ] {
        assert_eq!(faults(&spec), field.into_iter().collect::<Vec<_>>(), "{spec}");
    }
}
