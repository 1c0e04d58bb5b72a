//! `puzzle/family_relations`: how people of a family are related, from facts about neighbours in its tree. One answer.

mod tree;

use std::collections::BTreeSet;

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::tree::{Fact, KINSHIPS, Kinship, Tree, WORDS_ASKED, kinship};
use super::names;
use super::words::{listed, words};
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// The most people that a question asks for.
const ASKED_FOR_MAX: usize = 4;

/// Questions that are drawn for a tree until one has a fitting answer.
const QUESTIONS_MAX: usize = 60;

/// There are names for as many women and men.
static NAMES: Requirement = Requirement::new("names", "there are names for as many women and men", 0.02);

/// Somebody in the tree has the relation that was drawn to somebody.
static RELATED: Requirement =
    Requirement::new("related", "somebody in the tree has the relation that was drawn to somebody", 0.15);

/// A chain of relations leads to a few people.
static FEW: Requirement = Requirement::new("few", "a chain of relations leads to a few people", 0.06);

/// A chain that leads to a few people is found in as many draws as are made for a tree.
static PEOPLE: Requirement = Requirement::new(
    "people",
    "a chain that leads to a few people is found in as many draws as are made for a tree",
    0.02,
);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct FamilyRelations;

/// A problem. People are given by their places in the list of names.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    names: Vec<String>,
    tree: Tree,
    facts: Vec<Fact>,
    question: Asked,
}

/// Kinds of questions.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum Asked {
    /// Relation of the person to the other.
    Relation { person: usize, of: usize },
    /// People reached from the person by these relations, the first of them first.
    People { of: usize, relations: Vec<String> },
}

