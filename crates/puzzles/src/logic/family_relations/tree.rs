//! Family trees, and the relations in them.

use std::collections::{BTreeSet, VecDeque};

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use palestra_environment::draws::{Draws, Requirement};

/// Children that a couple has at most.
const CHILDREN_MAX: usize = 4;

/// Largest number of generations below a root couple.
const GENERATIONS_MAX: u8 = 5;

/// Whoever is drawn has room for a child, or has no parents yet.
static GROWN: Requirement =
    Requirement::new("grown", "whoever is drawn has room for a child, or has no parents yet", 0.3);

/// A relation between two people, whichever sex they have.
#[derive(Debug)]
pub(super) struct Kinship {
    /// Words for a man and a woman, each with synonyms.
    called: [(&'static str, &'static [&'static str]); 2],
    /// Ways from the one person to the relative, a letter for each step: up to a parent, down to a child, to a sibling (`b`),
    /// to whom one is married to (`m`).
    ways: &'static [&'static str],
}

/// Every relation that is asked for. People of one tree have at most one of them to each other, since there is one way only
/// between any two.
pub(super) const KINSHIPS: [Kinship; 20] = [
    Kinship { called: [("father", &[]), ("mother", &[])], ways: &["u"] },
    Kinship { called: [("son", &[]), ("daughter", &[])], ways: &["d"] },
    Kinship { called: [("brother", &[]), ("sister", &[])], ways: &["b"] },
    Kinship { called: [("husband", &[]), ("wife", &[])], ways: &["m"] },
    Kinship { called: [("grandfather", &["grandpa"]), ("grandmother", &["grandma"])], ways: &["uu"] },
    Kinship { called: [("grandson", &[]), ("granddaughter", &[])], ways: &["dd"] },
    Kinship { called: [("great-grandfather", &[]), ("great-grandmother", &[])], ways: &["uuu"] },
    Kinship { called: [("great-grandson", &[]), ("great-granddaughter", &[])], ways: &["ddd"] },
    Kinship { called: [("great-great-grandfather", &[]), ("great-great-grandmother", &[])], ways: &["uuuu"] },
    Kinship { called: [("great-great-grandson", &[]), ("great-great-granddaughter", &[])], ways: &["dddd"] },
    Kinship { called: [("uncle", &[]), ("aunt", &[])], ways: &["ub", "ubm"] },
    Kinship { called: [("nephew", &[]), ("niece", &[])], ways: &["bd", "mbd"] },
    Kinship { called: [("great-uncle", &["granduncle"]), ("great-aunt", &["grandaunt"])], ways: &["uub", "uubm"] },
    Kinship { called: [("great-nephew", &["grandnephew"]), ("great-niece", &["grandniece"])], ways: &["bdd", "mbdd"] },
    Kinship { called: [("cousin", &["first cousin"]), ("cousin", &["first cousin"])], ways: &["ubd"] },
    Kinship { called: [("second cousin", &[]), ("second cousin", &[])], ways: &["uubdd"] },
    Kinship {
        called: [
            ("cousin once removed", &["first cousin once removed"]),
            ("cousin once removed", &["first cousin once removed"]),
        ],
        ways: &["uubd", "ubdd"],
    },
    Kinship { called: [("father-in-law", &[]), ("mother-in-law", &[])], ways: &["mu"] },
    Kinship { called: [("son-in-law", &[]), ("daughter-in-law", &[])], ways: &["dm"] },
    Kinship { called: [("brother-in-law", &[]), ("sister-in-law", &[])], ways: &["mb", "bm"] },
];

/// The words of which chains of relations are made.
pub(super) const WORDS_ASKED: [&str; 23] = [
    "father",
    "mother",
    "son",
    "daughter",
    "brother",
    "sister",
    "husband",
    "wife",
    "grandfather",
    "grandmother",
    "grandson",
    "granddaughter",
    "uncle",
    "aunt",
    "nephew",
    "niece",
    "cousin",
    "father-in-law",
    "mother-in-law",
    "son-in-law",
    "daughter-in-law",
    "brother-in-law",
    "sister-in-law",
];

impl Kinship {
    /// Word for a person of this sex.
    pub(super) fn word(&self, female: bool) -> &'static str {
        self.called[usize::from(female)].0
    }

    /// Synonyms of the word.
    pub(super) fn also(&self, female: bool) -> &'static [&'static str] {
        self.called[usize::from(female)].1
    }

