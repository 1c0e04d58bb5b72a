//! Clues of the zebra puzzle: what they say, and how far they narrow down where everything is.

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use palestra_environment::draws::{Draws, Refusal, Requirement};

/// Clues that are drawn for each item before it is asked whether they are enough.
const CLUES_PER_ITEM: usize = 3;

/// Clues that the solver applies before it gives up.
const APPLIED_MAX: u32 = 10_000;

/// The clues that were drawn leave one arrangement.
static UNIQUE: Requirement = Requirement::new("unique", "the clues that were drawn leave one arrangement", 0.02);

/// Some item has the relation that was drawn; otherwise the clue names the house.
static RELATED: Requirement =
    Requirement::new("related", "some item has the relation that was drawn; otherwise the clue names the house", 0.15);

/// The solver decides whether a clue can be left out; otherwise the clue stays.
static NEEDED: Requirement =
    Requirement::new("needed", "the solver decides whether a clue can be left out; otherwise the clue stays", 0.005);

/// One clue. Houses count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum Clue {
    /// The item is in the house.
    House { item: usize, house: usize },
    /// The houses of two items are related.
    Pair { relation: Relation, items: [usize; 2] },
}

/// Relative position of the house of a second item to that of a first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Relation {
    /// It is the same.
    Same,
    /// It is another one.
    Different,
    /// It is a neighbour.
    NextTo,
    /// It is the left neighbour.
    DirectlyLeft,
    /// It is further left.
    Left,
    /// One house lies between them.
    OneBetween,
}

impl Relation {
    /// From the most to the least that a clue tells.
    const ALL: [Self; 6] =
        [Self::Same, Self::DirectlyLeft, Self::OneBetween, Self::NextTo, Self::Left, Self::Different];

    fn holds(self, first: usize, second: usize) -> bool {
        match self {
            Self::Same => first == second,
            Self::Different => first != second,
            Self::NextTo => first.abs_diff(second) == 1,
            Self::DirectlyLeft => first + 1 == second,
            Self::Left => first < second,
            Self::OneBetween => first.abs_diff(second) == 2,
        }
    }

    /// Where the second item can be when the first is in one of these houses: a bit for each, also beyond the last.
    fn after(self, first: u8) -> u8 {
        match self {
            Self::DirectlyLeft => first << 1,
            // Right of the leftmost.
            Self::Left => (u8::MAX << 1).checked_shl(first.trailing_zeros()).unwrap_or(0),
            _ => self.before(first),
        }
    }

    /// Where the first item can be when the second is in one of these houses.
    fn before(self, second: u8) -> u8 {
        match self {
            Self::Same => second,
            Self::Different => {
                if second.is_power_of_two() {
                    !second
                } else {
                    u8::MAX
                }
            }
            Self::NextTo => second << 1 | second >> 1,
            Self::DirectlyLeft => second >> 1,
            // Left of the rightmost.
            Self::Left => second.checked_ilog2().map_or(0, |rightmost| (1 << rightmost) - 1),
            Self::OneBetween => second << 2 | second >> 2,
        }
    }

    /// The same whichever item is named first.
    fn symmetric(self) -> bool {
        matches!(self, Self::Same | Self::Different | Self::NextTo | Self::OneBetween)
    }
}

impl Clue {
    pub(super) fn holds(&self, placed: &[usize]) -> bool {
        match *self {
            Self::House { item, house } => placed[item] == house,
            Self::Pair { relation, items: [first, second] } => relation.holds(placed[first], placed[second]),
        }
    }

    /// The clue as a sentence without its end.
    pub(super) fn sentence(&self, phrase: impl Fn(usize) -> String) -> String {
        let (relation, [first, second]) = match *self {
            Self::House { item, house } => return format!("{} lives in house {}", phrase(item), house + 1),
            Self::Pair { relation, items } => (relation, items.map(phrase)),
        };
        match relation {
            Relation::Same => format!("{first} is {second}"),
            Relation::Different => format!("{first} is not {second}"),
            Relation::NextTo => format!("{first} lives next to {second}"),
            Relation::DirectlyLeft => format!("{first} lives directly left of {second}"),
            Relation::Left => format!("{first} lives somewhere to the left of {second}"),
            Relation::OneBetween => format!("one house is between {first} and {second}"),
        }
    }

