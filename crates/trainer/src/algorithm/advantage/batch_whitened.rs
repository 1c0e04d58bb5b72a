//! Whitening over the whole batch, "REINFORCE++", <https://arxiv.org/abs/2501.03262>: the return to go of each turn,
//! minus the mean over all tokens of the batch, over their standard deviation (n - 1).
//!
//! In the form with baselines the mean of the group is taken first, from the reward at the end of the episode.
//! Comparison is with the whole batch: a group of one or of equal rewards does not give 0 here, a batch of equal
//! returns does.

use super::statistics::{mean, whitening};
use super::{Advantages, Episode, returns_to_go, within};

/// One advantage per turn, the same for all its tokens. `gamma` discounts per turn.
pub(super) fn advantages(episodes: &[Episode], gamma: f64, group_mean_first: bool) -> Advantages {
    let group_means = within(episodes, |episode| episode.group, |rewards| vec![mean(rewards); rewards.len()]);
    let mut turns: Vec<Vec<f64>> = Vec::with_capacity(episodes.len());
    let mut returns_and_tokens = Vec::new();
    for (episode, group_mean) in episodes.iter().zip(group_means) {
        if !episode.counts {
            turns.push(vec![0.0; episode.turns.len()]);
            continue;
        }
        // The baseline stands where the episode is judged: at its last turn.
        let baseline = if group_mean_first { group_mean } else { 0.0 };
        let last = episode.turns.len().saturating_sub(1);
        let rewards = episode.turns.iter().enumerate();
        let rewards = rewards.map(|(index, turn)| if index == last { turn.reward - baseline } else { turn.reward });
        // G_t = r_t + gamma G_(t+1)
        let returns = returns_to_go(rewards, gamma);
        returns_and_tokens.extend(returns.iter().copied().zip(episode.turns.iter().map(|turn| turn.tokens)));
        turns.push(returns);
    }
    // A_t = (G_t - mean over tokens) / sqrt(variance over tokens + 1e-8)
    let (mean, scale) = whitening(&returns_and_tokens);
    for (values, _) in turns.iter_mut().zip(episodes).filter(|(_, episode)| episode.counts) {
        for value in values {
            *value = (*value - mean) * scale;
        }
    }
    Advantages { turns, kept: episodes.iter().map(|episode| episode.counts).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::known_episodes::{assert_known, episode, known_episodes};
    use super::*;

    #[test]
    fn returns_to_go_are_whitened_as_worked_out_apart() {
        assert_known("batch_whitened", &advantages(&known_episodes(), 0.9, false));
    }

    #[test]
    fn the_mean_of_the_group_is_taken_first_where_asked() {
        assert_known("batch_whitened_group_mean_first", &advantages(&known_episodes(), 1.0, true));
    }

    #[test]
    fn a_batch_of_equal_returns_gives_zero() {
        let batch = [episode(0, 0.1), episode(0, 0.1), episode(1, 0.1)];
        assert_eq!(advantages(&batch, 1.0, false).turns, [[0.0], [0.0], [0.0]]);
    }

    #[test]
    fn a_group_of_equal_rewards_is_zero_before_whitening_where_its_mean_is_taken() {
        let batch = [episode(0, 0.9), episode(0, 0.9), episode(1, 0.0), episode(1, 1.0)];
        let found = advantages(&batch, 1.0, true);
        assert_eq!((found.turns[0][0], found.turns[1][0]), (0.0, 0.0));
    }

    #[test]
    fn a_longer_turn_weighs_more_in_the_statistics() {
        let mut batch = [episode(0, 1.0), episode(1, 0.0)];
        batch[0].turns[0].tokens = 99;
        batch[1].turns[0].tokens = 1;
        let found = advantages(&batch, 1.0, false);
        assert!(found.turns[0][0] < 0.2 && found.turns[1][0] < -9.0);
    }
}