    /// True if a person of this sex is called so; `written` has spaces for hyphens.
    pub(super) fn is_called(&self, written: &str, female: bool) -> bool {
        let mut words = self.also(female).iter().chain([&self.called[usize::from(female)].0]);
        words.any(|word| word.replace('-', " ") == written)
    }

    /// True if facts tell of it.
    pub(super) fn is_told(&self) -> bool {
        self.ways.iter().any(|way| way.len() == 1)
    }

    /// Steps of the shortest way, a sibling counting as two.
    pub(super) fn steps(&self) -> usize {
        let way = self.ways.first().copied().unwrap_or_default();
        way.len() + way.matches('b').count()
    }
}

/// The relation that a word names and the sex that it says; `None` as the sex where the word is for both.
pub(super) fn kinship(word: &str) -> Option<(&'static Kinship, Option<bool>)> {
    KINSHIPS.iter().find_map(|kinship| {
        let says = [false, true].map(|female| kinship.word(female) == word);
        match says {
            [true, true] => Some((kinship, None)),
            [false, false] => None,
            [_, female] => Some((kinship, Some(female))),
        }
    })
}

/// Everybody, and who comes from whom.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tree {
    pub(super) people: Vec<Person>,
}

/// One of them. Others are given by their places in the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Person {
    pub(super) female: bool,
    parents: Option<[usize; 2]>,
    partner: Option<usize>,
    generation: u8,
}

/// Something that is told: `person` is the `relation` of `of`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fact {
    pub(super) person: usize,
    pub(super) relation: String,
    pub(super) of: usize,
}

impl Tree {
    /// A family of so many people and one more at most. Nobody marries into the own family.
    pub(super) fn grow(rng: &mut ChaCha8Rng, size: usize, draws: &mut Draws) -> Self {
        let mut tree = Self { people: Vec::new() };
        tree.add(false, None, 1);
        tree.marry(0);
        while tree.people.len() < size {
            let person = rng.random_range(0..tree.people.len());
            let Person { parents, partner, generation, .. } = tree.people[person];
            let before = tree.people.len();
            match partner {
                None => tree.marry(person),
                Some(partner) if rng.random_ratio(3, 4) => {
                    let open = tree.step(person, 'd').len() < CHILDREN_MAX && generation < GENERATIONS_MAX;
                    if open {
                        tree.add(rng.random(), Some([person, partner]), generation + 1);
                    }
                }
                Some(_) if parents.is_none() && generation > 1 => {
                    let mother = tree.add(true, None, generation - 1);
                    tree.marry(mother);
                    tree.people[person].parents = Some([mother, mother + 1]);
                }
                Some(_) => {}
            }
            draws.count(&GROWN, 1, u64::from(tree.people.len() == before));
        }
        tree
    }

    fn add(&mut self, female: bool, parents: Option<[usize; 2]>, generation: u8) -> usize {
        self.people.push(Person { female, parents, partner: None, generation });
        self.people.len() - 1
    }

    /// Adds somebody to whom the person is married.
    fn marry(&mut self, person: usize) {
        let Person { female, generation, .. } = self.people[person];
        let partner = self.add(!female, None, generation);
        self.people[person].partner = Some(partner);
        self.people[partner].partner = Some(person);
    }