    /// Name in reports.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::House { .. } => "house",
            Self::Pair { relation, .. } => match relation {
                Relation::Same => "same",
                Relation::Different => "different",
                Relation::NextTo => "next_to",
                Relation::DirectlyLeft => "directly_left",
                Relation::Left => "left",
                Relation::OneBetween => "one_between",
            },
        }
    }

    /// Rank of the clue by its information; 0 is the most.
    fn rank(&self) -> usize {
        match self {
            Self::House { .. } => 0,
            Self::Pair { relation, .. } => {
                Relation::ALL.iter().position(|other| other == relation).map_or(0, |position| position + 1)
            }
        }
    }
}

/// Clues that hold for the arrangement and for no other one; without any of them there are others, or the solver gives up.
///
/// # Errors
/// When those that were drawn were too few, or the solver gives up on them.
pub(super) fn unique(
    rng: &mut ChaCha8Rng,
    houses: usize,
    placed: &[usize],
    difficulty: f64,
    draws: &mut Draws,
) -> Result<Vec<Clue>, Refusal> {
    let mut clues: Vec<Clue> = (0..placed.len() * CLUES_PER_ITEM).map(|_| draw(rng, houses, placed, draws)).collect();
    clues.sort_unstable();
    clues.dedup();
    clues.shuffle(rng);
    // What is tried first is left out most often: the harder the problem, the likelier what tells much.
    if rng.random_bool(difficulty) {
        clues.sort_by_key(Clue::rank);
    }
    match Solver::new(houses, &clues).solutions(placed.len()) {
        None => return Err(Refusal::fault(format!("the solver gave up after {APPLIED_MAX} clues"))),
        Some(found) => UNIQUE.demand(found == 1)?,
    }
    let mut at = 0;
    while at < clues.len() {
        let clue = clues.remove(at);
        let found = Solver::new(houses, &clues).solutions(placed.len());
        draws.count(&NEEDED, 1, u64::from(found.is_none()));
        if found != Some(1) {
            clues.insert(at, clue);
            at += 1;
        }
    }
    clues.shuffle(rng);
    Ok(clues)
}

/// A clue that holds.
fn draw(rng: &mut ChaCha8Rng, houses: usize, placed: &[usize], draws: &mut Draws) -> Clue {
    let item = rng.random_range(0..placed.len());
    let house = Clue::House { item, house: placed[item] };
    if rng.random_ratio(1, 12) {
        return house;
    }
    let relation = *Relation::ALL.choose(rng).unwrap_or(&Relation::NextTo);
    // That two values of one attribute are in two houses is known without a clue.
    let tells = |other: &usize| {
        let same_attribute = other / houses == item / houses;
        *other != item
            && !(same_attribute && relation == Relation::Different)
            && relation.holds(placed[item], placed[*other])
    };
    let others: Vec<usize> = (0..placed.len()).filter(tells).collect();
    draws.count(&RELATED, 1, u64::from(others.is_empty()));
    others.choose(rng).map_or(house, |other| {
        let mut items = [item, *other];
        if relation.symmetric() {
            items.sort_unstable();
        }
        Clue::Pair { relation, items }
    })
}

/// Finds arrangements that agree with clues.
pub(super) struct Solver<'a> {
    houses: usize,
    clues: &'a [Clue],
    /// Clues applied so far.
    pub(super) applied: u32,
    found: u32,
}

impl<'a> Solver<'a> {
    pub(super) fn new(houses: usize, clues: &'a [Clue]) -> Self {
        Self { houses, clues, applied: 0, found: 0 }
    }

    /// Number of arrangements, counted up to two; `None` when the solver gave up.
    pub(super) fn solutions(&mut self, items: usize) -> Option<u32> {
        self.search(vec![(1 << self.houses) - 1; items]);
        (self.applied < APPLIED_MAX).then_some(self.found)
    }

