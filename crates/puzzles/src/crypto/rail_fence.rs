//! `puzzle/rail_fence`: a text written in zigzag over several rails and read off rail by rail.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::plaintext::{compare, compose, spelled};
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// The most rails.
const RAILS_MAX: usize = 9;

/// From this difficulty on the number of rails is unknown.
const RAILS_UNKNOWN_FROM: f64 = 0.2;

/// From this difficulty on it is unknown also where the zigzag starts.
const START_UNKNOWN_FROM: f64 = 0.45;

/// A shorter word is not told: it would turn up on many fences.
const TOLD_LETTERS_MIN: usize = 6;

/// The text has a word that is long enough to be told.
static LONG_WORD: Requirement =
    Requirement::new("long_word", "the text has a word that is long enough to be told", 0.05);

/// The hints leave one text.
static UNIQUE: Requirement = Requirement::new("unique", "what is told leaves one text", 0.7);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct RailFence;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// The plain text: words in lower case with single spaces.
    solution: String,
    fence: Fence,
    /// A word of the plain text, where the number of rails is unknown.
    told: Option<String>,
    /// True if the zigzag is known to start on the top rail.
    from_top: bool,
}

/// A zigzag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fence {
    rails: usize,
    /// Steps of the zigzag that were made before the first letter, below [`Fence::period`].
    start: usize,
}

impl Fence {
    /// Every fence that is possible.
    fn all(from_top: bool) -> impl Iterator<Item = Self> {
        (2..=RAILS_MAX).flat_map(move |rails| {
            let starts = if from_top { 1 } else { Self { rails, start: 0 }.period() };
            (0..starts).map(move |start| Self { rails, start })
        })
    }

    /// Steps from the top rail down and up again.
    const fn period(self) -> usize {
        2 * (self.rails - 1)
    }

    /// Where the letters of the cipher text stand in the plain text: the places on each rail, from left to right.
    fn order(self, letters: usize) -> Vec<usize> {
        let (period, end) = (self.period(), self.start + letters);
        let mut order = Vec::with_capacity(letters);
        for rail in 0..self.rails {
            for round in (0..end).step_by(period) {
                let down = round + rail;
                let up = round + period - rail;
                let turns = rail == 0 || rail + 1 == self.rails;
                let steps = [down, up].into_iter().take(if turns { 1 } else { 2 });
                order.extend(steps.filter(|step| (self.start..end).contains(step)).map(|step| step - self.start));
            }
        }
        order
    }

    fn encipher(self, plain: &str) -> String {
        self.order(plain.len()).into_iter().map(|place| char::from(plain.as_bytes()[place])).collect()
    }

    fn decipher(self, cipher: &str) -> String {
        let mut plain = vec![b' '; cipher.len()];
        for (place, letter) in self.order(cipher.len()).into_iter().zip(cipher.bytes()) {
            plain[place] = letter;
        }
        plain.into_iter().map(char::from).collect()
    }
}

impl Instance {
    fn cipher(&self) -> String {
        self.fence.encipher(&spelled(&self.solution).unwrap_or_default())
    }

    /// True if what is told leaves one plain text.
    fn is_unique(&self) -> bool {
        let Some(told) = &self.told else { return self.from_top };
        let cipher = self.cipher();
        let texts = Fence::all(self.from_top).map(|fence| fence.decipher(&cipher));
        texts.filter(|text| text.contains(told.as_str())).collect::<BTreeSet<String>>().len() == 1
    }
}