    /// Facts from which everything follows: one for each couple and one for each person with parents.
    pub(super) fn facts(&self, rng: &mut ChaCha8Rng) -> Vec<Fact> {
        let mut facts = Vec::new();
        for (person, Person { parents, partner, .. }) in self.people.iter().enumerate() {
            if let Some(partner) = partner.filter(|partner| person < *partner) {
                let (person, of) = if rng.random() { (person, partner) } else { (partner, person) };
                facts.push(self.fact(person, "m", of));
            }
            let Some(parents) = parents else { continue };
            let parent = parents[usize::from(rng.random::<bool>())];
            let elder: Vec<usize> = self.step(person, 'b').into_iter().filter(|sibling| *sibling < person).collect();
            facts.push(match (rng.random_range(0..3_u32), elder.choose(rng)) {
                (0, Some(sibling)) => self.fact(person, "b", *sibling),
                // This does not say of which sex the person is: being married does.
                (1, _) if partner.is_some() => self.fact(parent, "u", person),
                _ => self.fact(person, "d", parent),
            });
        }
        facts
    }

    fn fact(&self, person: usize, way: &str, of: usize) -> Fact {
        let kinship = KINSHIPS.iter().find(|kinship| kinship.ways.contains(&way));
        let word = kinship.map_or("", |kinship| kinship.word(self.people[person].female));
        Fact { person, relation: word.to_owned(), of }
    }

    /// People one step away.
    fn step(&self, person: usize, step: char) -> Vec<usize> {
        let Person { parents, partner, .. } = &self.people[person];
        let children = |parent: usize| {
            let is_child = move |child: &usize| self.people[*child].parents.is_some_and(|both| both.contains(&parent));
            (0..self.people.len()).filter(is_child)
        };
        match step {
            'u' => parents.map_or_else(Vec::new, Vec::from),
            'd' => children(person).collect(),
            'b' => {
                parents.map_or_else(Vec::new, |[parent, _]| children(parent).filter(|child| *child != person).collect())
            }
            _ => partner.iter().copied().collect(),
        }
    }

    /// Everybody who has this relation, and this sex if one is given, to somebody of these.
    pub(super) fn kin(&self, of: &BTreeSet<usize>, kinship: &Kinship, female: Option<bool>) -> BTreeSet<usize> {
        let ends = kinship.ways.iter().flat_map(|way| {
            way.chars().fold(of.clone(), |people, step| {
                people.into_iter().flat_map(|person| self.step(person, step)).collect()
            })
        });
        ends.filter(|person| female.is_none_or(|female| female == self.people[*person].female)).collect()
    }

    /// Everybody who is reached from a person by these relations in turn.
    pub(super) fn follow(&self, of: usize, relations: &[String]) -> BTreeSet<usize> {
        let known = relations.iter().filter_map(|word| kinship(word));
        known.fold(BTreeSet::from([of]), |people, (kinship, female)| self.kin(&people, kinship, female))
    }

