//! What a job needs to know of environments beyond what everybody sees who plays them. The token of its lease reaches so far.

use palestra_protocol::spec::Spec;
use palestra_protocol::spec::play::{Baseline, EnvironmentMix, PolicyFrom};

/// Something that is told of an environment to those alone who publish, and to jobs that need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// What built-in policies do in its tasks.
    Actions,
    /// Its definition, and whether its tasks are sound.
    Definition,
}

impl Need {
    /// Whether a job has this need of an environment, `family/name` or `family/name@version`.
    #[must_use]
    pub fn is_of(self, spec: &Spec, environment: &str) -> bool {
        match (self, spec) {
            (Self::Actions, Spec::Evaluate(evaluate)) => {
                let baseline = match &evaluate.baseline {
                    Some(Baseline::Policy(policy)) => Some(&policy.from),
                    _ => None,
                };
                let knows = knows(&evaluate.policy.from) || baseline.is_some_and(knows);
                knows && is_played(&evaluate.environments, environment)
            }
            (Self::Actions, Spec::Collect(collect)) => {
                knows(&collect.policy.from) && is_played(&collect.environments, environment)
            }
            (_, Spec::Check(check)) => means(&check.environment, environment),
            _ => false,
        }
    }
}

/// Whether a policy plays from what solves tasks, or from the definition.
fn knows(from: &PolicyFrom) -> bool {
    matches!(from, PolicyFrom::Oracle | PolicyFrom::Random)
}

fn is_played(environments: &[EnvironmentMix], environment: &str) -> bool {
    environments.iter().any(|mix| means(&mix.name, environment))
}

/// Whether a name in a job means an environment: a name without a version means all of them.
fn means(named: &str, environment: &str) -> bool {
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
    fn a_version_that_is_named_is_meant_alone() {
        let named = json!({"environment": "app/a@1"});
        assert_eq!(needs(JobKind::Check, &named, "app/a@1"), [true, true]);
        assert_eq!(needs(JobKind::Check, &named, "app/a@2"), [false, false]);
        assert_eq!(needs(JobKind::Check, &named, "app/a"), [false, false]);
    }
}
