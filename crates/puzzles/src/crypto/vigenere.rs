//! `puzzle/vigenere`: a cipher with a repeated key, of which at the harder end less and less is known.

use std::collections::BTreeSet;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::plaintext::{LETTERS, compare, compose, earlier, later, spelled};
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// Letters by which a told passage is longer than the key, so that chance fits hardly anywhere.
const PASSAGE_BEYOND_KEY: usize = 3;

/// Stands for a letter of the key that is not told.
const UNKNOWN: u8 = b'?';

/// Letters in a block of the cipher text as the prompt shows it.
const BLOCK: usize = 5;

/// The text goes on for as many letters as the passage needs.
static PASSAGE: Requirement =
    Requirement::new("passage", "the text goes on for as many letters as the passage needs", 0.1);

/// The key has more than one letter.
static VARIED: Requirement = Requirement::new("varied", "the key has more than one letter", 0.02);

/// The hints leave one key.
static UNIQUE: Requirement = Requirement::new("unique", "what is told leaves one key", 0.02);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vigenere;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// The plain text: words in lower case with single spaces.
    solution: String,
    /// Lower-case letters.
    key: String,
    /// The key with question marks for what is not told.
    told_key: String,
    /// Consecutive words of the plain text, where the key is not told in full.
    passage: Option<String>,
}

impl Instance {
    fn cipher(&self) -> String {
        apply(&spelled(&self.solution).unwrap_or_default(), self.key.as_bytes(), later)
    }
}

/// Every letter moved by the letter of the key whose turn it is: forward by `later`, back by `earlier`.
fn apply(letters: &str, key: &[u8], step: fn(u8, u8) -> u8) -> String {
    letters.bytes().zip(key.iter().cycle()).map(|(letter, key)| char::from(step(letter, key - b'a'))).collect()
}

/// The keys that fit what is told of the key and bring the passage out somewhere; every letter that is compared counts.
fn keys(cipher: &str, told_key: &str, passage: &str, compared: &mut u32) -> BTreeSet<Vec<u8>> {
    let (cipher, passage) = (cipher.as_bytes(), passage.as_bytes());
    let mut found = BTreeSet::new();
    for (start, window) in cipher.windows(passage.len().max(1)).enumerate() {
        let mut key = told_key.as_bytes().to_vec();
        let length = key.len();
        let fits = window.iter().zip(passage).enumerate().all(|(index, (cipher, plain))| {
            *compared += 1;
            let needed = later(b'a', cipher + LETTERS - plain);
            let place = &mut key[(start + index) % length];
            if *place == UNKNOWN {
                *place = needed;
            }
            *place == needed
        });
        if fits && !key.contains(&UNKNOWN) {
            found.insert(key);
        }
    }
    found
}

