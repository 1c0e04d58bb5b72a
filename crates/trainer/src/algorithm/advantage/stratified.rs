//! Stratified normalisation, "Stratified GRPO", <https://arxiv.org/abs/2510.06214>: rollouts of one task are compared
//! with those that called tools as often, blended with the comparison over the whole group.
//!
//! Standard deviations are with n - 1. A stratum of one gives 0 in the first part.

use super::statistics::normalised;
use super::{Advantages, Episode, within};

/// One advantage per episode. `alpha` weighs the form within strata; `epsilon` keeps the quotients finite.
pub(super) fn advantages(episodes: &[Episode], alpha: f64, epsilon: f64) -> Advantages {
    let form = |rewards: &[f64]| normalised(rewards, epsilon, true);
    // A_stratum = (r - mean of the stratum) / (deviation of the stratum + epsilon)
    let within_strata = within(episodes, |episode| (episode.group, episode.tool_calls), form);
    // A_group = (r - mean of the group) / (deviation of the group + epsilon)
    let within_groups = within(episodes, |episode| episode.group, form);
    // A = alpha A_stratum + (1 - alpha) A_group
    let blend = |(stratum, group): (f64, f64)| alpha * stratum + (1.0 - alpha) * group;
    let values: Vec<f64> = within_strata.into_iter().zip(within_groups).map(blend).collect();
    Advantages::of_episodes(episodes, &values)
}

#[cfg(test)]
mod tests {
    use super::super::known_episodes::{assert_known, episode, known_episodes};
    use super::*;

    #[test]
    fn strata_are_normalised_and_blended_as_worked_out_apart() {
        assert_known("stratified", &advantages(&known_episodes(), 0.8, 1e-6));
    }

    #[test]
    fn a_stratum_of_one_gives_only_the_part_of_the_group() {
        let mut group = [episode(0, 1.0), episode(0, 0.0), episode(0, 0.5)];
        group[0].tool_calls = 4;
        assert_eq!(advantages(&group, 1.0, 1e-6).turns[0], [0.0]);
        assert!(advantages(&group, 0.8, 1e-6).turns[0][0] > 0.0);
    }

    #[test]
    fn without_strata_it_is_the_group_form() {
        let group = [episode(0, 1.0), episode(0, 0.0), episode(0, 0.5)];
        let plain = super::super::group_normalised::advantages(&group, 1e-6);
        let found = advantages(&group, 0.8, 1e-6);
        for (left, right) in found.turns.iter().flatten().zip(plain.turns.iter().flatten()) {
            assert!((left - right).abs() < 1e-12);
        }
    }
}
