//! A running baseline per game and role, "SPIRAL", <https://arxiv.org/abs/2506.24119>: in self-play a role may win more
//! often than another whoever plays it, so each reward is compared with what its role used to earn.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::statistics::mean;
use super::{Advantages, Episode, counted_by};

/// Running mean of the reward of each role of each game. It is part of a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Baselines {
    /// By game, then by role; 0 for one that was not met yet.
    by_game: BTreeMap<String, BTreeMap<String, f64>>,
}

impl Baselines {
    /// The baseline of a role.
    #[must_use]
    pub fn get(&self, game: &str, role: &str) -> f64 {
        self.by_game.get(game).and_then(|roles| roles.get(role)).copied().unwrap_or(0.0)
    }

    fn set(&mut self, game: &str, role: &str, baseline: f64) {
        self.by_game.entry(game.to_owned()).or_default().insert(role.to_owned(), baseline);
    }
}

/// One advantage per episode; then each baseline that was used moves. `decay` is 0.95 as published.
pub(super) fn advantages(episodes: &[Episode], decay: f64, baselines: &mut Baselines) -> Advantages {
    let mut values = vec![0.0; episodes.len()];
    for ((game, role), members) in counted_by(episodes, |episode| (episode.game.clone(), episode.role.clone())) {
        let baseline = baselines.get(&game, &role);
        let rewards: Vec<f64> = members.iter().map(|index| episodes[*index].reward).collect();
        for (index, reward) in members.iter().zip(&rewards) {
            // A = R - b(game, role), with b from before this update
            values[*index] = reward - baseline;
        }
        // b <- decay b + (1 - decay) mean R, once per update, so that the order of episodes does not matter
        baselines.set(&game, &role, decay * baseline + (1.0 - decay) * mean(&rewards));
    }
    Advantages::of_episodes(episodes, &values)
}

#[cfg(test)]
mod tests {
    use super::super::known_episodes::{assert_known, episode, known_episodes};
    use super::*;
    use crate::algorithm::known::known;

    #[test]
    fn roles_are_compared_with_their_past_as_worked_out_apart() {
        let case = &known()["advantage"]["role_baseline"];
        let read = |value: &serde_json::Value| Baselines { by_game: serde_json::from_value(value.clone()).unwrap() };
        let mut baselines = read(&case["before"]);
        assert_known("role_baseline", &advantages(&known_episodes(), 0.95, &mut baselines));
        let expected = read(&case["after"]);
        for (game, roles) in &expected.by_game {
            for (role, baseline) in roles {
                assert!((baselines.get(game, role) - baseline).abs() < 1e-12, "{game} {role}");
            }
        }
        assert_eq!(baselines.by_game.keys().collect::<Vec<_>>(), expected.by_game.keys().collect::<Vec<_>>());
    }

    #[test]
    fn a_steady_reward_ends_as_advantage_zero() {
        let mut baselines = Baselines::default();
        let mut last = f64::NAN;
        for _ in 0..1_000 {
            last = advantages(&[episode(0, 0.7)], 0.95, &mut baselines).turns[0][0];
        }
        assert!(last.abs() < 1e-12);
    }

    #[test]
    fn baselines_are_kept_bit_for_bit_in_a_checkpoint() {
        let mut baselines = Baselines::default();
        for reward in [0.1, -0.3, 0.77, 1.0 / 3.0] {
            advantages(&[episode(0, reward)], 0.95, &mut baselines);
        }
        let text = serde_json::to_string(&baselines).unwrap();
        let back: Baselines = serde_json::from_str(&text).unwrap();
        assert_eq!(back, baselines);
    }
}
