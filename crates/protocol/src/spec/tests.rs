//! The kinds of jobs: what is refused, and what each refers to and may learn.

use serde_json::{Value, json};

use super::*;
use crate::id::EpisodeId;

fn fields(kind: JobKind, spec: &Value) -> Vec<String> {
    let faults = Spec::read(kind, spec).err().unwrap_or_default();
    faults.into_iter().filter_map(|fault| fault.field).collect()
}

fn played(more: &Value) -> Value {
    let mut spec = json!({
        "policy": {"from": "builtin:oracle"}, "environments": [{"name": "puzzle/a"}], "episodes": 10,
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    spec
}

#[test]
fn jobs_that_play_are_checked_alike() {
    for kind in [JobKind::Evaluate, JobKind::Collect] {
        assert_eq!(fields(kind, &played(&json!({}))), [""; 0]);
        for (more, field) in [
            (json!({"policy": {"from": "builtin:mlp"}}), "spec.policy.from"),
            (json!({"environments": []}), "spec.environments"),
            (json!({"environments": [{"name": "puzzle"}]}), "spec.environments[0].name"),
            (json!({"environments": [{"name": "puzzle/a"}, {"name": "puzzle/a"}]}), "spec.environments[1].name"),
            (json!({"episodes": 0}), "spec.episodes"),
            (json!({"sampling": {"top_p": 0}}), "spec.sampling.top_p"),
            (json!({"limits": {"concurrent_sessions": 0}}), "spec.limits.concurrent_sessions"),
        ] {
            assert_eq!(fields(kind, &played(&more)), [field], "{more}");
        }
        let splits = json!({"environments": [{"name": "puzzle/a"}, {"name": "puzzle/a", "split": "test"}]});
        assert_eq!(fields(kind, &played(&splits)), [""; 0], "other tasks are other episodes");
    }
}

#[test]
fn the_bound_of_an_evaluation_holds_for_all_its_episodes_together() {
    let more = json!({"episodes": 3_000_000, "samples_per_task": 2});
    assert_eq!(fields(JobKind::Evaluate, &played(&more)), [""; 0]);
    let two = json!([{"name": "puzzle/a"}, {"name": "puzzle/b"}]);
    let mut spec = played(&more);
    spec["environments"] = two;
    assert_eq!(fields(JobKind::Evaluate, &spec), ["spec.samples_per_task"]);
}

#[test]
fn a_baseline_that_cannot_play_is_refused_before_anybody_plays() {
    let more = json!({"baseline": {"policy": {"from": "builtin:tiny-transformer"}}});
    assert_eq!(fields(JobKind::Evaluate, &played(&more)), ["spec.baseline.policy.from"]);
}

#[test]
fn no_episode_is_judged_again_twice() {
    let (one, other) = (EpisodeId::new(), EpisodeId::new());
    assert_eq!(fields(JobKind::Rescore, &json!({"episodes": [one, other]})), [""; 0]);
    assert_eq!(fields(JobKind::Rescore, &json!({"episodes": [one, other, one]})), ["spec.episodes"]);
    for (verifier, faults) in [
        ("2", vec![]),
        ("@2", vec![]),
        ("sha256:ab", vec![]),
        ("newest", vec!["spec.verifier"]),
        ("0", vec!["spec.verifier"]),
    ] {
        assert_eq!(fields(JobKind::Rescore, &json!({"episodes": [one], "verifier": verifier})), faults, "{verifier}");
    }
}

/// True for the actions of built-in policies and for the definition of an environment, where a job may learn them.
fn learns(kind: JobKind, spec: &Value, environment: &str) -> [bool; 2] {
    let spec = Spec::read(kind, spec).unwrap();
    [Disclosure::Actions, Disclosure::Definition].map(|disclosure| spec.may_learn(disclosure, environment))
}

#[test]
fn a_lease_learns_of_the_environments_that_its_job_names_what_its_policy_takes() {
    let played = |policy: &str| json!({"policy": {"from": policy}, "environments": [{"name": "app/a"}], "episodes": 1});
    for kind in [JobKind::Evaluate, JobKind::Collect] {
        assert_eq!(learns(kind, &played("builtin:oracle"), "app/a@2"), [true, false]);
        assert_eq!(learns(kind, &played("builtin:random"), "app/a"), [true, false]);
        assert_eq!(learns(kind, &played("builtin:oracle"), "app/b@2"), [false, false]);
        assert_eq!(learns(kind, &played("builtin:oracle"), "app/ab@2"), [false, false]);
        assert_eq!(learns(kind, &played("builtin:null"), "app/a@2"), [false, false]);
        assert_eq!(learns(kind, &played("url:http://model"), "app/a@2"), [false, false]);
    }
    let mut beside = played("url:http://model");
    beside["baseline"] = json!({"policy": {"from": "builtin:oracle"}});
    assert_eq!(learns(JobKind::Evaluate, &beside, "app/a@1"), [true, false]);
    assert_eq!(learns(JobKind::Check, &json!({"environment": "app/a"}), "app/a@1"), [true, true]);
    assert_eq!(learns(JobKind::Check, &json!({"environment": "app/a"}), "app/b@1"), [false, false]);
    assert_eq!(learns(JobKind::Rescore, &json!({"environment": "app/a"}), "app/a@1"), [false, false]);
}

#[test]
fn a_version_that_is_named_is_meant_alone() {
    let named = json!({"environment": "app/a@1"});
    assert_eq!(learns(JobKind::Check, &named, "app/a@1"), [true, true]);
    assert_eq!(learns(JobKind::Check, &named, "app/a@2"), [false, false]);
    assert_eq!(learns(JobKind::Check, &named, "app/a"), [false, false]);
}

#[test]
fn a_kind_is_named_alike_in_json_and_in_the_store() {
    for kind in JobKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
    let light: Vec<&str> = JobKind::ALL.into_iter().filter(|kind| kind.is_light()).map(JobKind::as_str).collect();
    assert_eq!(light, ["evaluate", "collect", "rescore", "check"]);
}

#[test]
fn a_job_refers_to_the_policies_jobs_and_files_of_its_spec() {
    let (job, policy, file) = (JobId::new(), PolicyId::new(), FileId::new());
    let of = |kind, spec: &Value| Spec::read(kind, spec).unwrap().references();
    let spec = played(&json!({"policy": {"from": policy}, "baseline": {"policy": {"from": job}}}));
    let both = References { jobs: [job].into(), policies: [policy].into(), ..References::default() };
    assert_eq!(of(JobKind::Evaluate, &spec), both);
    let spec = json!({
        "policy": {"from": policy}, "algorithm": {"name": "sft"}, "data": {"file": file}, "steps": 1,
        "validation": {"data": {"job": job}, "every": 1},
    });
    assert_eq!(of(JobKind::Train, &spec), References { files: [(file, "spec.data.file")].into(), ..both });
    assert_eq!(of(JobKind::Serve, &json!({"policy": policy})).policies, [policy].into());
    assert_eq!(of(JobKind::Rescore, &json!({"run": crate::id::RunId::new()})), References::default());
}
