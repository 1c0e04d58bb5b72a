//! `puzzle/zebra`: who lives where with what, from clues. One answer.

mod clue;

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::clue::{Clue, Solver};
use super::names;
use super::words::{capitalised, words};
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal};

/// Further attributes beside the name: what it is called, how a clue speaks of who has a value, and the values.
const ATTRIBUTES: [(&str, &str, [&str; 8]); 5] = [
    ("color", "the person in the {} house", ["red", "blue", "green", "yellow", "white", "black", "pink", "brown"]),
    ("pet", "the owner of the {}", ["dog", "cat", "horse", "parrot", "rabbit", "turtle", "goat", "zebra"]),
    ("drink", "the person who drinks {}", ["tea", "coffee", "milk", "juice", "water", "cocoa", "cider", "wine"]),
    ("job", "the {}", ["baker", "doctor", "painter", "teacher", "farmer", "pilot", "lawyer", "singer"]),
    (
        "sport",
        "the person who plays {}",
        ["tennis", "golf", "chess", "hockey", "rugby", "cricket", "badminton", "squash"],
    ),
];

/// Houses and attributes, by difficulty.
const SIZES: [(usize, usize); 5] = [(3, 3), (3, 4), (4, 4), (4, 5), (5, 5)];

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zebra;

/// A problem. Items, which are the values of all attributes, are counted through: `attribute * houses + value`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    houses: usize,
    attributes: Vec<Attribute>,
    clues: Vec<Clue>,
    /// The house of every item.
    placed: Vec<usize>,
}

/// Attribute of which everybody has one, and nobody the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribute {
    name: String,
    values: Vec<String>,
}

