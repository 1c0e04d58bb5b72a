//! The words that ladders may use, and which of them differ in one letter.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Words from which ladders are made.
static COMMON: LazyLock<String> = LazyLock::new(|| text(include_bytes!(concat!(env!("OUT_DIR"), "/common.lzma"))));

/// Words that a player may use as well.
static FURTHER: LazyLock<String> = LazyLock::new(|| text(include_bytes!(concat!(env!("OUT_DIR"), "/further.lzma"))));

/// All words, read once.
pub(super) static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::read);

fn text(packed: &[u8]) -> String {
    let words = palestra_pack::unpack(packed).expect("the build packed it");
    String::from_utf8(words).expect("words are text")
}

/// The words of the files, numbered: the common ones first.
pub(super) struct Lexicon {
    words: Vec<&'static str>,
    /// Number of common words, which come first.
    common: usize,
    numbers: BTreeMap<&'static str, usize>,
    neighbours: Vec<Vec<usize>>,
}

impl Lexicon {
    fn read() -> Self {
        let words_of = |text: &'static str| {
            text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_ascii_whitespace).collect::<Vec<_>>()
        };
        let mut words = words_of(&COMMON);
        let common = words.len();
        words.extend(words_of(&FURTHER));
        let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, word) in words.iter().enumerate() {
            for pattern in patterns(word) {
                alike.entry(pattern).or_default().push(number);
            }
        }
        let neighbours_of = |(number, word): (usize, &&'static str)| {
            let others = patterns(word).filter_map(|pattern| alike.get(&pattern)).flatten().copied();
            others.filter(|other| *other != number).collect()
        };
        let neighbours = words.iter().enumerate().map(neighbours_of).collect();
        let numbers = words.iter().enumerate().map(|(number, word)| (*word, number)).collect();
        Self { words, common, numbers, neighbours }
    }

    /// The numbers of the common words with so many letters.
    pub(super) fn common_of(&self, letters: usize) -> Vec<usize> {
        (0..self.common).filter(|number| self.words[*number].len() == letters).collect()
    }

    /// The word with this number.
    pub(super) fn word(&self, number: usize) -> &'static str {
        self.words[number]
    }

    /// The number of a word in small letters, if it is known.
    pub(super) fn number(&self, word: &str) -> Option<usize> {
        self.numbers.get(word).copied()
    }

    /// Words that differ in one letter.
    pub(super) fn neighbours(&self, number: usize) -> &[usize] {
        &self.neighbours[number]
    }

    /// The same, common ones alone.
    pub(super) fn common_neighbours(&self, number: usize) -> impl Iterator<Item = usize> {
        self.neighbours[number].iter().copied().filter(|other| *other < self.common)
    }

    /// Common words by their distance from `start`, in order of it, each with the word before it; none farther than `far`.
    pub(super) fn distances(&self, start: usize, far: usize) -> Vec<Reached> {
        let mut reached = vec![Reached { word: start, distance: 0, before: 0 }];
        let mut seen = vec![false; self.common];
        seen[start] = true;
        let mut next = 0;
        while let Some(Reached { word, distance, .. }) = reached.get(next).copied().filter(|from| from.distance < far) {
            for other in self.common_neighbours(word).filter(|other| !std::mem::replace(&mut seen[*other], true)) {
                reached.push(Reached { word: other, distance: distance + 1, before: next });
            }
            next += 1;
        }
        reached
    }

    /// Number of words that a search from `start` sees until it finds `goal`, if it looks one step far, then begins again and
    /// looks two steps far, and so on, at common words that `allowed` lets through.
    pub(super) fn words_seen(&self, start: usize, goal: usize, allowed: impl Fn(&str) -> bool) -> usize {
        let mut seen = vec![false; self.common];
        seen[start] = true;
        let (mut layer, mut within, mut total) = (vec![start], 1, 0);
        while !seen[goal] && !layer.is_empty() {
            let mut next = Vec::new();
            for other in layer.iter().flat_map(|word| self.common_neighbours(*word)) {
                if !seen[other] && allowed(self.words[other]) {
                    seen[other] = true;
                    next.push(other);
                }
            }
            // What lies nearer is seen once more in each round.
            within += next.len();
            total += within;
            layer = next;
        }
        total
    }
}

/// A word that a search came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reached {
    pub(super) word: usize,
    pub(super) distance: usize,
    /// Where in the list of what was reached the word before it is.
    pub(super) before: usize,
}

/// The word with each letter in turn left open.
fn patterns(word: &str) -> impl Iterator<Item = String> {
    (0..word.len()).map(|at| format!("{}_{}", &word[..at], &word[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_plain_of_four_or_five_letters_and_there_once() {
        assert_eq!(LEXICON.numbers.len(), LEXICON.words.len(), "no word comes twice");
        for word in &LEXICON.words {
            assert!(word.bytes().all(|letter| letter.is_ascii_lowercase()) && (4..=5).contains(&word.len()), "{word}");
        }
        assert!(LEXICON.common_of(4).len() > 1500 && LEXICON.common_of(5).len() > 3000);
    }

    #[test]
    fn neighbours_are_all_words_that_differ_in_one_letter() {
        for word in ["cold", "house"] {
            let number = LEXICON.number(word).expect("a word");
            let differ = |other: &str| word.bytes().zip(other.bytes()).filter(|(left, right)| left != right).count();
            let expected: Vec<usize> = (0..LEXICON.words.len())
                .filter(|other| LEXICON.words[*other].len() == word.len() && differ(LEXICON.words[*other]) == 1)
                .collect();
            let mut neighbours = LEXICON.neighbours(number).to_vec();
            neighbours.sort_unstable();
            assert_eq!(neighbours, expected, "{word}");
        }
    }
}
