//! `puzzle/caesar`: letters moved along the alphabet by an unknown number of places, which at the harder end grows from word
//! to word.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::plaintext::{LETTERS, compare, compose, earlier, later};
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// From this difficulty on the number of places grows from word to word.
const GROWING_FROM: f64 = 0.4;

/// The words that are told leave one key.
static UNIQUE: Requirement = Requirement::new("unique", "the words that are told leave one key", 0.6);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caesar;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// The plain text: words in lower case with single spaces.
    solution: String,
    key: Key,
    /// Words of the plain text that are told.
    told: Vec<String>,
}

/// Distance by which letters are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    /// Places in the first word.
    first: u8,
    /// Places more in each next word; zero where all words have the same.
    growth: u8,
}

impl Key {
    /// Every key of a kind.
    fn all(growing: bool) -> impl Iterator<Item = Self> {
        let (first, growth) = if growing { (0, 1..LETTERS) } else { (1, 0..1) };
        (first..LETTERS).flat_map(move |first| growth.clone().map(move |growth| Self { first, growth }))
    }

    /// The keys by which some word of the cipher text begins as `plain` does.
    fn revealing(cipher: &[&str], plain: &str, growing: bool) -> impl Iterator<Item = Self> {
        let growths = if growing { 1..LETTERS } else { 0..1 };
        let begin = plain.bytes().next().unwrap_or(b'a');
        let words = cipher.iter().enumerate().filter(|(_, word)| word.len() == plain.len());
        words.flat_map(move |(index, word)| {
            let moved = word.bytes().next().unwrap_or(b'a') - b'a';
            growths.clone().map(move |growth| {
                let grown = Self { first: 0, growth }.places(index);
                Self { first: earlier(earlier(moved + b'a', begin - b'a'), grown) - b'a', growth }
            })
        })
    }

    /// Places in a word.
    fn places(self, word: usize) -> u8 {
        let places = usize::from(self.first) + word * usize::from(self.growth);
        u8::try_from(places % usize::from(LETTERS)).unwrap_or(0)
    }

    /// Every word of a text moved, forward by `later` or back by `earlier`.
    fn apply(self, text: &str, step: fn(u8, u8) -> u8) -> String {
        let moved = text.split(' ').enumerate().map(|(index, word)| -> String {
            word.bytes().map(|letter| char::from(step(letter, self.places(index)))).collect()
        });
        moved.collect::<Vec<_>>().join(" ")
    }

    /// True if a word of the cipher text stands for `plain`.
    fn reveals(self, cipher: &[&str], plain: &str) -> bool {
        cipher.iter().enumerate().any(|(index, word)| {
            word.len() == plain.len()
                && word.bytes().zip(plain.bytes()).all(|(one, other)| one == later(other, self.places(index)))
        })
    }
}

impl Instance {
    fn cipher(&self) -> String {
        self.key.apply(&self.solution, later)
    }

    const fn growing(&self) -> bool {
        self.key.growth > 0
    }

    /// True if what is told leaves one key.
    fn is_unique(&self) -> bool {
        let cipher = self.cipher();
        let cipher: Vec<&str> = cipher.split(' ').collect();
        let fits = |key: &Key| self.told.iter().all(|told| key.reveals(&cipher, told));
        // Wherever the first of the told words stands, each growth leaves one key.
        let keys = self.told.iter().take(1).flat_map(|told| Key::revealing(&cipher, told, self.growing()));
        keys.filter(fits).collect::<BTreeSet<Key>>().len() == 1
    }
}