    /// Relation of a person to another.
    pub(super) fn relation(&self, person: usize, of: usize) -> Option<&'static Kinship> {
        KINSHIPS.iter().find(|kinship| self.kin(&BTreeSet::from([of]), kinship, None).contains(&person))
    }

    /// From how many people a search goes on, breadth first, before it comes from one person to another.
    pub(super) fn visited(&self, from: usize, to: usize) -> usize {
        let mut seen = BTreeSet::from([from]);
        let mut waiting = VecDeque::from([from]);
        let mut visited = 0;
        while let Some(person) = waiting.pop_front() {
            visited += 1;
            if person == to {
                break;
            }
            let around = ['u', 'd', 'm'].into_iter().flat_map(|step| self.step(person, step));
            waiting.extend(around.filter(|other| seen.insert(*other)).collect::<Vec<_>>());
        }
        visited
    }

    /// From how many people the ways of these relations go on, one step after the other.
    pub(super) fn passed(&self, of: usize, relations: &[String]) -> usize {
        let (mut people, mut passed) = (BTreeSet::from([of]), 0);
        for (kinship, female) in relations.iter().filter_map(|word| kinship(word)) {
            for way in kinship.ways {
                let mut on_way = people.clone();
                for step in way.chars() {
                    passed += on_way.len();
                    on_way = on_way.into_iter().flat_map(|person| self.step(person, step)).collect();
                }
            }
            people = self.kin(&people, kinship, female);
        }
        passed
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    /// 0 and 1 have 2 and 3; 2 and 4 have 6 and 7; 3 and 5 have 8. Women are 0, 3, 4 and 6.
    pub(in super::super) fn three_generations() -> Tree {
        let person = |female, parents, partner, generation| Person { female, parents, partner, generation };
        let people = vec![
            person(true, None, Some(1), 1),
            person(false, None, Some(0), 1),
            person(false, Some([0, 1]), Some(4), 2),
            person(true, Some([0, 1]), Some(5), 2),
            person(true, None, Some(2), 2),
            person(false, None, Some(3), 2),
            person(true, Some([2, 4]), None, 3),
            person(false, Some([2, 4]), None, 3),
            person(false, Some([3, 5]), None, 3),
        ];
        Tree { people }
    }

    #[test]
    fn people_are_called_as_one_would_say() {
        let tree = three_generations();
        for (person, of, word) in [
            (0, 2, "mother"),
            (8, 0, "grandson"),
            (1, 4, "father-in-law"),
            (5, 2, "brother-in-law"),
            (4, 3, "sister-in-law"),
            (5, 6, "uncle"),
            (6, 5, "niece"),
            (8, 7, "cousin"),
            (7, 6, "brother"),
            (5, 1, "son-in-law"),
        ] {
            let kinship = tree.relation(person, of).expect("a relation");
            assert_eq!(kinship.word(tree.people[person].female), word);
        }
        assert!(tree.relation(5, 4).is_none() && tree.relation(0, 0).is_none());
    }

    #[test]
    fn nobody_has_two_relations_to_anybody() {
        for seed in 0..10_u8 {
            let tree = Tree::grow(&mut seeded(&[b"tree", &[seed]]), 30, &mut Draws::default());
            for of in 0..tree.people.len() {
                let mut all: Vec<usize> = Vec::new();
                for kinship in &KINSHIPS {
                    all.extend(tree.kin(&BTreeSet::from([of]), kinship, None));
                }
                assert!(!all.contains(&of));
                assert_eq!(all.len(), all.iter().collect::<BTreeSet<_>>().len());
            }
        }
    }

    #[test]
    fn the_facts_tell_the_whole_tree() {
        for seed in 0..20_u8 {
            let mut rng = seeded(&[b"facts", &[seed]]);
            let tree = Tree::grow(&mut rng, 30, &mut Draws::default());
            let facts = tree.facts(&mut rng);
            let mut parents: Vec<Option<usize>> = vec![None; tree.people.len()];
            let mut female: Vec<Option<bool>> = vec![None; tree.people.len()];
            // Twice as often as a chain of siblings is long, so that everything known has spread.
            for _ in 0..2 * CHILDREN_MAX {
                for Fact { person, relation, of } in &facts {
                    female[*person] = kinship(relation).and_then(|(_, female)| female);
                    match relation.as_str() {
                        "son" | "daughter" => parents[*person] = Some(*of),
                        "father" | "mother" => parents[*of] = Some(*person),
                        "brother" | "sister" => parents[*person] = parents[*of],
                        _ => female[*of] = female[*person].map(|female| !female),
                    }
                }
            }
            for (person, told) in tree.people.iter().enumerate() {
                assert_eq!(female[person], Some(told.female));
                match told.parents {
                    None => assert_eq!(parents[person], None),
                    Some(both) => assert!(parents[person].is_some_and(|parent| both.contains(&parent))),
                }
            }
        }
    }
}
