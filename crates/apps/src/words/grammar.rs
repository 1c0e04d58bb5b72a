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
//! A rule or argument with a capital begins with a capital: `{Rule}`, `{$Name}`, `{A rule}`, `{Name=rule}`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// All rules there are.
pub(super) static WORDS: LazyLock<Grammar> = LazyLock::new(|| Grammar::read(&SOURCES));

/// The files of the grammar, by theme.
pub(super) const SOURCES: [&str; 17] = [
    include_str!("lists/person.txt"),
    include_str!("lists/place.txt"),
    include_str!("lists/work.txt"),
    include_str!("lists/shop.txt"),
    include_str!("lists/travel.txt"),
    include_str!("lists/money.txt"),
    include_str!("lists/mail.txt"),
    include_str!("lists/letter.txt"),
    include_str!("lists/chat.txt"),
    include_str!("lists/calendar.txt"),
    include_str!("lists/file.txt"),
    include_str!("lists/ticket.txt"),
    include_str!("lists/media.txt"),
    include_str!("lists/social.txt"),
    include_str!("lists/software.txt"),
    include_str!("lists/life.txt"),
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
        let bound = parameters.iter().copied().zip(given).collect();
        let mut writer = Writer { grammar: self, random, bound, used: BTreeMap::new() };
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
    /// Alternatives that the text has already, by rule, ascending: a text says nothing twice while it has a choice.
    used: BTreeMap<&'static str, Vec<usize>>,
}

impl Writer<'_> {
    /// A text of a rule; none if there is no such rule.
    fn rule(&mut self, rule: &str) -> Option<String> {
        let (rule, alternatives) = self.grammar.rules.get_key_value(rule)?;
        let chosen = alternatives.get(self.choose(rule, alternatives.len()))?;
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
            return Some(if name.starts_with(char::is_uppercase) { capitalised(&text) } else { text });
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

    /// The number of an alternative that the text does not have yet; of any one when it has all.
    fn choose(&mut self, rule: &'static str, count: usize) -> usize {
        let mut used = self.used.remove(rule).filter(|used| used.len() < count).unwrap_or_default();
        let mut index = self.below(count - used.len());
        let mut place = 0;
        while used.get(place).is_some_and(|taken| *taken <= index) {
            index += 1;
            place += 1;
        }
        used.insert(place, index);
        self.used.insert(rule, used);
        index
    }

    fn argument(&self, name: &str) -> Option<&str> {
        self.bound.iter().rev().find(|(bound, _)| bound.eq_ignore_ascii_case(name)).map(|(_, text)| text.as_str())
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
    /// Slot in braces.
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

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const SMALL: &str = "
// A comment.
= greeting
{A thing}, {thing} and {thing} for {first $name}
= open
{$other} {nothing} {9..1} {unclosed
= pair
{X=thing}, the {$x}, {$X}
= code
{@##}-{10..20/5}
= topic
{about.$topic}
= about.general
other
= about.tea
tea
~ thing
apple, hour,
unit
";

    fn texts(rule: &str, name: &str) -> Vec<String> {
        let grammar = Grammar::read(&[SMALL]);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let names = ["name", "topic"];
        (0..200).map(|_| grammar.text(rule, &names, &[Arc::from(name), Arc::from(name)], &mut random)).collect()
    }

    #[test]
    fn a_text_takes_the_right_article_and_says_nothing_twice() {
        for text in texts("greeting", "  Maria Silva") {
            let rest = text.strip_suffix(" for Maria").expect("the first name");
            let (first, others) = rest.split_once(", ").expect("three things");
            let (second, third) = others.split_once(" and ").expect("three things");
            let first = match first {
                "An apple" => "apple",
                "An hour" => "hour",
                "A unit" => "unit",
                other => panic!("{other} has the wrong article"),
            };
            let mut things = [first, second, third];
            things.sort_unstable();
            assert_eq!(things, ["apple", "hour", "unit"]);
        }
        assert!(texts("greeting", "")[0].ends_with("for there"));
    }

    #[test]
    fn bound_words_are_repeated() {
        for text in texts("pair", "") {
            let thing = text.rsplit(", ").next().expect("a thing").to_owned();
            assert_eq!(text, format!("{thing}, the {}, {thing}", thing.to_lowercase()));
            assert!(thing.starts_with(char::is_uppercase));
        }
    }

    #[test]
    fn codes_and_numbers_stay_within_their_bounds() {
        for text in texts("code", "") {
            let (code, number) = text.split_once('-').expect("two parts");
            assert!(code.starts_with(CONSONANTS) && code[1..].chars().all(|sign| sign.is_ascii_digit()), "{text}");
            assert!(["10", "15", "20"].contains(&number), "{text}");
        }
        assert_eq!(texts("code", "")[..3], ["K90-10", "J28-10", "R44-20"], "draws are the same on every machine");
    }

    #[test]
    fn an_unknown_word_has_the_general_variant_and_an_unknown_slot_stays() {
        assert_eq!(texts("topic", "tea")[0], "tea");
        for topic in ["", "coffee", "general", "tea.x", "$topic"] {
            assert_eq!(texts("topic", topic)[0], "other", "{topic}");
        }
        assert_eq!(texts("open", "")[0], "{$other} {nothing} {9..1} {unclosed");
        assert_eq!(texts("missing", "")[0], "");
    }
}
