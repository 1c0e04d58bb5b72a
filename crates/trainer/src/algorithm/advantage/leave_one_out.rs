//! Leave one out, "Back to Basics", <https://arxiv.org/abs/2402.14740>: the mean of the others is the baseline, which
//! makes it independent of the rollout itself.

use super::statistics::normalised;
use super::{Advantages, Episode, within};

/// One advantage per episode.
pub(super) fn advantages(episodes: &[Episode]) -> Advantages {
    let values = within(
        episodes,
        |episode| episode.group,
        |rewards| {
            // r_i - mean of the others = G / (G - 1) x (r_i - mean), with G rollouts; exact for equal rewards in this
            // form.
            let rollouts = rewards.len() as f64;
            let scale = if rewards.len() < 2 { 0.0 } else { rollouts / (rollouts - 1.0) };
            normalised(rewards, 0.0, false).into_iter().map(|centred| scale * centred).collect()
        },
    );
    Advantages::of_episodes(episodes, &values)
}

#[cfg(test)]
mod tests {
    use super::super::known_episodes::{assert_known, episode, known_episodes};
    use super::*;

    #[test]
    fn each_reward_is_compared_with_the_mean_of_the_others() {
        assert_known("leave_one_out", &advantages(&known_episodes()));
        assert_eq!(advantages(&[episode(0, 1.0), episode(0, 0.0)]).turns, [[1.0], [-1.0]]);
    }

    #[test]
    fn a_scale_scales() {
        assert_eq!(advantages(&[episode(0, 3.0), episode(0, 1.0)]).turns, [[2.0], [-2.0]]);
    }
}
