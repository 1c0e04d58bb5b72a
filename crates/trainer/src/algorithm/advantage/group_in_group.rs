//! Groups within groups, "GiGPO", <https://arxiv.org/abs/2505.10978>: A = A_episode + weight x A_step.
//!
//! Turns of the same task that started from the same state (the same hash) are compared with each other by their return
//! to go; a state that was met once gives 0, as does one that is not known. Standard deviations are with n - 1.

use std::collections::BTreeMap;

use super::statistics::normalised;
use super::{Advantages, Episode, returns_to_go, within};

/// Keeps the quotients finite.
const DEVIATION_MIN: f64 = 1e-6;

/// One advantage per turn. `gamma` discounts per turn; without `normalise` means are taken away but nothing is divided.
pub(super) fn advantages(episodes: &[Episode], gamma: f64, step_weight: f64, normalise: bool) -> Advantages {
    // A_episode = (r - mean of the group) [/ (deviation of the group + 1e-6)]
    let of_group = |rewards: &[f64]| normalised(rewards, DEVIATION_MIN, normalise);
    let mut advantages = Advantages::of_episodes(episodes, &within(episodes, |episode| episode.group, of_group));
    let mut visits: BTreeMap<(usize, &str), Vec<Visit>> = BTreeMap::new();
    for (index, episode) in episodes.iter().enumerate().filter(|(_, episode)| episode.counts) {
        // G_t = r_t + gamma G_(t+1)
        let returns = returns_to_go(episode.turns.iter().map(|turn| turn.reward), gamma);
        for (place, (turn, return_to_go)) in episode.turns.iter().zip(returns).enumerate() {
            if let Some(state) = &turn.state {
                let visit = Visit { episode: index, turn: place, return_to_go };
                visits.entry((episode.group, state)).or_default().push(visit);
            }
        }
    }
    for visits in visits.values() {
        let returns: Vec<f64> = visits.iter().map(|visit| visit.return_to_go).collect();
        // A_step = (G_t - mean over visits of the state) [/ (deviation over them + 1e-6)]
        for (visit, step) in visits.iter().zip(normalised(&returns, DEVIATION_MIN, normalise)) {
            advantages.turns[visit.episode][visit.turn] += step_weight * step;
        }
    }
    advantages
}

/// One turn that started from a certain state.
struct Visit {
    episode: usize,
    turn: usize,
    return_to_go: f64,
}

#[cfg(test)]
mod tests {
    use super::super::known_episodes::{assert_known, episode, known_episodes};
    use super::*;

    #[test]
    fn turns_are_compared_as_worked_out_apart() {
        assert_known("group_in_group", &advantages(&known_episodes(), 0.95, 1.0, true));
    }

    #[test]
    fn without_division_they_are_centred_as_worked_out_apart() {
        assert_known("group_in_group_centred", &advantages(&known_episodes(), 0.95, 0.5, false));
    }

    #[test]
    fn a_state_that_was_met_once_or_is_not_known_adds_nothing() {
        let mut group = [episode(0, 1.0), episode(0, 0.0), episode(1, 5.0)];
        group[0].turns[0].state = Some("only here".to_owned());
        group[2].turns[0].state = Some("only here".to_owned());
        let weighted = advantages(&group, 1.0, 100.0, true);
        let unweighted = advantages(&group, 1.0, 0.0, true);
        assert_eq!(weighted, unweighted, "the same state of another task is another state");
    }

    #[test]
    fn the_better_way_out_of_one_state_is_told_apart() {
        let mut group = [episode(0, 1.0), episode(0, 0.0)];
        for episode in &mut group {
            episode.turns[0].state = Some("fork".to_owned());
        }
        assert_eq!(advantages(&group, 1.0, 2.0, false).turns, [[1.5], [-1.5]]);
    }
}