impl Question for FamilyRelations {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "family_relations",
            version: 1,
            category: Category::Logic,
            tags: &["multi-hop"],
            multi_turn: false,
            description: "Tell how two people of a family are related, or who is reached by a chain of relations, from facts about parents, siblings and couples.",
            rule: "The relation has to be the right one, under any of the names that the problem lists for it, or all the people asked for have to be named and nobody else.",
            scale: "More people, and longer ways between those in question.",
            effort: "Goes through all facts for each person on the way, one step in the tree after the other; facts read.",
            floor: 0.08,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let size = usize::try_from(scale(difficulty, 14, 40))?;
        let tree = Tree::grow(rng, size, draws);
        let question = ask(rng, &tree, difficulty, draws)?;
        let mut facts = tree.facts(rng);
        facts.shuffle(rng);
        let (mut women, mut men) = names::shuffled(rng);
        let mut name = |female: bool| if female { women.pop() } else { men.pop() }.map(str::to_owned);
        let names =
            tree.people.iter().map(|person| name(person.female)).collect::<Option<Vec<String>>>().ok_or(&NAMES)?;
        Ok(Instance { names, tree, facts, question })
    }

    fn content(&self, instance: &Instance) -> Value {
        // Neither names nor the order of the facts make another problem.
        let mut facts: Vec<String> = instance.facts.iter().map(|fact| json!(fact).to_string()).collect();
        facts.sort_unstable();
        json!({"facts": facts, "question": instance.question})
    }

    fn metadata(&self, instance: &Instance) -> Value {
        let name = |person: usize| instance.names[person].as_str();
        let fact = |fact: &Fact| json!({"person": name(fact.person), "relation": fact.relation, "of": name(fact.of)});
        let question = match &instance.question {
            Asked::Relation { person, of } => json!({"kind": "relation", "person": name(*person), "of": name(*of)}),
            Asked::People { of, relations } => json!({"kind": "people", "of": name(*of), "relations": relations}),
        };
        json!({"facts": instance.facts.iter().map(fact).collect::<Vec<_>>(), "question": question})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let name = |person: usize| instance.names[person].as_str();
        let facts: Vec<String> = instance
            .facts
            .iter()
            .map(|Fact { person, relation, of }| format!("{} is the {relation} of {}.", name(*person), name(*of)))
            .collect();
        let asked = match &instance.question {
            Asked::Relation { person, of } => format!(
                "What is {} to {}?\n\
                 The answer is one relation, such as: stepfather. It is one of these; other words for the same stand in \
                 parentheses: {}.",
                name(*person),
                name(*of),
                vocabulary()
            ),
            Asked::People { of, relations } => {
                let chain: Vec<String> = relations.iter().rev().map(|word| with_article(word)).collect();
                let of = name(*of);
                format!(
                    "Who is {} of {of}? Name everybody of whom that is true, which may be {of} too.\n\
                     The answer is all these names in any order, such as: Amy, Bob",
                    chain.join(" of ")
                )
            }
        };
        format!(
            "These are facts about a family:\n{}\n\
             A child of one person of a couple is a child of the other one too, and siblings have the same parents. A couple is \
             a husband and a wife, and nobody was married twice.\n{TERMS}\n{asked}",
            facts.join("\n")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let Some(words) = words(answer) else {
            return Mark::wrong("the answer holds what is neither a word nor a name");
        };
        match &instance.question {
            Asked::Relation { person, of } => {
                let written = words.join(" ");
                match instance.tree.relation(*person, *of) {
                    Some(kinship) if kinship.is_called(&written, instance.tree.people[*person].female) => {
                        Mark::right("it is the relation")
                    }
                    _ => Mark::wrong(format!("the relation is not {written:?}")),
                }
            }
            Asked::People { of, relations } => {
                let mut named = BTreeSet::new();
                for word in words.iter().filter(|word| *word != "and") {
                    let person = instance.names.iter().position(|name| name.eq_ignore_ascii_case(word));
                    let Some(person) = person else { return Mark::wrong(format!("nobody is called {word:?}")) };
                    if !named.insert(person) {
                        return Mark::wrong(format!("{word} is named twice"));
                    }
                }
                let reached = instance.tree.follow(*of, relations);
                if named == reached {
                    Mark::right("they are all, and nobody else")
                } else {
                    let right = named.intersection(&reached).count();
                    Mark::wrong(format!(
                        "{right} of {} named are right, and {} are asked for",
                        named.len(),
                        reached.len()
                    ))
                }
            }
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        match &instance.question {
            Asked::Relation { person, of } => {
                let kinship = instance.tree.relation(*person, *of);
                kinship
                    .map_or_else(String::new, |kinship| kinship.word(instance.tree.people[*person].female).to_owned())
            }
            Asked::People { of, relations } => instance.write(instance.tree.follow(*of, relations)),
        }
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        match &instance.question {
            Asked::Relation { .. } => {
                let kinship = KINSHIPS.choose(rng);
                kinship.map_or_else(String::new, |kinship| kinship.word(rng.random()).to_owned())
            }
            Asked::People { .. } => {
                let mut people: Vec<usize> = (0..instance.names.len()).collect();
                people.shuffle(rng);
                instance.write(people.into_iter().take(rng.random_range(1..=2)))
            }
        }
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        match &instance.question {
            // What another relation is called.
            Asked::Relation { person, of } => {
                let female = instance.tree.people[*person].female;
                let right = instance.tree.relation(*person, *of).map(|kinship| kinship.word(female));
                let every = KINSHIPS.iter().map(|kinship| kinship.word(female));
                let wrong: Vec<&str> = every.filter(|word| Some(*word) != right).collect();
                wrong.choose(rng).copied().unwrap_or_default().to_owned()
            }
            // Somebody is one too many, or one is missing.
            Asked::People { of, relations } => {
                let mut named = instance.tree.follow(*of, relations);
                let other = rng.random_range(0..instance.names.len());
                if !named.remove(&other) {
                    named.insert(other);
                }
                instance.write(named)
            }
        }
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let people = match &instance.question {
            Asked::Relation { person, of } => instance.tree.visited(*of, *person),
            Asked::People { of, relations } => instance.tree.passed(*of, relations),
        };
        let read = people * instance.facts.len();
        f64::from(u32::try_from(read).unwrap_or(u32::MAX))
    }
}

impl Instance {
    fn write(&self, people: impl IntoIterator<Item = usize>) -> String {
        people.into_iter().map(|person| self.names[person].as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Definitions of words that are used in more than one way.
const TERMS: &str = "An uncle or aunt is a brother or sister of a parent, or married to one of these. A nephew or niece is a child of \
                     a brother or sister, of one's own or of one's husband or wife. A great-uncle or great-aunt is a brother or \
                     sister of a grandparent, or married to one of these. A great-nephew or great-niece is a grandchild of a \
                     brother or sister, of one's own or of one's husband or wife. A cousin is a child of a parent's brother or \
                     sister, and a second cousin is a child of a parent's cousin. A cousin once removed is a child of a cousin, or \
                     a cousin of a parent. A brother-in-law or sister-in-law is a brother or sister of one's husband or wife, or \
                     married to one's brother or sister.";

/// All relations, with their other names.
fn vocabulary() -> String {
    let word = |kinship: &Kinship, female: bool| {
        let also = kinship.also(female);
        let also = if also.is_empty() { String::new() } else { format!(" ({})", listed(also, "or")) };
        format!("{}{also}", kinship.word(female))
    };
    let words: Vec<String> = KINSHIPS
        .iter()
        .flat_map(|kinship| {
            let both = kinship.word(false) == kinship.word(true);
            [false, true].into_iter().take(if both { 1 } else { 2 }).map(move |female| word(kinship, female))
        })
        .collect();
    words.join(", ")
}

/// Draws a question whose answer is as far away in the tree as the difficulty wants.
fn ask(rng: &mut ChaCha8Rng, tree: &Tree, difficulty: f64, draws: &mut Draws) -> Result<Asked, Refusal> {
    let steps = usize::try_from(scale(difficulty, 2, 4))?;
    let hops = scale(difficulty, 2, 5);
    if rng.random() { ask_relation(rng, tree, steps, draws) } else { ask_people(rng, tree, hops, draws) }
}

fn ask_relation(rng: &mut ChaCha8Rng, tree: &Tree, steps: usize, draws: &mut Draws) -> Result<Asked, Refusal> {
    draws.note("asked", "relation");
    let far = |kinship: &&Kinship| (steps..=steps + 2).contains(&kinship.steps()) && !kinship.is_told();
    let kinships: Vec<&Kinship> = KINSHIPS.iter().filter(far).collect();
    // The relation comes first, so that those which few people have are asked for as often as others.
    let kinship = kinships.choose(rng).ok_or_else(|| Refusal::fault("no relation is as far"))?;
    draws.note_answer("relation", kinship.word(false));
    let kin = |of: usize| tree.kin(&BTreeSet::from([of]), kinship, None).into_iter().map(move |person| (person, of));
    let pairs: Vec<(usize, usize)> = (0..tree.people.len()).flat_map(kin).collect();
    let (person, of) = pairs.choose(rng).ok_or(&RELATED)?;
    Ok(Asked::Relation { person: *person, of: *of })
}

fn ask_people(rng: &mut ChaCha8Rng, tree: &Tree, hops: u32, draws: &mut Draws) -> Result<Asked, Refusal> {
    draws.note("asked", "people");
    let question = draws.until(&FEW, QUESTIONS_MAX, |draws| {
        let of = rng.random_range(0..tree.people.len());
        let mut relations: Vec<String> = Vec::new();
        let mut reached = BTreeSet::from([of]);
        for _ in 0..hops {
            let next = |word: &'static str| {
                let (kinship, female) = kinship(word)?;
                Some((word, tree.kin(&reached, kinship, female)))
            };
            // No hop leads nowhere.
            let leading: Vec<_> =
                WORDS_ASKED.into_iter().filter_map(next).filter(|(_, people)| !people.is_empty()).collect();
            let (word, people) = leading.choose(rng)?.clone();
            relations.push(word.to_owned());
            reached = people;
        }
        let few = (1..=ASKED_FOR_MAX).contains(&reached.len());
        relations.iter().for_each(|word| draws.note_part("hop", word, few));
        few.then_some(Asked::People { of, relations })
    });
    question.ok_or_else(|| (&PEOPLE).into())
}

/// The word with `a` or `an` before it.
fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'u']) { "an" } else { "a" };
    format!("{article} {word}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::family_relations::tree::tests::three_generations;

    /// Ada and Ben have Carl and Dora; Carl and Eve have Fay and Gus; Dora and Hal have Ian.
    fn instance(question: Asked) -> Instance {
        let names = ["Ada", "Ben", "Carl", "Dora", "Eve", "Hal", "Fay", "Gus", "Ian"].map(str::to_owned).to_vec();
        Instance { names, tree: three_generations(), facts: Vec::new(), question }
    }

    #[test]
    fn all_names_of_a_relation_are_right_and_other_relations_are_not() {
        let aunt = instance(Asked::Relation { person: 3, of: 6 });
        for answer in ["aunt", "Aunt.", "**AUNT**"] {
            assert_eq!(FamilyRelations.check(&aunt, answer).score, 1.0, "{answer}");
        }
        for answer in ["", "uncle", "niece", "aunt or uncle", "aunt aunt", "great-aunt", "áunt", &"aunt ".repeat(1500)]
        {
            assert_eq!(FamilyRelations.check(&aunt, answer).score, 0.0, "{answer}");
        }
        let grandmother = instance(Asked::Relation { person: 0, of: 8 });
        assert_eq!(FamilyRelations.check(&grandmother, "grand-mother").score, 0.0);
        let in_law = instance(Asked::Relation { person: 5, of: 2 });
        for answer in ["brother-in-law", "Brother in law", "brother-in-law."] {
            assert_eq!(FamilyRelations.check(&in_law, answer).score, 1.0, "{answer}");
        }
    }

    #[test]
    fn everybody_asked_for_has_to_be_named_in_any_order() {
        let relations = ["father", "daughter", "niece"].map(str::to_owned).to_vec();
        let niece = instance(Asked::People { of: 2, relations });
        assert_eq!(FamilyRelations.solution(&niece), "Fay");
        let relations = ["mother", "father", "son", "wife", "son", "cousin"].map(str::to_owned).to_vec();
        assert_eq!(FamilyRelations.solution(&instance(Asked::People { of: 8, relations })), "Ian");
        let cousins = instance(Asked::People { of: 8, relations: vec!["cousin".to_owned()] });
        for answer in ["Fay, Gus", "gus and fay", "[\"Gus\", \"Fay\"]", "Fay\nGus"] {
            assert_eq!(FamilyRelations.check(&cousins, answer).score, 1.0, "{answer}");
        }
        for answer in ["", "Fay", "Fay, Gus, Ian", "Fay, Fay", "Fay, Gus, Gus", "Fay or Gus", "everybody", "Ｆay, Gus"]
        {
            assert_eq!(FamilyRelations.check(&cousins, answer).score, 0.0, "{answer}");
        }
    }
}
