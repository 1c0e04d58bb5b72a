//! Median-centred groups, "MC-GRPO", <https://arxiv.org/abs/2601.22582>: A = (r - median) / (MAD + epsilon).
//!
//! MAD is the median of |r - median|. One rollout more than the group's size is drawn, so that the median is one
//! rollout of an odd number; it has advantage 0 and leaves the update. Should a masked episode make the number even,
//! the lower of the two in the middle counts as the median. Of several rollouts at the median the first leaves.

use super::statistics::lower_median;
use super::{Advantages, Episode, counted_by, within};

/// One advantage per episode, and one episode less per group in the update. `epsilon` is 1e-3 as published.
pub(super) fn advantages(episodes: &[Episode], epsilon: f64) -> Advantages {
    let values = within(episodes, |episode| episode.group, |rewards| centred(rewards, epsilon));
    let mut advantages = Advantages::of_episodes(episodes, &values);
    for members in counted_by(episodes, |episode| episode.group).values() {
        let rewards: Vec<f64> = members.iter().map(|index| episodes[*index].reward).collect();
        let median = lower_median(&rewards);
        if let Some(place) = rewards.iter().position(|reward| *reward == median) {
            advantages.kept[members[place]] = false;
        }
    }
    advantages
}

fn centred(rewards: &[f64], epsilon: f64) -> Vec<f64> {
    let median = lower_median(rewards);
    let deviations: Vec<f64> = rewards.iter().map(|reward| (reward - median).abs()).collect();
    // A_i = (r_i - median) / (median of |r - median| + epsilon)
    let scale = lower_median(&deviations) + epsilon;
    let part = |reward: &f64| if *reward == median { 0.0 } else { (reward - median) / scale };
    rewards.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::super::known_episodes::{assert_known, episode, known_episodes};
    use super::*;

    #[test]
    fn rewards_are_centred_at_the_median_as_worked_out_apart() {
        assert_known("group_median", &advantages(&known_episodes(), 1e-3));
    }

    #[test]
    fn exactly_the_first_rollout_at_the_median_leaves() {
        let group = [episode(0, 2.0), episode(0, 1.0), episode(0, 0.0), episode(0, 1.0), episode(0, 5.0)];
        let found = advantages(&group, 1e-3);
        assert_eq!(found.kept, [true, false, true, true, true]);
        assert_eq!(found.turns[1], [0.0]);
    }

    #[test]
    fn one_outlier_does_not_move_the_others() {
        let calm = advantages(&[episode(0, 0.0), episode(0, 1.0), episode(0, 2.0)], 1e-3);
        let wild = advantages(&[episode(0, 0.0), episode(0, 1.0), episode(0, 1e6)], 1e-3);
        assert_eq!(calm.turns[0], wild.turns[0]);
    }

    #[test]
    fn scaled_and_shifted_rewards_give_the_same_advantages_without_epsilon() {
        let plain = advantages(&[episode(0, 0.0), episode(0, 1.0), episode(0, 4.0)], 0.0);
        let moved = advantages(&[episode(0, 3.0), episode(0, 5.0), episode(0, 11.0)], 0.0);
        assert_eq!(plain.turns, moved.turns);
    }
}
