//! `puzzle/word_ladder`: change one word into another, one letter at a time, through words.

mod lexicon;

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::lexicon::{LEXICON, Reached};
use crate::facts::{Category, Facts};
use crate::list::entries;
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// Words near the shortest ladders that may not be used, so that ladders known by heart do not help.
const AVOIDED: usize = 3;

/// Least number of words to choose those from; ladders in thinly settled parts would come again and again.
const NEAR_MIN: usize = 15;

/// Some word is as far from the first as wanted.
static FAR: Requirement = Requirement::new("far", "some word is as far from the first as wanted", 0.3);

/// There are enough words near the ladder to choose from.
static NEAR: Requirement = Requirement::new("near", "there are enough words near the ladder to choose from", 0.1);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordLadder;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// A shortest ladder through common words.
    ladder: Vec<String>,
    /// Words that may not be used, in order.
    avoid: BTreeSet<String>,
    words_max: usize,
}

impl Instance {
    fn start(&self) -> &str {
        self.ladder.first().map_or("", String::as_str)
    }

    fn goal(&self) -> &str {
        self.ladder.last().map_or("", String::as_str)
    }
}

impl Question for WordLadder {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "word_ladder",
            version: 1,
            category: Category::Search,
            tags: &["language"],
            multi_turn: false,
            description: "Change a word of four or five letters into another through English words, one letter at a time.",
            rule: "Neighbouring words differ in one letter, all are in the list of words, none is forbidden, and they are not too many; any such ladder is right.",
            scale: "Words farther apart, of five letters, and fewer words to spare.",
            effort: "Searches the common words one step far, then two, and so on; words seen.",
            floor: 0.03,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let (letters, distance) = if difficulty < 0.5 {
            (4, scale(difficulty * 2.0, 3, 5))
        } else {
            (5, scale(difficulty * 2.0 - 1.0, 7, 13))
        };
        let distance = usize::try_from(distance)?;
        draws.note("letters", letters);
        draws.note("distance", distance);
        let start = *LEXICON.common_of(letters).choose(rng).ok_or_else(|| Refusal::fault("there are no words"))?;
        let reached = LEXICON.distances(start, distance);
        let ends: Vec<_> = reached.iter().filter(|end| end.distance == distance).collect();
        let mut last = **ends.choose(rng).ok_or(&FAR)?;
        let mut ladder = vec![last.word];
        while last.distance > 0 {
            last = reached[last.before];
            ladder.push(last.word);
        }
        // On ladders that are longer than a shortest one by two words at most. That these words are near tells nothing of
        // which ladder was found.
        let from_start: BTreeMap<usize, usize> = reached.iter().map(|from| (from.word, from.distance)).collect();
        let from_goal = LEXICON.distances(ladder[0], distance);
        let detour = |to: &Reached| from_start.get(&to.word).map_or(usize::MAX, |from| from + to.distance);
        let near = from_goal.iter().filter(|to| detour(to) <= distance + 2).map(|to| to.word);
        let mut avoid: Vec<usize> = near.filter(|word| !ladder.contains(word)).collect();
        NEAR.demand(avoid.len() >= NEAR_MIN)?;
        avoid.shuffle(rng);
        avoid.truncate(AVOIDED);
        let words =
            |numbers: &[usize]| numbers.iter().map(|number| LEXICON.word(*number).to_owned()).collect::<Vec<_>>();
        let words_max = ladder.len() + usize::try_from(scale(difficulty, 3, 1))?;
        Ok(Instance { ladder: words(&ladder), avoid: words(&avoid).into_iter().collect(), words_max })
    }

    fn content(&self, instance: &Instance) -> Value {
        // A ladder can be climbed from either end.
        json!([BTreeSet::from([instance.start(), instance.goal()]), instance.avoid])
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({
            "start": instance.start(), "goal": instance.goal(), "avoid": instance.avoid, "words_max": instance.words_max
        })
    }

    fn prompt(&self, instance: &Instance) -> String {
        let avoid: Vec<&str> = instance.avoid.iter().map(String::as_str).collect();
        format!(
            "Change the word {} into the word {}. Change exactly one letter in each step, without adding or moving letters; after \
             each step there has to be a common English word. A list of common English words judges: inflected forms such as \
             plurals are in it, names and abbreviations are not.\n\
             These words may not be used: {}.\n\
             The ladder may have at most {} words, first and last included. The answer is all of its words in order, separated by \
             commas, for example from cat to dog: cat, cot, cog, dog",
            instance.start(),
            instance.goal(),
            avoid.join(", "),
            instance.words_max
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let lower = answer.to_ascii_lowercase().replace("->", " ").replace(['→', '>'], " ");
        let words: Vec<&str> = entries(&lower).take(instance.words_max + 1).collect();
        if words.len() > instance.words_max {
            return Mark::wrong(format!("it has more than {} words", instance.words_max));
        }
        if words.first() != Some(&instance.start()) || words.last() != Some(&instance.goal()) {
            return Mark::wrong(format!("it does not lead from {} to {}", instance.start(), instance.goal()));
        }
        let mut numbers = Vec::new();
        for word in words {
            match LEXICON.number(word) {
                None => return Mark::wrong(format!("{word:?} is not in the list of words")),
                Some(_) if instance.avoid.contains(word) => return Mark::wrong(format!("{word} may not be used")),
                Some(number) => numbers.push(number),
            }
        }
        let far = numbers.windows(2).find(|pair| !LEXICON.neighbours(pair[0]).contains(&pair[1]));
        match far {
            None => Mark::right("a ladder of known words"),
            Some(pair) => Mark::wrong(format!(
                "{} and {} do not differ in exactly one letter",
                LEXICON.word(pair[0]),
                LEXICON.word(pair[1])
            )),
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        instance.ladder.join(", ")
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // Walks about, and writes the goal in the end.
        let mut ladder = vec![instance.start()];
        while ladder.len() + 1 < instance.words_max {
            let last = ladder.last().and_then(|word| LEXICON.number(word));
            let Some(next) = last.and_then(|number| LEXICON.neighbours(number).choose(rng)) else { break };
            ladder.push(LEXICON.word(*next));
        }
        ladder.push(instance.goal());
        ladder.join(", ")
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // A shortest ladder lacks a step: the words around it differ in one letter only if there was a shorter one.
        let mut ladder = instance.ladder.clone();
        ladder.remove(rng.random_range(1..ladder.len() - 1));
        ladder.join(", ")
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let ends = LEXICON.number(instance.start()).zip(LEXICON.number(instance.goal()));
        let seen =
            ends.map_or(0, |(start, goal)| LEXICON.words_seen(start, goal, |word| !instance.avoid.contains(word)));
        f64::from(u32::try_from(seen).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    fn instance() -> Instance {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        Instance { ladder: words("cold cord word"), avoid: BTreeSet::from(["wold".to_owned()]), words_max: 5 }
    }

    #[test]
    fn any_ladder_of_known_words_is_right_and_nothing_else_is() {
        for answer in [
            "cold, cord, word",
            "COLD cord Word",
            "cold -> cord -> word",
            "cold→cord→word",
            "cold\ncord\nword",
            "[cold, cord, word]",
            "cold, cord, ford, word",
            "cold, cord, lord, ford, word",
        ] {
            assert_eq!(WordLadder.check(&instance(), answer).score, 1.0, "{answer}");
        }
        for answer in [
            "",
            "cold",
            "word",
            "cold, word",
            "cord, word",
            "cold, cord",
            "cold, wold, word",
            "cold, cord, xord, word",
            "cold, cord, words, word",
            "cold, cord, lord, ford, lord, word",
            "cold, card, word",
            "cold, cord, cord, word",
            "сold, cord, word",
            "cold, cord, word, word",
            "cold cord 1 word",
        ] {
            assert_eq!(WordLadder.check(&instance(), answer).score, 0.0, "{answer}");
        }
    }

    #[test]
    fn words_that_are_not_common_are_accepted_too() {
        let beck = LEXICON.number("beck").expect("a word");
        assert!(!LEXICON.common_of(4).contains(&beck));
        let ladder = ["back", "beck", "beak"].map(str::to_owned).to_vec();
        let instance = Instance { ladder, avoid: BTreeSet::new(), words_max: 3 };
        assert_eq!(WordLadder.check(&instance, "back, beck, beak").score, 1.0);
    }

    #[test]
    fn made_ladders_are_shortest_ones_of_common_words() {
        let mut rng = seeded(&[b"ladders"]);
        for difficulty in [0.0, 0.4, 0.6, 1.0] {
            let made = (0..100)
                .find_map(|_| WordLadder.generate(&mut rng, difficulty, &mut Draws::default()).ok())
                .expect("a problem");
            let start = LEXICON.number(made.start()).expect("a word");
            let goal = LEXICON.number(made.goal()).expect("a word");
            let reached = LEXICON.distances(start, usize::MAX);
            let end = reached.iter().find(|end| end.word == goal).expect("it can be reached");
            assert_eq!(end.distance + 1, made.ladder.len());
            assert!(made.avoid.len() == AVOIDED && made.ladder.iter().all(|word| !made.avoid.contains(word)));
        }
    }
}
