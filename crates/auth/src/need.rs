//! Privileged reads of environments that a job needs, which the token of its lease permits.

use palestra_protocol::spec::Spec;
use palestra_protocol::spec::play::{Baseline, EnvironmentMix, PolicyFrom};

/// A privileged read of an environment, open to publishers and to jobs that need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The actions of built-in policies in its tasks.
    Actions,
    /// Its definition, and proofs of its tasks.
    Definition,
}

impl Need {
    /// True when a job needs this of an environment, `family/name` or `family/name@version`.
    #[must_use]
    pub fn is_of(self, spec: &Spec, environment: &str) -> bool {
        match (self, spec) {
            (Self::Actions, Spec::Evaluate(evaluate)) => {
                let baseline = match &evaluate.baseline {
                    Some(Baseline::Policy(policy)) => Some(&policy.from),
                    _ => None,
                };
                let privileged = is_privileged(&evaluate.policy.from) || baseline.is_some_and(is_privileged);
                privileged && is_played(&evaluate.environments, environment)
            }
            (Self::Actions, Spec::Collect(collect)) => {
                is_privileged(&collect.policy.from) && is_played(&collect.environments, environment)
            }
            (_, Spec::Check(check)) => refers_to(&check.environment, environment),
            _ => false,
        }
    }
}

/// True for policies that act on solutions or on the definition.
fn is_privileged(from: &PolicyFrom) -> bool {
    matches!(from, PolicyFrom::Oracle | PolicyFrom::Random)
}

fn is_played(environments: &[EnvironmentMix], environment: &str) -> bool {
    environments.iter().any(|mix| refers_to(&mix.name, environment))
}

/// True when a name in a job refers to an environment: a name without a version refers to all versions.
fn refers_to(named: &str, environment: &str) -> bool {
    named == environment || environment.split_once('@').is_some_and(|(plain, _)| plain == named)
}

#[cfg(test)]
mod tests {
    use palestra_protocol::job::JobKind;
    use serde_json::{Value, json};

    use super::*;

    fn needs(kind: JobKind, spec: &Value, environment: &str) -> [bool; 2] {
        let spec = Spec::read(kind, spec).unwrap();
        [Need::Actions, Need::Definition].map(|need| need.is_of(&spec, environment))
    }

    #[test]
    fn a_job_needs_what_it_names_and_as_much_as_its_policy_takes() {
        let played =
            |policy: &str| json!({"policy": {"from": policy}, "environments": [{"name": "app/a"}], "episodes": 1});
        for kind in [JobKind::Evaluate, JobKind::Collect] {
            assert_eq!(needs(kind, &played("builtin:oracle"), "app/a@2"), [true, false]);
            assert_eq!(needs(kind, &played("builtin:random"), "app/a"), [true, false]);
            assert_eq!(needs(kind, &played("builtin:oracle"), "app/b@2"), [false, false]);
            assert_eq!(needs(kind, &played("builtin:oracle"), "app/ab@2"), [false, false]);
            assert_eq!(needs(kind, &played("builtin:null"), "app/a@2"), [false, false]);
            assert_eq!(needs(kind, &played("url:http://model"), "app/a@2"), [false, false]);
        }
        let mut beside = played("url:http://model");
        beside["baseline"] = json!({"policy": {"from": "builtin:oracle"}});
        assert_eq!(needs(JobKind::Evaluate, &beside, "app/a@1"), [true, false]);
        assert_eq!(needs(JobKind::Check, &json!({"environment": "app/a"}), "app/a@1"), [true, true]);
        assert_eq!(needs(JobKind::Check, &json!({"environment": "app/a"}), "app/b@1"), [false, false]);
        assert_eq!(needs(JobKind::Rescore, &json!({"environment": "app/a"}), "app/a@1"), [false, false]);
    }

    #[test]
    fn a_name_with_a_version_refers_to_that_version_alone() {
        let named = json!({"environment": "app/a@1"});
        assert_eq!(needs(JobKind::Check, &named, "app/a@1"), [true, true]);
        assert_eq!(needs(JobKind::Check, &named, "app/a@2"), [false, false]);
        assert_eq!(needs(JobKind::Check, &named, "app/a"), [false, false]);
    }
}
