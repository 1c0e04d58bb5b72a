//! A context-free grammar of texts, with arguments.
//!
//! `= rule` begins a rule whose alternatives are the lines below it, all equally likely; `~ rule` one whose alternatives
//! are separated by commas. `\n` is a line break; `//` begins a comment. A slot of an alternative stands in braces:
//!
//! | slot | what it becomes |
//! | --- | --- |
//! | `{rule}` | a text of the rule |
//! | `{rule.$topic}` | a text of the variant of a rule that an argument names, or else of its variant `general` |
//! | `{$name}` | an argument, or what was bound before |
//! | `{name=rule}` | a text of the rule, which `{$name}` repeats from there on |
//! | `{3..12}`, `{10..60/5}` | a number, also in steps |
//! | `{@@##}` | letters and digits; no vowels, so that no words arise |
//! | `{first $name}` | the first word of an argument, or `there` for none |
//! | `{a rule}` | with its indefinite article |
//!
//! A rule or argument with a capital begins with a capital: `{Rule}`, `{$Name}`, `{A rule}`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// All rules there are.
pub(super) static WORDS: LazyLock<Grammar> = LazyLock::new(|| Grammar::read(&SOURCES));

/// The files of the grammar, by theme.
pub(super) const SOURCES: [&str; 13] = [
    include_str!("lists/person.txt"),
    include_str!("lists/place.txt"),
    include_str!("lists/work.txt"),
    include_str!("lists/shop.txt"),
    include_str!("lists/travel.txt"),
    include_str!("lists/money.txt"),
    include_str!("lists/mail.txt"),
    include_str!("lists/chat.txt"),
    include_str!("lists/calendar.txt"),
    include_str!("lists/file.txt"),
    include_str!("lists/ticket.txt"),
    include_str!("lists/media.txt"),
    include_str!("lists/prose.txt"),
];

/// Letters of codes.
const CONSONANTS: [char; 18] =
    ['B', 'C', 'D', 'F', 'G', 'H', 'J', 'K', 'L', 'M', 'N', 'P', 'R', 'S', 'T', 'V', 'W', 'X'];

/// Beginnings of words that are written with a vowel and spoken with a consonant, or the other way round.
const SPOKEN_CONSONANT: [&str; 6] = ["uni", "use", "usa", "euro", "one", "util"];
const SPOKEN_VOWEL: [&str; 4] = ["hour", "honest", "heir", "honour"];

/// Rules by name, each with its alternatives.
#[derive(Debug)]
pub(super) struct Grammar {
    rules: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Grammar {
    /// Reads files of rules. What is wrong with them comes out in the text, where tests find it.
    pub(super) fn read(sources: &[&'static str]) -> Self {
        let mut rules: BTreeMap<&'static str, Vec<&'static str>> = BTreeMap::new();
        for source in sources {
            let (mut rule, mut listed) = ("", false);
            for line in source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
                if let Some(name) = line.strip_prefix("= ").or_else(|| line.strip_prefix("~ ")) {
                    (rule, listed) = (name, line.starts_with('~'));
                } else if listed {
                    let words = line.split(',').map(str::trim).filter(|word| !word.is_empty());
                    rules.entry(rule).or_default().extend(words);
                } else {
                    rules.entry(rule).or_default().push(line);
                }
            }
        }
        Self { rules }
    }

    /// A text of a rule, with arguments for the names that its slots use.
    pub(super) fn text(
        &self,
        rule: &str,
        parameters: &[&'static str],
        arguments: &[Arc<str>],
        random: &mut ChaCha8Rng,
    ) -> String {
        let given = arguments.iter().map(|argument| argument.trim().to_owned()).chain(std::iter::repeat(String::new()));
        let mut writer = Writer { grammar: self, random, bound: parameters.iter().copied().zip(given).collect() };
        let text = writer.rule(rule).unwrap_or_default();
        text.trim().to_owned()
    }

    /// The alternatives of a rule.
    pub(super) fn alternatives(&self, rule: &str) -> Option<&[&'static str]> {
        self.rules.get(rule).map(Vec::as_slice)
    }

    /// The variants that a parameter chooses among in the alternatives of a rule, without `general`.
    pub(super) fn choices(&self, rule: &str, parameter: &str) -> Vec<&'static str> {
        let alternatives = self.alternatives(rule).unwrap_or_default();
        let chosen = alternatives.iter().flat_map(|alternative| parts(alternative)).find_map(|part| match part {
            Part::Slot(slot) => slot.split_once(".$").filter(|(_, name)| *name == parameter).map(|(rule, _)| rule),
            Part::Text(_) => None,
        });
        let variants = |rule| self.rules.keys().filter_map(move |name| name.strip_prefix(rule)?.strip_prefix('.'));
        chosen.map(|rule| variants(rule).filter(|word| *word != "general").collect()).unwrap_or_default()
    }

    /// The variant of a rule that a word names, or else `general`.
    pub(super) fn variant(&self, rule: &str, word: &str) -> String {
        let named = format!("{rule}.{word}");
        if self.rules.contains_key(named.as_str()) { named } else { format!("{rule}.general") }
    }
}

/// Writes one text.
struct Writer<'a> {
    grammar: &'a Grammar,
    random: &'a mut ChaCha8Rng,
    /// Arguments, then what slots bound, last.
    bound: Vec<(&'static str, String)>,
}

impl Writer<'_> {
    /// A text of a rule; none if there is no such rule.
    fn rule(&mut self, rule: &str) -> Option<String> {
        let alternatives = self.grammar.alternatives(rule)?;
        let chosen = alternatives.get(self.below(alternatives.len()))?;
        let mut text = String::new();
        for part in parts(chosen) {
            match part {
                Part::Text(plain) => text.push_str(&plain.replace("\\n", "\n")),
                // A slot that means nothing stays as it is written, braces and all.
                Part::Slot(slot) => text.push_str(&self.slot(slot).unwrap_or_else(|| format!("{{{slot}}}"))),
            }
        }
        Some(text)
    }

