//! Advantage estimators: the difference between each turn of an episode and its baseline: one file per kind of comparison.

mod batch_whitened;
pub mod generalised;
mod group_centred;
mod group_in_group;
mod group_median;
mod group_normalised;
mod leave_one_out;
mod role_baseline;
mod statistics;
mod stratified;

#[cfg(test)]
mod invariants;
#[cfg(test)]
mod known_episodes;

use std::collections::{BTreeMap, BTreeSet};

use palestra_protocol::spec::train::Advantage;

pub use role_baseline::Baselines;

/// One episode of an update, as advantages see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Episode {
    /// Group of rollouts that it is compared with: those of the same task have the same number.
    pub group: usize,
    /// Reward of the whole episode, after shaping.
    pub reward: f64,
    /// False where the verdict is not a score: such an episode enters no statistic and no update, whatever it holds.
    pub counts: bool,
    /// Its turns in order.
    pub turns: Vec<Turn>,
    /// Number of tools that it called: its stratum.
    pub tool_calls: usize,
    /// Its game; for baselines of roles.
    pub game: String,
    /// Its role in the game.
    pub role: String,
    /// True where the environment ended it, false where a limit cut it.
    pub terminated: bool,
}

/// One answer of the policy within an episode.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Number of tokens that the policy sampled.
    pub tokens: usize,
    /// Reward of this turn. Where only the end is judged, the last turn holds the reward of the episode and the
    /// others 0.
    pub reward: f64,
    /// Hash of the state before acting; none where it is not known, which compares with nothing.
    pub state: Option<String>,
}

/// Advantages of all turns of an update.
#[derive(Debug, Clone, PartialEq)]
pub struct Advantages {
    /// For each episode, for each turn; 0 throughout for episodes that do not count.
    pub turns: Vec<Vec<f64>>,
    /// True for episodes that enter the update.
    pub kept: Vec<bool>,
}

impl Advantages {
    /// One advantage for all turns of each episode.
    fn of_episodes(episodes: &[Episode], values: &[f64]) -> Self {
        let turns = episodes.iter().zip(values).map(|(episode, value)| vec![*value; episode.turns.len()]).collect();
        Self { turns, kept: episodes.iter().map(|episode| episode.counts).collect() }
    }
}

/// The advantages of all turns of an update.
///
/// `gamma` discounts per turn, in the kinds that look at turns (`batch_whitened`, `group_in_group`). `baselines` is
/// read and moved by `role_baseline` alone. The answer does not depend on the order of the episodes, bit for bit but
/// for which of several median rollouts leaves. A reward that is not finite in an episode that counts makes the
/// advantages of its group not finite; the update refuses those.
pub fn advantages(kind: &Advantage, gamma: f64, episodes: &[Episode], baselines: &mut Baselines) -> Advantages {
    match *kind {
        Advantage::GroupNormalised { epsilon } => group_normalised::advantages(episodes, epsilon),
        Advantage::GroupCentred => group_centred::advantages(episodes),
        Advantage::LeaveOneOut => leave_one_out::advantages(episodes),
        Advantage::BatchWhitened { group_mean_first } => batch_whitened::advantages(episodes, gamma, group_mean_first),
        Advantage::GroupMedian { epsilon } => group_median::advantages(episodes, epsilon),
        Advantage::GroupInGroup { step_weight, normalise } => {
            group_in_group::advantages(episodes, gamma, step_weight, normalise)
        }
        Advantage::Stratified { alpha, epsilon } => stratified::advantages(episodes, alpha, epsilon),
        Advantage::RoleBaseline { decay } => role_baseline::advantages(episodes, decay, baselines),
    }
}

/// Groups that teach nothing: all rewards that count are equal, or fewer than two count. `dapo` draws other tasks for
/// them.
#[must_use]
pub fn equal_groups(episodes: &[Episode]) -> BTreeSet<usize> {
    let all: BTreeSet<usize> = episodes.iter().map(|episode| episode.group).collect();
    let counted = counted_by(episodes, |episode| episode.group);
    let differs = |group: &usize| {
        counted.get(group).is_some_and(|members| {
            let first = episodes[members[0]].reward;
            members.iter().any(|index| episodes[*index].reward != first)
        })
    };
    all.into_iter().filter(|group| !differs(group)).collect()
}

/// Places of the episodes that count, by key, in order.
fn counted_by<K: Ord>(episodes: &[Episode], key: impl Fn(&Episode) -> K) -> BTreeMap<K, Vec<usize>> {
    let mut members: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (index, episode) in episodes.iter().enumerate().filter(|(_, episode)| episode.counts) {
        members.entry(key(episode)).or_default().push(index);
    }
    members
}

/// One value per episode: `form` sees the rewards of the counted episodes of one key and answers in the same order.
fn within<K: Ord>(episodes: &[Episode], key: impl Fn(&Episode) -> K, form: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut values = vec![0.0; episodes.len()];
    for members in counted_by(episodes, key).values() {
        let rewards: Vec<f64> = members.iter().map(|index| episodes[*index].reward).collect();
        for (index, value) in members.iter().zip(form(&rewards)) {
            values[*index] = value;
        }
    }
    values
}

/// G_t = r_t + gamma G_(t+1) over the rewards of the turns of one episode.
fn returns_to_go(rewards: impl DoubleEndedIterator<Item = f64>, gamma: f64) -> Vec<f64> {
    let mut following = 0.0;
    let mut returns: Vec<f64> = rewards
        .rev()
        .map(|reward| {
            following = reward + gamma * following;
            following
        })
        .collect();
    returns.reverse();
    returns
}

#[cfg(test)]
mod tests {
    use super::known_episodes::known_episodes;
    use super::*;

    #[test]
    fn a_group_teaches_nothing_where_its_rewards_are_equal_or_fewer_than_two_count() {
        let mut episodes = known_episodes();
        assert_eq!(equal_groups(&episodes), BTreeSet::from([3]), "a group of one compares with nothing");
        for episode in episodes.iter_mut().filter(|episode| episode.group == 1) {
            episode.reward = if episode.counts { 0.5 } else { 7.0 };
        }
        for (place, episode) in episodes.iter_mut().filter(|episode| episode.group == 2).enumerate() {
            episode.counts = place == 0;
        }
        assert_eq!(equal_groups(&episodes), BTreeSet::from([1, 2, 3]));
    }

    #[test]
    fn a_return_to_go_discounts_what_comes_later() {
        assert_eq!(returns_to_go([1.0, 0.0, 4.0].into_iter(), 0.5), [2.0, 2.0, 4.0]);
        assert!(returns_to_go(std::iter::empty(), 0.5).is_empty());
    }
}
