//! Invariants of every advantage estimator, and of those that compare within groups, tried on random episodes.

use palestra_protocol::spec::train::Advantage;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::{Advantages, Baselines, Episode, Turn, advantages};

const GAMMA: f64 = 0.9;

/// Kinds that compare within groups alone: equal rewards and groups of one give 0.
fn group_kinds() -> Vec<Advantage> {
    vec![
        Advantage::GroupNormalised { epsilon: 1e-6 },
        Advantage::GroupCentred,
        Advantage::LeaveOneOut,
        Advantage::GroupMedian { epsilon: 1e-3 },
        Advantage::GroupInGroup { step_weight: 1.0, normalise: true },
        Advantage::GroupInGroup { step_weight: 0.5, normalise: false },
        Advantage::Stratified { alpha: 0.8, epsilon: 1e-6 },
    ]
}

fn all_kinds() -> Vec<Advantage> {
    let mut kinds = group_kinds();
    kinds.extend([
        Advantage::BatchWhitened { group_mean_first: false },
        Advantage::BatchWhitened { group_mean_first: true },
        Advantage::RoleBaseline { decay: 0.95 },
    ]);
    kinds
}

fn turn() -> impl Strategy<Value = Turn> {
    let state = prop_oneof![Just(None), Just(Some("a".to_owned())), Just(Some("b".to_owned()))];
    (1_usize..9, -2.0..2.0, state).prop_map(|(tokens, reward, state)| Turn { tokens, reward, state })
}

fn episode() -> impl Strategy<Value = Episode> {
    let turns = prop::collection::vec(turn(), 1..4);
    (0_usize..3, prop::bool::weighted(0.8), turns, 0_usize..3, 0_usize..2, any::<bool>()).prop_map(
        |(group, counts, turns, tool_calls, role, terminated)| Episode {
            group,
            reward: turns.iter().map(|turn| turn.reward).sum(),
            counts,
            turns,
            tool_calls,
            game: "nim".to_owned(),
            role: ["first", "second"][role].to_owned(),
            terminated,
        },
    )
}

fn episodes() -> impl Strategy<Value = Vec<Episode>> {
    prop::collection::vec(episode(), 0..14)
}

fn shuffled() -> impl Strategy<Value = (Vec<Episode>, Vec<usize>)> {
    episodes().prop_flat_map(|episodes| {
        let order: Vec<usize> = (0..episodes.len()).collect();
        (Just(episodes), Just(order).prop_shuffle())
    })
}

fn compute(kind: &Advantage, episodes: &[Episode]) -> (Advantages, Baselines) {
    let mut baselines = Baselines::default();
    let found = advantages(kind, GAMMA, episodes, &mut baselines);
    (found, baselines)
}

/// Judged at the end alone, all with the same reward.
fn with_equal_rewards(mut episodes: Vec<Episode>, reward: f64) -> Vec<Episode> {
    for episode in &mut episodes {
        episode.reward = reward;
        let last = episode.turns.len() - 1;
        for (place, turn) in episode.turns.iter_mut().enumerate() {
            turn.reward = if place == last { reward } else { 0.0 };
        }
    }
    episodes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn equal_rewards_give_exactly_zero(episodes in episodes(), reward in -3.0..3.0) {
        // One turn each: with more, a state met early and late has two different discounted returns to compare.
        let mut episodes = with_equal_rewards(episodes, reward);
        for episode in &mut episodes {
            episode.turns.drain(..episode.turns.len() - 1);
        }
        for kind in group_kinds().into_iter().chain([Advantage::BatchWhitened { group_mean_first: false }]) {
            let found = compute(&kind, &episodes).0;
            prop_assert!(found.turns.iter().flatten().all(|value| *value == 0.0), "{kind:?}: {found:?}");
        }
    }

    #[test]
    fn a_masked_episode_changes_nothing_whatever_it_holds(
        episodes in episodes(),
        reward in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), -1e9..1e9],
    ) {
        let counted: Vec<Episode> = episodes.iter().filter(|episode| episode.counts).cloned().collect();
        let mut filled = episodes;
        for episode in filled.iter_mut().filter(|episode| !episode.counts) {
            episode.reward = reward;
            episode.turns.iter_mut().for_each(|turn| turn.reward = reward);
        }
        for kind in all_kinds() {
            let (among, moved) = compute(&kind, &filled);
            let (alone, same) = compute(&kind, &counted);
            let mut rest = alone.turns.iter().zip(&alone.kept);
            for ((turns, kept), episode) in among.turns.iter().zip(&among.kept).zip(&filled) {
                if episode.counts {
                    prop_assert_eq!(Some((turns, kept)), rest.next(), "{:?}", kind);
                } else {
                    prop_assert!(!kept && turns.len() == episode.turns.len());
                    prop_assert!(turns.iter().all(|value| *value == 0.0));
                }
            }
            prop_assert_eq!(moved, same);
        }
    }

    #[test]
    fn another_order_of_episodes_gives_the_same_numbers_in_that_order((episodes, order) in shuffled()) {
        let mixed: Vec<Episode> = order.iter().map(|index| episodes[*index].clone()).collect();
        for kind in all_kinds() {
            let (plain, baselines) = compute(&kind, &episodes);
            let (found, same) = compute(&kind, &mixed);
            for (place, index) in order.iter().enumerate() {
                prop_assert_eq!(&found.turns[place], &plain.turns[*index], "{:?}", kind);
            }
            let kept = |advantages: &Advantages| advantages.kept.iter().filter(|kept| **kept).count();
            prop_assert_eq!(kept(&found), kept(&plain));
            prop_assert_eq!(same, baselines);
        }
    }

    #[test]
    fn a_group_of_one_gives_zero(episode in episode()) {
        let mut episode = episode;
        episode.turns.truncate(1);
        for kind in group_kinds() {
            let found = compute(&kind, std::slice::from_ref(&episode)).0;
            prop_assert!(found.turns.iter().flatten().all(|value| *value == 0.0), "{kind:?}");
        }
    }

    #[test]
    fn groups_do_not_hear_of_each_other(episodes in episodes()) {
        let alone: Vec<Episode> = episodes.iter().filter(|episode| episode.group == 0).cloned().collect();
        for kind in group_kinds() {
            let together = compute(&kind, &episodes).0;
            let of_group = together.turns.iter().zip(&episodes).filter(|(_, episode)| episode.group == 0);
            let of_group: Vec<Vec<f64>> = of_group.map(|(turns, _)| turns.clone()).collect();
            prop_assert_eq!(of_group, compute(&kind, &alone).0.turns, "{:?}", kind);
        }
    }

    #[test]
    fn advantages_within_a_group_add_up_to_zero(episodes in episodes()) {
        let kinds = [Advantage::GroupNormalised { epsilon: 1e-6 }, Advantage::GroupCentred, Advantage::LeaveOneOut];
        for kind in kinds {
            let found = compute(&kind, &episodes).0;
            for group in 0..3 {
                let of_group = found.turns.iter().zip(&episodes).filter(|(_, episode)| episode.group == group);
                let sum: f64 = of_group.map(|(turns, _)| turns[0]).sum();
                prop_assert!(sum.abs() < 1e-6, "{kind:?}: {sum}");
            }
        }
    }
}
