//! `puzzle/knapsack`: choose the most valuable things that a bag can carry.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{Category, Facts};
use crate::list::numbers;
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal};

/// The share of the best value from which on a selection is worth something.
const NEAR: f64 = 0.98;

/// Largest score of a selection that misses the best one by almost nothing.
const NEAR_SCORE_MAX: f64 = 0.3;

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knapsack;

/// One thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    weight: u32,
    value: u32,
}

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    items: Vec<Item>,
    capacity: u32,
    /// The items of a best selection, from 0.
    best: Vec<usize>,
}

impl Question for Knapsack {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "knapsack",
            version: 1,
            category: Category::Search,
            tags: &["optimization"],
            multi_turn: false,
            description: "Choose among 9 to 30 items the selection of the highest total value that a bag can carry.",
            rule: "The selection fits and no other that fits has a higher value; from 98% of that value on it is worth up to 0.3.",
            scale: "More and heavier items, whose values follow their weights ever more closely.",
            effort: "Fills the table of best values by item and weight; cells filled.",
            floor: 0.05,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let weight_max = scale(difficulty, 40, 250);
        let spread = scale(difficulty, 36, 12);
        let items: Vec<Item> = (0..scale(difficulty, 9, 30))
            .map(|_| {
                let weight = rng.random_range(weight_max / 5..=weight_max);
                Item { weight, value: weight + rng.random_range(1..=spread) }
            })
            .collect();
        let total: u32 = items.iter().map(|item| item.weight).sum();
        let capacity = total * rng.random_range(40..=60) / 100;
        let best = Table::fill(&items, capacity).best(&items);
        draws.note("items", items.len());
        draws.note("chosen", best.len());
        Ok(Instance { items, capacity, best })
    }

    fn content(&self, instance: &Instance) -> Value {
        let mut items = instance.items.clone();
        items.sort_unstable();
        json!([items, instance.capacity])
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"items": instance.items, "capacity": instance.capacity})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let line = |(at, item): (usize, &Item)| format!("{}: weight {}, value {}", at + 1, item.weight, item.value);
        let lines: Vec<String> = instance.items.iter().enumerate().map(line).collect();
        format!(
            "A bag carries a total weight of at most {}. Each of these items is there once:\n{}\n\
             Choose the items whose total weight the bag can carry and whose total value is the highest possible. Where several \
             selections have that value, any of them is right.\n\
             The answer is the numbers of the chosen items, separated by commas, such as: 2, 5",
            instance.capacity,
            lines.join("\n")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let Some(read) = numbers(answer) else { return Mark::wrong("it is not a list of numbers of items") };
        let mut taken = vec![false; instance.items.len()];
        for number in read {
            let place = usize::try_from(number).ok().and_then(|number| taken.get_mut(number.checked_sub(1)?));
            match place {
                None => return Mark::wrong(format!("there is no item {number}")),
                Some(true) => return Mark::wrong(format!("item {number} comes twice")),
                Some(place) => *place = true,
            }
        }
        let chosen: Vec<usize> = (0..taken.len()).filter(|at| taken[*at]).collect();
        let (weight, value) = totals(&instance.items, &chosen);
        let (_, best) = totals(&instance.items, &instance.best);
        if weight > instance.capacity {
            return Mark::wrong(format!("it weighs {weight}, and the bag carries {}", instance.capacity));
        }
        if value >= best {
            return Mark::right(format!("its value of {value} is the highest"));
        }
        let share = f64::from(value) / f64::from(best);
        let score = NEAR_SCORE_MAX * ((share - NEAR) / (1.0 - NEAR)).max(0.0);
        Mark::partial(score, format!("its value is {value}, the highest is {best}"))
    }

    fn solution(&self, instance: &Instance) -> String {
        write(&instance.best)
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // Items in any order, as long as they fit.
        let mut order: Vec<usize> = (0..instance.items.len()).collect();
        order.shuffle(rng);
        let mut left = instance.capacity;
        order.retain(|at| {
            let rest = left.checked_sub(instance.items[*at].weight);
            left = rest.unwrap_or(left);
            rest.is_some()
        });
        write(&order)
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let mut chosen = instance.best.clone();
        let others: Vec<usize> = (0..instance.items.len()).filter(|at| !chosen.contains(at)).collect();
        if rng.random() {
            // Every item has a value: a best selection without one of them is not best.
            chosen.remove(rng.random_range(0..chosen.len()));
        } else {
            // And one more does not fit, or else the selection was not best. Not all fit, so there is another.
            chosen.push(others[rng.random_range(0..others.len())]);
        }
        write(&chosen)
    }

    fn effort(&self, instance: &Instance) -> f64 {
        f64::from(u32::try_from(Table::fill(&instance.items, instance.capacity).cells.len()).unwrap_or(u32::MAX))
    }
}

