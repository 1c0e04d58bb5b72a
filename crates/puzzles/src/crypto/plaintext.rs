//! English plain texts for ciphers, how an answer is compared with one, and the arithmetic of letters.

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use crate::question::Mark;

/// Letters of the alphabet.
pub(super) const LETTERS: u8 = 26;

const ADJECTIVES: &[&str] = &[
    "angry", "brave", "bright", "broken", "calm", "careful", "cheap", "clever", "cold", "curious", "distant", "eager",
    "early", "famous", "fierce", "foreign", "frozen", "gentle", "golden", "grateful", "green", "hidden", "honest",
    "hungry", "jealous", "lazy", "little", "lonely", "loud", "lucky", "modern", "narrow", "nervous", "noble",
    "northern", "patient", "polite", "proud", "quiet", "rusty", "secret", "silver", "sleepy", "tired", "useful",
    "wealthy", "wild", "young",
];

const NOUNS: &[&str] = &[
    "actors",
    "animals",
    "artists",
    "bakers",
    "bridges",
    "buyers",
    "captains",
    "carpenters",
    "castles",
    "children",
    "clocks",
    "cousins",
    "dancers",
    "doctors",
    "dragons",
    "engines",
    "farmers",
    "ferries",
    "fishermen",
    "forests",
    "gardens",
    "giants",
    "guests",
    "hunters",
    "islands",
    "judges",
    "kings",
    "ladders",
    "lanterns",
    "lawyers",
    "letters",
    "maps",
    "merchants",
    "miners",
    "mirrors",
    "monkeys",
    "mountains",
    "neighbors",
    "nurses",
    "orchards",
    "owls",
    "painters",
    "palaces",
    "pilots",
    "poets",
    "prisoners",
    "queens",
    "rivers",
    "robots",
    "sailors",
    "scholars",
    "sheep",
    "singers",
    "soldiers",
    "spiders",
    "strangers",
    "teachers",
    "tigers",
    "tourists",
    "towers",
    "travelers",
    "visitors",
    "wolves",
    "writers",
];

const VERBS: &[&str] = &[
    "admire", "approach", "attack", "avoid", "befriend", "blame", "borrow", "carry", "chase", "collect", "copy",
    "defend", "describe", "discover", "draw", "escape", "examine", "fear", "find", "follow", "forget", "greet",
    "guard", "help", "hide", "imagine", "imitate", "inspect", "invite", "keep", "lose", "measure", "miss", "move",
    "notice", "observe", "obey", "paint", "praise", "protect", "purchase", "remember", "repair", "rescue", "respect",
    "sketch", "visit", "watch",
];

const PLACES: &[&str] = &["above", "behind", "below", "beside", "between", "beyond", "inside", "near"];

const CONJUNCTIONS: &[&str] = &["although", "and", "because", "but", "or", "unless", "until", "while"];

/// Words that read as English, as many clauses as asked for. The shortest text, one clause, has five words or eight; there
/// are more than 10^8 of them.
pub(super) fn compose(rng: &mut ChaCha8Rng, clauses: u32) -> Vec<&'static str> {
    let mut words = Vec::new();
    for clause in 0..clauses {
        let place = rng.random_range(0..2) == 0;
        let before: &[&[&str]] = if clause == 0 { &[] } else { &[CONJUNCTIONS] };
        let after: &[&[&str]] = if place { &[PLACES, ADJECTIVES, NOUNS] } else { &[] };
        let lists = [before, &[ADJECTIVES, NOUNS, VERBS, ADJECTIVES, NOUNS], after].concat();
        words.extend(lists.into_iter().filter_map(|list| list.choose(rng).copied()));
    }
    words
}

/// The letters of a text alone, in lower case; `None` where it holds anything but ASCII letters, space and punctuation.
pub(super) fn spelled(text: &str) -> Option<String> {
    let mut letters = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            'a'..='z' | 'A'..='Z' => letters.push(letter.to_ascii_lowercase()),
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '"' | '-' | '\u{2018}'..='\u{201f}' => {}
            _ if letter.is_whitespace() => {}
            _ => return None,
        }
    }
    Some(letters)
}

/// Mark of an answer by the letters of the plain text; case, spaces and punctuation don't matter.
pub(super) fn compare(plain: &str, answer: &str) -> Mark {
    match (spelled(plain), spelled(answer)) {
        (_, None) => Mark::wrong("the answer holds something else than letters, spaces and punctuation"),
        (Some(plain), Some(answer)) if plain == answer => Mark::right("it is the plain text"),
        (plain, Some(answer)) => {
            let plain = plain.unwrap_or_default();
            let same = plain.bytes().zip(answer.bytes()).take_while(|(one, other)| one == other).count();
            Mark::wrong(format!("it is not the plain text: of {} letters the first {same} are right", plain.len()))
        }
    }
}

/// The lower-case letter that comes `places` after `letter` in the alphabet, with `a` again after `z`.
pub(super) const fn later(letter: u8, places: u8) -> u8 {
    b'a' + (letter - b'a' + places % LETTERS) % LETTERS
}

/// The lower-case letter that comes `places` before `letter`.
pub(super) const fn earlier(letter: u8, places: u8) -> u8 {
    later(letter, LETTERS - places % LETTERS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_word_is_in_two_lists_and_all_are_lower_case() {
        let words = [ADJECTIVES, NOUNS, VERBS, PLACES, CONJUNCTIONS].concat();
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
        assert!(words.iter().all(|word| word.bytes().all(|letter| letter.is_ascii_lowercase())));
    }

    #[test]
    fn only_the_letters_of_an_answer_count() {
        for answer in ["brave owls", "Brave owls.", "BRAVEOWLS", " brave\n owls ", "\"brave, owls\"", "“brave owls”"]
        {
            assert_eq!(compare("brave owls", answer).score, 1.0, "{answer}");
        }
        let long = "brave owls ".repeat(700);
        for answer in ["", "brave", "brave owl", "brave owls s", "bravé owls", "br4ve owls", "ｂrave owls", "\0", &long]
        {
            assert_eq!(compare("brave owls", answer).score, 0.0, "{answer}");
        }
    }

    #[test]
    fn the_alphabet_goes_round() {
        assert_eq!([later(b'y', 3), later(b'a', 0), later(b'b', 26), earlier(b'a', 1)], *b"babz");
        assert!((0..=60).all(|places| earlier(later(b'q', places), places) == b'q'));
    }
}