impl Question for RailFence {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "rail_fence",
            version: 1,
            category: Category::Crypto,
            tags: &[],
            multi_turn: false,
            description: "Decipher a text that was written in zigzag over rails and read off rail by rail.",
            rule: "The letters of the answer have to be those of the plain text; case, spaces and punctuation do not matter; what is told leaves one text.",
            scale: "Longer texts and more rails; first their number, then also the start of the zigzag is unknown, and a word of the text is told instead.",
            effort: "Tries one fence after the other until the told word appears; letters put in their places.",
            floor: 0.02,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let words = compose(rng, scale(difficulty, 1, 4));
        let most = usize::try_from(scale(difficulty, 4, 9)).unwrap_or(RAILS_MAX);
        let rails = rng.random_range(most - 2..=most);
        let from_top = difficulty < START_UNKNOWN_FROM;
        let start = if from_top { 0 } else { rng.random_range(0..Fence { rails, start: 0 }.period()) };
        let long: Vec<&str> = words.iter().copied().filter(|word| word.len() >= TOLD_LETTERS_MIN).collect();
        draws.note("rails", rails);
        draws.note("start", start);
        let told = if difficulty < RAILS_UNKNOWN_FROM {
            None
        } else {
            Some((*long.choose(rng).ok_or(&LONG_WORD)?).to_owned())
        };
        let instance = Instance { solution: words.join(" "), fence: Fence { rails, start }, told, from_top };
        UNIQUE.demand(instance.is_unique())?;
        Ok(instance)
    }

    fn content(&self, instance: &Instance) -> Value {
        // On another fence the answer would be the same.
        json!(instance.solution)
    }

    fn metadata(&self, instance: &Instance) -> Value {
        let rails = instance.told.is_none().then_some(instance.fence.rails);
        json!({
            "cipher_text": instance.cipher(), "rails": rails, "rails_max": RAILS_MAX,
            "starts_on_top": instance.from_top, "told_word": instance.told,
        })
    }

    fn prompt(&self, instance: &Instance) -> String {
        let told = instance.told.as_ref().map_or_else(
            || format!("Number of rails: {}", instance.fence.rails),
            |word| {
                let start = if instance.from_top {
                    ""
                } else {
                    "\nThe zigzag did not have to start on the top rail: the first letter may stand on any rail, going on \
                     downwards or upwards from there."
                };
                format!(
                    "The number of rails is unknown (2 to {RAILS_MAX}).{start}\nAmong the words of the plain text: {word}"
                )
            },
        );
        format!(
            "An English text was enciphered by the rail fence cipher. Its spaces were left out; its letters were written in \
             zigzag, the first on the top rail, each next one on the rail below, from the bottom rail upwards again, from the \
             top rail downwards again, and so on. Then the letters were read off rail by rail, from the top rail to the bottom \
             rail, each from left to right. With 3 rails, \"attackatdawn\" becomes \"{}\".\n\
             Cipher text: {}\n{told}\n\
             Find the plain text. The answer is the whole plain text, with or without spaces, such as: attack at dawn",
            Fence { rails: 3, start: 0 }.encipher("attackatdawn"),
            instance.cipher()
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        compare(&instance.solution, answer)
    }

    fn solution(&self, instance: &Instance) -> String {
        instance.solution.clone()
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // The letters of the cipher text in any order.
        let mut letters: Vec<(u64, char)> = instance.cipher().chars().map(|letter| (rng.random(), letter)).collect();
        letters.sort_unstable();
        letters.into_iter().map(|(_, letter)| letter).collect()
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // Two different neighbours changed places; there are some, since a word has more than one letter.
        let mut letters = spelled(&instance.solution).unwrap_or_default().into_bytes();
        let places: Vec<usize> = (1..letters.len()).filter(|place| letters[place - 1] != letters[*place]).collect();
        let place = places[rng.random_range(0..places.len())];
        letters.swap(place - 1, place);
        String::from_utf8_lossy(&letters).into_owned()
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let cipher = instance.cipher();
        let letters = u32::try_from(cipher.len()).unwrap_or(u32::MAX);
        let Some(told) = &instance.told else { return f64::from(letters) };
        let tried = Fence::all(instance.from_top).take_while(|fence| !fence.decipher(&cipher).contains(told.as_str()));
        f64::from(letters * (u32::try_from(tried.count()).unwrap_or(u32::MAX) + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cipher_is_the_textbooks() {
        // The example that encyclopedias give.
        let plain = "wearediscoveredfleeatonce";
        let fence = Fence { rails: 3, start: 0 };
        assert_eq!(fence.encipher(plain), "wecrlteerdsoeefeaocaivden");
        assert_eq!(fence.decipher("wecrlteerdsoeefeaocaivden"), plain);
    }

    #[test]
    fn every_fence_can_be_taken_back() {
        for fence in Fence::all(false) {
            assert_eq!(fence.decipher(&fence.encipher("thequickbrownfox")), "thequickbrownfox", "{fence:?}");
        }
        // One step on, the first letter stands on the second rail and goes on downwards.
        assert_eq!(Fence { rails: 3, start: 1 }.encipher("abcdefgh"), "dhacegbf");
        assert_eq!(Fence::all(true).count(), RAILS_MAX - 1);
    }

    #[test]
    fn a_word_decides_between_fences() {
        let instance = |told: Option<&str>, from_top| Instance {
            solution: "brave owls chase tigers".to_owned(),
            fence: Fence { rails: 3, start: 0 },
            told: told.map(str::to_owned),
            from_top,
        };
        assert!(instance(Some("tigers"), false).is_unique());
        // With eight rails "ravbowlechasetisersg" holds the word as well.
        assert!(!instance(Some("chase"), false).is_unique());
        assert!(!instance(Some("e"), true).is_unique());
        assert!(instance(None, true).is_unique());
        assert_eq!(RailFence.check(&instance(None, true), "Brave owls chase tigers").score, 1.0);
        assert_eq!(RailFence.check(&instance(None, true), "brave owls chase tiger").score, 0.0);
    }
}
