//! A context-free grammar of texts, with arguments.
//!
//! `= rule` begins a rule whose alternatives are the lines below it, all equally likely; `~ rule` one whose alternatives
//! are separated by commas. Several names, separated by commas, begin as many rules of the same alternatives. A generator
//! with further arguments begins with the rule `name.about` when they are given. `\n` is a line break; `//` begins a comment. A slot
//! of an alternative stands in braces:
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
//! | `{spoken $name}` | an argument with blanks for hyphens |
//! | `{reply for $text as rule.$topic}` | a text of `reply` that continues the argument, which is read as a text of the other rule |
//! | `{a rule}` | with its indefinite article |
//!
//! A rule or argument with a capital begins with a capital: `{Rule}`, `{$Name}`, `{A rule}`, `{Name=rule}`.
//!
//! An alternative may end in `=> case`. A text that reads as this alternative is about the case: what continues it is of the rule
//! `reply.case`, where the alternative's bound words are bound again, and of `reply.topic` if it reads as none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// All rules there are.
pub(super) static WORDS: LazyLock<Grammar> = LazyLock::new(|| Grammar::read(SOURCES.iter().map(String::as_str)));

/// The files of the grammar, as the build packed them.
pub(super) static SOURCES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let words = palestra_pack::unpack(include_bytes!(concat!(env!("OUT_DIR"), "/words.json.lzma")));
    serde_json::from_slice(&words.expect("the build packed it")).expect("the build packed it")
});

/// Letters of codes.
const CONSONANTS: [char; 18] =
    ['B', 'C', 'D', 'F', 'G', 'H', 'J', 'K', 'L', 'M', 'N', 'P', 'R', 'S', 'T', 'V', 'W', 'X'];

/// Bytes of the longest text that is read as one of the grammar's: subjects and names are shorter, and every way to read one is tried.
const READ_BYTES_MAX: usize = 300;

/// Beginnings of words that are written with a vowel and spoken with a consonant, or the other way round.
const SPOKEN_CONSONANT: [&str; 6] = ["uni", "use", "usa", "euro", "one", "util"];
const SPOKEN_VOWEL: [&str; 4] = ["hour", "honest", "heir", "honour"];

/// Rules by name, each with its alternatives.
#[derive(Debug)]
pub(super) struct Grammar {
    rules: BTreeMap<&'static str, Vec<Alternative>>,
}

/// One way to write a text of a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alternative {
    /// With its slots.
    pub(super) text: &'static str,
    /// The case that it is about.
    pub(super) case: Option<&'static str>,
}