impl Question for Zebra {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "zebra",
            version: 1,
            category: Category::Logic,
            tags: &["deduction", "constraints"],
            multi_turn: false,
            description: "Find out who lives in which of 3 to 5 houses and has what, from clues of which as many as possible were left out.",
            rule: "Every house has to be there with one value of each attribute, and all clues have to hold.",
            scale: "More houses, more attributes, and less direct clues.",
            effort: "Narrows down by each clue where everything can be and tries out what stays open; clues applied.",
            floor: 0.02,
            heavy: true,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let (houses, attributes) = SIZES[usize::try_from(scale(difficulty, 0, 4))?];
        let mut placed = Vec::new();
        for _ in 0..attributes {
            placed.extend(shuffled_houses(rng, houses));
        }
        draws.note("houses", houses);
        draws.note("attributes", attributes);
        let clues = clue::unique(rng, houses, &placed, difficulty, draws)?;
        let mut others: Vec<usize> = (0..ATTRIBUTES.len()).collect();
        others.shuffle(rng);
        let mut chosen = vec![Attribute { name: "name".to_owned(), values: names::people(rng, houses) }];
        for (name, _, values) in others.into_iter().take(attributes - 1).map(|other| ATTRIBUTES[other]) {
            let mut values = values.map(str::to_owned).to_vec();
            values.shuffle(rng);
            values.truncate(houses);
            chosen.push(Attribute { name: name.to_owned(), values });
        }
        clues.iter().for_each(|clue| draws.note("clue", clue.kind()));
        Ok(Instance { houses, attributes: chosen, clues, placed })
    }

    fn content(&self, instance: &Instance) -> Value {
        // Neither words nor the order of the clues make another problem.
        let mut clues: Vec<String> = instance.clues.iter().map(|clue| json!(clue).to_string()).collect();
        clues.sort_unstable();
        json!({"houses": instance.houses, "attributes": instance.attributes.len(), "clues": clues})
    }

    fn metadata(&self, instance: &Instance) -> Value {
        let clue = |clue: &Clue| match clue {
            Clue::House { item, house } => {
                json!({"relation": "house", "item": instance.value(*item), "house": house + 1})
            }
            Clue::Pair { relation, items } => {
                json!({"relation": relation, "items": items.map(|item| instance.value(item))})
            }
        };
        let attributes = instance.attributes.iter().map(|attribute| (attribute.name.clone(), json!(attribute.values)));
        json!({
            "houses": instance.houses,
            "attributes": Map::from_iter(attributes),
            "clues": instance.clues.iter().map(clue).collect::<Vec<_>>()
        })
    }

    fn prompt(&self, instance: &Instance) -> String {
        let Instance { houses, attributes, clues, .. } = instance;
        let attributes: Vec<String> = attributes
            .iter()
            .map(|Attribute { name, values }| {
                // In another order than that of the clues.
                let mut values = values.clone();
                values.sort_unstable();
                format!("{name}: {}", values.join(", "))
            })
            .collect();
        let clues: Vec<String> = clues
            .iter()
            .enumerate()
            .map(|(at, clue)| format!("{}. {}.", at + 1, capitalised(&clue.sentence(|item| instance.phrase(item)))))
            .collect();
        format!(
            "{houses} houses stand in a row, numbered 1 to {houses} from left to right. One person lives in each. The persons \
             differ in everything that is listed here:\n{}\n\
             Clues:\n{}\n\
             `Next to` and `directly left of` speak of houses that touch. Only one arrangement agrees with all clues. Find it. \
             The answer is a line for each house, with its number and then one value of each list, such as: 1: Amy, purple, \
             snake",
            attributes.join("\n"),
            clues.join("\n")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let placed = match instance.read(answer) {
            Ok(placed) => placed,
            Err(fault) => return Mark::wrong(fault),
        };
        match instance.clues.iter().position(|clue| !clue.holds(&placed)) {
            Some(broken) => Mark::wrong(format!("clue {} does not hold", broken + 1)),
            None => Mark::right("all clues hold"),
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        instance.write(&instance.placed)
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let placed: Vec<usize> =
            instance.attributes.iter().flat_map(|_| shuffled_houses(rng, instance.houses)).collect();
        instance.write(&placed)
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // Two people have exchanged something, and only one arrangement is right.
        let attribute = rng.random_range(0..instance.attributes.len()) * instance.houses;
        let first = rng.random_range(0..instance.houses);
        let second = (first + rng.random_range(1..instance.houses)) % instance.houses;
        let mut placed = instance.placed.clone();
        placed.swap(attribute + first, attribute + second);
        instance.write(&placed)
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let mut solver = Solver::new(instance.houses, &instance.clues);
        solver.solutions(instance.placed.len());
        f64::from(solver.applied)
    }
}

impl Instance {
    fn value(&self, item: usize) -> &str {
        &self.attributes[item / self.houses].values[item % self.houses]
    }

    /// Phrase of a clue for the owner of the item.
    fn phrase(&self, item: usize) -> String {
        let attribute = &self.attributes[item / self.houses].name;
        let phrase = ATTRIBUTES.iter().find(|(name, ..)| name == attribute).map_or("{}", |(_, phrase, _)| phrase);
        phrase.replace("{}", self.value(item))
    }

    fn write(&self, placed: &[usize]) -> String {
        let line = |house: usize| {
            let items = (0..placed.len()).filter(|item| placed[*item] == house).map(|item| self.value(item));
            format!("{}: {}", house + 1, items.collect::<Vec<_>>().join(", "))
        };
        (0..self.houses).map(line).collect::<Vec<_>>().join("\n")
    }

    /// The house of every item: numbers of houses with values after them, all in any order. The word `house` and the names of
    /// the attributes may stand where they like.
    fn read(&self, answer: &str) -> Result<Vec<usize>, String> {
        let words = words(answer).ok_or("the answer holds what is neither a number nor a value")?;
        let (mut house, mut seen) = (None, 0_u32);
        let mut placed: Vec<Option<usize>> = vec![None; self.attributes.len() * self.houses];
        for word in &words {
            if let Some(number) = (1..=self.houses).find(|number| number.to_string() == *word) {
                if seen >> number & 1 == 1 {
                    return Err(format!("house {number} is there twice"));
                }
                seen |= 1 << number;
                house = Some(number - 1);
                continue;
            }
            if word == "house" || self.attributes.iter().any(|attribute| attribute.name == *word) {
                continue;
            }
            let item = (0..placed.len()).find(|item| self.value(*item).eq_ignore_ascii_case(word));
            let item = item.ok_or_else(|| format!("{word:?} is no value"))?;
            let house = house.ok_or_else(|| format!("{word} comes before the number of a house"))?;
            if placed[item].replace(house).is_some() {
                return Err(format!("{word} is there twice"));
            }
        }
        let placed = placed.into_iter().collect::<Option<Vec<usize>>>().ok_or("a value is missing")?;
        for values in placed.chunks(self.houses) {
            if (0..self.houses).any(|house| !values.contains(&house)) {
                return Err("a house has two values of one attribute".to_owned());
            }
        }
        Ok(placed)
    }
}

fn shuffled_houses(rng: &mut ChaCha8Rng, houses: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..houses).collect();
    order.shuffle(rng);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::zebra::clue::Relation;

    fn instance() -> Instance {
        let attribute = |name: &str, values: [&str; 3]| Attribute {
            name: name.to_owned(),
            values: values.map(str::to_owned).to_vec(),
        };
        Instance {
            houses: 3,
            attributes: vec![attribute("name", ["Ada", "Leo", "Max"]), attribute("pet", ["dog", "cat", "goat"])],
            clues: vec![
                Clue::House { item: 0, house: 2 },
                Clue::Pair { relation: Relation::Same, items: [1, 4] },
                Clue::Pair { relation: Relation::DirectlyLeft, items: [4, 5] },
            ],
            placed: vec![2, 0, 1, 2, 0, 1],
        }
    }

    #[test]
    fn every_way_to_write_the_arrangement_is_right_and_no_other_arrangement_is() {
        for answer in [
            "1: Leo, cat\n2: Max, goat\n3: Ada, dog",
            "House 3: dog ada. House 1: CAT, Leo. House 2: Max - goat",
            "| House | Name | Pet |\n|---|---|---|\n| 1 | Leo | cat |\n| 2 | Max | goat |\n| 3 | Ada | dog |",
            "{\"1\": {\"name\": \"Leo\", \"pet\": \"cat\"}, \"2\": [\"Max\", \"goat\"], \"3\": [\"Ada\", \"dog\"]}",
        ] {
            assert_eq!(Zebra.check(&instance(), answer).score, 1.0, "{answer}");
        }
        for answer in [
            "",
            "Leo cat, Max goat, Ada dog",
            "1: Leo, cat\n2: Max, goat",
            "1: Leo, goat\n2: Max, cat\n3: Ada, dog",
            "1: Leo, cat\n2: Max, goat\n3: Ada, dog\n3: Ada, dog",
            "1: Leo, cat\n2: Max, goat, Leo\n3: Ada, dog",
            "1: Leo, Max, cat, goat\n2: \n3: Ada, dog",
            "1: Leo, cat\n2: Max, goat\n3: Ada, dog\n4: ",
            "1: Leo, cat\n2: Max, goat\n3: Ada, zebra",
            "1: Leo, not cat\n2: Max, goat\n3: Ada, dog",
            "１: Leo, cat\n2: Max, goat\n3: Ada, dog",
            &"1 2 3 ".repeat(1300),
        ] {
            assert_eq!(Zebra.check(&instance(), answer).score, 0.0, "{answer}");
        }
    }
}
