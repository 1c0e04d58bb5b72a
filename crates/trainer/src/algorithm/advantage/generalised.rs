//! Generalised advantage estimation, <https://arxiv.org/abs/1506.02438>, over steps of an environment or over tokens.
//!
//! Observation tokens are carried through: differences are taken from one action to the next, and what stands on an
//! observation (a reward, an end) belongs to the action before it. A limit that cuts an episode does not end its
//! future: there the value of the state after the last step is bootstrapped, <https://arxiv.org/abs/1712.00378>.

use super::statistics::whitening;

/// One step, or one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Its reward.
    pub reward: f64,
    /// The value function's estimate of the state before it; not read where `acts` is false.
    pub value: f64,
    /// True for an action, false for an observation between actions.
    pub acts: bool,
    /// End of the episode, if it ends with it.
    pub end: End,
}

/// Continuation of an episode after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    /// It goes on.
    Continues,
    /// The environment ended it: no reward follows.
    Terminated,
    /// A limit cut it.
    Truncated {
        /// Value of the state after the step.
        value_after: f64,
    },
}

/// Advantage and return of each step; 0 for observations.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// A_t, for the policy; not whitened yet.
    pub advantages: Vec<f64>,
    /// A_t + V_t, for the value function.
    pub returns: Vec<f64>,
}

/// Advantages and returns of steps in order, of one episode or of several behind each other.
///
/// `value_after_last` is the value of the state after the last step; it is read where that step continues.
#[must_use]
pub fn generalised(steps: &[Step], value_after_last: f64, gamma: f64, lambda: f64) -> Estimate {
    let mut estimate = Estimate { advantages: vec![0.0; steps.len()], returns: vec![0.0; steps.len()] };
    let mut next_value = value_after_last;
    let mut next_advantage = 0.0;
    let mut reward_of_observations = 0.0;
    for (index, step) in steps.iter().enumerate().rev() {
        let ends_with_value = match step.end {
            End::Continues => None,
            End::Terminated => Some(0.0),
            End::Truncated { value_after } => Some(value_after),
        };
        if let Some(value) = ends_with_value {
            (next_value, next_advantage, reward_of_observations) = (value, 0.0, 0.0);
        }
        if !step.acts {
            reward_of_observations += step.reward;
            continue;
        }
        // delta_t = r_t + gamma V_(t+1) (1 - terminated) - V_t
        let delta = step.reward + reward_of_observations + gamma * next_value - step.value;
        // A_t = delta_t + gamma lambda A_(t+1)
        let advantage = delta + gamma * lambda * next_advantage;
        estimate.advantages[index] = advantage;
        estimate.returns[index] = advantage + step.value;
        (next_value, next_advantage, reward_of_observations) = (step.value, advantage, 0.0);
    }
    estimate
}

/// (A - mean) / sqrt(variance of n - 1 + 1e-8) over the actions of a whole batch; observations stay 0.
///
/// `advantages` and `acts` are those of all sequences behind each other.
#[must_use]
pub fn whitened(advantages: &[f64], acts: &[bool]) -> Vec<f64> {
    let counted: Vec<(f64, usize)> =
        advantages.iter().zip(acts).map(|(advantage, acts)| (*advantage, usize::from(*acts))).collect();
    let (mean, scale) = whitening(&counted);
    counted.into_iter().map(|(advantage, acts)| if acts > 0 { (advantage - mean) * scale } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::algorithm::known::{assert_near, known, numbers};

    fn steps(case: &Value) -> Vec<Step> {
        let read = |step: &Value| Step {
            reward: step["reward"].as_f64().unwrap(),
            value: step["value"].as_f64().unwrap(),
            acts: step["acts"].as_bool().unwrap(),
            end: match &step["end"] {
                Value::Null => End::Continues,
                Value::Number(value) => End::Truncated { value_after: value.as_f64().unwrap() },
                _ => End::Terminated,
            },
        };
        case["steps"].as_array().unwrap().iter().map(read).collect()
    }

    fn estimate(case: &Value, steps: &[Step]) -> Estimate {
        let number = |name: &str| case[name].as_f64().unwrap();
        generalised(steps, number("after_last"), number("gamma"), number("lambda"))
    }

    #[test]
    fn advantages_and_returns_are_as_worked_out_apart() {
        for name in ["plain", "with_observations"] {
            let case = &known()["generalised"][name];
            let found = estimate(case, &steps(case));
            assert_near(&found.advantages, &numbers(&case["advantages"]), 1e-12);
            assert_near(&found.returns, &numbers(&case["returns"]), 1e-12);
        }
    }

    #[test]
    fn whitening_is_over_actions_as_worked_out_apart() {
        let case = &known()["generalised"]["plain"];
        let found = estimate(case, &steps(case));
        assert_near(&whitened(&found.advantages, &[true; 9]), &numbers(&case["whitened"]), 1e-12);
    }

    #[test]
    fn whitening_passes_observations_by() {
        assert_eq!(whitened(&[1.0, 77.0, 1.0], &[true, false, true]), [0.0, 0.0, 0.0]);
        assert!(whitened(&[], &[]).is_empty());
        assert_eq!(whitened(&[4.0], &[true]), [0.0]);
    }

    #[test]
    fn a_cut_is_bootstrapped_and_an_end_is_not() {
        let step = |end| [Step { reward: 1.0, value: 0.5, acts: true, end }];
        assert_eq!(generalised(&step(End::Terminated), 9.0, 0.5, 0.95).advantages, [0.5]);
        assert_eq!(generalised(&step(End::Truncated { value_after: 2.0 }), 9.0, 0.5, 0.95).advantages, [1.5]);
        assert_eq!(generalised(&step(End::Continues), 4.0, 0.5, 0.95).advantages, [2.5]);
    }

    #[test]
    fn a_perfect_value_function_leaves_no_advantage() {
        let steps: Vec<Step> = (0..5)
            .map(|place| Step {
                reward: 1.0,
                value: f64::from(5 - place),
                acts: true,
                end: if place == 4 { End::Terminated } else { End::Continues },
            })
            .collect();
        assert_eq!(generalised(&steps, 0.0, 1.0, 0.95).advantages, [0.0; 5]);
    }
}