/// The best values, by how many of the first items may be used and how much may be carried.
struct Table {
    cells: Vec<u32>,
    columns: usize,
}

impl Table {
    /// Dynamic programming by Bellman's equation.
    fn fill(items: &[Item], capacity: u32) -> Self {
        let columns = index(capacity) + 1;
        let mut cells = vec![0; columns * (items.len() + 1)];
        for (row, item) in items.iter().enumerate() {
            for column in 0..columns {
                let without = cells[row * columns + column];
                let with = column.checked_sub(index(item.weight)).map(|rest| cells[row * columns + rest] + item.value);
                cells[(row + 1) * columns + column] = with.unwrap_or(0).max(without);
            }
        }
        Self { cells, columns }
    }

    /// The items of one best selection.
    fn best(&self, items: &[Item]) -> Vec<usize> {
        let mut column = self.columns - 1;
        let mut chosen = Vec::new();
        for row in (0..items.len()).rev() {
            if self.cells[(row + 1) * self.columns + column] != self.cells[row * self.columns + column] {
                chosen.push(row);
                column -= index(items[row].weight);
            }
        }
        chosen.reverse();
        chosen
    }
}

fn index(weight: u32) -> usize {
    usize::try_from(weight).unwrap_or(usize::MAX)
}

/// Weight and value.
fn totals(items: &[Item], chosen: &[usize]) -> (u32, u32) {
    chosen.iter().fold((0, 0), |(weight, value), at| (weight + items[*at].weight, value + items[*at].value))
}

fn write(chosen: &[usize]) -> String {
    chosen.iter().map(|at| (at + 1).to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    fn instance() -> Instance {
        let items = [(10, 60), (20, 100), (30, 120), (20, 100)].map(|(weight, value)| Item { weight, value }).to_vec();
        Instance { items, capacity: 50, best: vec![0, 1, 3] }
    }

    #[test]
    fn any_best_selection_is_right_and_others_are_not() {
        for answer in ["1, 2, 4", "4 2 1", "[1,4,2]", "01;2;4"] {
            assert_eq!(Knapsack.check(&instance(), answer).score, 1.0, "{answer}");
        }
        for answer in [
            "", "1,2", "1,2,3,4", "1,2,4,4", "0,1,2,4", "1,2,4,5", "1,2,-4", "1 2 4 x", "1,2,4.0", "１,2,4", "9e9",
            "260",
        ] {
            assert_eq!(Knapsack.check(&instance(), answer).score, 0.0, "{answer}");
        }
        let items = [(10, 100), (10, 100), (11, 103)].map(|(weight, value)| Item { weight, value }).to_vec();
        let near = Instance { items, capacity: 21, best: vec![0, 2] };
        assert_eq!(Knapsack.check(&near, "2,3").score, 1.0, "the other best one");
        let score = Knapsack.check(&near, "1,2").score;
        assert!((score - 0.3 * (200.0 / 203.0 - 0.98) / 0.02).abs() < 1e-9, "{score}");
    }

    #[test]
    fn the_best_value_is_that_of_trying_all() {
        let mut rng = seeded(&[b"knapsack"]);
        for _ in 0..10 {
            let made = Knapsack.generate(&mut rng, 0.1, &mut Draws::default()).expect("a problem");
            let all = (0_u32..1 << made.items.len()).map(|number| {
                let chosen: Vec<usize> = (0..made.items.len()).filter(|at| number >> at & 1 == 1).collect();
                totals(&made.items, &chosen)
            });
            let best = all.filter(|(weight, _)| *weight <= made.capacity).map(|(_, value)| value).max();
            assert_eq!(best, Some(totals(&made.items, &made.best).1));
        }
    }
}
