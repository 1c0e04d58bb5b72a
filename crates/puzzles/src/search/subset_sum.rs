//! `puzzle/subset_sum`: find numbers of a list that add up to a target.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{Category, Facts};
use crate::list::numbers;
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// The number differs from those before.
static NEW: Requirement = Requirement::new("new", "the number differs from those before", 0.03);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct SubsetSum;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// Positive, no two alike.
    numbers: Vec<u32>,
    target: u32,
    /// Some of the numbers, which add up to the target.
    chosen: Vec<u32>,
}

impl Question for SubsetSum {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "subset_sum",
            version: 1,
            category: Category::Search,
            tags: &[],
            multi_turn: false,
            description: "Choose among 7 to 24 numbers some that add up to a target.",
            rule: "All chosen numbers are of the list, none is used twice, and their sum is the target; any such choice is right.",
            scale: "More and larger numbers.",
            effort: "Forms all sums of one half and looks for what is missing among those of the other; sums formed.",
            floor: 0.03,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let count = usize::try_from(scale(difficulty, 7, 24))?;
        let largest = 10_u32.pow(scale(difficulty, 2, 5)) - 1;
        let mut made = BTreeSet::new();
        while made.len() < count {
            let new = made.insert(rng.random_range(largest / 9..=largest));
            draws.count(&NEW, 1, u64::from(!new));
        }
        let mut numbers: Vec<u32> = made.into_iter().collect();
        numbers.shuffle(rng);
        let chosen = numbers[..rng.random_range(count / 3 + 1..=count * 2 / 3)].to_vec();
        numbers.shuffle(rng);
        draws.note("numbers", count);
        draws.note("chosen", chosen.len());
        Ok(Instance { numbers, target: chosen.iter().sum(), chosen })
    }

    fn content(&self, instance: &Instance) -> Value {
        json!([instance.numbers.iter().collect::<BTreeSet<_>>(), instance.target])
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"numbers": instance.numbers, "target": instance.target})
    }

    fn prompt(&self, instance: &Instance) -> String {
        format!(
            "Choose some of these numbers, each at most once, so that their sum is exactly {}:\n{}\n\
             Any choice with that sum is right. The answer is the chosen numbers, separated by commas, such as: 7, 19, 4",
            instance.target,
            write(&instance.numbers)
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let Some(read) = numbers(&answer.replace('+', " ")) else { return Mark::wrong("it is not a list of numbers") };
        let mut left: BTreeSet<u32> = instance.numbers.iter().copied().collect();
        let mut sum = 0;
        for number in read {
            let Some(known) = u32::try_from(number).ok().filter(|number| left.remove(number)) else {
                return Mark::wrong(format!("{number} is not in the list, or used twice"));
            };
            sum += known;
        }
        if sum == instance.target {
            Mark::right("the sum is the target")
        } else {
            Mark::wrong(format!("the sum is {sum}, not {}", instance.target))
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        write(&instance.chosen)
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        write(&instance.numbers.iter().copied().filter(|_| rng.random()).collect::<Vec<_>>())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // All numbers are positive and differ, so the sum changes when one is left out or replaced by one other.
        let mut chosen = instance.chosen.clone();
        let others: Vec<u32> = instance.numbers.iter().copied().filter(|number| !chosen.contains(number)).collect();
        let place = rng.random_range(0..chosen.len());
        if rng.random() {
            chosen.remove(place);
        } else {
            chosen[place] = others[rng.random_range(0..others.len())];
        }
        write(&chosen)
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let (left, right) = instance.numbers.split_at(instance.numbers.len() / 2);
        let mut known = sums(left).collect::<Vec<_>>();
        let formed = known.len();
        known.sort_unstable();
        let missing =
            |sum: u32| instance.target.checked_sub(sum).is_some_and(|rest| known.binary_search(&rest).is_ok());
        let looked_at = sums(right).position(missing).unwrap_or(0) + 1;
        f64::from(u32::try_from(formed + looked_at).unwrap_or(u32::MAX))
    }
}

/// The sums of all choices.
fn sums(numbers: &[u32]) -> impl Iterator<Item = u32> {
    (0..1_u32 << numbers.len()).map(|choice| {
        numbers.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1).map(|(_, number)| number).sum()
    })
}

fn write(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    #[test]
    fn any_choice_with_the_sum_is_right_and_others_are_not() {
        let instance = Instance { numbers: vec![10, 25, 15, 40, 33], target: 50, chosen: vec![10, 40] };
        for answer in ["10, 40", "40 10", "10 + 40", "[25, 15, 10]", "15+10+25", "010;40"] {
            assert_eq!(SubsetSum.check(&instance, answer).score, 1.0, "{answer}");
        }
        let wrong = [
            "",
            "50",
            "25, 25",
            "10, 10, 15, 15",
            "10,40,0",
            "10,40,-10,10",
            "33,17",
            "10 + 40 = 50",
            "10,4０",
            "9999999999999",
        ];
        for answer in wrong {
            assert_eq!(SubsetSum.check(&instance, answer).score, 0.0, "{answer}");
        }
    }

    #[test]
    fn the_judge_agrees_with_the_sum_on_all_choices() {
        let made = SubsetSum.generate(&mut seeded(&[b"sums"]), 0.2, &mut Draws::default()).expect("a problem");
        for choice in 0..1_u32 << made.numbers.len() {
            let chosen: Vec<u32> =
                (0..made.numbers.len()).filter(|at| choice >> at & 1 == 1).map(|at| made.numbers[at]).collect();
            let right = chosen.iter().sum::<u32>() == made.target;
            assert_eq!(SubsetSum.check(&made, &write(&chosen)).score == 1.0, right, "{chosen:?}");
        }
    }
}
