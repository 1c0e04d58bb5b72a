//! Group-relative advantages without division, "Understanding R1-Zero-Like Training",
//! <https://arxiv.org/abs/2503.20783>: A = r - mean, so that easy and hard tasks weigh alike.

use super::statistics::normalised;
use super::{Advantages, Episode, within};

/// One advantage per episode.
pub(super) fn advantages(episodes: &[Episode]) -> Advantages {
    // A_i = r_i - mean of the group
    let values = within(episodes, |episode| episode.group, |rewards| normalised(rewards, 0.0, false));
    Advantages::of_episodes(episodes, &values)
}

#[cfg(test)]
mod tests {
    use super::super::known_episodes::{assert_known, episode, known_episodes};
    use super::*;

    #[test]
    fn rewards_are_centred_as_worked_out_apart() {
        assert_known("group_centred", &advantages(&known_episodes()));
    }

    #[test]
    fn a_shift_changes_nothing_and_a_scale_scales() {
        assert_eq!(advantages(&[episode(0, 1.0), episode(0, 0.0)]).turns, [[0.5], [-0.5]]);
        assert_eq!(advantages(&[episode(0, 9.0), episode(0, 8.0)]).turns, [[0.5], [-0.5]]);
        assert_eq!(advantages(&[episode(0, 4.0), episode(0, 0.0)]).turns, [[2.0], [-2.0]]);
    }
}
