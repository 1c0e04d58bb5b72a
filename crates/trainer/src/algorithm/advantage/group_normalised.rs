//! Group-relative advantages, "DeepSeekMath", <https://arxiv.org/abs/2402.03300>: A = (r - mean) / (sd + epsilon).
//!
//! Mean and standard deviation (n - 1) are over the rollouts of one task. A group of one, or of equal rewards, gives 0.

use super::statistics::normalised;
use super::{Advantages, Episode, within};

/// One advantage per episode. `epsilon` keeps the quotient finite, 1e-6 where a preset says nothing else.
pub(super) fn advantages(episodes: &[Episode], epsilon: f64) -> Advantages {
    // A_i = (r_i - mean of the group) / (deviation of the group with n - 1 + epsilon)
    let values = within(episodes, |episode| episode.group, |rewards| normalised(rewards, epsilon, true));
    Advantages::of_episodes(episodes, &values)
}

#[cfg(test)]
mod tests {
    use super::super::known_episodes::{assert_known, episode, known_episodes};
    use super::*;

    #[test]
    fn rewards_are_normalised_as_worked_out_apart() {
        assert_known("group_normalised", &advantages(&known_episodes(), 1e-6));
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let found = advantages(&[episode(0, 1.0), episode(0, 0.0)], 0.0);
        let half = 0.5 / 0.5_f64.sqrt();
        assert_eq!(found.turns, [[half], [-half]]);
    }

    #[test]
    fn scaled_and_shifted_rewards_give_the_same_advantages_without_epsilon() {
        let plain = advantages(&[episode(0, 1.0), episode(0, 0.25), episode(0, -2.0)], 0.0);
        let moved = advantages(&[episode(0, 5.0), episode(0, 3.5), episode(0, -1.0)], 0.0);
        for (left, right) in plain.turns.iter().flatten().zip(moved.turns.iter().flatten()) {
            assert!((left - right).abs() < 1e-12);
        }
    }
}