impl Question for Caesar {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "caesar",
            version: 1,
            category: Category::Crypto,
            tags: &[],
            multi_turn: false,
            description: "Decipher an English text whose letters were moved along the alphabet by an unknown number of places.",
            rule: "The letters of the answer have to be those of the plain text; case, spaces and punctuation do not matter; the words that are told leave one key.",
            scale: "Longer texts; from the middle on the number of places grows from word to word by an unknown step.",
            effort: "Tries one key after the other on the whole text until the told words appear; letters moved.",
            floor: 0.05,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let words = compose(rng, scale(difficulty, 1, 6));
        let growing = difficulty >= GROWING_FROM;
        let first = rng.random_range(u8::from(!growing)..LETTERS);
        let growth = if growing { rng.random_range(1..LETTERS) } else { 0 };
        let told: BTreeSet<&str> = (0..=u8::from(growing)).filter_map(|_| words.choose(rng).copied()).collect();
        let told = told.into_iter().map(str::to_owned).collect();
        let instance = Instance { solution: words.join(" "), key: Key { first, growth }, told };
        draws.note("growing", growing);
        draws.note("first", first);
        draws.note("growth", growth);
        UNIQUE.demand(instance.is_unique())?;
        Ok(instance)
    }

    fn content(&self, instance: &Instance) -> Value {
        // Under another key the answer would be the same.
        json!(instance.solution)
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"cipher_text": instance.cipher(), "told_words": instance.told, "growing": instance.growing()})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let rule = if instance.growing() {
            "The number of places is the same for all letters of a word. It is unknown for the first word (0 to 25), and from \
             each word to the next it grows by the same unknown step (1 to 25); 26 places are the same as none"
        } else {
            "The number of places is unknown (1 to 25) and the same for all letters"
        };
        let told: Vec<String> = instance.told.iter().map(|word| format!("\"{word}\"")).collect();
        format!(
            "In an English text, every letter was replaced by the letter that comes some places later in the alphabet, with a \
             again after z. {rule}.\n\
             Cipher text: {}\n\
             Among the words of the plain text: {}\n\
             Find the plain text. The answer is the whole plain text, such as: quick foxes greet lazy dogs",
            instance.cipher(),
            told.join(" and ")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        compare(&instance.solution, answer)
    }

    fn solution(&self, instance: &Instance) -> String {
        instance.solution.clone()
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let keys: Vec<Key> = Key::all(instance.growing()).collect();
        keys.choose(rng).map_or_else(String::new, |key| key.apply(&instance.cipher(), earlier))
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // Another number of places in the first word makes other letters of it.
        let first = instance.key.first + rng.random_range(1..LETTERS);
        Key { first, ..instance.key }.apply(&instance.cipher(), earlier)
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let cipher = instance.cipher();
        let mut moved = 0_u32;
        for key in Key::all(instance.growing()) {
            let plain = key.apply(&cipher, earlier);
            moved += u32::try_from(plain.len()).unwrap_or(u32::MAX);
            if instance.told.iter().all(|told| plain.split(' ').any(|word| word == told)) {
                break;
            }
        }
        f64::from(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(text: &str, first: u8, growth: u8, told: &[&str]) -> Instance {
        let told = told.iter().map(|word| (*word).to_owned()).collect();
        Instance { solution: text.to_owned(), key: Key { first, growth }, told }
    }

    #[test]
    fn letters_move_as_the_prompt_says() {
        assert_eq!(instance("abc xyz", 3, 0, &[]).cipher(), "def abc");
        assert_eq!(instance("abc abc abc", 25, 2, &[]).cipher(), "zab bcd def");
    }

    #[test]
    fn a_text_that_what_is_told_does_not_determine_is_no_problem() {
        assert!(instance("brave owls", 3, 0, &["owls"]).is_unique());
        assert!(!instance("brave owls", 3, 0, &[]).is_unique());
        // "abc" may stand for either word.
        assert!(!instance("abc bcd", 3, 0, &["abc"]).is_unique());
        assert!(!instance("brave owls draw", 3, 5, &["draw"]).is_unique());
        assert!(instance("brave owls draw", 3, 5, &["brave", "owls"]).is_unique());
        // Two words further on, a step that is 13 larger comes to the same.
        assert!(!instance("brave owls draw", 3, 5, &["brave", "draw"]).is_unique());
    }

    #[test]
    fn the_plain_text_alone_is_right() {
        let instance = instance("brave owls", 3, 0, &["owls"]);
        assert_eq!(Caesar.check(&instance, "Brave Owls!").score, 1.0);
        for answer in ["", "eudyh rzov", "owls brave", "brave"] {
            assert_eq!(Caesar.check(&instance, answer).score, 0.0, "{answer}");
        }
    }
}