    /// `open` has a bit for every house that an item can be in.
    fn search(&mut self, mut open: Vec<u8>) {
        if self.found >= 2 || self.applied >= APPLIED_MAX || !self.narrow(&mut open) {
            return;
        }
        let undecided = (0..open.len()).filter(|item| open[*item].count_ones() > 1);
        let Some(item) = undecided.min_by_key(|item| open[*item].count_ones()) else {
            self.found += 1;
            return;
        };
        for house in (0..self.houses).map(|house| 1 << house).filter(|house| open[item] & house != 0) {
            let mut tried = open.clone();
            tried[item] = house;
            self.search(tried);
        }
    }

    /// Applies everything until nothing changes; false when something can be nowhere.
    fn narrow(&mut self, open: &mut [u8]) -> bool {
        loop {
            let before: u32 = open.iter().map(|houses| houses.count_ones()).sum();
            for clue in self.clues {
                self.applied += 1;
                match *clue {
                    Clue::House { item, house } => open[item] &= 1 << house,
                    Clue::Pair { relation, items: [first, second] } => {
                        let (left, right) = (open[first], open[second]);
                        open[first] &= relation.before(right);
                        open[second] &= relation.after(left);
                    }
                }
            }
            for values in open.chunks_mut(self.houses) {
                keep_apart(values);
            }
            if open.contains(&0) {
                return false;
            }
            if open.iter().map(|houses| houses.count_ones()).sum::<u32>() == before {
                return true;
            }
        }
    }
}

/// No two values of an attribute are in one house, and one is in each.
fn keep_apart(values: &mut [u8]) {
    for value in 0..values.len() {
        let elsewhere = (0..values.len()).filter(|other| *other != value);
        let taken = elsewhere.clone().filter(|other| values[*other].is_power_of_two());
        let taken = taken.fold(0, |houses, other| houses | values[other]);
        let possible = elsewhere.fold(0, |houses, other| houses | values[other]);
        values[value] &= !taken;
        let only_here = values[value] & !possible;
        if only_here != 0 {
            values[value] = only_here;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    fn permutations(count: usize) -> Vec<Vec<usize>> {
        if count == 0 {
            return vec![Vec::new()];
        }
        let shorter = permutations(count - 1);
        let longer = shorter.iter().flat_map(|shorter| {
            (0..count).map(|at| {
                let mut longer = shorter.clone();
                longer.insert(at, count - 1);
                longer
            })
        });
        longer.collect()
    }

    #[test]
    fn a_relation_says_the_same_of_houses_and_of_sets_of_houses() {
        for relation in Relation::ALL {
            for set in 1..32_u8 {
                let within = |house: &usize| set >> house & 1 == 1;
                let bits = |houses: &dyn Fn(usize) -> bool| {
                    (0..5).filter(|house| houses(*house)).fold(0, |bits, house| bits | 1 << house)
                };
                let after: u8 = bits(&|house| (0..5).filter(within).any(|first| relation.holds(first, house)));
                let before: u8 = bits(&|house| (0..5).filter(within).any(|second| relation.holds(house, second)));
                assert_eq!(
                    (relation.after(set) & 31, relation.before(set) & 31),
                    (after, before),
                    "{relation:?} {set:b}"
                );
            }
        }
    }

    #[test]
    fn clues_have_one_solution_and_more_without_any_of_them() {
        let mut rng = seeded(&[b"zebra"]);
        for difficulty in [0.0, 0.5, 1.0] {
            let orders = permutations(3);
            let all: Vec<Vec<usize>> = (0..216)
                .map(|n| [&orders[n % 6], &orders[n / 6 % 6], &orders[n / 36]].map(Clone::clone).concat())
                .collect();
            let clues = (0..20)
                .find_map(|_| unique(&mut rng, 3, &all[100], difficulty, &mut Draws::default()).ok())
                .expect("clues");
            let solutions = |clues: &[Clue]| {
                let agree = all.iter().filter(|placed| clues.iter().all(|clue| clue.holds(placed)));
                agree.cloned().collect::<Vec<_>>()
            };
            assert_eq!(solutions(&clues), [all[100].clone()]);
            for left_out in 0..clues.len() {
                let mut fewer = clues.clone();
                fewer.remove(left_out);
                let count = solutions(&fewer).len();
                assert!(count > 1);
                assert_eq!(Solver::new(3, &fewer).solutions(9), Some(2));
            }
        }
    }
}