    fn slot(&mut self, slot: &'static str) -> Option<String> {
        if let Some((name, rule)) = slot.split_once('=') {
            let text = self.slot(rule)?;
            self.bound.push((name, text.clone()));
            return Some(text);
        }
        if let Some(rest) = slot.strip_prefix("a ") {
            return Some(with_article(&self.slot(rest)?));
        }
        if let Some(rest) = slot.strip_prefix("A ") {
            return Some(capitalised(&with_article(&self.slot(rest)?)));
        }
        if let Some(name) = slot.strip_prefix("first $") {
            return Some(self.argument(name)?.split_whitespace().next().unwrap_or("there").to_owned());
        }
        if slot.chars().all(|sign| matches!(sign, '@' | '#')) {
            return Some(slot.chars().map(|sign| self.sign(sign)).collect());
        }
        if let Some((low, high)) = slot.split_once("..") {
            return self.number(low, high);
        }
        let lower = slot.to_lowercase();
        let text = if let Some(name) = lower.strip_prefix('$') {
            self.argument(name)?.to_owned()
        } else if let Some((rule, name)) = lower.split_once(".$") {
            let variant = self.grammar.variant(rule, self.argument(name)?);
            self.rule(&variant)?
        } else {
            self.rule(&lower)?
        };
        Some(if lower == slot { text } else { capitalised(&text) })
    }

    fn argument(&self, name: &str) -> Option<&str> {
        self.bound.iter().rev().find(|(bound, _)| *bound == name).map(|(_, text)| text.as_str())
    }

    fn sign(&mut self, sign: char) -> char {
        let index = self.below(if sign == '#' { 10 } else { CONSONANTS.len() });
        if sign == '#' { char::from(b'0' + u8::try_from(index).unwrap_or(0)) } else { CONSONANTS[index] }
    }

    fn number(&mut self, low: &str, high: &str) -> Option<String> {
        let (high, step) = high.split_once('/').unwrap_or((high, "1"));
        let (low, high, step): (u32, u32, u32) = (low.parse().ok()?, high.parse().ok()?, step.parse().ok()?);
        let steps = high.checked_sub(low)?.checked_div(step)?;
        Some((low + step * self.random.random_range(0..=steps)).to_string())
    }

    /// A number below a bound, of 32 bits so that every machine draws the same.
    fn below(&mut self, bound: usize) -> usize {
        let bound = u32::try_from(bound).unwrap_or(u32::MAX).max(1);
        self.random.random_range(0..bound) as usize
    }
}

/// A piece of an alternative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Stands as it is.
    Text(&'static str),
    /// What stands in braces.
    Slot(&'static str),
}

/// An alternative in pieces. A brace that is not closed is text.
pub(super) fn parts(alternative: &'static str) -> impl Iterator<Item = Part> {
    let mut rest = alternative;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let slot = rest.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let part = if let Some((slot, after)) = slot {
            rest = after;
            Part::Slot(slot)
        } else {
            let end = rest.char_indices().skip(1).find(|(_, sign)| *sign == '{').map_or(rest.len(), |(at, _)| at);
            let (text, after) = rest.split_at(end);
            rest = after;
            Part::Text(text)
        };
        Some(part)
    })
}

/// With a capital at the beginning.
fn capitalised(text: &str) -> String {
    let mut signs = text.chars();
    signs.next().map_or_else(String::new, |first| first.to_uppercase().chain(signs).collect())
}

/// With the indefinite article that it is spoken with.
fn with_article(text: &str) -> String {
    let lower = text.to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
    let vowel =
        lower.starts_with(['a', 'e', 'i', 'o', 'u', '8']) || lower.starts_with("11 ") || lower.starts_with("18 ");
    let spoken = (vowel && !begins(&SPOKEN_CONSONANT)) || begins(&SPOKEN_VOWEL);
    format!("{} {text}", if spoken { "an" } else { "a" })
}