impl Grammar {
    /// Reads files of rules. What is wrong with them comes out in the text, where tests find it.
    pub(super) fn read(sources: impl IntoIterator<Item = &'static str>) -> Self {
        let mut rules: BTreeMap<&'static str, Vec<Alternative>> = BTreeMap::new();
        for source in sources {
            let (mut names, mut listed) = ("", false);
            for line in source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
                if let Some(begun) = line.strip_prefix("= ").or_else(|| line.strip_prefix("~ ")) {
                    (names, listed) = (begun, line.starts_with('~'));
                    continue;
                }
                let texts = if listed { items(line).collect() } else { vec![line] };
                let alternatives = texts.into_iter().map(|text| match text.split_once(" => ") {
                    Some((text, case)) => Alternative { text, case: Some(case) },
                    None => Alternative { text, case: None },
                });
                let alternatives: Vec<Alternative> = alternatives.collect();
                for name in items(names) {
                    rules.entry(name).or_default().extend(&alternatives);
                }
            }
        }
        Self { rules }
    }

    /// A text of a rule, with words for the names that its slots use.
    pub(super) fn text(&self, rule: &str, bound: Vec<(&'static str, String)>, random: &mut ChaCha8Rng) -> String {
        let mut writer = Writer { grammar: self, random, bound, used: BTreeMap::new() };
        let text = writer.rule(rule).unwrap_or_default();
        text.trim().to_owned()
    }

    /// The alternatives of a rule.
    pub(super) fn alternatives(&self, rule: &str) -> Option<&[Alternative]> {
        self.rules.get(rule).map(Vec::as_slice)
    }

    /// The variants of a rule, each with its alternatives.
    #[cfg(test)]
    pub(super) fn variants(&self, rule: &str) -> impl Iterator<Item = (&'static str, &[Alternative])> {
        let is_variant = move |name: &str| name.strip_prefix(rule).is_some_and(|rest| rest.starts_with('.'));
        self.rules.iter().filter(move |(name, _)| is_variant(name)).map(|(name, all)| (*name, all.as_slice()))
    }

    /// The variants that a parameter chooses among in the alternatives of a generator, ascending and without `general`.
    pub(super) fn choices(&self, generator: &str, parameter: &str) -> Vec<&'static str> {
        let about = format!("{generator}.about");
        let alternatives = [generator, &about].into_iter().filter_map(|rule| self.alternatives(rule)).flatten();
        let chosen = alternatives.flat_map(|alternative| parts(alternative.text)).filter_map(|part| match part {
            Part::Slot(slot) => slot.rsplit(' ').next()?.split_once(".$").filter(|(_, name)| *name == parameter),
            Part::Text(_) => None,
        });
        let variants = |rule| self.rules.keys().filter_map(move |name| name.strip_prefix(rule)?.strip_prefix('.'));
        let words: BTreeSet<&str> = chosen.flat_map(|(rule, _)| variants(rule)).collect();
        words.into_iter().filter(|word| *word != "general" && !word.contains('.')).collect()
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
        for part in parts(chosen.text) {
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
        if let Some(name) = slot.strip_prefix("spoken $") {
            return Some(self.argument(name)?.replace('-', " "));
        }
        if let Some(name) = slot.strip_prefix("Spoken $") {
            return Some(capitalised(&self.argument(name)?.replace('-', " ")));
        }
        if let Some((reply, (name, rule))) =
            slot.split_once(" for $").and_then(|(reply, read)| Some((reply, read.split_once(" as ")?)))
        {
            return self.reply(reply, name, rule);
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

    /// A text of a rule that continues an argument, which is read as a text of another rule.
    fn reply(&mut self, reply: &str, name: &str, rule: &str) -> Option<String> {
        let (rule, topic) = match rule.split_once(".$") {
            Some((rule, topic)) => {
                (self.grammar.variant(rule, self.argument(topic)?), self.argument(topic)?.to_owned())
            }
            None => (rule.to_owned(), String::new()),
        };
        if let Some((case, bound)) = self.read_as(&rule, self.argument(name)?) {
            self.bound.extend(bound);
            return self.rule(&format!("{reply}.{case}"));
        }
        let general = self.grammar.variant(reply, &topic);
        self.rule(&general)
    }

    /// Case of a text that an alternative of a rule could have written, and the words that the alternative binds. Of several
    /// alternatives, the one with the most text of its own.
    fn read_as(&self, rule: &str, text: &str) -> Option<(&'static str, Vec<(&'static str, String)>)> {
        let text = Some(text.strip_prefix("Fwd: ").unwrap_or(text)).filter(|text| text.len() <= READ_BYTES_MAX)?;
        let readings = self.grammar.alternatives(rule)?.iter().filter_map(|alternative| {
            let pieces: Vec<Part> = parts(alternative.text).collect();
            let own = |part: &Part| if let Part::Text(plain) = part { plain.len() } else { 0 };
            let length: usize = pieces.iter().map(own).sum();
            Some((length, alternative.case?, self.bind(&pieces, text)?))
        });
        readings.max_by_key(|(length, ..)| *length).map(|(_, case, bound)| (case, bound))
    }

    /// The words of a text that stand where the pieces have slots, if the text can be read so; of several ways, the one whose first
    /// words are shortest.
    fn bind(&self, pieces: &[Part], text: &str) -> Option<Vec<(&'static str, String)>> {
        let (piece, rest) = match pieces {
            [] => return text.is_empty().then(Vec::new),
            [piece, rest @ ..] => (*piece, rest),
        };
        let slot = match piece {
            Part::Text(plain) => return self.bind(rest, text.strip_prefix(plain)?),
            Part::Slot(slot) => slot,
        };
        let ends = text.char_indices().map(|(at, sign)| at + sign.len_utf8());
        ends.map(|end| text.split_at(end)).find_map(|(words, after)| {
            let words = self.fitting(slot, words)?;
            let mut bound = self.bind(rest, after)?;
            bound.extend(slot.split_once('=').map(|(name, _)| (name, words)));
            Some(bound)
        })
    }

    /// Words as a slot binds them, if it can have written them: an argument is itself, a rule of plain words has to list them, and any
    /// other rule may say all.
    fn fitting(&self, slot: &'static str, words: &str) -> Option<String> {
        let is_it = |text: &&str| *text == words || capitalised(text) == words;
        let rule = slot.rsplit('=').next().unwrap_or(slot).to_lowercase();
        if let Some(name) = rule.strip_prefix('$') {
            return self.argument(name).filter(is_it).map(str::to_owned);
        }
        let alternatives = self.grammar.alternatives(&rule).filter(|all| all.iter().all(|one| !one.text.contains('{')));
        match alternatives {
            Some(listed) => listed.iter().map(|one| one.text).find(is_it).map(str::to_owned),
            None => Some(words.to_owned()),
        }
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

/// Pieces between commas.
fn items(line: &'static str) -> impl Iterator<Item = &'static str> {
    line.split(',').map(str::trim).filter(|item| !item.is_empty())
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
        let grammar = Grammar::read([SMALL]);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let bound = vec![("name", name.trim().to_owned()), ("topic", name.trim().to_owned())];
        (0..200).map(|_| grammar.text(rule, bound.clone(), &mut random)).collect()
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
