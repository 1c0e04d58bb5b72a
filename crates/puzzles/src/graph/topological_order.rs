//! `puzzle/topological_order`: order items of which some come before others, some have fixed places and some are neighbours.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal};

/// Items that the reference solver tries before it gives up.
const TRIED_MAX: u32 = 5_000;

/// Largest distance in the order that a problem is made from between two items of which one comes before the other: a
/// condition on two that are far apart says little.
const APART_MAX: usize = 6;

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct TopologicalOrder;

/// A problem. Items are letters from A on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// The first comes somewhere before the second.
    before: Vec<(char, char)>,
    /// An item and its place, from 1.
    pinned: Vec<(char, usize)>,
    /// Two that stand next to each other, in either order.
    neighbours: Vec<(char, char)>,
    /// An order that fits.
    solution: String,
}

impl Question for TopologicalOrder {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "topological_order",
            version: 1,
            category: Category::Graph,
            tags: &["constraints"],
            multi_turn: false,
            description: "Order items of which some come before others, some have fixed places and some stand next to each other.",
            rule: "Any order of all items is right that fulfils every condition.",
            scale: "From 8 to 24 items, with more conditions.",
            effort: "Fills the places in order with the most urgent items, going back at a dead end; items tried, of 5,000 at most.",
            floor: 0.02,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let size = usize::try_from(scale(difficulty, 8, 24))?;
        let mut order: Vec<char> = ('A'..='Z').take(size).collect();
        order.shuffle(rng);
        let pairs = (0..size).flat_map(|first| (first + 1..size).map(move |second| (first, second)));
        let mut pairs: Vec<(usize, usize)> = pairs.filter(|(first, second)| second - first <= APART_MAX).collect();
        pairs.shuffle(rng);
        let mut before: Vec<(char, char)> =
            pairs.iter().take(size * 5 / 4).map(|(first, second)| (order[*first], order[*second])).collect();
        before.sort_unstable();
        let mut places: Vec<usize> = (0..size).collect();
        places.shuffle(rng);
        let mut pinned: Vec<(char, usize)> =
            places.iter().take(size / 6).map(|place| (order[*place], place + 1)).collect();
        pinned.sort_unstable();
        places.shuffle(rng);
        let starts = places.iter().filter(|place| **place + 1 < size).take(size / 5);
        let mut neighbours: Vec<(char, char)> =
            starts.map(|place| (order[*place].min(order[place + 1]), order[*place].max(order[place + 1]))).collect();
        neighbours.sort_unstable();
        draws.note("items", size);
        Ok(Instance { before, pinned, neighbours, solution: order.iter().collect() })
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({
            "items": instance.solution.len(), "before": instance.before, "pinned": instance.pinned,
            "neighbours": instance.neighbours
        })
    }

    fn prompt(&self, instance: &Instance) -> String {
        let Instance { before, pinned, neighbours, solution } = instance;
        let last = solution.chars().max().unwrap_or_default();
        let conditions = before.iter().map(|(first, second)| format!("{first} comes before {second}."));
        let conditions = conditions.chain(pinned.iter().map(|(item, place)| format!("{item} has place {place}.")));
        let conditions = conditions
            .chain(neighbours.iter().map(|(one, other)| format!("{one} and {other} stand next to each other.")));
        format!(
            "Put the {} items A to {last} into an order that fulfils all these conditions. Places are numbered from 1; what comes \
             before something else need not be directly before it.\n\
             {}\n\
             Several orders may be right. Answer with all items in order, such as: C A B and so on.",
            solution.len(),
            conditions.collect::<Vec<_>>().join("\n")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let size = instance.solution.len();
        let Some(order) = read_items(answer, size) else {
            return Mark::wrong(format!("it is not each of {size} items once"));
        };
        let place = |item: char| order.iter().position(|other| *other == item).map_or(0, |index| index + 1);
        let Instance { before, pinned, neighbours, .. } = instance;
        if let Some((first, second)) = before.iter().find(|(first, second)| place(*first) >= place(*second)) {
            return Mark::wrong(format!("{first} is not before {second}"));
        }
        if let Some((item, wanted)) = pinned.iter().find(|(item, wanted)| place(*item) != *wanted) {
            return Mark::wrong(format!("{item} is at place {}, not {wanted}", place(*item)));
        }
        match neighbours.iter().find(|(one, other)| place(*one).abs_diff(place(*other)) != 1) {
            Some((one, other)) => Mark::wrong(format!("{one} and {other} are not next to each other")),
            None => Mark::right("every condition is fulfilled"),
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        write(instance.solution.chars())
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let mut order: Vec<char> = instance.solution.chars().collect();
        order.sort_unstable();
        order.shuffle(rng);
        write(order.into_iter())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // Two items change places of which one has to come before the other.
        let (first, second) = instance.before[rng.random_range(0..instance.before.len())];
        write(instance.solution.chars().map(|item| match item {
            item if item == first => second,
            item if item == second => first,
            item => item,
        }))
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let mut tried = 0;
        place_next(instance, &latest(instance), &mut Vec::new(), &mut tried);
        f64::from(tried)
    }
}

fn write(order: impl Iterator<Item = char>) -> String {
    order.map(String::from).collect::<Vec<_>>().join(" ")
}

/// The items of an answer, each of them once: letters of either case with white space, commas, arrows, marks of JSON or
/// nothing between.
fn read_items(answer: &str, size: usize) -> Option<Vec<char>> {
    let text = answer.replace("->", " ").replace('→', " ");
    let letters = text.chars().filter(|letter| !letter.is_whitespace() && !",;[]()\"'".contains(*letter));
    let order: Vec<char> = letters.map(|letter| letter.to_ascii_uppercase()).take(size + 1).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    sorted.into_iter().eq(('A'..='Z').take(size)).then_some(order)
}

/// Fills the places from the first on, each with the most urgent item that fits, until all are filled or [`TRIED_MAX`] is
/// reached.
/// `latest` are all items with the latest place that each can have, the earliest first.
fn place_next(instance: &Instance, latest: &[(char, usize)], order: &mut Vec<char>, tried: &mut u32) -> bool {
    let open: Vec<(char, usize)> = latest.iter().copied().filter(|(item, _)| !order.contains(item)).collect();
    if open.iter().any(|(_, latest)| *latest <= order.len()) {
        return false;
    }
    for (item, _) in &open {
        if *tried >= TRIED_MAX {
            return false;
        }
        *tried += 1;
        if fits(instance, order, *item) {
            order.push(*item);
            if place_next(instance, latest, order, tried) {
                return true;
            }
            order.pop();
        }
    }
    open.is_empty()
}

/// The latest place of each item: its own if it has one, and before the latest place of everything that comes after it.
fn latest(instance: &Instance) -> Vec<(char, usize)> {
    let size = instance.solution.len();
    let pinned = |item| instance.pinned.iter().find(|(other, _)| *other == item).map_or(size, |(_, place)| *place);
    let mut latest: Vec<(char, usize)> = ('A'..='Z').take(size).map(|item| (item, pinned(item))).collect();
    // A chain of conditions has fewer links than there are items.
    for _ in 0..size {
        for (first, second) in &instance.before {
            let bound =
                latest.iter().find(|(item, _)| item == second).map_or(size, |(_, place)| place.saturating_sub(1));
            latest.iter_mut().filter(|(item, _)| item == first).for_each(|(_, place)| *place = bound.min(*place));
        }
    }
    latest.sort_by_key(|(_, place)| *place);
    latest
}

/// True if an item can follow the ones that are placed.
fn fits(instance: &Instance, order: &[char], item: char) -> bool {
    let place = order.len() + 1;
    let ready = instance.before.iter().all(|(first, second)| *second != item || order.contains(first));
    let pinned = instance.pinned.iter().all(|(other, wanted)| (*other == item) == (*wanted == place));
    // A neighbour of whoever is placed is placed too by the next place.
    let beside = |one: char, other: char| match order.iter().position(|placed| *placed == one) {
        Some(index) if !order.contains(&other) => index + 1 == order.len() && other == item,
        _ => true,
    };
    let neighbours = instance.neighbours.iter().all(|(one, other)| beside(*one, *other) && beside(*other, *one));
    ready && pinned && neighbours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance() -> Instance {
        let (before, pinned, neighbours) = (vec![('A', 'B'), ('C', 'D')], vec![('E', 3)], vec![('A', 'C')]);
        Instance { before, pinned, neighbours, solution: "ACEBD".to_owned() }
    }

    #[test]
    fn every_order_by_the_conditions_is_right_and_no_other() {
        let all = (0..5_usize.pow(5)).map(|number| {
            (0..5).map(|place| char::from(b"ABCDE"[number / 5_usize.pow(place) % 5])).collect::<String>()
        });
        let mut right: Vec<String> =
            all.filter(|order| TopologicalOrder.check(&instance(), order).score == 1.0).collect();
        right.sort_unstable();
        // A and C before the E or after it, in either order; after it, B or D would come before one of them.
        assert_eq!(right, ["ACEBD", "ACEDB", "CAEBD", "CAEDB"]);
    }

    #[test]
    fn orders_are_read_in_every_usual_notation() {
        for answer in [
            "A C E B D",
            "a, c, e, b, d",
            "[\"A\", \"C\", \"E\", \"B\", \"D\"]",
            "A -> C → E -> B -> D",
            "A\nC\nE\nB\nD",
        ] {
            assert_eq!(TopologicalOrder.check(&instance(), answer).score, 1.0, "{answer}");
        }
        let long = "A C E B D ".repeat(500);
        for answer in
            ["", "A C E B", "A C E B D D", "A C E B F", "1 3 5 2 4", "А C E B D", "A-C-E-B-D", "A C E B D.", &long]
        {
            assert_eq!(TopologicalOrder.check(&instance(), answer).score, 0.0, "{answer}");
        }
    }
}