impl Question for Vigenere {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "vigenere",
            version: 1,
            category: Category::Crypto,
            tags: &[],
            multi_turn: false,
            description: "Decipher a Vigenère cipher whose key is known in full, in part, or only by its length with a passage of the text.",
            rule: "The letters of the answer have to be those of the plain text; case, spaces and punctuation do not matter; what is told leaves one key.",
            scale: "Longer keys and texts, and fewer letters of the key that are told.",
            effort: "Lays the told passage against every place of the cipher text, then deciphers; letters looked at.",
            floor: 0.02,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let length = scale(difficulty, 3, 9);
        let hidden = scale(difficulty, 0, length);
        let words = compose(rng, scale(difficulty, 1, 5));
        let key: String = (0..length).map(|_| char::from(rng.random_range(b'a'..=b'z'))).collect();
        let mut told_key = key.clone().into_bytes();
        for _ in 0..hidden {
            let known: Vec<usize> = (0..told_key.len()).filter(|place| told_key[*place] != UNKNOWN).collect();
            told_key[known[rng.random_range(0..known.len())]] = UNKNOWN;
        }
        let told_key = String::from_utf8(told_key).map_err(|error| Refusal::fault(error.to_string()))?;
        draws.note("length", length);
        draws.note("hidden", hidden);
        let passage =
            if hidden > 0 { Some(passage(rng, &words, key.len() + PASSAGE_BEYOND_KEY).ok_or(&PASSAGE)?) } else { None };
        let instance = Instance { solution: words.join(" "), key, told_key, passage };
        let varied = instance.key.bytes().any(|letter| !instance.key.starts_with(char::from(letter)));
        let unique = instance.passage.as_ref().is_none_or(|passage| {
            let passage = spelled(passage).unwrap_or_default();
            keys(&instance.cipher(), &instance.told_key, &passage, &mut 0).len() == 1
        });
        VARIED.demand(varied)?;
        UNIQUE.demand(unique)?;
        Ok(instance)
    }

    fn content(&self, instance: &Instance) -> Value {
        // Under another key the answer would be the same.
        json!(instance.solution)
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"cipher_text": instance.cipher(), "key": instance.told_key, "passage": instance.passage})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let cipher = instance.cipher();
        let blocks: Vec<String> =
            cipher.as_bytes().chunks(BLOCK).map(|block| String::from_utf8_lossy(block).into_owned()).collect();
        let told = instance.passage.as_ref().map_or_else(String::new, |passage| {
            format!(
                "A question mark stands for a letter of the key that is not known.\n\
                 The plain text contains, somewhere, this passage: {passage}\n"
            )
        });
        format!(
            "An English text was enciphered by the Vigenère cipher. Its spaces were left out, and the key was written below it \
             again and again. Each letter was then moved forward in the alphabet by as many places as its key letter says (a: \
             none, b: 1, and so on to z: 25), with a again after z. With the key \"bad\", \"oldowl\" becomes \"{}\".\n\
             Cipher text, in blocks of {BLOCK} letters without a meaning: {}\n\
             Key: {}\n{told}\
             Find the plain text. The answer is the whole plain text, with or without spaces, such as: old owls fly",
            apply("oldowl", b"bad", later),
            blocks.join(" "),
            instance.told_key
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        compare(&instance.solution, answer)
    }

    fn solution(&self, instance: &Instance) -> String {
        instance.solution.clone()
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let key: Vec<u8> = instance.key.bytes().map(|_| rng.random_range(b'a'..=b'z')).collect();
        apply(&instance.cipher(), &key, earlier)
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // One letter of the key is another one, and every text is longer than its key.
        let mut key = instance.key.clone().into_bytes();
        let place = rng.random_range(0..key.len());
        key[place] = later(key[place], rng.random_range(1..LETTERS));
        apply(&instance.cipher(), &key, earlier)
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let cipher = instance.cipher();
        let mut looked_at = u32::try_from(cipher.len()).unwrap_or(u32::MAX);
        if let Some(passage) = instance.passage.as_deref().and_then(spelled) {
            keys(&cipher, &instance.told_key, &passage, &mut looked_at);
        }
        f64::from(looked_at)
    }
}

/// The shortest run of whole words with at least `letters` letters from a random word on; `None` where the text ends before.
fn passage(rng: &mut ChaCha8Rng, words: &[&str], letters: usize) -> Option<String> {
    let start = rng.random_range(0..words.len());
    let length = |end: &usize| words[start..*end].iter().map(|word| word.len()).sum::<usize>();
    let end = (start..=words.len()).find(|end| length(end) >= letters)?;
    Some(words[start..end].join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cipher_is_the_textbooks() {
        // The example that encyclopedias give.
        assert_eq!(apply("attackatdawn", b"lemon", later), "lxfopvefrnhr");
        assert_eq!(apply("lxfopvefrnhr", b"lemon", earlier), "attackatdawn");
    }

    #[test]
    fn a_passage_gives_the_key_away_wherever_it_stands() {
        let cipher = apply("braveowlschasetigers", b"lemon", later);
        let fit = |told: &str, passage: &str| keys(&cipher, told, passage, &mut 0);
        assert_eq!(fit("?????", "owlschase"), BTreeSet::from([b"lemon".to_vec()]));
        assert_eq!(fit("l?m?n", "chasetig"), BTreeSet::from([b"lemon".to_vec()]));
        assert_eq!(fit("x????", "owlschase"), BTreeSet::new());
        assert!(fit("?????", "chase").len() > 1, "a passage as short as the key fits everywhere");
        assert_eq!(fit("?????", "chas"), BTreeSet::new(), "a letter of the key stays unknown");
    }

    #[test]
    fn the_plain_text_alone_is_right() {
        let instance = Instance {
            solution: "brave owls".to_owned(),
            key: "lemon".to_owned(),
            told_key: "lemon".to_owned(),
            passage: None,
        };
        for answer in ["brave owls", "BRAVEOWLS", "bra veo wls"] {
            assert_eq!(Vigenere.check(&instance, answer).score, 1.0, "{answer}");
        }
        for answer in ["", "lemon", &instance.cipher(), "brave owl"] {
            assert_eq!(Vigenere.check(&instance, answer).score, 0.0, "{answer}");
        }
    }
}
